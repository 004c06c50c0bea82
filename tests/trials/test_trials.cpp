#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sightline/approximate/mlp_sumformer.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/train/sumformer_network.hpp"
#include "sightline/trials/compare.hpp"
#include "sightline/trials/fit_mlp.hpp"

using namespace sightline;

namespace {

at::Tensor draw(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    count *= extent;
  std::vector<double> values(static_cast<std::size_t>(count));
  target::Sampler{}.fill(seed, 1, 0, values.size(), values.data());
  return at::tensor(values, at::kDouble).reshape(shape);
}

trials::TaskData make_data(const std::string& text, std::size_t tokens, std::int64_t count) {
  return trials::make_task_data(text, tokens, 0, target::Sampler{}, count, 200, 3, Budget{});
}

} // namespace

TEST_CASE("all monomials, each after the one it is a multiple of") {
  const auto all = train::list_monomials(3, 4);
  CHECK(all.size() == 34); // C(7,3) - 1
  for (std::size_t k = 0; k < all.size(); ++k) {
    for (std::size_t other = 0; other < k; ++other)
      CHECK(all[k] != all[other]);
  }
  train::SumformerShape shape;
  shape.tokens = 4;
  shape.dim = 3;
  shape.outputs = 2;
  shape.monomials = all;
  shape.psi = {5, 6};
  const train::SumformerNetwork network(shape, {0, 0, 0}, {1, 1, 1}, at::kDouble, 0);
  const at::Tensor x = draw({2, 4, 3}, 2);
  // psi of the power sums, written out.
  at::Tensor sums = at::zeros({2, 34}, at::kDouble);
  for (std::size_t k = 0; k < all.size(); ++k) {
    at::Tensor product = at::ones({2, 4}, at::kDouble);
    for (std::size_t c = 0; c < 3; ++c)
      product = product * x.select(-1, static_cast<std::int64_t>(c)).pow(static_cast<double>(all[k][c]));
    sums.select(1, static_cast<std::int64_t>(k)).copy_(product.mean(1));
  }
  at::Tensor h = at::cat({x, sums.unsqueeze(1).expand({2, 4, 34})}, -1);
  for (std::size_t l = 0; l < 3; ++l)
    h = at::linear(l > 0 ? at::gelu(h) : h, network.psi()[l].weight, network.psi()[l].bias);
  CHECK((network.forward(x, {}) - h).abs().max().item<double>() < 1e-12);
}

TEST_CASE("a trained Sumformer is saved as it stands, exactly equivariant") {
  const trials::TaskData data = make_data("expr:3 + x*mean(y^2) - 2*sum(y)", 5, 600);
  trials::MlpOptions options;
  options.steps = 300;
  options.width = 24;
  options.latent = 4;
  options.error = 1e-6;
  const trials::MlpResult result = trials::fit_mlp(data, options, Budget{});
  CHECK(result.relative_l2 < 0.1);
  CHECK(result.relative_l2 < 3 * result.train); // the exported model is the trained one
  CHECK(result.equivariance == 0);
  CHECK(!result.blame.empty());
  const auto back = approximate::MlpSumformer::from_tensors(result.model->to_tensors(), "file");
  std::vector<double> one(5), two(5);
  result.model->evaluate(1, data.test_x.data(), one.data());
  back.evaluate(1, data.test_x.data(), two.data());
  CHECK(one == two);
  auto broken = result.model->to_tensors();
  broken.tensors.erase("psi.1.bias");
  CHECK_THROWS_AS((void)approximate::MlpSumformer::from_tensors(broken, "file"), InputError);
  broken = result.model->to_tensors();
  broken.metadata["dim"] = "2";
  CHECK_THROWS_AS((void)approximate::MlpSumformer::from_tensors(broken, "file"), InputError);
}

TEST_CASE("a fit that was stopped ends with the same bits") {
  const trials::TaskData data = make_data("expr:x*sum(y)", 4, 200);
  const std::string file = (std::filesystem::temp_directory_path() / "sightline-fit-test.part").string();
  trials::MlpOptions options;
  options.steps = 60;
  options.width = 8;
  options.latent = 3;
  const auto whole = trials::fit_mlp(data, options, Budget{}).model->to_tensors();
  options.checkpoint = file;
  std::filesystem::remove(file);
  // Ctrl-C in the middle.
  CHECK_THROWS_AS((void)trials::fit_mlp(data, options, Budget{},
                                        [](const std::string&, double share) {
                                          if (share > 0.5)
                                            Budget::interrupted.store(true);
                                        }),
                  Interrupted);
  Budget::interrupted.store(false);
  REQUIRE(std::filesystem::exists(file));
  // Another fit's state is refused.
  trials::MlpOptions other = options;
  other.seed = 1;
  CHECK_THROWS_AS((void)trials::fit_mlp(data, other, Budget{}), InputError);
  const trials::MlpResult resumed = trials::fit_mlp(data, options, Budget{});
  CHECK(resumed.first_step == 31);
  CHECK(resumed.model->to_tensors() == whole);
  // What was trained is kept until the caller has written the model: a limit that is met while it is measured costs no training.
  const trials::MlpResult again = trials::fit_mlp(data, options, Budget{});
  CHECK(again.first_step == 60);
  CHECK(again.model->to_tensors() == whole);
  std::filesystem::remove(file);
}

TEST_CASE("a step that may outlast the time limit starts with everything before it on the disk") {
  const std::string file = (std::filesystem::temp_directory_path() / "sightline-fit-limit.part").string();
  std::filesystem::remove(file);
  train::SumformerShape shape;
  shape.tokens = 2;
  shape.dim = shape.outputs = 1;
  shape.phi = {2, 2};
  shape.psi = {2};
  const auto inner = std::make_shared<train::SumformerNetwork>(shape, std::vector<double>{0}, std::vector<double>{1}, at::kDouble, 0);
  train::Network network = train::make_network(inner);
  bool is_kept = false;
  network.forward = [&, forward = network.forward](const at::Tensor& x, const train::Run& run) {
    is_kept = std::filesystem::exists(file);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    return forward(x, run);
  };
  train::Batch batch;
  batch.type = at::kDouble;
  batch.x = at::ones({4, 2, 1}, at::kDouble);
  batch.y = at::zeros({4, 2, 1}, at::kDouble);
  train::FitOptions options = train::make_fit_options(1000, 2, 1e-3, 0, 1);
  options.checkpoint = file;
  options.checkpoint_seconds = 1e6;
  CHECK_THROWS_AS((void)train::fit(network, batch, options, Budget(0.2, std::nullopt)), BudgetExhausted);
  CHECK(is_kept); // at the start of the step in which the limit came
  std::filesystem::remove(file);
}

TEST_CASE("sizes for a budget: within 5 %, or the least that is possible is named") {
  for (const std::int64_t tokens : {3, 8, 33}) {
    for (const std::int64_t dim : {1, 4}) {
      trials::Task task;
      task.tokens = tokens;
      task.dim = dim;
      task.outputs = 2;
      for (const double budget : {1e5, 1e6, 3e7}) {
        for (const trials::Kind kind : trials::list_kinds()) {
          if (tokens == 33 && budget < 1e6) // too few for the linear maps alone
            continue;
          CAPTURE(trials::name_of(kind));
          const trials::Contender c = trials::fit_to_budget(task, kind, budget, 0.05);
          CHECK(std::fabs(trials::count_operations(task, c) / budget - 1) <= 0.05);
          if (budget == 1e5 && dim == 1)
            CHECK(trials::certify_words(trials::to_toml(task, c, 0), "contender", Budget{}).verdict == "certified");
        }
      }
    }
  }
  trials::Task task;
  task.tokens = 8;
  task.dim = 1;
  task.outputs = 1;
  CHECK_THROWS_AS((void)trials::fit_to_budget(task, trials::Kind::full, 50, 0.05), InputError);
}
