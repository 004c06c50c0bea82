// A mixer in a shared library, run in a child process: what it does wrong becomes one line, never our crash.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/base/child_process.hpp"

namespace sightline::falsify {

/// The C interface (token-major, n tokens of d numbers; every function returns 0 when all is fine):
///     int sightline_mixer_info(uint32_t n, uint32_t d, uint32_t* parameters);
///     int sightline_mixer(uint32_t n, uint32_t d, const double* x, uint32_t p, const double* theta, double* out);
///     int sightline_mixer_interval(uint32_t n, uint32_t d, const double* x, uint32_t p, const double* theta, double* out);   optional
/// The last one takes and gives every number as a pair low, high.
class Library {
public:
  /// Starts the child and loads the file there. Throws InputError (one line that begins with the file's name).
  /// @param call_seconds  a call that takes longer counts as a hang
  Library(std::string file, std::uint32_t tokens, std::uint32_t dim, double call_seconds, const Budget& budget);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] std::uint32_t parameters() const { return parameters_; }
  [[nodiscard]] bool has_interval() const { return has_interval_; }

  /// out[n*d]. The value is computed twice in the child. Throws InputError for different bits, a NaN or infinity, a
  /// non-zero return, writing beyond the output, a crash, an exit, a hang.
  [[nodiscard]] std::vector<double> evaluate(const std::vector<double>& x, const std::vector<double>& theta);
  /// low, high of every output at a point. Throws InputError as above, and when low > high.
  [[nodiscard]] std::vector<double> enclose(const std::vector<double>& x, const std::vector<double>& theta);

private:
  std::vector<double> call(std::uint32_t which, const std::vector<double>& x, const std::vector<double>& theta, const char* function);

  std::string file_;
  std::uint32_t tokens_, dim_, parameters_ = 0;
  bool has_interval_ = false;
  const Budget& budget_;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace sightline::falsify
