// Automorphisms of a grid of products (docs/theory.md 16.35 has the proofs).
//
// Places of a factor with equal rows and equal readers are taken together; tokens are twins when their places are. On the quotient, a pair of
// automorphisms of the factors is an automorphism, and so is the exchange of factors that are isomorphic. From above: how many walks lead from a token to
// vertices that stay, read in given layers one after the other, is a number that automorphisms keep. For (r, c) it is f(r) g(c). When the tokens with the
// numbers of a path's vertex are its orbit, level by level, and at last no two tokens have the same ones, there is nothing else.
#include "sightline/sight/product_group.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/views.hpp"
#include "sightline/symmetry/field.hpp"
#include "sightline/symmetry/verification.hpp"

namespace sightline::sight {

namespace {

namespace field = symmetry::field;
using Places = std::vector<Vertex>;
using Images = std::vector<Vertex>;  // by class
using Numbers = std::vector<field::Element>;

constexpr std::uint64_t most_factor_arcs = std::uint64_t{1} << 22;  ///< of a factor, all layers
constexpr std::size_t most_path_tokens = 12;

/// Distinct relations of layers that occur, each by the first such layer, in the order of the layout.
std::vector<std::uint32_t> list_layers(const Layout& layout) {
  std::map<std::uint32_t, std::uint32_t> by_relation;
  for (const std::uint32_t l : layout.order) by_relation.try_emplace(layout.layers[l].relations.front(), l);
  std::vector<std::uint32_t> layers;
  for (const auto& [relation, layer] : by_relation) layers.push_back(layer);
  return layers;
}

const layout::Pattern& get_pattern(const Layout& layout, std::uint32_t layer) { return layout.relations[layout.layers[layer].relations.front()].pattern(); }

/// A factor, divided by equal rows and readers. Classes are numbered by their first places.
class Factor {
public:
  std::vector<Places> members;                  ///< by class
  std::vector<std::vector<Places>> rows;        ///< by layer of the list and class: the classes read
  std::vector<std::uint64_t> arcs;              ///< by layer, between places
  std::vector<Images> generators;               ///< strong along the path
  Places path;                                  ///< classes
  bool has_twins = false;
  symmetry::Structure structure;
  std::vector<Vertex> of;                       ///< class of a place

  [[nodiscard]] Vertex classes() const { return static_cast<Vertex>(members.size()); }

  /// Nothing where it is too large, or its own twins are others than these.
  static std::optional<Factor> make(const Layout& layout, const std::vector<std::uint32_t>& layers, const Budget& budget) {
    Factor factor;
    std::vector<std::vector<Places>> read;
    if (!factor.read_rows(layout, layers, read)) return std::nullopt;
    factor.divide(read, layout.tokens);
    if (!factor.find_group(layout, layers, budget)) return std::nullopt;
    return factor;
  }

  /// By class: what walks that begin with a step in this layer add up to.
  [[nodiscard]] Numbers step(const Numbers& numbers, std::size_t layer) const {
    Numbers next(classes(), 0);
    for (Vertex q = 0; q < classes(); ++q) {
      field::Element sum = 0;
      for (const Vertex x : rows[layer][q]) sum = field::add(sum, field::multiply(numbers[x], members[x].size()));
      next[q] = sum;
    }
    return next;
  }

  /// What a step costs.
  [[nodiscard]] std::uint64_t count_steps(std::size_t layer) const {
    return std::accumulate(rows[layer].begin(), rows[layer].end(), std::uint64_t{0}, [](std::uint64_t sum, const Places& row) { return sum + row.size(); });
  }

private:
  bool read_rows(const Layout& layout, const std::vector<std::uint32_t>& layers, std::vector<std::vector<Places>>& read) {
    std::uint64_t all = 0;
    for (const std::uint32_t l : layers) all += get_pattern(layout, l).arc_count();
    if (all > most_factor_arcs) return false;
    std::vector<layout::Run> row;
    for (const std::uint32_t l : layers) {
      const layout::Pattern& pattern = get_pattern(layout, l);
      arcs.push_back(pattern.arc_count());
      auto& of_layer = read.emplace_back(layout.tokens);
      for (Vertex x = 0; x < layout.tokens; ++x) {
        pattern.row(x, row);
        for (const layout::Run& run : row) {
          for (std::uint64_t y = run.first; y <= run.last; y += run.step) of_layer[x].push_back(static_cast<Vertex>(y));
        }
        std::sort(of_layer[x].begin(), of_layer[x].end());
      }
    }
    return true;
  }

  void divide(const std::vector<std::vector<Places>>& read, Vertex size) {
    std::vector<std::vector<Places>> lists = read;
    for (const auto& of_layer : read) {
      auto& readers = lists.emplace_back(size);
      for (Vertex x = 0; x < size; ++x) {
        for (const Vertex y : of_layer[x]) readers[y].push_back(x);
      }
    }
    const auto alike = [&](Vertex x, Vertex y) { return std::all_of(lists.begin(), lists.end(), [&](const auto& list) { return list[x] == list[y]; }); };
    std::map<std::uint64_t, Places> by_print;
    of.resize(size);
    for (Vertex x = 0; x < size; ++x) {
      std::uint64_t print = 0;
      for (const auto& list : lists) {
        for (const Vertex y : list[x]) print = field::mix(print, y);
        print = field::mix(print, size);
      }
      Places& known = by_print[print];
      const auto same = std::find_if(known.begin(), known.end(), [&](Vertex q) { return alike(members[q].front(), x); });
      of[x] = same != known.end() ? *same : classes();
      if (same == known.end()) {
        known.push_back(classes());
        members.emplace_back();
      }
      members[of[x]].push_back(x);
    }
    for (const auto& of_layer : read) {
      auto& quotient = rows.emplace_back();
      for (const Places& places : members) {
        Places& row = quotient.emplace_back();
        for (const Vertex y : of_layer[places.front()]) {
          if (members[of[y]].front() == y) row.push_back(of[y]);
        }
      }
    }
  }

  bool find_group(const Layout& layout, const std::vector<std::uint32_t>& layers, const Budget& budget) {
    structure.vertices = layout.tokens;
    structure.vertex_colour.assign(layout.tokens, 0);
    for (const std::uint32_t l : layers) structure.relations.push_back({&layout.relations[layout.layers[l].relations.front()], {}});
    symmetry::SearchRecord record;
    const group::Group group = symmetry::compute_token_automorphisms(structure, layout.tokens, budget, &record);
    std::vector<Places> twins;
    for (const Places& places : members) {
      if (places.size() > 1) twins.push_back(places);
    }
    auto found = group.symmetric_classes;
    std::sort(found.begin(), found.end());
    if (!record.is_tight || record.inner_colours.size() != (twins.empty() ? 0 : 1) || found != twins || record.path.size() > most_path_tokens) return false;
    has_twins = !twins.empty();
    for (const Vertex v : record.path) path.push_back(of[v]);
    for (const symmetry::MovedPairs& moved : record.generators) {
      Images& images = generators.emplace_back(classes());
      std::iota(images.begin(), images.end(), Vertex{0});
      for (const auto& [x, y] : moved) images[of[x]] = of[y];
    }
    return true;
  }
};

/// An isomorphism of the quotients, as images of classes.
std::optional<Images> find_exchange(const Factor& down, const Factor& across, const Budget& budget) {
  if (down.structure.vertices != across.structure.vertices || down.classes() != across.classes()) return std::nullopt;
  Images images(down.classes());
  std::iota(images.begin(), images.end(), Vertex{0});
  if (down.rows == across.rows && down.members == across.members) return images;
  const auto places = symmetry::find_isomorphism(down.structure, across.structure, budget);
  if (!places) return std::nullopt;
  for (Vertex q = 0; q < down.classes(); ++q) images[q] = across.of[(*places)[down.members[q].front()]];
  return images;
}

class ProductSearch {
public:
  /// @param inner  by relation the colours in which twins read each other
  ProductSearch(Vertex width, Factor down, Factor across, std::vector<std::vector<std::int64_t>> inner, const Budget& budget)
      : width_(width), down_(std::move(down)), across_(std::move(across)), inner_(std::move(inner)), budget_(budget), columns_(across_.classes()), size_(down_.classes() * columns_) {}

  bool run() {
    // Below that a pair of maps may move two tokens alone, which are twins of another kind.
    if (std::min(down_.classes(), columns_) < 3) return false;
    make_generators();
    return are_levels_orbits();
  }

  [[nodiscard]] ProductGroup result(Vertex tokens) const {
    ProductGroup found;
    found.record.is_tight = true;
    if (down_.has_twins || across_.has_twins) found.record.inner_colours.push_back(inner_);
    for (const Vertex q : path_) found.record.path.push_back(first_token(q));
    group::Group& group = found.group;
    group.degree = tokens;
    const bool single = size_ == tokens;  // no twins: classes are tokens
    std::vector<Places> fibre(single ? 0 : size_);
    symmetry::Orbits orbits(tokens);
    for (Vertex q = 0; q < fibre.size(); ++q) {
      for (const Vertex r : down_.members[q / columns_]) {
        for (const Vertex c : across_.members[q % columns_]) fibre[q].push_back(r * width_ + c);
      }
      if (fibre[q].size() == 1) continue;
      group.order.multiply_factorial(static_cast<std::uint32_t>(fibre[q].size()));
      for (const Vertex x : fibre[q]) orbits.join(fibre[q].front(), x);
      group.symmetric_classes.push_back(fibre[q]);
    }
    Images images(tokens);
    for (const Images& generator : generators_) {
      symmetry::MovedPairs& moved = found.record.generators.emplace_back();
      if (single) {
        moved = symmetry::to_moved(generator);
        orbits.join(moved);
        group.generators.push_back(group::Permutation::from_images(generator));
        continue;
      }
      for (Vertex q = 0; q < size_; ++q) {
        if (generator[q] != q) moved.emplace_back(first_token(q), first_token(generator[q]));
        for (std::size_t k = 0; k < fibre[q].size(); ++k) images[fibre[q][k]] = fibre[generator[q]][k];
        orbits.join(fibre[q].front(), fibre[generator[q]].front());  // the others are with them
      }
      group.generators.push_back(group::Permutation::from_images(images));
    }
    for (const Vertex size : orbit_sizes_) group.order.multiply(mpz_class(size));
    group.orbit.resize(tokens);
    for (Vertex x = 0; x < tokens; ++x) group.orbit[x] = orbits.find(x);
    return found;
  }

private:
  [[nodiscard]] Vertex first_token(Vertex q) const { return down_.members[q / columns_].front() * width_ + across_.members[q % columns_].front(); }

  void make_generators() {
    const auto exchange = find_exchange(down_, across_, budget_);
    if (exchange) {
      // The same path on both sides, so that the exchange fixes every pair of it.
      Images back(columns_);
      for (Vertex q = 0; q < columns_; ++q) back[(*exchange)[q]] = q;
      across_.generators.clear();
      across_.path.clear();
      for (const Images& g : down_.generators) {
        Images& images = across_.generators.emplace_back(columns_);
        for (Vertex q = 0; q < columns_; ++q) images[q] = (*exchange)[g[back[q]]];
      }
      for (const Vertex q : down_.path) across_.path.push_back((*exchange)[q]);
      add_generator([&](Vertex r, Vertex c) { return std::pair{back[c], (*exchange)[r]}; });
    }
    for (const Images& g : down_.generators) add_generator([&](Vertex r, Vertex c) { return std::pair{g[r], c}; });
    for (const Images& g : across_.generators) add_generator([&](Vertex r, Vertex c) { return std::pair{r, g[c]}; });
    const std::size_t length = std::max(down_.path.size(), across_.path.size());
    for (std::size_t k = 0; k < length; ++k) {
      const Vertex r = k < down_.path.size() ? down_.path[k] : 0, c = k < across_.path.size() ? across_.path[k] : 0;
      path_.push_back(r * columns_ + c);
    }
    // Off that diagonal the exchange moves.
    if (exchange) path_.push_back((*exchange)[0] == 0 ? 1 : 0);
  }

  template <class Map>
  void add_generator(const Map& map) {
    Images& images = generators_.emplace_back(size_);
    for (Vertex row = 0, q = 0; row < down_.classes(); ++row) {
      for (Vertex column = 0; column < columns_; ++column, ++q) {
        const auto [r, c] = map(row, column);
        images[q] = r * columns_ + c;
      }
    }
  }

  bool are_levels_orbits() {
    hash_.assign(size_, 0);
    if (!mark(Vertex{0}, Taken::no)) return false;  // how long it takes to reach everything
    if (!mark(std::nullopt, Taken::yes)) return false;
    for (std::size_t k = 0; k < path_.size(); ++k) {
      const Vertex orbit = measure_orbit(k);
      if (orbit < 2 || std::count(hash_.begin(), hash_.end(), hash_[path_[k]]) != orbit) return false;
      orbit_sizes_.push_back(orbit);
      if (!mark(path_[k], Taken::yes)) return false;
    }
    std::vector<std::uint64_t> sorted = hash_;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  }

  /// Under the generators that fix the path above level k.
  [[nodiscard]] Vertex measure_orbit(std::size_t k) const {
    std::vector<const Images*> fixing;
    for (const Images& g : generators_) {
      if (std::all_of(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(k), [&](Vertex q) { return g[q] == q; })) fixing.push_back(&g);
    }
    Places orbit{path_[k]};
    std::vector<bool> met(size_, false);
    met[path_[k]] = true;
    for (std::size_t at = 0; at < orbit.size(); ++at) {
      for (const Images* g : fixing) {
        const Vertex y = (*g)[orbit[at]];
        if (met[y]) continue;
        met[y] = true;
        orbit.push_back(y);
      }
    }
    return static_cast<Vertex>(orbit.size());
  }

  /// Takes the numbers of walks to this vertex, or to all of them, into the hashes. False when walks are too long, as on a narrow grid.
  enum class Taken { no, yes };
  bool mark(std::optional<Vertex> to, Taken taken) {
    const std::size_t layers = down_.rows.size();
    for (std::size_t offset = 0; offset < layers; ++offset) {
      Numbers f(down_.classes(), to ? 0 : 1), g(columns_, to ? 0 : 1);
      if (to) f[*to / columns_] = g[*to % columns_] = 1;
      // Until everything is reached, and a few steps on; without one layer alone on the way.
      std::size_t left = late_steps;
      for (std::size_t t = 1; left > 0 && t <= down_.classes() + columns_ + late_steps; ++t) {
        budget_.poll();
        if ((steps_ += down_.count_steps((offset + t) % layers) + across_.count_steps((offset + t) % layers)) > most_steps_per_vertex * size_) return false;
        f = down_.step(f, (offset + t) % layers);
        g = across_.step(g, (offset + t) % layers);
        const bool late = to ? reaches_all(f) && reaches_all(g) : t >= full_after_;
        if (late) --left;
        if (to && !late) full_after_ = std::max(full_after_, t);
        if (!late && t + 1 != layers && t >= 3) continue;
        if (++taken_ > most_taken) return false;
        if (taken == Taken::yes) take(f, g);
      }
    }
    return true;
  }

  static bool reaches_all(const Numbers& numbers) { return std::find(numbers.begin(), numbers.end(), 0u) == numbers.end(); }

  /// A hash is the sum of all numbers, each times a factor of its own, so different hashes have different numbers. What is the same for all tokens
  /// tells nothing apart, and only few tokens have short walks to one.
  void take(const Numbers& f, const Numbers& g) {
    const auto is_constant = [](const Numbers& numbers) { return std::all_of(numbers.begin(), numbers.end(), [&](field::Element x) { return x == numbers.front(); }); };
    if (is_constant(f) && is_constant(g)) return;
    const field::Element factor = field::multiply(field::mix(taken_, 0x5ca1e), 1);
    std::vector<std::pair<Vertex, field::Element>> across;
    for (Vertex c = 0; c < columns_; ++c) {
      if (g[c] != 0) across.emplace_back(c, field::multiply(factor, g[c]));
    }
    for (Vertex r = 0; r < down_.classes(); ++r) {
      if (f[r] == 0) continue;
      std::uint64_t* const row = hash_.data() + std::size_t{r} * columns_;
      for (const auto& [c, x] : across) row[c] = field::add(row[c], field::multiply(f[r], x));
    }
  }

  static constexpr std::size_t late_steps = 4;
  static constexpr std::uint64_t most_steps_per_vertex = 256;
  static constexpr std::size_t most_taken = 512;
  Vertex width_;
  Factor down_, across_;
  std::vector<std::vector<std::int64_t>> inner_;
  const Budget& budget_;
  Vertex columns_, size_;
  std::vector<Images> generators_;
  Places path_;
  std::vector<std::uint64_t> hash_;
  std::vector<Vertex> orbit_sizes_;
  std::size_t full_after_ = 0;
  std::uint64_t steps_ = 0;
  std::size_t taken_ = 0;
};

// Rows of one colour, and one head a layer.
bool is_plain(const Layout& layout) {
  return layout.registers == 0 && !layout.order.empty() &&
         std::all_of(layout.order.begin(), layout.order.end(), [&](std::uint32_t l) {
           const auto& heads = layout.layers[l].relations;
           return heads.size() == 1 && layout.relations[heads.front()].is_plain();
         }) &&
         std::all_of(layout.vertex_colour.begin(), layout.vertex_colour.end(), [&](std::uint64_t c) { return c == layout.vertex_colour.front(); });
}

/// Block masks are grids too, whose columns are all alike: nothing to be had there, and many rows to read.
bool has_long_stretches(const Layout& layout) {
  constexpr Vertex long_stretch = 32;
  const auto is_long = [&](std::uint32_t relation) { return layout.relations[relation].pattern().same_row_until(0) >= long_stretch; };
  return std::all_of(layout.order.begin(), layout.order.end(), [&](std::uint32_t l) { return std::all_of(layout.layers[l].relations.begin(), layout.layers[l].relations.end(), is_long); });
}

}  // namespace

std::optional<ProductGroup> find_product_group(const Layout& layout, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  if (!is_plain(layout) || has_long_stretches(layout)) return std::nullopt;
  const std::shared_ptr<const GridFactors> grid = find_grid_factors(layout, budget);
  if (!grid) return std::nullopt;
  const std::vector<std::uint32_t> layers = list_layers(layout);
  if (auto lines = find_line_group(layout, *grid, layers, budget)) return lines;
  auto down = Factor::make(grid->down, layers, budget);
  if (!down) return std::nullopt;
  const bool alike = grid->down.tokens == grid->across.tokens &&
                     std::all_of(layers.begin(), layers.end(), [&](std::uint32_t l) { return get_pattern(grid->down, l) == get_pattern(grid->across, l); });
  auto across = alike ? down : Factor::make(grid->across, layers, budget);
  if (!across) return std::nullopt;
  std::vector<std::vector<std::int64_t>> inner;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    // The factors count the own token as read: rows that leave it out have fewer arcs.
    const layout::Relation& relation = layout.relations[layout.layers[layers[k]].relations.front()];
    if (down->arcs[k] * across->arcs[k] != relation.pattern().arc_count()) return std::nullopt;
    inner.push_back({relation.colour(0, 0)});
  }
  budget.ask(std::uint64_t{layout.tokens} * 64);
  ProductSearch search(grid->width, *std::move(down), *std::move(across), std::move(inner), budget);
  if (!search.run()) return std::nullopt;
  return search.result(layout.tokens);
}

group::Group compute_layout_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord* record) {
  symmetry::SearchRecord named;
  constexpr Threshold<Vertex> few_tokens{4096, 2, "product group"};
  for (const auto find : {find_named_group, find_circulant_group, find_interval_group, find_cross_group}) {
    if ((find == find_interval_group || find == find_cross_group) && layout.tokens < few_tokens) continue;  // a search takes no time
    if (auto found = find(layout, budget, named)) {
      if (record != nullptr) *record = std::move(named);
      return *std::move(found);
    }
  }
  if (layout.tokens >= few_tokens) {
    if (!has_long_stretches(layout)) {
      if (auto found = symmetry::find_listed_group(layout, budget, record)) return *std::move(found);
    }
    if (auto found = find_product_group(layout, budget)) {
      if (record != nullptr) *record = std::move(found->record);
      return std::move(found->group);
    }
  }
  return symmetry::compute_layout_group(layout, budget, record);
}

}  // namespace sightline::sight
