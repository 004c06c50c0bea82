#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/design/answer.hpp"
#include "sightline/design/orbitals.hpp"
#include "sightline/design/sources.hpp"
#include "sightline/design/take_away.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::cli {
namespace {

struct DesignOptions {
  std::string symmetry, from, save, kernel = "softmax", bonds = "aromatic";
  std::optional<std::uint64_t> tokens, layers, registers;
  std::int64_t dim = 64;
  std::size_t point = 0;
  bool causal = false, json = false;
  LimitOptions limits;
};

design::Request make_request(const DesignOptions& options, const Budget& budget) {
  design::Request request;
  std::optional<group::Point> degree;
  if (options.tokens) degree = static_cast<group::Point>(std::min<std::uint64_t>(*options.tokens, ~group::Point{0}));
  const group::ReadSource read_source = [&](const std::string& source, const std::string& file) {
    const design::Bonds bonds = options.bonds == "order" ? design::Bonds::order : options.bonds == "none" ? design::Bonds::none : design::Bonds::aromatic;
    return design::read_symmetry(source, file, "", bonds, degree, budget);
  };
  request.group = group::parse_group(options.symmetry, degree, read_source, budget);
  if (!group::names_files(options.symmetry)) request.symmetry = options.symmetry;
  request.closed_form = options.symmetry;
  request.layers = options.layers;
  request.registers = options.registers;
  request.kernel = options.kernel;
  request.dim = options.dim;
  request.causal = options.causal;
  return request;
}

/// The point that --save takes: the one asked for, else the first with the fewest pairs among those nothing beats.
const design::FrontPoint& choose_point(const design::Design& design, std::size_t number) {
  if (design.front.empty()) throw InputError("--save: expected a front with at least one point, found none");
  if (number > design.front.size()) throw InputError(fmt::format("--point: expected 1 to {}, found {}", design.front.size(), number));
  if (number > 0) return design.front[number - 1];
  const design::FrontPoint* best = nullptr;
  for (const design::FrontPoint& p : design.front) {
    if (p.nondominated && (best == nullptr || p.pairs < best->pairs)) best = &p;
  }
  return *best;
}

/// What an existing file attends to: pairs i != j over its listed layers.
std::uint64_t count_attended(const layout::Layout& layout) {
  std::uint64_t pairs = 0;
  std::vector<std::uint64_t> of_layer;
  for (const layout::Layer& layer : layout.layers) {
    std::uint64_t most = 0;  // heads that share a pattern read the same pairs; different ones are counted one by one
    for (const std::uint32_t r : layer.relations) {
      const layout::Pattern& pattern = layout.relations[r].pattern();
      std::uint64_t loops = 0;
      for (layout::Vertex i = 0; i < pattern.vertex_count(); ++i) loops += pattern.reads(i, i);
      most += pattern.arc_count() - loops;
    }
    of_layer.push_back(most);
  }
  for (const std::uint32_t layer : layout.order) pairs += of_layer[layer];
  return pairs;
}

/// --from: the front for the file's own target (its symmetry, or what target.symmetry says), cut down to what improves on it.
design::Request make_request_from(const DesignOptions& options, const architecture::Architecture& a, const layout::Layout& layout, const Budget& budget) {
  design::Request request;
  const auto degree = static_cast<group::Point>(a.tokens);
  if (a.target.symmetry_is_layout) {
    request.group = symmetry::compute_layout_group(layout, budget);
  } else if (!a.target.symmetry_expression.empty()) {
    request.group = group::parse_group(a.target.symmetry_expression, degree, budget);
    request.symmetry = request.closed_form = a.target.symmetry_expression;
  } else {
    std::vector<group::Permutation> generators;
    for (const std::string& cycles : a.target.symmetry_generators) generators.push_back(group::parse_cycles(cycles, degree));
    request.group = group::make_group(degree, std::move(generators), budget);
  }
  request.layers = options.layers;
  request.registers = options.registers;
  request.kernel = options.kernel;
  request.dim = a.dim;
  request.causal = options.causal || a.target.target_class == architecture::TargetClass::causal;
  return request;
}

void run(const DesignOptions& options) {
  const Budget budget = make_budget(options.limits);
  if (options.symmetry.empty() == options.from.empty()) throw InputError("expected one of --symmetry GROUP and --from FILE");
  design::Request request;
  design::Design design;
  if (options.from.empty()) {
    request = make_request(options, budget);
    design = design::make_design(request, budget);
    if (group::names_files(options.symmetry)) {
      design.notes.push_back("the symmetry is that of the graph in the file: it may be larger than the point group of a body in space, and ignores stereo");
    }
  } else {
    const architecture::Architecture a = load_architecture(options.from, {});
    const layout::Layout layout = architecture::make_layout(a, budget);
    request = make_request_from(options, a, layout, budget);
    design = design::make_design(request, budget);
    if (!a.target.symmetry_is_layout) design.notes.push_back("the symmetry is the file's target.symmetry, not that of its layout");
    const std::uint64_t pairs = count_attended(layout), layers = a.layer_count();
    std::uint64_t bound = ~std::uint64_t{0};
    for (const design::FrontPoint& p : design.front) {
      if (p.layers == layers) bound = std::min(bound, p.lower_bound);
    }
    std::erase_if(design.front, [&](const design::FrontPoint& p) { return p.layers > layers || p.pairs > pairs || (p.layers == layers && p.pairs == pairs); });
    design.notes.insert(design.notes.begin(), fmt::format("{}: {} layers, {} pairs, {} registers", options.from, layers, pairs, a.input.registers.size()));
    if (design.front.empty()) {
      design.notes.insert(design.notes.begin() + 1, "none found that has no more layers and no more pairs and less of one" +
                                                        (bound == ~std::uint64_t{0} ? std::string() : fmt::format("; at {} layers at least {} pairs are needed", layers, bound)));
    }
  }
  clear_progress();
  fmt::print("{}", options.json ? design::to_json(request, design, budget) + "\n" : design::to_text(request, design, budget));
  if (!options.save.empty()) {
    architecture::Architecture chosen = choose_point(design, options.point).architecture;
    chosen.file = options.save;
    write_file_atomically(options.save, architecture::to_toml(chosen));
    const std::string stem = options.save.ends_with(".toml") ? options.save.substr(0, options.save.size() - 5) : options.save;
    write_file_atomically(stem + ".svg", design::draw_front(design));
    if (request.group.degree <= design::most_points_drawn) {
      write_file_atomically(stem + "-orbits.svg", design::draw_orbits(design::compute_orbitals(request.group, budget)));
    }
    for (const auto& [file, bytes] : design::make_files(chosen, stem, budget)) write_file_atomically(file, bytes);
  }
}

}  // namespace

void add_design(CLI::App& app, Exit&) {
  auto options = std::make_shared<DesignOptions>();
  CLI::App* command = app.add_subcommand("design", "the cheapest attention with exactly the symmetry you want");
  command->add_option("--symmetry", options->symmetry, "group: D_12, S_3 wr S_2, gens[(0 1 2),(3 4)], graph:FILE, molecule:FILE, cell:FILE, mask:FILE");
  command->add_option("--from", options->from, "improve this architecture: the same symmetry with fewer pairs or layers");
  command->add_option("--bonds", options->bonds, "bonds of molecules: order, aromatic or none")->check(CLI::IsMember({"order", "aromatic", "none"}));
  command->add_option("--tokens", options->tokens, "number of tokens (default: what the group acts on)")->check(CLI::PositiveNumber);
  command->add_option("--layers", options->layers, "at most so many mixing layers")->check(CLI::PositiveNumber);
  command->add_option("--registers", options->registers, "at most so many registers")->check(CLI::NonNegativeNumber);
  command->add_option("--kernel", options->kernel, "attention kernel: a name or an expression in x and y");
  command->add_option("--dim", options->dim, "width of the residual stream in the saved architecture")->check(CLI::PositiveNumber);
  command->add_flag("--causal", options->causal, "causal functions of the tokens (trivial symmetry)");
  command->add_flag("--json", options->json, "one JSON object");
  command->add_option("--save", options->save, "write one point: architecture file, and beside it masks (.npz, .edges), FlexAttention (.py), drawings (.svg)");
  command->add_option("--point", options->point, "which point --save takes, by its number (default: fewest pairs)")->check(CLI::PositiveNumber);
  options->limits.add_to(*command);
  command->callback([options] { run(*options); });
}

}  // namespace sightline::cli
