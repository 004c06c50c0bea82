#include "sightline/sight/product_line.hpp"

#include <algorithm>
#include <numeric>

#include "sightline/sight/root_hash.hpp"

namespace sightline::sight {

namespace {

// Cells by place, from the first cut up to `to`.
std::vector<Vertex> number_cells(const std::vector<Vertex>& cuts, Vertex to) {
  std::vector<Vertex> cell(std::size_t{to} + 1 - cuts.front());
  for (std::size_t k = 0, x = 0; x < cell.size(); ++x) {
    if (k + 1 < cuts.size() && cuts[k + 1] == cuts.front() + x) ++k;
    cell[x] = static_cast<Vertex>(k);
  }
  return cell;
}

}  // namespace

ProductDepth::ProductDepth(const Layout& layout, std::uint64_t views_depth) : depth(views_depth), order(layout.order), first(layout.layers.size(), 0) {
  for (std::size_t q = order.size(); q > 0; --q) first[order[q - 1]] = q;
  for (const std::uint64_t q : first) last_first = std::max(last_first, q);
}

// A row of layer l of a vertex with t left comes into sight at the last place q <= t of l, and its heads then have q - 1 left.
std::optional<std::uint64_t> ProductDepth::find_second_level() const {
  std::vector<std::uint64_t> last(first.size(), 0);
  for (std::uint64_t t = 1; t <= depth && t <= 2 * std::uint64_t{order.size()} + last_first; ++t) {
    last[layer(t)] = t;
    bool holds = true;
    for (std::size_t l = 0; l < first.size(); ++l) holds = holds && (first[l] == 0 || last[l] > last_first);
    if (holds) return t;
  }
  return std::nullopt;
}

std::optional<ProductLine> ProductLine::make(const Layout& factor, const ProductDepth& depth) {
  ProductLine line(depth);
  line.size_ = factor.tokens;
  line.low_.resize(factor.layers.size());
  line.high_.resize(factor.layers.size());
  std::vector<layout::Run> row;
  for (std::uint32_t l = 0; l < factor.layers.size(); ++l) {
    if (depth.first[l] == 0) continue;
    line.layers_.push_back(l);
    const layout::Pattern& pattern = factor.relations[factor.layers[l].relations.front()].pattern();
    Ends &low = line.low_[l], &high = line.high_[l];
    for (Vertex x = 0; x < line.size_; ++x) {
      pattern.row(x, row);
      if (row.size() != 1 || row.front().step != 1 || row.front().first > x || row.front().last < x) return std::nullopt;
      if (x > 0 && (row.front().first < low.back() || row.front().last < high.back())) return std::nullopt;
      low.push_back(row.front().first);
      high.push_back(row.front().last);
    }
  }
  line.find_readers();
  return line;
}

// Ends only go up, so who reads x is an interval as well, and its ends only go up.
void ProductLine::find_readers() {
  reader_low_.resize(low_.size());
  reader_high_.resize(low_.size());
  for (const std::uint32_t l : layers_) {
    Vertex first = 0, last = 0;
    for (Vertex x = 0; x < size_; ++x) {
      while (high_[l][first] < x) ++first;
      while (last + 1 < size_ && low_[l][last + 1] <= x) ++last;
      reader_low_[l].push_back(first);
      reader_high_[l].push_back(last);
    }
  }
}

void ProductLine::set_name(const ProductName& name) {
  name_ = name;
  views_.assign(size_, std::nullopt);
  known_.clear();
  if (name.layer) {
    name_low_ = low_[*name.layer];
    name_high_ = high_[*name.layer];
    return;
  }
  name_low_.assign(size_, 0);
  name_high_.assign(size_, size_ - 1);
  for (const std::uint32_t k : layers_) {
    for (const std::uint32_t l : layers_) {
      for (Vertex x = 0; k != l && x < size_; ++x) {
        name_low_[x] = std::max(name_low_[x], low_[l][low_[k][x]]);
        name_high_[x] = std::min(name_high_[x], high_[l][high_[k][x]]);
      }
    }
  }
}

std::uint64_t ProductLine::count_arcs(std::uint32_t layer) const {
  std::uint64_t arcs = 0;
  for (Vertex x = 0; x < size_; ++x) arcs += high_[layer][x] - low_[layer][x] + std::uint64_t{1};
  return arcs;
}

bool ProductLine::is_symmetric() const {
  return std::all_of(layers_.begin(), layers_.end(), [&](std::uint32_t l) {
    for (Vertex x = 0; x < size_; ++x) {
      if (low_[l][x] + high_[l][size_ - 1 - x] != size_ - 1) return false;
    }
    return true;
  });
}

const ProductLine::View& ProductLine::view(Vertex root) {
  if (!views_[root]) views_[root] = make_view(root);
  return *views_[root];
}

ProductLine::View ProductLine::make_view(Vertex root) {
  View view;
  // Places with q left are an interval for every q.
  std::vector<std::uint64_t> left(size_, 0);
  std::vector<std::pair<Vertex, Vertex>> having(name_.level + 1);
  Vertex from = root, to = root;
  left[root] = depth_.depth;
  for (std::uint64_t q = depth_.depth;; --q) {
    if (q <= name_.level) having[q] = {from, to};
    if (q == 0) break;
    const std::uint32_t l = depth_.layer(q);
    const Vertex first = low_[l][from], last = high_[l][to];
    for (; from > first; --from) left[from - 1] = q - 1;
    for (; to < last; ++to) left[to + 1] = q - 1;
    if (from > 0 || to + 1 < size_) continue;
    for (std::uint64_t t = 0; t < q && t <= name_.level; ++t) having[t] = {from, to};
    break;
  }
  if (from > 0 || to + 1 < size_) return view;
  std::tie(view.from, view.to) = having[name_.level];
  read_path(root, left, view);
  if (!view.is_path) return view;
  while (view.whole < name_.level && having[view.whole + 1] == std::pair<Vertex, Vertex>{0, size_ - 1}) ++view.whole;
  view.cells.resize(view.whole + 1);
  Cuts cells = find_classes(view.from, view.to);
  for (std::uint64_t q = name_.level;; --q) {
    refine(cells, having[q].second, q);
    if (q <= view.whole) view.cells[q] = &*known_.insert(cells).first;
    if (q == 0) return view;
    const std::uint32_t l = depth_.layer(q);
    Cuts wider{having[q - 1].first};
    const std::vector<Vertex> cell = number_cells(cells, having[q].second);
    const auto readers = [&](Vertex x) {
      return std::pair{cell[std::max(reader_low_[l][x], having[q].first) - having[q].first], cell[std::min(reader_high_[l][x], having[q].second) - having[q].first]};
    };
    for (Vertex x = wider.front() + 1; x <= having[q - 1].second; ++x) {
      if (readers(x) != readers(x - 1)) wider.push_back(x);
    }
    cells = std::move(wider);
  }
}

bool ProductLine::has_row_of(Vertex x, Vertex y) const {
  return std::all_of(layers_.begin(), layers_.end(), [&](std::uint32_t l) { return low_[l][x] == low_[l][y] && high_[l][x] == high_[l][y]; });
}

ProductLine::Cuts ProductLine::find_classes(Vertex from, Vertex to) const {
  Cuts cuts{from};
  for (Vertex x = from + 1; x <= to; ++x) {
    if (!has_row_of(x - 1, x)) cuts.push_back(x);
  }
  return cuts;
}

// Names overlap from one class to the next; their lower ends stay at the first one's for a while and then go up, their upper ends go up and then stay.
bool ProductLine::is_path(const Cuts& classes) const {
  if (classes.size() < 2) return false;
  const Vertex first = classes.front(), last = classes.back();
  for (std::size_t p = 1; p < classes.size(); ++p) {
    const Vertex x = classes[p - 1], y = classes[p];
    if (name_low_[y] > name_high_[x]) return false;
    const bool same_low = name_low_[x] == name_low_[y], same_high = name_high_[x] == name_high_[y];
    if (same_low && (same_high || name_low_[x] != name_low_[first])) return false;
    if (same_high && name_high_[x] != name_high_[last]) return false;
  }
  return true;
}

void ProductLine::read_path(Vertex root, const std::vector<std::uint64_t>& left, View& view) const {
  const Cuts classes = find_classes(view.from, view.to);
  view.is_path = is_path(classes);
  if (!view.is_path) return;
  const std::size_t count = classes.size();
  const std::vector<Vertex> cell = number_cells(classes, view.to);
  const auto end = [&](std::size_t p) { return p + 1 < count ? classes[p + 1] : view.to + 1; };
  Vertex common = 0;
  for (std::size_t p = 0; p < count; ++p) common = std::gcd(common, end(p) - classes[p]);
  const auto fold = [](std::uint64_t hash, std::uint64_t value) { return mix(hash ^ mix(value + 0x632be59b)); };
  view.forward = view.backward = count;
  for (std::size_t k = 0; k < count; ++k) {
    for (const bool forward : {true, false}) {
      const std::size_t p = forward ? k : count - 1 - k;
      std::uint64_t& hash = forward ? view.forward : view.backward;
      hash = fold(hash, (end(p) - classes[p]) / common);
      hash = fold(hash, *std::max_element(left.begin() + classes[p], left.begin() + end(p)));
      hash = fold(hash, root >= classes[p] && root < end(p) ? 1 : 0);
      for (const std::uint32_t l : layers_) {
        // Rows of one class are equal.
        const std::uint64_t first = cell[std::max(low_[l][classes[p]], view.from) - view.from], last = cell[std::min(high_[l][classes[p]], view.to) - view.from];
        hash = fold(hash, forward ? first : count - 1 - last);
        hash = fold(hash, forward ? last : count - 1 - first);
      }
    }
  }
}

// The cells of one level are kept in place, so are, for each, the cells that its row meets and those whose rows it meets.
void ProductLine::refine(Cuts& cells, Vertex to, std::uint64_t level) const {
  constexpr int most_rounds = 16;
  const Vertex from = cells.front();
  for (int round = 0; round < most_rounds && cells.size() < std::size_t{to} + 1 - from; ++round) {
    const std::vector<Vertex> cell = number_cells(cells, to);
    const auto meets = [&](const Ends& low, const Ends& high, Vertex x) {
      return std::pair{cell[std::max(low[x], from) - from], cell[std::min(high[x], to) - from]};
    };
    Cuts finer{from};
    for (Vertex x = from + 1; x <= to; ++x) {
      const bool differs = cell[x - from] != cell[x - 1 - from] || std::any_of(layers_.begin(), layers_.end(), [&](std::uint32_t l) {
        return depth_.first[l] <= level && (meets(low_[l], high_[l], x) != meets(low_[l], high_[l], x - 1) || meets(reader_low_[l], reader_high_[l], x) != meets(reader_low_[l], reader_high_[l], x - 1));
      });
      if (differs) finer.push_back(x);
    }
    if (finer.size() == cells.size()) return;
    cells = std::move(finer);
  }
}

}  // namespace sightline::sight
