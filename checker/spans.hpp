// Inside of reach: views that are a few intervals each (theory 16.48).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "read_layers.hpp"

namespace checker {

struct SeenSpan {
  Vertex first = 0, last = 0;
  auto operator<=>(const SeenSpan&) const = default;
};

/// A set for every vertex, which holds it. `near`: an interval around the vertex, ends not falling from vertex to vertex; `far`: the maximal intervals of the
/// set that are not `near`, sorted; neighbours with the same ones share them. The same sets are always written in the same way.
struct SpanSets {
  std::vector<SeenSpan> near;
  std::vector<std::uint32_t> far;      ///< by vertex, rising by 0 or 1: which of the lists
  std::vector<std::size_t> begin{0};   ///< of each list; one more at the end
  std::vector<SeenSpan> lists;
  friend bool operator==(const SpanSets& a, const SpanSets& b) { return a.near == b.near && a.far == b.far && a.begin == b.begin && a.lists == b.lists; }
};

/// The views of all depths, wherever the list of layers begins. Whatever takes too many intervals throws TooManySpans.
struct TooManySpans {};
class SpanViews {
public:
  SpanViews(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers);
  /// Nothing where some token never sees what it is to see.
  [[nodiscard]] std::optional<Reach> layers(const ReachQuestion& question);
  [[nodiscard]] Unseen unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth);

private:
  using Sets = std::shared_ptr<const SpanSets>;
  using Runs = std::vector<std::pair<std::uint32_t, std::uint64_t>>;  ///< layers, each so often
  [[nodiscard]] static Sets rows_of(const ReadLayer& layer, Vertex vertices);
  [[nodiscard]] static Sets follow(const SpanSets& rows, const SpanSets& views);
  [[nodiscard]] Sets repeat(std::uint32_t layer, std::uint64_t times) const;
  [[nodiscard]] Sets go_through(const Runs& runs, Sets views, std::uint64_t layers) const;
  [[nodiscard]] Sets period_from(bool first) const;
  [[nodiscard]] bool has(std::size_t k);
  [[nodiscard]] Sets ever();
  [[nodiscard]] Sets at(std::uint64_t skip, std::uint64_t depth);
  /// The rest of the period that a list begins with behind its first `skip` layers, and what is seen when `views` come after it.
  [[nodiscard]] Runs rest_of_period(std::uint64_t skip) const;
  [[nodiscard]] Sets behind(const Runs& rest, Sets views) const;
  /// What i is to see, as intervals.
  void wanted(const ReachQuestion& question, Vertex i, std::vector<SeenSpan>& out);
  [[nodiscard]] std::optional<std::pair<Vertex, Vertex>> missing(const ReachQuestion& question, const SpanSets& views, std::vector<Vertex>* count = nullptr);

  Vertex tokens_, vertices_;
  std::uint64_t length_;
  Runs runs_;  ///< one period, equal neighbours together
  std::map<std::uint32_t, Sets> rows_;
  Sets nothing_;                 ///< after no layer
  std::vector<Sets> doublings_;  ///< after 2^k periods, as long as that changes something
  bool ends_ = false;
};

}  // namespace checker
