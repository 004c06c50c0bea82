// All isomorphisms of the views of a grid of products at once (docs/theory.md 16.26 has the proofs).
//
// Rows N(r, c) = A(r) x B(c) hold their reader, so t_(r,c)(x, y) = min(t_r(x), t_c(y)), and the tokens with h left are a product X_r x X_c. For h at
// which all their rows are in sight, an isomorphism keeps which classes of equal rows have names that overlap most: the Cartesian skeleton of the names
// (Hammack, Imrich), the product of two paths here. So it is a pair of maps of the paths, each the same way round or the other, or it exchanges the paths.
//  1. Hashes of the paths tell roots apart, and say which of these maps of a root's own view may exist; those are to be symmetries of the layout.
//  2. What is left keeps every class of X_r x X_c in place; from there on cells are followed outwards, in both factors by themselves, to the tokens with
//     nothing left.
#include "sightline/sight/product_views.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

// Rows of one colour, and one head a layer: the factors then say all about the rows.
bool is_plain(const Layout& layout, const std::vector<std::uint64_t>& first) {
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    const auto& heads = layout.layers[l].relations;
    if (first[l] != 0 && (heads.size() != 1 || !layout.relations[heads.front()].is_plain())) return false;
  }
  return layout.registers == 0 && std::all_of(layout.vertex_colour.begin(), layout.vertex_colour.end(), [&](std::uint64_t c) { return c == layout.vertex_colour.front(); });
}

}  // namespace

std::optional<ProductViews> ProductViews::make(const Layout& layout, std::uint64_t depth, const Budget& budget) {
  const ProductDepth product_depth(layout, depth);
  if (layout.order.empty() || product_depth.last_first > depth || !is_plain(layout, product_depth.first)) return std::nullopt;
  const std::shared_ptr<const GridFactors> grid = find_grid_factors(layout, budget);
  if (!grid) return std::nullopt;
  ProductViews views(budget, grid->width);
  for (const Layout* factor : {&grid->down, &grid->across}) {
    auto line = ProductLine::make(*factor, product_depth);
    if (!line) return std::nullopt;
    views.lines_.push_back(*std::move(line));
  }
  for (std::uint32_t l = 0; l < layout.layers.size(); ++l) {
    if (product_depth.first[l] == 0) continue;
    // The factors count the own token as read: rows that leave it out have fewer arcs.
    const std::uint64_t arcs = layout.relations[layout.layers[l].relations.front()].pattern().arc_count();
    if (views.lines_[0].count_arcs(l) * views.lines_[1].count_arcs(l) != arcs) return std::nullopt;
    views.names_.push_back({product_depth.last_first, l});
  }
  if (const auto level = product_depth.find_second_level(); level && views.names_.size() > 1) views.names_.push_back({*level, std::nullopt});
  views.exchangeable_ = views.lines_[0].has_rows_of(views.lines_[1]);
  return views;
}

ProductViews::Answer ProductViews::explain(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
  for (const ProductName& name : names_) {
    for (ProductLine& line : lines_) line.set_name(name);
    const bool paths = std::all_of(roots.begin(), roots.end(), [&](Vertex a) {
      budget_.poll();
      return lines_[0].view(a / width_).is_path && lines_[1].view(a % width_).is_path;
    });
    if (paths) return explain_paths(roots, number);
  }
  return {};
}

ProductViews::Answer ProductViews::explain_paths(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
  constexpr std::size_t most_kinds = 64;
  std::set<std::pair<std::uint64_t, std::uint64_t>> met;
  std::vector<Cells> kinds;
  Answer answer;
  for (const Vertex a : roots) {
    const ProductLine::View &row = lines_[0].view(a / width_), &column = lines_[1].view(a % width_);
    // Both ways round, and either factor first.
    const auto both = std::minmax(std::min(row.forward, row.backward), std::min(column.forward, column.backward));
    if (!met.insert(both).second || !explains_symmetries(row, column)) return {};
    const std::uint64_t level = std::min(row.whole, column.whole);
    const Cells cells{row.cells[level], column.cells[level]};
    if (std::find(kinds.begin(), kinds.end(), cells) != kinds.end()) continue;
    if (kinds.size() == most_kinds) return {};
    kinds.push_back(cells);
    find_mixed(cells, a, number, answer.suspects);
  }
  answer.explained = answer.suspects.empty();
  return answer;
}

// Maps of the two paths that a view may have onto itself.
bool ProductViews::explains_symmetries(const ProductLine::View& row, const ProductLine::View& column) const {
  for (const ProductLine::View* view : {&row, &column}) {
    const ProductLine& line = lines_[view == &row ? 0 : 1];
    if (view->forward == view->backward && (!line.is_symmetric() || view->from + view->to + 1 != line.size())) return false;
  }
  if (row.forward != column.forward) return row.forward != column.backward;
  return exchangeable_ && row.from == column.from && row.to == column.to;
}

// Tokens of one cell that the group does not exchange freely: neighbours along a grid row and along a column, other than the root.
void ProductViews::find_mixed(const Cells& cells, Vertex root, const std::vector<Vertex>& number, std::vector<Suspect>& found) const {
  const auto& [rows, columns] = cells;
  const Vertex height = lines_[0].size();
  if (rows->size() == height && columns->size() == width_) return;
  std::optional<Suspect> across, down, apart;
  for (std::size_t p = 0; p < rows->size(); ++p) {
    budget_.poll();
    const Vertex row_end = p + 1 < rows->size() ? (*rows)[p + 1] : height;
    for (Vertex r = (*rows)[p]; r < row_end; ++r) {
      for (std::size_t q = 0; q < columns->size(); ++q) {
        const Vertex begin = (*columns)[q], end = q + 1 < columns->size() ? (*columns)[q + 1] : width_;
        const Vertex lead = (*rows)[p] * width_ + begin;
        for (Vertex c = begin; c < end; ++c) {
          const Vertex v = r * width_ + c;
          if (number[v] == number[lead]) continue;
          const Vertex left = c > begin ? v - 1 : v, above = r > (*rows)[p] ? v - width_ : v;
          if (!across && number[left] != number[v] && left != root && v != root) across = {root, left, v};
          if (!down && number[above] != number[v] && above != root && v != root) down = {root, above, v};
          if (!apart) apart = {root, lead, v};
          if (across && down) break;
        }
      }
    }
  }
  for (const auto& suspect : {across, down}) {
    if (suspect) found.push_back(*suspect);
  }
  if (apart && !across && !down) found.push_back(*apart);
}

ProductViews::Answer explain_products(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                                      const Budget& budget) {
  constexpr Threshold<Vertex> few_tokens{4096, 2, "product views"};
  if (layout.tokens < few_tokens) return {};
  auto products = ProductViews::make(layout, depth, budget);
  return products ? products->explain(roots, number) : ProductViews::Answer{};
}

}  // namespace sightline::sight
