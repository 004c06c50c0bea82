#include "sightline/design/take_away.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sightline/base/npy.hpp"

namespace sightline::design {

namespace {

constexpr std::array<const char*, 5> kind_colours = {"#1b6ca8", "#c8553d", "#588157", "#7b2d8b", "#8a6d3b"};
constexpr std::string_view edges_head = "# reader read (sightline design)\n";
static_assert(edges_head.find(take_away_mark) != std::string_view::npos);
const std::string svg_comment = fmt::format("<!-- {} -->\n", take_away_mark);

/// The mark as the comment of the archive, which ends with it and its length (0 as written).
std::string mark_archive(std::string npz) {
  npz[npz.size() - 2] = static_cast<char>(take_away_mark.size());
  return npz.append(take_away_mark);
}

}  // namespace

std::string write_npz(const std::vector<std::uint8_t>& values, std::size_t n) {
  return mark_archive(make_npz({make_array("mask", {n, n}, values)}));
}

std::string write_flex_attention(const std::vector<std::vector<std::vector<std::uint32_t>>>& rows, const std::vector<std::size_t>& order) {
  std::string text =
      "# Masks for torch.nn.attention.flex_attention (sightline design): mask_mods[layer], row = reader. Registers are the last positions.\n"
      "#   block_mask = create_block_mask(mask_mods[0], None, None, VERTICES, VERTICES, device=\"cpu\")\n"
      "#   flex_attention(query, key, value, block_mask=block_mask)\n"
      "import torch\n\n";
  text += fmt::format("VERTICES = {}\nROWS = [\n", rows.empty() ? 0 : rows[0].size());
  for (const auto& pattern : rows) {
    text += "    [\n";
    for (const auto& row : pattern) text += fmt::format("        [{}],\n", fmt::join(row, ", "));
    text += "    ],\n";
  }
  text += fmt::format(
      "]\nORDER = [{}]  # pattern of each mixing layer\n\n\n"
      "def make_mask_mod(rows, device=\"cpu\"):\n"
      "    mask = torch.zeros(VERTICES, VERTICES, dtype=torch.bool, device=device)\n"
      "    for reader, read in enumerate(rows):\n"
      "        mask[reader, read] = True\n\n"
      "    def mask_mod(b, h, q_idx, kv_idx):\n"
      "        return mask[q_idx, kv_idx]\n\n"
      "    return mask_mod\n\n\n"
      "mask_mods = [make_mask_mod(ROWS[k]) for k in ORDER]\n",
      fmt::join(order, ", "));
  return text;
}

std::string draw_front(const Design& design) {
  constexpr double width = 640, height = 400, margin = 60, legend = 140; // the legend stands beside the points, not on them
  double most_layers = 1, most_pairs = 1;
  for (const FrontPoint& p : design.front) {
    most_layers = std::max(most_layers, static_cast<double>(p.layers));
    most_pairs = std::max(most_pairs, static_cast<double>(p.pairs));
  }
  // Pairs on a logarithmic axis: fronts run from n to n^2.
  const auto place_layers = [&](double layers) { return margin + (width - 2 * margin) * layers / (most_layers + 1); };
  const auto place_pairs = [&](double pairs) { return height - margin - (height - 2 * margin) * std::log1p(pairs) / std::log1p(most_pairs); };
  const auto x = [&](const FrontPoint& p) { return place_layers(static_cast<double>(p.layers)); };
  const auto y = [&](const FrontPoint& p) { return place_pairs(static_cast<double>(p.pairs)); };
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n{2}"
                                "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n", width + legend, height, svg_comment);
  svg += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"black\"/>\n", margin, margin / 2, height - margin, width - margin / 2);
  svg += fmt::format("<text x=\"{}\" y=\"{}\">mixing layers</text>\n<text x=\"8\" y=\"20\">attended pairs (logarithmic)</text>\n", width / 2 - 40, height - 16);
  const double stride = std::ceil(most_layers / 12);
  for (double layers = stride; layers <= most_layers; layers += stride)
    svg += fmt::format("<path d=\"M{0:.1f} {1}v4\" stroke=\"black\"/><text x=\"{0:.1f}\" y=\"{2}\" text-anchor=\"middle\">{3}</text>\n", place_layers(layers), height - margin, height - margin + 18, layers);
  // Powers of ten; below a thousand 1, 2, 5 between them would crowd the foot of the axis, so only where they lie a line apart.
  double last_mark = height;
  for (double power = 1; power <= most_pairs; power *= 10)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double at = place_pairs(power * digit);
      if (power * digit > most_pairs || last_mark - at < 16 || (digit != 1 && most_pairs >= 1000)) continue;
      svg += fmt::format("<path d=\"M{0} {1:.1f}h-4\" stroke=\"black\"/><text x=\"{2}\" y=\"{3:.1f}\" text-anchor=\"end\">{4:.7g}</text>\n", margin, at, margin - 8, at + 4, power * digit);
      last_mark = at;
    }
  std::vector<const FrontPoint*> best;
  for (const FrontPoint& p : design.front) {
    if (p.nondominated) best.push_back(&p);
  }
  std::string line;
  for (const FrontPoint* p : best) line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x(*p), y(*p));
  if (!line.empty()) svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#999\" stroke-dasharray=\"4 3\"/>\n", line);
  std::set<PointKind> kinds;
  for (const FrontPoint& p : design.front) {
    kinds.insert(p.kind);
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" fill-opacity=\"{}\"><title>{}: {} layers, {} pairs, {} registers, {}</title></circle>\n", x(p), y(p),
                       kind_colours[static_cast<std::size_t>(p.kind)], p.nondominated ? "1" : "0.35", to_word(p.kind), p.layers, p.pairs, p.registers, p.proved ? "proved" : "best found");
    if (p.nondominated) svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}, {}</text>\n", x(p) + 8, y(p) + 4, p.layers, p.pairs);
  }
  double row = 40;
  for (const PointKind kind : kinds) {
    svg += fmt::format("<circle cx=\"{0}\" cy=\"{1}\" r=\"5\" fill=\"{2}\"/><text x=\"{3}\" y=\"{4}\">{5}</text>\n", width + 10, row, kind_colours[static_cast<std::size_t>(kind)], width + 22, row + 4, to_word(kind));
    row += 18;
  }
  return svg + "</svg>\n";
}

std::string draw_pattern(const std::vector<std::vector<std::uint32_t>>& rows) {
  const std::size_t n = rows.size();
  const double cell = std::max(1.0, 480.0 / static_cast<double>(std::max<std::size_t>(n, 1)));
  const double side = cell * static_cast<double>(n);
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{0:.0f}\" viewBox=\"0 0 {1} {1}\" shape-rendering=\"crispEdges\">\n{2}"
                                "<rect width=\"{1}\" height=\"{1}\" fill=\"#eee\"/>\n<path fill=\"#1b6ca8\" d=\"", side, n, svg_comment);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < rows[i].size();) {
      std::size_t end = k + 1;
      while (end < rows[i].size() && rows[i][end] == rows[i][end - 1] + 1) ++end;
      svg += fmt::format("M{} {}h{}v1h-{}z", rows[i][k], i, end - k, end - k);
      k = end;
    }
  }
  return svg + "\"/>\n</svg>\n";
}

std::string draw_orbits(const Orbitals& orbitals) {
  const std::size_t n = orbitals.degree();
  const double side = std::max(1.0, 480.0 / static_cast<double>(std::max<std::size_t>(n, 1))) * static_cast<double>(n);
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{0:.0f}\" viewBox=\"0 0 {1} {1}\" shape-rendering=\"crispEdges\">\n{2}", side, n, svg_comment);
  std::vector<Point> row;
  for (std::uint32_t k = 0; k < orbitals.list().size(); ++k) {
    const Orbital& orbital = orbitals.list()[k];
    // Steps of the golden angle keep neighbouring numbers apart; points are darker than pairs.
    svg += fmt::format("<path fill=\"hsl({:.1f},60%,{}%)\" d=\"", std::fmod(137.508 * k, 360.0), orbital.is_diagonal() ? 35 : 55 + 10 * (k % 3));
    for (Point i = 0; i < n; ++i) {
      orbitals.read_row(k, i, row);
      for (std::size_t first = 0, end = 0; first < row.size(); first = end) {
        for (end = first + 1; end < row.size() && row[end] == row[end - 1] + 1; ++end) {}
        svg += fmt::format("M{} {}h{}v1h-{}z", row[first], i, end - first, end - first);
      }
    }
    svg += fmt::format("\"><title>{} of {}, {}</title></path>\n", orbital.is_diagonal() ? "orbit" : "orbit of pairs", orbital.is_diagonal() ? fmt::format("point {}", orbital.from) : fmt::format("({}, {})", orbital.from, orbital.to), orbital.size);
  }
  return svg + "</svg>\n";
}

namespace {

/// The columns that one row of a layer reads, any head, ascending.
void read_layer_row(const layout::Layout& layout, const layout::Layer& layer, layout::Vertex i, std::vector<std::uint32_t>& out) {
  out.clear();
  for (const std::uint32_t r : layer.relations) {
    for (const layout::Run& run : layout.relations[r].pattern().row(i)) {
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) out.push_back(static_cast<std::uint32_t>(j));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

void write_sparse(const layout::Layout& layout, std::size_t k, const std::string& stem, const WriteFile& write, const Budget& budget) {
  std::string edges(edges_head);
  std::string indices, starts;
  std::vector<std::uint32_t> row;
  std::uint64_t arcs = 0;
  const auto put = [](std::string& bytes, auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(starts, arcs);
  for (layout::Vertex i = 0; i < layout.vertices(); ++i) {
    budget.poll();
    read_layer_row(layout, layout.layers[k], i, row);
    for (const std::uint32_t j : row) {
      fmt::format_to(std::back_inserter(edges), "{} {}\n", i, j);
      put(indices, j);
    }
    arcs += row.size();
    put(starts, arcs);
  }
  write(fmt::format("{}-{}.edges", stem, k + 1), edges);
  const std::uint64_t n = layout.vertices();
  const auto size = static_cast<std::int64_t>(n);
  write(fmt::format("{}-{}.npz", stem, k + 1),
        mark_archive(make_npz({{"indices", "<i4", {arcs}, std::move(indices)}, {"indptr", "<i8", {n + 1}, std::move(starts)}, {"format", "|S3", {}, "csr"},
                  make_array("shape", {2}, std::vector<std::int64_t>{size, size}), make_array("data", {arcs}, std::vector<std::uint8_t>(arcs, 1))})));
}

}  // namespace

std::vector<std::string> make_files(const architecture::Architecture& architecture, std::uint64_t pairs, const std::string& stem, const WriteFile& write,
                                    const Budget& budget) {
  std::vector<std::string> left_out;
  const std::uint64_t vertices = static_cast<std::uint64_t>(architecture.tokens) + architecture.input.registers.size();
  const bool is_long = vertices > most_vertices_written;
  if (is_long) {
    if (const auto formulas = write_flex_formulas(architecture)) write(stem + ".py", *formulas);
    else left_out.push_back(fmt::format("{}.py: above {} tokens and registers FlexAttention masks are formulas, and these patterns have none", stem, most_vertices_written));
    left_out.push_back(fmt::format("drawings of patterns: above {} tokens and registers", most_vertices_written));
    // A loop on every vertex of every pattern, at most.
    const std::uint64_t arcs = pairs + vertices * architecture.layers.size();
    if (pairs > most_arcs_written || arcs > most_arcs_written) {
      left_out.push_back(fmt::format("masks and edge lists: {} arcs, at most {} are written", arcs, most_arcs_written));
      return left_out;
    }
  }
  const layout::Layout layout = architecture::make_layout(architecture, budget);
  std::vector<std::vector<std::vector<std::uint32_t>>> patterns;
  for (std::size_t k = 0; k < layout.layers.size(); ++k) {
    if (is_long) {
      write_sparse(layout, k, stem, write, budget);
      continue;
    }
    const std::size_t n = layout.vertices();
    std::vector<std::vector<std::uint32_t>> rows(n);
    std::vector<std::uint8_t> mask(n * n, 0);
    std::string edges(edges_head);
    for (std::uint32_t i = 0; i < n; ++i) {
      budget.poll();
      read_layer_row(layout, layout.layers[k], i, rows[i]);
      for (const std::uint32_t j : rows[i]) {
        mask[i * n + j] = 1;
        fmt::format_to(std::back_inserter(edges), "{} {}\n", i, j);
      }
    }
    write(fmt::format("{}-{}.npz", stem, k + 1), write_npz(mask, n));
    write(fmt::format("{}-{}.edges", stem, k + 1), edges);
    write(fmt::format("{}-{}.svg", stem, k + 1), draw_pattern(rows));
    patterns.push_back(std::move(rows));
  }
  if (!is_long) write(stem + ".py", write_flex_attention(patterns, {layout.order.begin(), layout.order.end()}));
  return left_out;
}

}  // namespace sightline::design
