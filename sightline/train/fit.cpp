#include "sightline/train/fit.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <optional>

#include "sightline/base/error.hpp"
#include "sightline/base/watched.hpp"
#include "sightline/train/checkpoint.hpp"
#include "sightline/train/loss.hpp"
#include "sightline/train/optimiser.hpp"
#include "sightline/train/random.hpp"

namespace sightline::train {

std::int64_t Network::count_parameters() const {
  std::int64_t count = 0;
  for (const Weight& weight : weights)
    count += weight.trained ? weight.tensor.numel() : 0;
  return count;
}

Network make_network(std::shared_ptr<Model> model) {
  return {model, model->weights(), [model](const Tensor& x, const Run& run) { return model->forward(x, {}, run); }};
}

FitOptions make_fit_options(std::int64_t steps, std::int64_t batch, double rate, std::uint64_t seed, int threads) {
  FitOptions options;
  options.settings.steps = steps;
  options.settings.batch = batch;
  options.settings.lr = rate;
  options.settings.weight_decay = 0;
  options.settings.seed = static_cast<std::int64_t>(seed);
  options.threads = threads;
  return options;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Tensor run_network(const Network& network, const Tensor& x, std::int64_t batch, const Run& run) {
  const at::NoGradGuard no_gradients;
  const LongCall call;
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < x.size(0); begin += batch)
    parts.push_back(network.forward(x.narrow(0, begin, std::min(batch, x.size(0) - begin)), run));
  return at::cat(parts, 0);
}

FitResult fit(const Network& network, const Batch& training, const FitOptions& options, const Budget& budget,
              const std::function<void(std::int64_t step, double loss)>& show) {
  using Clock = std::chrono::steady_clock;
  const architecture::Train& settings = options.settings;
  const std::int64_t steps = settings.steps.value(), batch = std::min(settings.batch, training.size());
  const std::int64_t per_epoch = training.size() / batch; // a last, smaller batch is left out
  const Run run{options.threads};
  const FlatParameters flat(network.weights);
  Optimiser optimiser(settings, flat.values());
  State state;
  if (!options.checkpoint.empty() && std::filesystem::exists(options.checkpoint)) {
    state = to_state(data::read_safetensors(options.checkpoint, budget), options.checkpoint, options.fingerprint,
                     flat.values().numel());
    flat.values().copy_(state.values);
    optimiser.first.copy_(state.first);
    optimiser.second.copy_(state.second);
  }
  using Seconds = std::chrono::duration<double>;
  const bool keeps = !options.checkpoint.empty();
  auto last = Clock::now();
  std::int64_t kept = state.step;
  const auto write_checkpoint = [&] {
    if (!keeps || kept == state.step)
      return;
    state.values = flat.values();
    state.first = optimiser.first;
    state.second = optimiser.second;
    data::write_safetensors(options.checkpoint, to_file(state, options.fingerprint));
    kept = state.step;
    last = Clock::now();
  };
  FitResult result;
  result.first_step = state.step;
  const double start = processor_seconds();
  std::int64_t known = -1;
  std::vector<std::int64_t> order;
  double longest_step = 0;
  while (state.step < steps) {
    // A step that outlasts the limit is ended from outside (LongCall), where nothing can be written any more.
    if (budget.seconds_left() < 2 * longest_step)
      write_checkpoint();
    const auto step_start = Clock::now();
    const std::int64_t epoch = state.step / per_epoch, at = state.step % per_epoch * batch;
    if (epoch != known) {
      Random random(static_cast<std::uint64_t>(settings.seed), fmt::format("epoch {}", epoch));
      const auto permuted = data::permute(static_cast<std::uint64_t>(training.size()), random.draw());
      order.assign(permuted.begin(), permuted.end());
      known = epoch;
    }
    std::optional<LongCall> step(std::in_place);
    const Batch now = take_rows(training, {order.begin() + at, order.begin() + at + batch}, at::kCPU);
    flat.clear_gradients();
    const Score score = compute_score(network.forward(now.x, run), now, settings.label_smoothing);
    const Tensor loss = score.loss / score.weight;
    loss.backward();
    const double value = loss.item<double>();
    if (!std::isfinite(value))
      throw InputError(fmt::format("the loss became {} at step {} (a smaller --lr may help)",
                                   name_bad_loss(value), state.step + 1));
    clip_gradient(flat.gradient(), settings.clip);
    optimiser.update(flat.values(), flat.gradient(), state.step, compute_rate(settings, state.step, steps));
    step.reset();
    longest_step = std::max(longest_step, Seconds(Clock::now() - step_start).count());
    if (++state.step > steps - std::max<std::int64_t>(1, steps / 20)) {
      state.loss_sum += value;
      state.loss_weight += 1;
    }
    if (show)
      show(state.step, value);
    if (state.step == steps || Seconds(Clock::now() - last).count() >= options.checkpoint_seconds)
      write_checkpoint();
    try {
      budget.poll_now();
    } catch (...) { // Ctrl-C or the time limit: what was done so far
      write_checkpoint();
      throw;
    }
  }
  result.seconds = processor_seconds() - start;
  result.loss = state.loss_sum / state.loss_weight;
  return result;
}

} // namespace sightline::train
