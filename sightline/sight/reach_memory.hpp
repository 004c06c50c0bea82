// What was found out about who sees whom, kept for the questions that follow. Inside of reach.hpp, but for its owner.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

struct ClosedParts;

/// While one lives, the answers given on its thread are kept: certify asks who sees whom a dozen times about one layout (for the answer, its
/// evidence and its bounds), and the answer is a function of the patterns alone. A layout is known by a copy of its patterns and
/// layers, never by its address, so answers cannot go stale. Small layouts are not kept (asking again is quicker); at most eight
/// layouts, whose patterns are shared with the caller's. They nest; the innermost is used. Not thread-safe: one thread, one memory.
class ReachMemory {
public:
  enum class Way { any, cheap, hubs, spans, centre };
  /// (kind, ordinary_only, registers_too, skip within the period, depth, count_unseen, find_layers, way)
  using Key = std::tuple<ClassKind, bool, bool, std::uint64_t, std::optional<std::uint64_t>, bool, bool, Way>;
  struct Entry {
    Layout layout;  ///< without colours
    std::uint64_t period = 0;
    [[nodiscard]] std::uint64_t within_period(std::uint64_t skip) const { return period == 0 ? 0 : skip % period; }
    std::map<Key, std::optional<ReachAnswer>> answers;
    std::optional<bool> is_causal_chain;
    std::optional<bool> names_tokens;  ///< do_rows_name_tokens, where all vertices start alike
    std::shared_ptr<const void> intervals[2];  ///< what reach_intervals.cpp found, by whether intervals may wrap
    std::shared_ptr<const void> shift;  ///< what reach_shifts.cpp found
    std::shared_ptr<const void> triangles;  ///< what reach_triangles.cpp found
    std::shared_ptr<void> spans;  ///< what reach_spans.cpp composes views of
    std::shared_ptr<void> centre;  ///< the graph of reach_centre.cpp
    bool has_centre = false;
    std::shared_ptr<const Shortened> shorter;
    bool has_shorter = false;
    std::shared_ptr<const GridFactors> grid;
    bool has_grid = false;
    std::shared_ptr<const ClosedParts> closed_parts;
    bool has_closed_parts = false;
    std::shared_ptr<const void> boxes;  ///< what reach_boxes.cpp found
    bool has_boxes = false;
    ReadLayers read_layers;  ///< those asked for
    /// After how many layers all tokens see it, by token, or more: what reach_bits.cpp found when it was asked after how many all is seen. Skip within the period.
    struct Late {
      std::uint64_t skip = 0;
      std::vector<std::uint64_t> layers;
    };
    std::shared_ptr<const Late> late;
  };

  ReachMemory();
  ~ReachMemory();
  ReachMemory(const ReachMemory&) = delete;
  ReachMemory& operator=(const ReachMemory&) = delete;

  /// What is known about this layout; nullptr where nothing is kept. Valid until the next call. O(representation of the patterns).
  [[nodiscard]] static Entry* find(const Layout& layout);
  [[nodiscard]] static Key make_key(const Entry& entry, const ReachQuestion& question, Way way);

private:
  std::list<Entry> entries_;
  ReachMemory* outer_;
};

/// The same layers of patterns that are written alike, colours aside. O(representation of the patterns).
[[nodiscard]] bool read_alike(const Layout& a, const Layout& b);

/// From the memory, where there is one. A question that runs out of its budget leaves nothing behind.
template <class Answer>
std::optional<ReachAnswer> recall(const ReachQuestion& question, ReachMemory::Way way, const Answer& answer) {
  ReachMemory::Entry* memory = question.weight == nullptr ? ReachMemory::find(*question.layout) : nullptr;
  if (memory == nullptr) return answer();
  const ReachMemory::Key key = ReachMemory::make_key(*memory, question, way);
  if (const auto known = memory->answers.find(key); known != memory->answers.end()) return known->second;
  std::optional<ReachAnswer> found = answer();
  memory = ReachMemory::find(*question.layout);  // other layouts may have been asked about meanwhile
  if (memory != nullptr) memory->answers.emplace(key, found);
  return found;
}

}  // namespace sightline::sight
