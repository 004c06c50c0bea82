#include "sightline/design/candidate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/verdict/certify.hpp"

namespace sightline::design {

using layout::PatternKind;
using layout::PatternSpec;

namespace {

/// A quoted TOML string.
std::string quote(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

std::vector<std::vector<std::int64_t>> list_rows(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                                 const Budget& budget) {
  std::vector<std::vector<std::int64_t>> rows(orbitals.degree());
  std::vector<Point> part;
  for (Point i = 0; i < orbitals.degree(); ++i) {
    budget.poll();
    for (const std::uint32_t k : chosen) {
      orbitals.read_row(k, i, part);
      rows[i].insert(rows[i].end(), part.begin(), part.end());
    }
    std::sort(rows[i].begin(), rows[i].end());
  }
  return rows;
}

} // namespace

std::uint64_t count_pairs(const std::vector<LayerPlan>& layers, std::uint64_t depth) {
  std::uint64_t pairs = 0, once = 0;
  for (const LayerPlan& layer : layers)
    once += layer.pairs;
  pairs = depth / layers.size() * once;
  for (std::uint64_t q = 0; q < depth % layers.size(); ++q)
    pairs += layers[q].pairs;
  return pairs;
}

std::uint64_t count_pattern_pairs(const Candidate& candidate, std::uint64_t depth) {
  std::uint64_t pairs = 0;
  for (std::size_t q = 0; q < std::min<std::uint64_t>(candidate.layers.size(), depth); ++q) {
    const LayerPlan& plan = candidate.layers[q];
    const bool repeated =
        std::any_of(candidate.layers.begin(), candidate.layers.begin() + static_cast<std::ptrdiff_t>(q),
                    [&](const LayerPlan& before) { return before.pattern == plan.pattern; });
    if (!repeated)
      pairs += plan.pairs;
  }
  return pairs;
}

PatternSpec make_rows_spec(std::vector<std::vector<std::int64_t>> rows) {
  PatternSpec spec;
  spec.kind = PatternKind::rows;
  spec.rows = std::move(rows);
  return spec;
}

LayerPlan make_gather(Point tokens) {
  std::vector<std::vector<std::int64_t>> rows(tokens + 1u);
  for (Point i = 0; i < tokens; ++i) {
    rows[i].push_back(i);
    rows[tokens].push_back(i);
  }
  return {make_rows_spec(std::move(rows)), tokens};
}

LayerPlan make_coloured_gather(const Orbitals& orbitals) {
  const Point n = orbitals.degree();
  PatternSpec spec;
  spec.kind = PatternKind::matrix;
  spec.matrix.assign(n + 1u, std::vector<std::int64_t>(n + 1u, 0));
  for (Point i = 0; i < n; ++i) {
    spec.matrix[i][i] = 1;
    spec.matrix[n][i] = 1 + static_cast<std::int64_t>(orbitals.number(i, i));
  }
  return {std::move(spec), n};
}

LayerPlan make_broadcast(Point tokens) {
  std::vector<std::vector<std::int64_t>> rows(tokens + 1u);
  for (Point i = 0; i < tokens; ++i)
    rows[i] = {i, tokens};
  rows[tokens].push_back(tokens);
  return {make_rows_spec(std::move(rows)), tokens};
}

PatternSpec describe_union(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen, const Budget& budget) {
  const auto n = static_cast<std::int64_t>(orbitals.degree());
  PatternSpec spec;
  if (chosen.size() == orbitals.list().size())
    return spec; // full
  std::vector<std::vector<std::int64_t>> rows = list_rows(orbitals, chosen, budget);
  bool circulant = true;
  for (std::int64_t i = 1; circulant && i < n; ++i) {
    circulant = rows[static_cast<std::size_t>(i)].size() == rows[0].size();
    for (std::size_t k = 0; circulant && k < rows[0].size(); ++k) {
      const std::int64_t j = (rows[0][k] + i) % n;
      circulant =
          std::binary_search(rows[static_cast<std::size_t>(i)].begin(), rows[static_cast<std::size_t>(i)].end(), j);
    }
  }
  if (circulant) {
    spec.kind = PatternKind::circulant;
    spec.offsets = rows[0];
    return spec;
  }
  bool loops = true, no_loops = true, symmetric = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto& row = rows[static_cast<std::size_t>(i)];
    const bool own = std::binary_search(row.begin(), row.end(), i);
    loops = loops && own;
    no_loops = no_loops && !own;
    for (const std::int64_t j : row) {
      symmetric = symmetric && std::binary_search(rows[static_cast<std::size_t>(j)].begin(),
                                                  rows[static_cast<std::size_t>(j)].end(), i);
    }
  }
  if (!loops && !no_loops)
    return make_rows_spec(std::move(rows));
  spec.kind = PatternKind::graph;
  spec.loops = loops;
  spec.directed = !symmetric;
  for (std::int64_t i = 0; i < n; ++i) {
    for (const std::int64_t j : rows[static_cast<std::size_t>(i)]) {
      if (i != j && (!symmetric || i < j))
        spec.edges.emplace_back(i, j);
    }
  }
  return spec;
}

PatternSpec describe_colours(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                             std::uint64_t registers) {
  const Point n = orbitals.degree();
  std::vector<std::int64_t> colour(orbitals.list().size(), 0);
  for (std::size_t k = 0; k < chosen.size(); ++k)
    colour[chosen[k]] = static_cast<std::int64_t>(k) + 1;
  PatternSpec spec;
  spec.kind = PatternKind::matrix;
  spec.matrix.assign(n + registers, std::vector<std::int64_t>(n + registers, 0));
  for (Point i = 0; i < n; ++i) {
    for (Point j = 0; j < n; ++j)
      spec.matrix[i][j] = colour[orbitals.number(i, j)];
  }
  return spec;
}

architecture::Architecture make_architecture(const Request& request, const Candidate& candidate, std::uint64_t depth) {
  // The reader checks what a user may have written, and fills in the defaults.
  architecture::Architecture result;
  if (request.base) {
    result = *request.base;
    result.depth = architecture::Depth::listed;
    result.mixer.pattern = PatternSpec{};
    result.mixer.heads = 1;
    result.comments.clear();
    result.warnings.clear();
  } else {
    const std::string text = fmt::format("tokens = {}\ndim = {}\n[mixer]\nkernel = {}\n", request.group.degree,
                                         request.dim, quote(request.kernel));
    try {
      result = architecture::parse_architecture(text, "--kernel");
    } catch (const InputError& error) {
      // Only the kernel can be wrong: the place in this file, which nobody has written, says nothing.
      const std::string message = error.what();
      const std::size_t start = message.find(": ");
      throw InputError(start == std::string::npos ? message : "--kernel" + message.substr(start));
    }
  }
  result.file = "design.toml";
  result.name = candidate.description;
  result.target.target_class = request.causal ? architecture::TargetClass::causal : architecture::TargetClass::all;
  result.target.symmetry_is_layout = false;
  result.target.symmetry_expression.clear();
  result.target.symmetry_generators.clear();
  if (!request.symmetry.empty()) {
    result.target.symmetry_expression = request.symmetry;
  } else if (request.group.is_trivial()) {
    result.target.symmetry_expression = fmt::format("trivial({})", request.group.degree);
  } else {
    for (const auto& g : group::list_generators(request.group, ~std::size_t{0}))
      result.target.symmetry_generators.push_back(group::to_cycles(g));
  }
  if (candidate.relative)
    result.mixer.relative.scheme = architecture::RelativeScheme::learned;
  result.input.registers.assign(candidate.registers, "register");
  architecture::LayerSpec layer;
  layer.mixer = result.mixer;
  layer.feedforward = result.feedforward;
  layer.norm = result.norm;
  result.layers.clear();
  const auto add = [&](const LayerPlan& plan, std::uint64_t repeat) {
    layer.mixer.pattern = plan.pattern;
    layer.mixer.heads = architecture::count_heads(plan.pattern);
    layer.repeat = static_cast<std::int64_t>(repeat);
    result.layers.push_back(layer);
  };
  if (candidate.layers.size() == 1) {
    result.mixer.pattern = candidate.layers[0].pattern;
    result.mixer.heads = architecture::count_heads(candidate.layers[0].pattern);
    add(candidate.layers[0], depth);
  } else {
    for (std::uint64_t q = 0; q < depth; ++q)
      add(candidate.layers[q % candidate.layers.size()], 1);
  }
  return architecture::to_normal_form(std::move(result));
}

FrontPoint make_point(const Request& request, const Candidate& candidate, std::uint64_t depth) {
  FrontPoint point;
  point.architecture = make_architecture(request, candidate, depth);
  point.kind = candidate.kind;
  point.layers = depth;
  point.pairs = count_pairs(candidate.layers, depth);
  point.pattern_pairs = count_pattern_pairs(candidate, depth);
  point.registers = candidate.registers;
  point.loops_chosen = candidate.loops_chosen;
  point.description = candidate.description;
  return point;
}

std::optional<FrontPoint> certify_candidate(const Request& request, const Candidate& candidate, std::uint64_t at_least,
                                            const Budget& budget, bool* undecided) {
  std::uint64_t depth = std::max<std::uint64_t>(at_least, 1);
  if (candidate.whole_list_once)
    depth = candidate.layers.size();
  // One pattern needs D or D + 1 layers, a list of L up to m0 + L (corollaries E1, E2).
  const std::uint64_t most = candidate.whole_list_once ? depth : depth + candidate.layers.size();
  for (; depth <= most && (!request.layers || depth <= *request.layers); ++depth) {
    FrontPoint point = make_point(request, candidate, depth);
    const verdict::Answer answer = verdict::certify(point.architecture, budget);
    if (answer.verdict == verdict::Verdict::unknown) {
      if (undecided)
        *undecided = true;
      return std::nullopt;
    }
    if (answer.verdict == verdict::Verdict::certified)
      return point;
  }
  return std::nullopt;
}

} // namespace sightline::design
