// The arcs of a plan one by one, and which vertices exist in a batch element.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::reference {

/// A vertex that a row reads, and the colour of the arc.
struct Arc {
  std::int64_t read = 0, colour = 0;
};

/// What exists in one batch element: tokens below `length`, and everything that is no token.
class Existing {
public:
  Existing(const Plan& plan, const std::int64_t* lengths, std::int64_t batch)
      : plan_(plan), length_(lengths ? lengths[batch] : -1) {}
  [[nodiscard]] bool reader(std::int64_t i) const { return length_ < 0 || i < length_ || i >= plan_.reader_tokens(); }
  [[nodiscard]] bool read(std::int64_t j) const { return length_ < 0 || j < length_ || j >= plan_.read_tokens(); }

private:
  const Plan& plan_;
  std::int64_t length_;
};

/// The arcs of a row that exist, by rising vertex (none when the reader does not exist).
[[nodiscard]] std::vector<Arc> list_arcs(const Plan& plan, std::size_t relation, std::int64_t reader,
                                         const Existing& existing);

} // namespace sightline::mixer::reference
