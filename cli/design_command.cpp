#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/writable.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/design/answer.hpp"
#include "sightline/design/orbitals.hpp"
#include "sightline/design/sources.hpp"
#include "sightline/design/take_away.hpp"
#include "sightline/design/two_closure.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/report/words.hpp"
#include "sightline/sight/reach.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/verdict/certify.hpp"

namespace sightline::cli {
namespace {

struct DesignOptions {
  std::string symmetry, from, save, kernel, bonds = "aromatic";
  std::optional<std::uint64_t> tokens, layers, registers;
  std::int64_t dim = 64;
  std::size_t point = 0;
  bool causal = false, json = false;
  LimitOptions limits;
};

design::Request make_request(const DesignOptions& options, const Budget& budget) {
  design::Request request;
  std::optional<group::Point> degree;
  if (options.tokens)
    degree = static_cast<group::Point>(std::min<std::uint64_t>(*options.tokens, ~group::Point{0}));
  const group::ReadSource read_source = [&](const std::string& source, const std::string& file) {
    const design::Bonds bonds = options.bonds == "order"  ? design::Bonds::order
                                : options.bonds == "none" ? design::Bonds::none
                                                          : design::Bonds::aromatic;
    return design::read_symmetry(source, file, "", bonds, degree, budget);
  };
  request.group =
      group::parse_group(options.symmetry, degree, read_source, budget,
                         [&](group::Point points, const std::vector<group::Permutation>& generators) {
                           return design::bound_order(points, generators, budget);
                         });
  if (!group::names_files(options.symmetry))
    request.symmetry = options.symmetry;
  request.closed_form = options.symmetry;
  request.layers = options.layers;
  request.registers = options.registers;
  if (!options.kernel.empty())
    request.kernel = options.kernel;
  request.dim = options.dim;
  request.causal = options.causal;
  return request;
}

/// The point that --save takes: the one asked for, else the first with the fewest pairs among those nothing beats.
const design::FrontPoint& choose_point(const design::Design& design, std::size_t number) {
  if (design.front.empty())
    throw InputError("--save: expected a front with at least one point, found none");
  if (number > design.front.size())
    throw InputError(fmt::format("--point: expected 1 to {}, found {}", design.front.size(), number));
  if (number > 0)
    return design.front[number - 1];
  const design::FrontPoint* best = nullptr;
  for (const design::FrontPoint& p : design.front) {
    if (p.nondominated && (best == nullptr || p.pairs < best->pairs))
      best = &p;
  }
  return *best;
}

/// What so many layers of a file attend to: pairs i != j; a pair that several heads attend to is one pair.
std::uint64_t count_attended(const layout::Layout& layout, std::uint64_t layers, const Budget& budget) {
  std::vector<std::uint64_t> of_layer;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> read;
  for (const layout::Layer& layer : layout.layers) {
    std::uint64_t pairs = 0;
    if (layer.relations.size() == 1) {
      const layout::Pattern& pattern = layout.relations[layer.relations[0]].pattern();
      pairs = pattern.arc_count();
      for (layout::Vertex i = 0; i < pattern.vertex_count(); ++i)
        pairs -= pattern.reads(i, i) ? 1u : 0u;
    } else {
      std::vector<bool> attended(layout.vertices());
      for (layout::Vertex i = 0; i < layout.vertices(); ++i) {
        budget.poll();
        std::fill(attended.begin(), attended.end(), false);
        for (const std::uint32_t r : layer.relations) {
          for (const layout::Run& run : layout.relations[r].pattern().row(i)) {
            for (std::uint64_t j = run.first; j <= run.last; j += run.step)
              attended[j] = true;
          }
        }
        attended[i] = false;
        pairs += static_cast<std::uint64_t>(std::count(attended.begin(), attended.end(), true));
      }
    }
    of_layer.push_back(pairs);
  }
  std::uint64_t sum = 0;
  for (std::uint64_t q = 0; q < layers; ++q)
    sum += of_layer[layout.order[q % layout.order.size()]];
  return sum;
}

/// The file's network but for its patterns, when designs can keep it: attention alike in all layers, tokens told apart
/// by their contents alone. Otherwise designs have the defaults of a new file.
std::optional<architecture::Architecture> find_base(const DesignOptions& options, const architecture::Architecture& a) {
  const architecture::LayerSpec& first = a.layers.front();
  const architecture::Mixer& mixer = first.mixer;
  if (mixer.kind != architecture::MixerKind::attention || mixer.relative.scheme != architecture::RelativeScheme::none ||
      mixer.top_k)
    return std::nullopt;
  if (a.input.positions != architecture::Positions::none || a.input.bos || a.block.tied || !options.kernel.empty())
    return std::nullopt;
  for (const architecture::LayerSpec& layer : a.layers) {
    architecture::LayerSpec same = first;
    same.repeat = layer.repeat;
    same.mixer.pattern = layer.mixer.pattern;
    same.mixer.heads = layer.mixer.heads;
    if (!(same == layer))
      return std::nullopt;
  }
  architecture::Architecture base = a;
  base.mixer = mixer;
  base.feedforward = first.feedforward;
  base.norm = first.norm;
  return base;
}

/// --from: the front for the file's own target (its symmetry, or what target.symmetry says), cut down to what improves
/// on it.
design::Request make_request_from(const DesignOptions& options, const architecture::Architecture& a,
                                  const layout::Layout& layout, const Budget& budget) {
  design::Request request;
  request.group = a.target.symmetry_is_layout ? symmetry::compute_layout_group(layout, budget)
                                              : architecture::parse_symmetry(a, budget);
  if (!a.target.symmetry_is_layout)
    request.symmetry = request.closed_form = a.target.symmetry_expression;
  request.layers = options.layers;
  request.registers = options.registers;
  if (!options.kernel.empty())
    request.kernel = options.kernel;
  request.dim = a.dim;
  request.causal = options.causal || a.target.target_class == architecture::TargetClass::causal;
  if (a.target.target_class == architecture::TargetClass::seen) {
    const sight::ClassKind kind = sight::compute_class_kind(layout, budget);
    if (kind == sight::ClassKind::seen)
      throw InputError(fmt::format("{}: expected tokens that come to see all tokens, or all before them, found a class "
                                   "of its own; designs are made for the classes all and causal",
                                   a.file));
    request.causal = kind == sight::ClassKind::causal;
  }
  request.base = find_base(options, a);
  return request;
}

std::string stem_of(const std::string& save) { return save.ends_with(".toml") || save.ends_with(".json") ? save.substr(0, save.size() - 5) : save; }

/// The user named the architecture alone: what stands under the other names, and no design has written, stays.
void expect_beside_writable(const std::string& save, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    expect_writable(file);
    std::ifstream stream(file, std::ios::binary);
    if (!stream) continue;
    constexpr std::streamoff head = 400, tail = 64;
    std::string bytes(head, '\0');
    stream.read(bytes.data(), head);
    bytes.resize(static_cast<std::size_t>(stream.gcount()));
    stream.clear();
    const std::streamoff size = stream.seekg(0, std::ios::end).tellg();
    std::string end(static_cast<std::size_t>(std::min(size, tail)), '\0');
    stream.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end).read(end.data(), static_cast<std::streamsize>(end.size()));
    if (size > 0 && bytes.find(design::take_away_mark) == std::string::npos && end.find(design::take_away_mark) == std::string::npos)
      throw InputError(fmt::format("{}: expected a name under which nothing is written over, found that {}, one of the files beside it, holds something else", save, file));
  }
}

std::vector<std::string> list_drawings(const std::string& stem) { return {stem + ".svg", stem + "-orbits.svg", stem + ".py"}; }
std::vector<std::string> list_pattern_files(const std::string& stem, std::size_t patterns) {
  std::vector<std::string> files;
  for (std::size_t k = 1; k <= patterns; ++k)
    for (const char* kind : {"npz", "edges", "svg"}) files.push_back(fmt::format("{}-{}.{}", stem, k, kind));
  return files;
}

/// What is certain before the search; save_point knows how many patterns there are.
void expect_beside_writable(const std::string& save) {
  if (save.empty()) return;
  expect_beside_writable(save, list_drawings(stem_of(save)));
  expect_beside_writable(save, list_pattern_files(stem_of(save), 1));
}

/// The architecture and what stands beside it; says which files these were.
void save_point(const DesignOptions& options, const design::Request& request, const design::Design& design, const Budget& budget) {
  const design::FrontPoint& point = choose_point(design, options.point);
  architecture::Architecture chosen = point.architecture;
  chosen.file = options.save;
  const std::string stem = stem_of(options.save);
  expect_beside_writable(options.save, list_pattern_files(stem, chosen.layers.size()));
  std::vector<std::string> written;
  const design::WriteFile write = [&](const std::string& name, const std::string& bytes) {
    write_file_atomically(name, bytes);
    written.push_back(name);
  };
  write(options.save, print_for_file(chosen, options.save));
  write(stem + ".svg", design::draw_front(design));
  if (request.group.degree <= design::most_points_drawn) write(stem + "-orbits.svg", design::draw_orbits(design::compute_orbitals(request.group, budget)));
  const std::vector<std::string> left_out = design::make_files(chosen, point.pattern_pairs, stem, write, budget);
  fmt::print(stderr, "written: point {} of the front ({}): {}\n", &point - design.front.data() + 1, point.description, fmt::join(written, ", "));
  for (const std::string& line : left_out) fmt::print(stderr, "left out: {}\n", line);
}

/// The files that --save writes beside the architecture: drawings, masks, edge lists, FlexAttention.
bool is_written_beside(const std::filesystem::path& file, const std::filesystem::path& stem) {
  static const std::regex written(R"(-orbits\.svg|\.svg|\.py|-[0-9]+\.(svg|npz|edges))");
  const std::string name = file.filename().string(), mine = stem.filename().string();
  return name.starts_with(mine) && std::regex_match(name.substr(mine.size()), written);
}

/// What is read is not written over, `sources`: structures, an architecture, the masks that it names. One of them may have the name of
/// one of the files beside the answer (graph:ring-1.edges, --save ring.toml).
void expect_sources_kept(const std::string& save, const std::vector<std::string>& sources) {
  if (save.empty()) return;
  expect_writable(save, sources);
  const std::filesystem::path stem = stem_of(save);
  std::error_code missing;
  const auto folder = [](const std::filesystem::path& file) { return file.has_parent_path() ? file.parent_path() : std::filesystem::path("."); };
  for (const std::string& source : sources)
    if (!source.empty() && is_written_beside(source, stem) && std::filesystem::equivalent(folder(source), folder(stem), missing))
      throw InputError(fmt::format("{}: expected a name under which nothing is written over, found that {} is one of the files beside it", save, source));
}

void run(const DesignOptions& options) {
  const Budget budget = make_budget(options.limits);
  if (options.symmetry.empty() == options.from.empty())
    throw InputError("expected one of --symmetry GROUP and --from FILE");
  design::Request request;
  design::Design design;
  if (options.from.empty()) {
    expect_beside_writable(options.save);
    request = make_request(options, budget);
    design = design::make_design(request, budget);
    if (group::names_files(options.symmetry)) {
      design.notes.push_back("the symmetry is that of the graph in the file: it may be larger than the point group of "
                             "a body in space, and ignores stereo");
    }
  } else {
    std::vector<std::string> named;
    const architecture::Architecture a = load_architecture(options.from, {}, true, &named);
    expect_sources_kept(options.save, named);
    expect_beside_writable(options.save);
    const layout::Layout layout = architecture::make_layout(a, budget);
    request = make_request_from(options, a, layout, budget);
    design = design::make_design(request, budget);
    if (!a.target.symmetry_is_layout)
      design.notes.push_back("the symmetry is the file's target.symmetry, not that of its layout");
    if (!request.base)
      design.notes.push_back("designs have plain attention and the defaults of a new file: this file's positions, "
                             "kernel or layers cannot be kept");
    const verdict::Answer answer = verdict::certify(a, budget);
    const std::uint64_t layers =
        a.depth == architecture::Depth::listed ? a.layer_count() : answer.needed.value_or(a.layer_count());
    const std::uint64_t pairs = count_attended(layout, layers, budget);
    // Whatever the layout: someone is the first to have seen all others, and all others must see something after that.
    const std::uint64_t n = request.group.degree;
    std::uint64_t bound = request.causal ? n - 1
                          : layers == 1  ? n * (n - 1)
                                         : 2 * (n - 1),
                  of_designs = ~std::uint64_t{0};
    for (const design::FrontPoint& p : design.front) {
      if (p.layers <= layers)
        of_designs = std::min(of_designs, p.lower_bound);
    }
    std::erase_if(design.front, [&](const design::FrontPoint& p) {
      return p.layers > layers || p.pairs > pairs || (p.layers == layers && p.pairs == pairs);
    });
    std::vector<std::string> first{fmt::format("{}: {}, {}, {}{}", options.from, report::plural(layers, "layer"),
                                               report::plural(pairs, "pair"),
                                               report::plural(a.input.registers.size(), "register"),
                                               answer.verdict == verdict::Verdict::certified
                                                   ? ""
                                                   : "; it does not express its own target for certain, designs do")};
    if (design.front.empty()) {
      first.push_back("none found that has no more layers and no more pairs and less of one" +
                      fmt::format("; bound: at least {} pairs in {}{}", bound,
                                  layers == 1 ? "1 layer" : fmt::format("at most {} layers", layers),
                                  of_designs == ~std::uint64_t{0} || of_designs <= bound
                                      ? std::string()
                                      : fmt::format(", at least {} for the kinds of designs searched", of_designs)));
    }
    design.notes.insert(design.notes.begin(), first.begin(), first.end());
  }
  clear_progress();
  fmt::print("{}",
             options.json ? design::to_json(request, design, budget) + "\n" : design::to_text(request, design, budget));
  if (!options.save.empty()) save_point(options, request, design, budget);
}

} // namespace

void add_design(CLI::App& app, Exit&) {
  auto options = std::make_shared<DesignOptions>();
  CLI::App* command = app.add_subcommand("design", "the cheapest attention with exactly the symmetry you want");
  command->add_option("--symmetry", options->symmetry,
                      "group: D_12, S_3 wr S_2, gens[(0 1 2),(3 4)], graph:FILE, molecule:FILE, cell:FILE, mask:FILE");
  command->add_option("--from", options->from,
                      "improve this architecture: the same symmetry with fewer pairs or layers");
  command->add_option("--bonds", options->bonds, "bonds of molecules: order, aromatic or none")
      ->check(CLI::IsMember({"order", "aromatic", "none"}));
  command->add_option("--tokens", options->tokens, "number of tokens (default: what the group acts on)")
      ->check(whole_number(1));
  command->add_option("--layers", options->layers, "at most so many mixing layers")->check(whole_number(1));
  command->add_option("--registers", options->registers, "at most so many registers")->check(whole_number(0));
  command->add_option("--kernel", options->kernel, "attention kernel: a name or an expression in x and y");
  command->add_option("--dim", options->dim, "width of the residual stream in the saved architecture")
      ->check(whole_number(1));
  command->add_flag("--causal", options->causal, "causal functions of the tokens (trivial symmetry)");
  command->add_flag("--json", options->json, "one JSON object");
  command->add_option(
      "--save", options->save,
      "write one point: architecture file, and beside it masks (.npz, .edges), FlexAttention (.py), drawings (.svg)");
  command->add_option("--point", options->point, "which point --save takes, by its number (default: fewest pairs)")
      ->check(whole_number(1));
  options->limits.add_to(*command);
  command->callback([options] {
    if (options->point > 0 && options->save.empty())
      throw InputError("--point: expected --save FILE beside it, found none");
    std::vector<std::string> sources = group::list_files(options->symmetry);
    sources.push_back(options->from);
    expect_sources_kept(options->save, sources);
    run(*options);
  });
}

} // namespace sightline::cli
