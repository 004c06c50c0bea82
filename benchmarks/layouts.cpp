#include "layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <unordered_map>

#include "sightline/architecture/read.hpp"
#include "sightline/base/mix.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace bench {

using sightline::Budget;
using sightline::layout::AffineRun;
using sightline::layout::Pattern;
using sightline::layout::PatternBuilder;
using sightline::layout::Relation;
using sightline::layout::Run;

namespace {

const Budget unlimited;

/// The pattern with every row written out, equal rows stored once, tokens renamed. `to` empty: no renaming.
std::optional<Pattern> write_out(const Pattern& pattern, const std::vector<Vertex>& to, std::uint64_t& runs_left) {
  const Vertex n = pattern.vertex_count();
  std::vector<Vertex> from(to.size());
  for (Vertex x = 0; x < to.size(); ++x) from[to[x]] = x;
  PatternBuilder builder(n, unlimited);
  std::vector<Run> row;
  std::vector<AffineRun> out;
  std::vector<Vertex> members;
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::unordered_multimap<std::uint64_t, std::pair<std::vector<Run>, std::uint32_t>> known;
  // Rows of readers that share a list of constant runs need to be renamed only once.
  std::vector<std::uint32_t> seen(pattern.lists().size(), none), list_of(n);
  std::vector<std::uint8_t> constant(pattern.lists().size(), 1);
  for (std::size_t l = 0; l < pattern.lists().size(); ++l) {
    const auto& list = pattern.lists()[l];
    const auto check = [&](std::uint32_t begin, std::uint32_t count) {
      for (std::uint32_t k = begin; k < begin + count; ++k) {
        const AffineRun& run = pattern.affine_runs()[k];
        if (run.lo_moves || run.hi_moves || run.floor_moves) constant[l] = 0;
      }
    };
    check(list.runs_begin, list.runs_count);
    check(list.shared_begin, list.shared_count);
  }
  // Not begun with where a sample says that it ends beyond the limit: d scattered members out of n are some d (n - d) / n runs.
  constexpr Vertex samples = 64;
  double likely = 0;
  for (Vertex k = 0; k < samples && !to.empty(); ++k) {
    const auto i = static_cast<Vertex>(std::uint64_t{k} * n / samples);
    if (constant[pattern.list_of(i)] != 0) continue;
    pattern.row(i, row);
    const auto degree = static_cast<double>(std::accumulate(row.begin(), row.end(), std::uint64_t{0}, [](std::uint64_t sum, const Run& run) { return sum + run.size(); }));
    likely += degree * (n - degree) / samples;
  }
  if (likely > 2 * static_cast<double>(runs_left)) return std::nullopt;
  std::size_t segment = 0;
  for (Vertex i = 0; i < n; ++i) {
    while (segment + 1 < pattern.segments().size() && pattern.segments()[segment + 1].begin <= i) ++segment;
    const std::uint32_t list = pattern.segments()[segment].list;
    if (constant[list] != 0 && seen[list] != none) {
      list_of[i] = seen[list];
      continue;
    }
    pattern.row(i, row);
    const bool once = constant[list] != 0 || !to.empty();  // masks come with equal rows stored once
    std::uint64_t hash = 0;
    if (once) {
      for (const Run& run : row) hash = sightline::mix(hash ^ sightline::mix(std::uint64_t{run.first} << 32 | run.last) ^ (std::uint64_t{run.step} << 32 | run.colour));
      const auto [begin, end] = known.equal_range(hash);
      const auto same = std::find_if(begin, end, [&](const auto& each) { return each.second.first == row; });
      if (same != end) {
        list_of[i] = same->second.second;
        continue;
      }
    }
    out.clear();
    members.clear();
    std::uint64_t runs = 0;
    const std::uint64_t degree = std::accumulate(row.begin(), row.end(), std::uint64_t{0}, [](std::uint64_t sum, const Run& run) { return sum + run.size(); });
    // As make_pattern_from_rows does: rows of mostly single vertices are written out.
    constexpr std::uint64_t run_vertices = sizeof(AffineRun) / sizeof(Vertex);
    if (degree == n || (to.empty() && degree > run_vertices * row.size())) {
      for (const Run& run : row) {
        AffineRun constant_run = sightline::layout::make_constant_run(run.first, run.last, run.colour);
        constant_run.step = run.step;
        out.push_back(constant_run);
      }
      runs = out.size();
    } else {
      for (const Run& run : row) {
        for (std::uint64_t j = run.first; j <= run.last; j += run.step) members.push_back(to.empty() ? static_cast<Vertex>(j) : to[j]);
      }
      std::sort(members.begin(), members.end());
      sightline::layout::split_into_runs(members, [&runs](Vertex, Vertex, Vertex) { ++runs; });
    }
    if (runs > runs_left) return std::nullopt;
    runs_left -= runs;
    if (members.empty()) {
      list_of[i] = builder.add_list(out);
    } else {
      list_of[i] = builder.add_row(members);
    }
    if (once) known.emplace(hash, std::pair(row, list_of[i]));
    if (constant[list] != 0) seen[list] = list_of[i];
  }
  for (Vertex i = 0; i < n; ++i) builder.add_segment(i, list_of[to.empty() ? i : from[i]]);
  return builder.build();
}

}  // namespace

std::string to_toml(const Family& family) {
  std::string text = fmt::format("name = \"{}\"\ntokens = {}\ndim = 64\n", family.name, family.tokens);
  if (family.causal_target) text += "[target]\nclass = \"causal\"\n";
  if (family.registers > 0) text += fmt::format("[input]\nregisters = [{}]\n", fmt::join(std::vector<std::string>(family.registers, "\"a\""), ", "));
  for (int k = 0; k < family.repeat; ++k) {
    for (const std::string& layer : family.layers) {
      text += fmt::format("[[layer]]\npattern = {}\n", layer);
      if (family.layers.size() == 1) text += fmt::format("repeat = {}\n", family.repeat);
    }
    if (family.layers.size() == 1) break;
  }
  return text;
}

Layout make_layout(const Family& family) {
  const auto architecture = sightline::architecture::parse_architecture(to_toml(family), family.name + ".toml");
  return sightline::architecture::make_layout(architecture, unlimited);
}

std::optional<Layout> make_layout(const Family& family, Form form, std::uint64_t most_runs) {
  Layout layout = make_layout(family);
  if (form == Form::pattern) return layout;
  std::vector<Vertex> to;
  if (form == Form::relabelled) {
    to.resize(layout.vertices());
    std::iota(to.begin(), to.end(), Vertex{0});
    std::mt19937_64 random(5);
    std::shuffle(to.begin(), to.begin() + layout.tokens, random);
  }
  for (Relation& relation : layout.relations) {
    std::optional<Pattern> pattern = write_out(relation.pattern(), to, most_runs);
    if (!pattern) return std::nullopt;
    relation = Relation(std::move(*pattern), relation.relative(), relation.cancels(), relation.tokens());
  }
  return layout;
}

Family make_family(const std::string& name, Vertex n) {
  const auto root = static_cast<Vertex>(std::lround(std::sqrt(static_cast<double>(n))));
  Family family;
  family.name = name;
  family.tokens = n;
  const auto globals = [&] {
    std::string list;
    for (Vertex g = 0; g < 16; ++g) list += fmt::format("{}{}", g == 0 ? "" : ", ", std::uint64_t{g} * n / 16);
    return list;
  };
  if (name == "full") family.layers = {"{ kind = \"full\" }"};
  else if (name == "causal") family.layers = {"{ kind = \"full\", causal = true }"};
  else if (name == "window") family.layers = {"{ kind = \"window\", radius = 8 }"};
  else if (name == "ring") family.layers = {"{ kind = \"ring\", radius = 8 }"};
  else if (name == "Longformer") family.layers = {fmt::format("{{ kind = \"window\", radius = 8, global = [{}] }}", globals())};
  else if (name == "dilated Longformer") family.layers = {fmt::format("{{ kind = \"window\", radius = 8, dilation = 4, global = [{}] }}", globals())};
  else if (name == "window 256") family.layers = {"{ kind = \"window\", radius = 256 }"};
  else if (name == "dilated window") family.layers = {"{ kind = \"window\", radius = 256, dilation = 4 }"};
  else if (name == "Longformer 256") family.layers = {fmt::format("{{ kind = \"window\", radius = 256, global = [{}] }}", globals())};
  else if (name == "BigBird") family.layers = {"{ kind = \"bigbird\", block = 64, random = 3, globals = 2, seed = 1 }"};
  else if (name == "Swin") family.layers = {fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], blocks = [8, 8] }}", root), fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], blocks = [8, 8], shift = [4, 4] }}", root)};
  else if (name == "Swin 7") family.layers = {fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], blocks = [7, 7] }}", root), fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], blocks = [7, 7], shift = [3, 3] }}", root)};
  else if (name == "axial") family.layers = {fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], rows = true }}", root), fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], columns = true }}", root)};
  else if (name == "grid window") family.layers = {fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], window = [3, 3] }}", root)};
  else if (name == "strided causal") family.layers = {fmt::format("{{ kind = \"strided\", stride = {}, causal = true }}", root)};
  else if (name == "strided both ways") family.layers = {fmt::format("{{ kind = \"strided\", stride = {} }}", root)};
  else if (name == "fixed causal") family.layers = {fmt::format("{{ kind = \"fixed\", stride = {}, summary = {}, causal = true }}", root, std::max<Vertex>(1, root / 32))};
  else if (name == "fixed both ways") family.layers = {fmt::format("{{ kind = \"fixed\", stride = {}, summary = {} }}", root, std::max<Vertex>(1, root / 32))};
  else if (name == "blocks shifted") family.layers = {"{ kind = \"blocks\", size = 64 }", "{ kind = \"shifted_blocks\", size = 64, shift = 32 }"};
  else if (name == "random 8") family.layers = {"{ kind = \"random\", degree = 8, seed = 1 }"};
  else if (name == "random 32") family.layers = {"{ kind = \"random\", degree = 32, seed = 1 }"};
  else if (name == "star") {
    family.layers = {"{ kind = \"star\" }"};
    family.registers = 1;
  } else if (name == "butterfly") {
    for (Vertex d = 1; d < n; d *= 2) family.layers.push_back(fmt::format("{{ kind = \"butterfly\", distance = {} }}", d));
  } else throw std::runtime_error("no family is called " + name);
  return family;
}

std::vector<Family> list_published(Vertex n) {
  const auto root = static_cast<Vertex>(std::lround(std::sqrt(static_cast<double>(n))));
  std::vector<Family> families;
  const auto add = [&](const std::string& name, std::vector<std::string> layers, bool causal) {
    families.push_back({name, n, std::move(layers), 1, 0, causal});
  };
  const auto window = [](const char* extent, Vertex size, Vertex dilation = 1) { return fmt::format("{{ kind = \"window\", {} = {}, dilation = {} }}", extent, size, dilation); };
  const auto grid = [root](const std::string& what, bool causal = false) {
    return fmt::format("{{ kind = \"grid\", shape = [{0}, {0}], {1}{2} }}", root, what, causal ? ", causal = true" : "");
  };
  const auto heads = [](const std::vector<std::string>& patterns) { return fmt::format("{{ kind = \"per_head\", heads = [{}] }}", fmt::join(patterns, ", ")); };
  const auto part = [root](const std::string& kind, const std::string& name) {
    return fmt::format("{{ kind = \"{}\", stride = {}, {}part = \"{}\", causal = true }}", kind, root, kind == "fixed" ? "summary = 8, " : "", name);
  };
  const std::string full = "{ kind = \"full\", causal = true }";
  add("sliding window 4096 (Mistral)", {window("before", 4095)}, true);
  add("five windows, one full (Gemma)", {window("before", 511), window("before", 511), window("before", 511), window("before", 511), window("before", 511), full}, true);
  const std::string chunk = "{ kind = \"blocks\", size = 8192, causal = true }";
  add("three chunked, one full (Llama 4)", {chunk, chunk, chunk, full}, true);
  add("window with sinks (StreamingLLM)", {"{ kind = \"window\", before = 1023, global = [0, 1, 2, 3], causal = true }"}, true);
  add("Sparse Transformer, strided, two layers", {part("strided", "local"), part("strided", "summary")}, true);
  add("Sparse Transformer, strided, two heads", {heads({part("strided", "local"), part("strided", "summary")})}, true);
  add("Sparse Transformer, fixed, two layers", {part("fixed", "local"), part("fixed", "summary")}, true);
  add("heads of dilation 1 and 4 (Longformer)", {heads({window("radius", 64), window("radius", 64, 4)})}, false);
  add("growing windows (Longformer)", {window("radius", 32), window("radius", 64), window("radius", 128), window("radius", 256)}, false);
  add("windows, then columns", {window("radius", root), grid("columns = true")}, false);
  add("causal windows, then columns", {window("before", root), grid("columns = true", true)}, true);
  add("causal rows, then columns", {grid("rows = true", true), grid("columns = true", true)}, true);
  add("causal rows and columns, two heads", {heads({grid("rows = true", true), grid("columns = true", true)})}, true);
  std::string powers = "0";
  for (Vertex d = 1; d < n; d *= 2) powers += fmt::format(", {}", n - d);
  add("powers of two below (LogSparse)", {fmt::format("{{ kind = \"circulant\", offsets = [{}], causal = true }}", powers)}, true);
  std::vector<std::string> dilations, both_ways;
  for (Vertex d = 1; d <= 512; d *= 2) {
    dilations.push_back(window("before", 1, d));
    both_ways.push_back(window("radius", 1, d));
  }
  add("ten causal dilations (WaveNet)", dilations, true);
  const std::string big_bird = "{ kind = \"bigbird\", block = 64, random = 3, globals = 2, seed = 1, causal = true }";
  const auto segment = [](Vertex width, Vertex dilation) {
    return fmt::format("{{ kind = \"intersection\", of = [{{ kind = \"blocks\", size = {} }}, {{ kind = \"window\", before = {}, dilation = {} }}] }}", width, width / dilation, dilation);
  };
  add("BigBird, causal", {big_bird}, true);
  add("segments of three dilations (LongNet)", {heads({segment(64, 1), segment(256, 4), segment(1024, 16)})}, false);
  add("dilations 1, 2, 4, 8 in turn (Longformer)", {window("radius", 64), window("radius", 64, 2), window("radius", 64, 4), window("radius", 64, 8)}, false);
  add("ten dilations both ways", both_ways, false);
  add("rows, then columns in time (TimeSformer, causal)", {grid("rows = true"), grid("columns = true", true)}, false);
  add("neighbourhoods of 3, causal (NAT)", {grid("window = [3, 3]", true)}, true);
  add("rows and columns, then neighbourhoods", {fmt::format("{{ kind = \"union\", of = [{}, {}] }}", grid("rows = true"), grid("columns = true")), grid("window = [1, 1]")}, false);
  add("neighbourhoods of 3, then of 1 (NAT)", {grid("window = [3, 3]"), grid("window = [1, 1]")}, false);
  return families;
}

const std::vector<std::string>& list_structured() {
  static const std::vector<std::string> names{"window 256", "dilated window", "Longformer 256", "dilated Longformer", "ring", "BigBird", "Swin 7", "blocks shifted",
                                              "axial", "grid window", "star", "full", "causal", "strided causal", "strided both ways", "fixed causal", "fixed both ways", "butterfly"};
  return names;
}

}  // namespace bench
