// Our mixers inside autograd against the same mixers as plain tensor operations, whose gradients are LibTorch's own, on
// the CPU and on a GPU where there is one; and the parts of a model whose meaning is pinned.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <torch/cuda.h>

#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/train/activation.hpp"
#include "sightline/train/exchange.hpp"
#include "sightline/train/loss.hpp"
#include "sightline/train/model.hpp"
#include "sightline/train/optimiser.hpp"
#include "sightline/train/random.hpp"

using namespace sightline;
using train::Tensor;

namespace {

architecture::Architecture parse(const std::string& toml) {
  return architecture::parse_architecture(toml, "test.toml");
}

Tensor draw(const std::vector<std::int64_t>& shape, const std::string& name) {
  train::Random random(7, name);
  Tensor t = at::empty(shape, at::kDouble);
  for (std::int64_t k = 0; k < t.numel(); ++k)
    t.data_ptr<double>()[k] = random.normal();
  return t;
}

/// Parameters away from their start, so that zeros hide nothing.
void shake(const train::Model& model) {
  const at::NoGradGuard no_gradients;
  for (const train::Weight& weight : model.weights()) {
    if (weight.trained)
      weight.tensor.detach().add_(0.3 * draw(weight.tensor.sizes().vec(), weight.name));
  }
}

struct Pass {
  Tensor out;
  std::vector<std::pair<std::string, Tensor>> gradients;
};

bool has_gpu() { return torch::cuda::is_available(); }

/// Forward and backward; everything returned is on the CPU.
Pass run(train::Model& model, const Tensor& x, const Tensor& lengths, bool dense, at::Device device = at::kCPU) {
  train::Run how;
  how.dense_mixers = dense;
  model.to(device);
  for (const train::Weight& weight : model.weights())
    const_cast<Tensor&>(weight.tensor).mutable_grad() = Tensor();
  Tensor in = x.to(device).clone();
  if (in.is_floating_point())
    in.requires_grad_(true);
  Pass pass;
  const Tensor out = model.forward(in, lengths.defined() ? lengths.to(device) : lengths, how);
  // A loss that weighs every output differently.
  (out * draw(out.sizes().vec(), "above").to(device)).sum().backward();
  const auto home = [](const Tensor& t) { return t.defined() ? t.detach().cpu() : t; };
  pass.out = home(out);
  if (in.is_floating_point())
    pass.gradients.emplace_back("x", home(in.grad()));
  for (const train::Weight& weight : model.weights()) {
    if (weight.trained)
      pass.gradients.emplace_back(weight.name, home(weight.tensor.grad()));
  }
  model.to(at::kCPU);
  return pass;
}

double distance(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined())
    return a.defined() == b.defined() ? 0 : 1e9;
  return ((a - b).abs().max() / (1 + b.abs().max())).item<double>();
}

void check_equal(const Pass& ours, const Pass& other) {
  CHECK(distance(ours.out, other.out) < 1e-11);
  REQUIRE(ours.gradients.size() == other.gradients.size());
  for (std::size_t k = 0; k < ours.gradients.size(); ++k) {
    CAPTURE(ours.gradients[k].first);
    CHECK(distance(ours.gradients[k].second, other.gradients[k].second) < 1e-10);
  }
}

void compare(const std::string& toml, bool with_lengths = false) {
  CAPTURE(toml);
  const Budget budget;
  const architecture::Architecture a = parse(toml);
  train::ModelOptions options;
  options.dtype = at::kDouble;
  options.outputs = a.dim;
  options.ids = 11;
  train::Model model(a, options, budget);
  shake(model);
  const bool ids = a.input.embedding == architecture::Embedding::table;
  const Tensor x =
      ids ? at::arange(3 * a.tokens, at::kLong).remainder(11).reshape({3, a.tokens}) : draw({3, a.tokens, a.dim}, "x");
  const Tensor lengths = with_lengths ? at::tensor(std::vector<std::int64_t>{a.tokens, 3, 1}, at::kLong) : Tensor();
  const Pass ours = run(model, x, lengths, false);
  CHECK(ours.out.abs().max().item<double>() > 1e-3);
  check_equal(ours, run(model, x, lengths, true));
  if (has_gpu())
    check_equal(ours, run(model, x, lengths, true, at::kCUDA));
  // Exact mode computes the same function.
  const at::NoGradGuard no_gradients;
  train::Run exact;
  exact.exact = true;
  CHECK(distance(model.forward(x, lengths, exact), ours.out) < 1e-11);
}

const std::string head = "tokens = 6\ndim = 4\n";

} // namespace

TEST_CASE("attention and its gradients agree with plain tensor operations") {
  for (const char* kernel : {"\"softmax\"", "\"gaussian\"", "\"cauchy\"", "\"elu1\"", "\"relu2\"", "\"laplace\"",
                             "\"(1+norm2(x-y))*exp(dot(x,y))\"", "\"dot(elu(x)+1,elu(y)+1)\""}) {
    compare(head + fmt::format("[mixer]\nkernel = {}\nheads = 2\neps = 0.01\n", kernel));
  }
  compare(head + "[mixer]\nkernel = { name = \"performer\", features = [[1,0,0.5,0],[0,1,-0.5,0.25]] }\n");
  compare(head + "[mixer]\nkernel = { name = \"exponential-sum\", weight = [0.5,-0.25,0.1,0.2] }\n");
  compare(head + "[mixer]\nkernel = \"exp(dot([1,0,-1,0.5],x+y))\"\nnormalised = false\n");
  compare(head + "[mixer]\nkernel = \"gaussian\"\nnormalised = false\nheads = 2\n");
  compare(head + "[mixer]\nheads = 2\nsink = true\nvalue = \"identity\"\nquery_key = \"tied\"\n");
  compare(head + "[mixer]\nheads = 2\ntop_k = 2\npattern = { kind = \"window\", radius = 2 }\n");
}

TEST_CASE("relative positions, coloured matrices, patterns per head, registers and lengths") {
  compare(head + "[mixer]\nheads = 2\nrelative = \"rotary\"\npattern = { kind = \"full\", causal = true }\n");
  compare(head + "[mixer]\nheads = 2\nrelative = \"alibi\"\npattern = { kind = \"window\", radius = 2 }\n");
  compare(head + "[mixer]\nheads = 2\nrelative = \"learned\"\npattern = { kind = \"window\", radius = 2 }\n", true);
  compare(head +
          "[mixer]\nheads = 2\nrelative = \"learned\"\npattern = { kind = \"grid\", shape = [2,3], window = [1,1] }\n");
  compare(head + "[mixer]\nheads = 2\nrelative = { kind = \"t5\", buckets = 8, max_distance = 4 }\n");
  compare(head + "[mixer]\npattern = { kind = \"per_head\", heads = [{ kind = \"window\", radius = 1 }, { kind = "
                 "\"full\", causal = true }] }\n",
          true);
  compare(head + "[mixer]\nheads = 2\npattern = { kind = \"matrix\", matrix = "
                 "[[1,2,0,0,0,3],[1,1,1,0,0,0],[0,2,1,3,0,0],[0,0,0,0,0,0],[0,0,0,2,1,0],[3,0,0,0,0,1]] }\n");
  compare(head + "[mixer]\nrelative = \"rotary\"\npattern = { kind = \"matrix\", matrix = "
                 "[[1,2,0,0,0,3],[1,1,1,0,0,0],[0,2,1,3,0,0],[0,0,0,1,0,0],[0,0,0,2,1,0],[3,0,0,0,0,1]] }\n");
  compare(head + "[input]\nregisters = [\"a\",\"a\",\"b\"]\n[mixer]\nheads = 2\nsink = true\nrelative = \"rotary\"\n",
          true);
  compare(
      head + "[input]\nregisters = [\"a\"]\n[mixer]\npattern = { kind = \"star\" }\nheads = 4\n[[layer]]\nrepeat = 2\n",
      true);
}

// Rows of tokens 1 and 2 look alike, offsets included, to everyone who knows neither's number (docs/theory.md 16.11).
TEST_CASE("rotary positions give a register no offset to any token") {
  const architecture::Architecture a = parse("tokens = 5\ndim = 4\n[input]\nregisters = [\"a\"]\n[mixer]\nrelative = "
                                             "\"rotary\"\npattern = { kind = \"rows\", rows = "
                                             "[[0,1,5],[1,2,5],[2,3,5],[3,4,5],[4,5],[0,1,2,3,4,5]] }\n");
  train::ModelOptions options;
  options.dtype = at::kDouble;
  options.outputs = 4;
  const train::Model model(a, options, Budget{});
  shake(model);
  const Tensor x = draw({1, 5, 4}, "x");
  const Tensor moved = at::roll(x, 1, 1);
  for (const bool dense : {false, true}) {
    train::Run how;
    how.dense_mixers = dense;
    const at::NoGradGuard no_gradients;
    const Tensor at_one = model.forward(x, {}, how).select(1, 1), at_two = model.forward(moved, {}, how).select(1, 2);
    CHECK(distance(at_one, at_two) < 1e-13);
    const Tensor at_three = model.forward(moved, {}, how).select(1, 3);
    CHECK(distance(at_one, at_three) > 1e-3);
  }
}

TEST_CASE("a mean over a row of one colour forgets the colour, to the bit in exact mode") {
  const architecture::Architecture a =
      parse("tokens = 2\ndim = 4\n[mixer]\nkind = \"mean\"\npattern = { kind = \"matrix\", matrix = [[1,1],[2,2]] }\n");
  train::ModelOptions options;
  options.dtype = at::kDouble;
  options.outputs = 4;
  const train::Model model(a, options, Budget{});
  shake(model);
  const at::NoGradGuard no_gradients;
  const Tensor x = draw({3, 2, 4}, "x");
  train::Run how;
  CHECK(distance(model.forward(x.flip(1), {}, how).flip(1), model.forward(x, {}, how)) < 1e-13);
  how.exact = true;
  CHECK(at::equal(model.forward(x.flip(1), {}, how).flip(1), model.forward(x, {}, how)));
}

TEST_CASE("the other mixers") {
  compare(head + "[mixer]\nkind = \"linformer\"\nrank = 3\nheads = 2\n", true);
  compare(head + "[mixer]\nkind = \"linformer\"\nrank = 2\nprojections = \"tied\"\nkernel = \"gaussian\"\n");
  compare(head + "[mixer]\nkind = \"linformer\"\nrank = 2\nprojections = \"generic\"\n");
  compare(head + "[mixer]\nkind = \"linformer\"\nprojections = { blocks = [[0,1,2],[3,4,5]] }\nheads = 2\n", true);
  compare(head +
          "[input]\nregisters = [\"a\"]\n[mixer]\nkind = \"linformer\"\nprojections = { blocks = [[0,1,2],[4,5]] }\n");
  compare(head + "[mixer]\nkind = \"bias\"\nactivation = \"tanh\"\n", true);
  compare(head + "[mixer]\nkind = \"bias\"\nactivation = \"t^3+1\"\npattern = { kind = \"per_head\", heads = [{ kind = "
                 "\"window\", radius = 1 }, { kind = \"self\" }] }\n");
  compare(head + "[mixer]\nkind = \"convolution\"\ntaps = [0, 1, -2]\n", true);
  compare(head + "[mixer]\nkind = \"linear\"\npattern = { kind = \"window\", radius = 2 }\n", true);
  compare(head + "[mixer]\nkind = \"linear\"\nheads = 2\n");
  for (const char* kind : {"sum", "mean", "max"}) {
    compare(head + fmt::format("[mixer]\nkind = \"{}\"\npattern = {{ kind = \"window\", radius = 1, global = [2] }}\n",
                               kind),
            true);
    compare(head +
            fmt::format("[mixer]\nkind = \"{}\"\npattern = {{ kind = \"matrix\", matrix = "
                        "[[1,2,0,0,0,3],[1,1,1,0,0,0],[0,2,1,3,0,0],[0,0,0,1,0,0],[0,0,0,2,1,0],[3,0,0,0,0,1]] }}\n",
                        kind));
  }
  compare(head + "[mixer]\nkind = \"max\"\nvalue = \"identity\"\n");
  compare(head + "[[layer]]\nmixer = { kind = \"tokenwise\" }\n");
}

// Certified as rows that show their length (docs/theory.md 15.4 L1); a plain mean shows frequencies alone.
TEST_CASE("a mean with a sink or eps shows how many tokens it reads") {
  for (const char* denominator : {"", "sink = true\n", "eps = 0.5\n"}) {
    const std::string toml = head + "[mixer]\nkind = \"mean\"\npattern = { kind = \"full\", causal = true }\n" + denominator;
    compare(toml, true);
    train::ModelOptions options;
    options.dtype = at::kDouble;
    options.outputs = 4;
    const train::Model model(parse(toml), options, Budget{});
    shake(model);
    const at::NoGradGuard no_gradients;
    const Tensor out = model.forward(draw({1, 1, 4}, "x").expand({1, 6, 4}), {}, {});
    const double difference = distance(out.select(1, 0), out.select(1, 5));
    if (*denominator == 0)
      CHECK(difference < 1e-13);
    else
      CHECK(difference > 1e-3);
  }
}

TEST_CASE("the post-norm of a layer without sublayers stays") {
  const std::string toml = head + "[[layer]]\n[[layer]]\nmixer = { kind = \"tokenwise\" }\nfeedforward = { kind = \"none\" }\n"
                                  "norm = { kind = \"layernorm\", place = \"post\", affine = false }\n";
  compare(toml);
  train::ModelOptions options;
  options.dtype = at::kDouble;
  options.outputs = 4;
  const train::Model model(parse(toml), options, Budget{});
  const at::NoGradGuard no_gradients;
  CHECK(model.forward(draw({2, 6, 4}, "x"), {}, {}).sum(-1).abs().max().item<double>() < 1e-12);
}

TEST_CASE("blocks, norms, feedforwards and embeddings in exact mode are the functions of the ordinary one") {
  for (const char* place : {"pre", "post", "sandwich", "after"}) {
    for (const char* kind : {"layernorm", "rmsnorm"}) {
      for (const char* arrangement : {"sequential", "parallel"}) {
        compare(
            head +
            fmt::format("[block]\narrangement = \"{}\"\n[norm]\nkind = \"{}\"\nplace = \"{}\"\n[[layer]]\nrepeat = 2\n",
                        arrangement, kind, place));
      }
    }
  }
  for (const char* name :
       {"relu", "gelu", "silu", "mish", "elu", "leaky_relu", "tanh", "sigmoid", "softplus", "erf", "sin", "exp",
        "square", "relu2", "cube", "identity", "t^2+tanh(t)", "abs(t)", "log(1+exp(t))/2"}) {
    compare(head + fmt::format("[feedforward]\nactivation = \"{}\"\nwidth = 5\n", name));
  }
  compare(head + "[feedforward]\nkind = \"glu\"\nactivation = \"silu\"\nbias = \"output\"\n");
  compare(head + "[feedforward]\nkind = \"moe\"\nexperts = 3\ntop_k = 2\nexpert = \"glu\"\nbias = false\n");
  compare(head + "[feedforward]\nkind = \"affine\"\n[block]\nresidual = false\n");
  compare(head + "[feedforward]\nkind = \"none\"\n[block]\ntied = true\n[[layer]]\nrepeat = 3\n");
  compare(head + "[input]\nembedding = \"mlp\"\npositions = \"learned\"\nnorm = { kind = \"layernorm\" "
                 "}\n[output]\nhead = \"linear\"\npool = \"mean\"\nnorm = { kind = \"rmsnorm\", affine = false }\n",
          true);
  compare(
      head +
      "[input]\nembedding = \"table\"\npositions = \"sinusoidal\"\n[output]\nhead = \"linear\"\npool = \"first\"\n");
}

TEST_CASE("parameters have the names and shapes of the interface") {
  const architecture::Architecture a =
      parse("tokens = 5\ndim = 4\n[input]\nembedding = \"linear\"\ndim = 3\npositions = \"learned\"\nregisters = "
            "[\"a\",\"b\",\"a\"]\n[mixer]\nheads = 2\nsink = true\n"
            "relative = \"learned\"\n[norm]\nkind = \"layernorm\"\n[output]\nhead = \"linear\"\ndim = 2\nnorm = { kind "
            "= \"rmsnorm\" }\n[[layer]]\nrepeat = 2\n[[layer]]\n"
            "mixer = { kind = \"bias\", activation = \"tanh\", relative = \"none\", sink = false }\nfeedforward = { "
            "kind = \"moe\", experts = 2, width = 6 }\n");
  train::ModelOptions options;
  options.outputs = 2;
  const train::Model model(a, options, Budget{});
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const train::Weight& weight : model.weights())
    shapes[weight.name] = weight.tensor.sizes().vec();
  using Shape = std::vector<std::int64_t>;
  CHECK(shapes["input.embedding.weight"] == Shape{4, 3});
  CHECK(shapes["input.embedding.bias"] == Shape{4});
  CHECK(shapes["input.positions"] == Shape{5, 4});
  CHECK(shapes["input.registers"] == Shape{2, 4});
  CHECK(shapes["layers.0.mixer.q.weight"] == Shape{4, 4});
  CHECK(shapes["layers.1.mixer.o.weight"] == Shape{4, 4});
  CHECK(shapes["layers.1.mixer.sink"] == Shape{2});
  CHECK(shapes["layers.1.mixer.bias"] == Shape{2, 10});
  CHECK(shapes["layers.0.norm1.weight"] == Shape{4});
  CHECK(shapes["layers.0.norm2.bias"] == Shape{4});
  CHECK(shapes["layers.0.feedforward.up.weight"] == Shape{16, 4});
  CHECK(shapes["layers.2.mixer.w"] == Shape{1, 4});
  CHECK(shapes["layers.2.mixer.b"] == Shape{1});
  CHECK(shapes["layers.2.mixer.a"] == Shape{4});
  CHECK(shapes["layers.2.feedforward.router.weight"] == Shape{2, 4});
  CHECK(shapes["layers.2.feedforward.expert.1.up.weight"] == Shape{6, 4});
  CHECK(shapes["output.norm.weight"] == Shape{4});
  CHECK(shapes["output.head.weight"] == Shape{2, 4});
  CHECK(shapes["output.head.bias"] == Shape{2});
  CHECK(shapes.size() == 51);
  CHECK(model.named_parameters(true).size() == 51); // the tree of modules spells the same names
  CHECK(model.named_parameters(true).contains("layers.2.feedforward.expert.1.up.weight"));
  // The same seed gives the same numbers, another one others.
  CHECK(train::Model(a, options, Budget{}).weights()[0].tensor.equal(model.weights()[0].tensor));
  options.seed = 1;
  CHECK_FALSE(train::Model(a, options, Budget{}).weights()[0].tensor.equal(model.weights()[0].tensor));
}

TEST_CASE("losses leave out what is not scored") {
  train::Batch batch;
  batch.type = at::kDouble;
  batch.x = at::zeros({2, 3, 1}, at::kDouble);
  batch.y = at::tensor(std::vector<std::int64_t>{0, 1, -100, 1, -100, -100}, at::kLong).reshape({2, 3});
  batch.weights = at::tensor(std::vector<double>{1, 3}, at::kDouble);
  const Tensor scores = draw({2, 3, 2}, "scores");
  const train::Score score = train::compute_score(scores, batch, 0.1);
  CHECK(score.weight == 5); // two tokens of weight 1, one of weight 3
  double expected = 0;
  const std::int64_t classes[] = {0, 1, 0, 1, 0, 0};
  for (const int k : {0, 1, 3}) {
    const Tensor row = at::log_softmax(scores.reshape({6, 2})[k], 0);
    expected -= (k == 3 ? 3.0 : 1.0) * (0.9 * row[classes[k]].item<double>() + 0.1 * row.mean().item<double>());
  }
  CHECK(score.loss.item<double>() == doctest::Approx(expected));

  batch.y = at::zeros({2, 3, 2}, at::kDouble);
  batch.lengths = at::tensor(std::vector<std::int64_t>{3, 1}, at::kLong);
  Tensor outputs = at::ones({2, 3, 2}, at::kDouble);
  outputs[1][1][0] = std::nan(""); // behind the end of a sample
  const train::Score squared = train::compute_score(outputs, batch, 0);
  CHECK(squared.weight == 6);
  CHECK(squared.loss.item<double>() == doctest::Approx(6));
}

TEST_CASE("optimisers do what their papers say") {
  architecture::Train settings;
  settings.weight_decay = 0.1;
  for (const auto kind :
       {architecture::Optimiser::adamw, architecture::Optimiser::adam, architecture::Optimiser::sgd}) {
    settings.optimiser = kind;
    const Tensor values = at::full({1}, 2.0, at::kDouble);
    train::Optimiser optimiser(settings, values);
    double w = 2, m = 0, v = 0;
    for (int step = 0; step < 5; ++step) {
      const double given = 0.5 + step;
      optimiser.update(values, at::full({1}, given, at::kDouble), step, 0.01);
      double g = given;
      if (kind == architecture::Optimiser::adamw)
        w -= 0.01 * 0.1 * w;
      else
        g += 0.1 * w;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      if (kind == architecture::Optimiser::sgd)
        w -= 0.01 * g;
      else
        w -= 0.01 * (m / (1 - std::pow(0.9, step + 1))) / (std::sqrt(v / (1 - std::pow(0.999, step + 1))) + 1e-8);
      CHECK(values[0].item<double>() == doctest::Approx(w).epsilon(1e-12));
    }
  }
  settings.warmup = 0.1;
  CHECK(train::compute_rate(settings, 0, 100) == doctest::Approx(1e-4));
  CHECK(train::compute_rate(settings, 9, 100) == doctest::Approx(1e-3));
  CHECK(train::compute_rate(settings, 55, 100) == doctest::Approx(0.5e-3));
  CHECK(train::compute_rate(settings, 99, 100) < 1e-6);
  const Tensor gradient = at::full({4}, 3.0, at::kDouble);
  train::clip_gradient(gradient, 1.5);
  CHECK(gradient.norm().item<double>() == doctest::Approx(1.5).epsilon(1e-5));
}

TEST_CASE("what cannot be trained is refused in one line") {
  const auto refuse = [](const std::string& toml, const std::string& words) {
    train::ModelOptions options;
    options.outputs = 4;
    CHECK_THROWS_WITH_AS(train::Model(parse(toml), options, Budget{}), doctest::Contains(words.c_str()), InputError);
  };
  refuse(head + "[mixer]\nkind = \"lsh\"\n", "lsh");
  refuse(head + "[mixer]\nheads = 3\n", "heads that divide");
  refuse(head + "[mixer]\nheads = 2\nkernel = { name = \"exponential-sum\", weight = [1,2,3,4] }\n", "literal vectors");
  refuse(head + "[mixer]\nheads = 4\nrelative = \"rotary\"\n", "even head width");
  refuse(head + "[input]\nregisters = [\"a\"]\n[mixer]\nkernel = \"gaussian\"\nrelative = \"rotary\"\n",
         "dot(x,y) alone");
  refuse("tokens = 6\ndim = 3\n", "at most dim = 3 outputs");
  refuse(head + "[block]\ntied = true\n[[layer]]\n[[layer]]\nfeedforward = { width = 3 }\n", "tied");
}

// 0 x NaN is NaN: neither values nor gradients may pass the mask, whichever route is taken.
TEST_CASE("what a row does not read cannot change it, numbers that are none included") {
  const double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
  for (const char* mixer :
       {"heads = 2", "heads = 2\nrelative = \"learned\"\nsink = true", "kernel = \"gaussian\"", "kernel = \"elu1\"",
        "kernel = \"cauchy\"\nnormalised = false", "kind = \"sum\"", "kind = \"mean\"", "kind = \"max\"",
        "kind = \"linear\"", "kind = \"bias\"\nactivation = \"tanh\""}) {
    const architecture::Architecture a =
        parse(head + fmt::format("[mixer]\n{}\npattern = {{ kind = \"window\", radius = 1 }}\n", mixer));
    CAPTURE(mixer);
    train::ModelOptions options;
    options.dtype = at::kDouble;
    options.outputs = 4;
    train::Model model(a, options, Budget{});
    shake(model);
    const Tensor x = draw({1, 6, 4}, "x");
    const auto devices = has_gpu() ? std::vector<at::Device>{at::kCPU, at::kCUDA} : std::vector<at::Device>{at::kCPU};
    for (const double bad : {none, infinity, -infinity}) {
      Tensor spoilt = x.clone();
      spoilt[0][5].fill_(bad); // read by tokens 4 and 5; their rows, spoilt with it, hold tokens 3 and 4 besides
      for (const at::Device device : devices) {
        for (const bool dense : {false, true}) {
          CAPTURE(bad);
          CAPTURE(dense);
          CAPTURE(device.str());
          model.to(device);
          for (const train::Weight& weight : model.weights())
            const_cast<Tensor&>(weight.tensor).mutable_grad() = Tensor();
          Tensor in = spoilt.to(device).clone().requires_grad_(true), whole = x.to(device).clone().requires_grad_(true);
          train::Run how;
          how.dense_mixers = dense;
          const Tensor out = model.forward(in, {}, how), right = model.forward(whole, {}, how);
          CHECK(distance(out.narrow(1, 0, 4), right.narrow(1, 0, 4)) < 1e-12);
          out.narrow(1, 0, 4).sum().backward();
          right.narrow(1, 0, 4).sum().backward();
          CHECK(distance(in.grad().narrow(1, 0, 3), whole.grad().narrow(1, 0, 3)) < 1e-12);
          model.to(at::kCPU);
        }
      }
    }
  }
}

// A process that has a GPU to itself exchanges by NCCL; with one GPU there is one such process.
TEST_CASE("NCCL adds up and hands out on a GPU") {
  if (!has_gpu()) {
    MESSAGE("SKIPPED: no GPU, or a LibTorch without CUDA");
    return;
  }
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  const std::unique_ptr<train::Exchange> nccl = train::make_gpu_exchange(store, 0, 1, {at::kCUDA, 0});
  if (!nccl) {
    MESSAGE("SKIPPED: a build without NCCL");
    return;
  }
  Tensor sum = at::arange(1000, at::kDouble).cuda();
  nccl->add_up(sum);
  nccl->hand_out(sum);
  CHECK(at::equal(sum.cpu(), at::arange(1000, at::kDouble)));
}
