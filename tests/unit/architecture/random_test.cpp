// Random architectures survive both writers. The seed is printed with every failure.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sightline/architecture/number_text.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"

using namespace sightline::architecture;
using sightline::layout::PatternKind;
using sightline::layout::PatternSpec;

namespace {

class Dice {
public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t integer(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool coin() { return integer(0, 1) == 1; }
  double number() {
    switch (integer(0, 3)) {
    case 0: return static_cast<double>(integer(1, 9));
    case 1: return static_cast<double>(integer(1, 99)) / 10;
    case 2: return 1e-6 * static_cast<double>(integer(1, 5));
    default: return std::uniform_real_distribution<double>(0.1, 3)(engine_);
    }
  }
  template <class E> E choice(std::initializer_list<E> values) { return values.begin()[integer(0, std::ssize(values) - 1)]; }
  std::string text() {
    std::string out;
    for (std::int64_t i = integer(0, 6); i > 0; --i)
      out += choice<const char*>({"a", "\"", "\\", "\n", "\t", "\x01", "\x7f", "é", "𝔸", "#", "'", " "});
    return out;
  }
  std::vector<std::int64_t> subset(std::int64_t count) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < count; ++i)
      if (coin())
        out.push_back(i);
    std::shuffle(out.begin(), out.end(), engine_);
    return out;
  }

private:
  std::mt19937_64 engine_;
};

constexpr std::int64_t tokens = 8;

std::optional<std::int64_t> maybe(Dice& dice) {
  return dice.coin() ? std::optional<std::int64_t>(dice.integer(1, 9)) : std::nullopt;
}

PatternSpec random_pattern(Dice& dice, std::int64_t registers, int depth) {
  PatternSpec spec;
  const std::int64_t last = depth > 0 ? 21 : 17;
  spec.kind = static_cast<PatternKind>(dice.integer(0, last));
  if (spec.kind == PatternKind::star && registers != 1)
    spec.kind = PatternKind::self;
  spec.causal = dice.coin();
  const std::int64_t vertices = tokens + registers;
  switch (spec.kind) {
  case PatternKind::window:
    if (dice.coin()) {
      spec.radius = dice.integer(0, 5);
    } else {
      spec.before = dice.integer(0, 5);
      if (dice.coin())
        spec.after = dice.integer(0, 5);
    }
    spec.dilation = dice.integer(1, 3);
    spec.global = dice.subset(tokens);
    if (dice.coin())
      spec.wrap = dice.coin();
    break;
  case PatternKind::ring: spec.radius = dice.integer(0, 5); break;
  case PatternKind::blocks: spec.size = dice.integer(1, 10); break;
  case PatternKind::shifted_blocks:
    spec.size = dice.integer(1, 10);
    spec.shift = dice.integer(0, 5);
    if (dice.coin())
      spec.wrap = dice.coin();
    break;
  case PatternKind::strided:
  case PatternKind::fixed:
    spec.stride = dice.integer(1, 5);
    spec.variant = dice.choice<const char*>({"", "paper", "code"});
    spec.part = dice.choice<const char*>({"", "merged", "local", "summary"});
    if (spec.kind == PatternKind::fixed)
      spec.summary = dice.integer(1, *spec.stride);
    break;
  case PatternKind::grid:
    spec.shape = {2, 4};
    switch (dice.integer(0, 3)) {
    case 0: spec.grid_window = {dice.integer(0, 2), dice.integer(0, 2)}; break;
    case 1: spec.grid_rows = true; break;
    case 2: spec.grid_columns = true; break;
    default:
      spec.grid_blocks = {1, 2};
      if (dice.coin())
        spec.grid_shift = {0, 1};
      break;
    }
    break;
  case PatternKind::bigbird:
    spec.block = dice.integer(1, 4);
    if (dice.coin())
      spec.random_blocks = dice.integer(0, 2);
    spec.seed = static_cast<std::uint64_t>(dice.integer(0, INT64_MAX));
    spec.variant = dice.choice<const char*>({"", "paper", "original", "huggingface"});
    spec.mode = dice.choice<const char*>({"", "train", "eval"});
    break;
  case PatternKind::random:
    if (dice.coin())
      spec.degree = dice.integer(0, tokens - 1);
    else
      spec.density = 1 / (1 + dice.number());
    spec.seed = static_cast<std::uint64_t>(dice.integer(0, 3));
    break;
  case PatternKind::butterfly: spec.distance = dice.choice<std::int64_t>({1, 2, 4}); break;
  case PatternKind::circulant: spec.offsets = dice.subset(4); break;
  case PatternKind::graph:
    for (const std::int64_t u : dice.subset(tokens))
      spec.edges.emplace_back(u, dice.integer(0, tokens - 1));
    spec.directed = dice.coin();
    spec.loops = dice.coin();
    break;
  case PatternKind::rows:
    for (std::int64_t i = 0; i < vertices; ++i)
      spec.rows.push_back(dice.subset(vertices));
    break;
  case PatternKind::matrix:
    for (std::int64_t i = 0; i < vertices; ++i) {
      spec.matrix.emplace_back();
      for (std::int64_t j = 0; j < vertices; ++j)
        spec.matrix.back().push_back(dice.integer(0, 3));
    }
    break;
  case PatternKind::file:
    spec.path = dice.choice<const char*>({"folder/m.npy", "m.mtx", "/m.npz", "folder/deep/\"m\".txt"});
    spec.format = dice.choice<const char*>({"", "npy", "npz", "matrixmarket", "edges"});
    break;
  case PatternKind::union_of:
  case PatternKind::intersection_of:
  case PatternKind::minus:
  case PatternKind::per_head:
    for (std::int64_t i = dice.integer(1, 3); i > 0; --i)
      spec.of.push_back(random_pattern(dice, registers, 0));
    break;
  default: break;
  }
  return spec;
}

sightline::attention_kernel::Kernel random_kernel(Dice& dice, std::int64_t dim) {
  sightline::attention_kernel::Kernel kernel;
  const auto vector = [&] {
    std::vector<mpq_class> out;
    for (std::int64_t k = 0; k < dim; ++k)
      out.push_back(to_rational(dice.number()));
    return out;
  };
  kernel.name = dice.choice<const char*>(
      {"", "softmax", "gaussian", "rbf", "performer", "exponential-sum", "cauchy", "laplace", "elu1", "relu2", "cosine"});
  if (kernel.name.empty())
    kernel.text = dice.choice<const char*>({"1/(1+norm2(x-y))", "exp( dot(x,y) )", "1"});
  if (kernel.name == "gaussian" || kernel.name == "rbf")
    kernel.gamma = to_rational(dice.number());
  if (kernel.name == "cosine")
    kernel.temperature = to_rational(dice.number());
  if (kernel.name == "performer")
    kernel.features = {vector(), vector()};
  if (kernel.name == "exponential-sum")
    kernel.weight = vector();
  return kernel;
}

/// Changes some members of a mixer. Optional ones are only ever given, as a file's layers do.
void change_mixer(Dice& dice, Mixer& mixer, std::int64_t dim, std::int64_t registers) {
  if (dice.coin())
    mixer.pattern = random_pattern(dice, registers, 1);
  if (dice.coin())
    mixer.kernel = random_kernel(dice, dim);
  mixer.normalised = dice.coin();
  mixer.sink = dice.coin();
  if (dice.coin())
    mixer.top_k = dice.integer(1, 4);
  if (dice.coin())
    mixer.eps = dice.number();
  mixer.value = dice.choice({ValueMap::free, ValueMap::identity});
  mixer.query_key = dice.choice({QueryKey::free, QueryKey::tied});
  mixer.relative = RelativePositions{};
  mixer.relative.scheme = dice.choice({RelativeScheme::none, RelativeScheme::rotary, RelativeScheme::alibi, RelativeScheme::t5});
  if (mixer.relative.scheme == RelativeScheme::t5 && dice.coin())
    mixer.relative = {RelativeScheme::t5, 16, 64, false};
}

void choose_kind(Dice& dice, LayerSpec& layer) {
  Mixer& mixer = layer.mixer;
  mixer.kind = static_cast<MixerKind>(dice.integer(0, 9));
  if (mixer.kind == MixerKind::linformer) {
    mixer.projections = dice.choice({ProjectionKind::trained, ProjectionKind::tied, ProjectionKind::generic, ProjectionKind::blocks});
    mixer.rank = 2;
    if (mixer.projections == ProjectionKind::blocks)
      mixer.projection_blocks = {{0, 1, 2}, {7, 3}};
  }
  if (mixer.kind == MixerKind::bias && dice.coin())
    mixer.activation = dice.coin() ? sightline::attention_kernel::Activation{"tanh", ""} : sightline::attention_kernel::Activation{"", "t^3"};
  if (mixer.kind == MixerKind::convolution)
    mixer.taps = {0, 1, -2};
  if (layer.feedforward.kind == FeedforwardKind::moe)
    layer.feedforward.expert = dice.choice({FeedforwardKind::mlp, FeedforwardKind::glu});
}

void change_feedforward(Dice& dice, Feedforward& feedforward) {
  feedforward.kind = static_cast<FeedforwardKind>(dice.integer(0, 4));
  if (feedforward.kind == FeedforwardKind::none) { // has no other keys
    feedforward = {};
    feedforward.kind = FeedforwardKind::none;
    return;
  }
  feedforward.activation.name = dice.choice<const char*>({"relu", "gelu", "square"});
  feedforward.bias = dice.choice({Bias::yes, Bias::no, Bias::output_only});
  if (dice.coin())
    feedforward.width = dice.integer(1, 9);
  if (feedforward.kind == FeedforwardKind::moe) {
    feedforward.experts = dice.integer(2, 4);
    feedforward.top_k = dice.integer(1, 2);
  }
  if (dice.coin())
    feedforward.spectral_norm_at_most = dice.number();
}

Norm random_norm(Dice& dice, bool with_place) {
  Norm norm;
  norm.kind = dice.choice({NormKind::layernorm, NormKind::rmsnorm});
  if (with_place)
    norm.place = dice.choice({NormPlace::pre, NormPlace::post, NormPlace::sandwich, NormPlace::after});
  norm.eps = dice.coin() ? 0 : dice.number();
  norm.affine = dice.coin();
  return norm;
}

Architecture random_architecture(Dice& dice) {
  Architecture a;
  a.file = "folder/a.toml";
  a.name = dice.text();
  a.tokens = tokens;
  a.dim = dice.integer(1, 3);
  a.depth = dice.choice({Depth::listed, Depth::unbounded});
  a.target.target_class = dice.choice({TargetClass::all, TargetClass::causal, TargetClass::seen});
  switch (dice.integer(0, 2)) {
  case 1: a.target.symmetry_is_layout = false; a.target.symmetry_expression = "S_4 wr S_2"; break;
  case 2: a.target.symmetry_is_layout = false; a.target.symmetry_generators = {"(0 1)(2 7)", "()"}; break;
  default: break;
  }
  a.target.box = dice.number();
  a.input.positions = static_cast<Positions>(dice.integer(0, 3));
  if (a.input.positions == Positions::fixed)
    for (std::int64_t i = 0; i < tokens; ++i)
      a.input.table.emplace_back(static_cast<std::size_t>(a.dim), dice.number());
  a.input.embedding = static_cast<Embedding>(dice.integer(0, 3));
  a.input.dim = a.input.embedding == Embedding::none ? a.dim : dice.integer(1, 5);
  if (a.input.embedding == Embedding::table) {
    a.input.vocabulary = maybe(dice);
    a.input.bos = dice.coin();
  } else {
    a.input.domain = dice.choice({Domain::all, Domain::centred});
    if (a.input.dim == 1)
      a.input.domain = Domain::all;  // 0 alone is centred
  }
  if (dice.coin())
    a.input.norm = random_norm(dice, false);
  for (std::int64_t r = dice.integer(0, 2); r > 0; --r)
    a.input.registers.push_back(dice.text());
  a.output.head = dice.choice({Head::none, Head::linear});
  a.output.dim = maybe(dice);
  if (dice.coin())
    a.output.norm = random_norm(dice, false);
  a.output.pool = dice.choice<const char*>({"none", "mean", "first"});
  a.block = {dice.choice({Arrangement::sequential, Arrangement::parallel}), dice.coin(), dice.coin()};
  if (dice.coin()) {
    a.train.emplace();
    a.train->steps = maybe(dice);
    a.train->lr = dice.number();
    a.train->optimiser = dice.choice({Optimiser::adamw, Optimiser::adam, Optimiser::sgd});
    a.train->dtype = dice.choice({Precision::float32, Precision::float64});
    a.train->seed = dice.integer(0, INT64_MAX);
  }
  const auto registers = std::ssize(a.input.registers);
  if (dice.coin())
    change_mixer(dice, a.mixer, a.dim, registers);
  if (dice.coin())
    change_feedforward(dice, a.feedforward);
  if (a.feedforward.kind == FeedforwardKind::moe)  // a default that no layer may use would be refused
    a.feedforward = Feedforward{};
  if (dice.coin())
    a.norm = random_norm(dice, true);
  for (std::int64_t l = dice.integer(1, 4); l > 0; --l) {
    LayerSpec layer{a.mixer, a.feedforward, a.norm, dice.integer(1, 3)};
    if (dice.coin())
      change_mixer(dice, layer.mixer, a.dim, registers);
    if (dice.coin())
      change_feedforward(dice, layer.feedforward);
    if (dice.coin())
      layer.norm = random_norm(dice, true);
    choose_kind(dice, layer);
    layer.mixer.heads = std::max<std::int64_t>(1, count_heads(layer.mixer.pattern));
    a.layers.push_back(layer);
    if (dice.integer(0, 3) == 0)
      a.layers.push_back(layer);
  }
  return a;
}

void check_round_trips(std::uint64_t seed) {
  Dice dice(seed);
  const Architecture a = random_architecture(dice);
  const std::string canonical = to_canonical_json(a);
  const std::string toml = to_toml(a);
  CAPTURE(seed);
  CAPTURE(toml);
  Architecture from_json;
  Architecture from_toml;
  REQUIRE_NOTHROW(from_json = parse_architecture(canonical, a.file));
  REQUIRE_NOTHROW(from_toml = parse_architecture(toml, a.file));
  CHECK(same_architecture(a, from_json));
  CHECK(same_architecture(a, from_toml));
  CHECK(to_canonical_json(from_json) == canonical);
  CHECK(to_canonical_json(from_toml) == canonical);
  CHECK(to_toml(from_json) == toml);
}

}  // namespace

TEST_CASE("random architectures survive both writers") {
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    check_round_trips(seed);
}

TEST_SUITE("slow") {
  TEST_CASE("many random architectures survive both writers") {
    for (std::uint64_t seed = 1000; seed < 11000; ++seed)
      check_round_trips(seed);
  }
}
