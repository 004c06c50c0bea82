// A file in memory while it is read.
#pragma once

#include <string>
#include <string_view>

#include "sightline/base/budget.hpp"

namespace sightline::data {

/// The whole file; the budget knows of it while it is held. Throws InputError with the system's reason, BudgetExhausted.
class FileBytes {
public:
  FileBytes(const std::string& file, const Budget& budget);
  FileBytes(const std::string& file, Budget&& budget) = delete;  // it has to outlive the bytes
  ~FileBytes() { budget_.give_back(bytes_.size()); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  [[nodiscard]] std::string_view view() const { return bytes_; }

private:
  const Budget& budget_;
  std::string bytes_;
};

}  // namespace sightline::data
