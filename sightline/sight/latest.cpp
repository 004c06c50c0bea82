#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

// The next vertex >= j that is not yet seen.
class Unseen {
public:
  explicit Unseen(Vertex vertices) : next_(static_cast<std::size_t>(vertices) + 1) {
    std::iota(next_.begin(), next_.end(), Vertex{0});
  }
  Vertex from(Vertex j) {
    Vertex root = j;
    while (next_[root] != root) root = next_[root];
    while (next_[j] != root) {
      const Vertex up = next_[j];
      next_[j] = root;
      j = up;
    }
    return root;
  }
  void remove(Vertex j) { next_[j] = j + 1; }

private:
  std::vector<Vertex> next_;
};

}  // namespace

std::vector<std::int64_t> compute_latest(const Layout& layout, std::uint64_t depth, Vertex root, const Budget& budget) {
  return compute_latest_after(layout, 0, depth, root, budget);
}

std::vector<std::int64_t> compute_latest_after(const Layout& layout, std::uint64_t skip, std::uint64_t depth, Vertex root,
                                               const Budget& budget) {
  if (root >= layout.vertices()) throw ArgumentError("compute_latest: the root is not a vertex of the layout");
  std::vector<std::int64_t> latest(layout.vertices(), -1);
  latest[root] = static_cast<std::int64_t>(depth);
  std::vector<Vertex> active{root};
  if (layout.order.empty()) return latest;
  Unseen unseen(layout.vertices());
  unseen.remove(root);
  // Once layer q of kind l has handed time q-1 to a row, an earlier layer of the same kind has nothing better to give:
  // every vertex is expanded once per distinct layer, going down in q.
  std::vector<std::size_t> expanded(layout.layers.size(), 0);
  std::vector<bool> used(layout.layers.size(), false);
  for (const std::uint32_t l : layout.order) used[l] = true;
  std::vector<layout::Run> row;
  for (std::uint64_t q = depth; q >= 1 && active.size() < layout.vertices(); --q) {
    const std::uint32_t l = layout.order[(skip + q - 1) % layout.order.size()];
    const std::size_t end = active.size();
    if (expanded[l] == end) {
      bool pending = false;
      for (std::size_t k = 0; k < expanded.size(); ++k) pending = pending || (used[k] && expanded[k] != end);
      if (!pending) break;
      continue;
    }
    const auto time = static_cast<std::int64_t>(q - 1);
    for (; expanded[l] < end; ++expanded[l]) {
      budget.poll();
      for (const std::uint32_t r : layout.layers[l].relations) {
        layout.relations[r].pattern().row(active[expanded[l]], row);
        for (const layout::Run& run : row) {
          const auto see = [&](Vertex j) {
            latest[j] = time;
            unseen.remove(j);
            active.push_back(j);
          };
          if (run.step == 1) {
            for (Vertex j = unseen.from(run.first); j <= run.last; j = unseen.from(j)) see(j);
          } else {
            for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
              if (latest[j] < 0) see(static_cast<Vertex>(j));
            }
          }
        }
      }
    }
  }
  return latest;
}

}  // namespace sightline::sight
