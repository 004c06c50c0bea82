#include "sightline/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <torch/version.h>

#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/data/metrics.hpp"
#include "sightline/train/device.hpp"
#include "sightline/train/distributed.hpp"
#include "sightline/train/loss.hpp"
#include "sightline/train/optimiser.hpp"
#include "sightline/train/predictor.hpp"
#include "sightline/train/random.hpp"
#include "sightline/train/run_folder.hpp"

namespace sightline::train {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The model's weights with those that are not to be trained marked so.
std::vector<Weight> choose_weights(const Model& model, const std::vector<std::string>& only) {
  std::vector<Weight> weights = model.weights();
  for (const std::string& prefix : only) {
    if (std::none_of(weights.begin(), weights.end(),
                     [&](const Weight& w) { return w.trained && w.name.starts_with(prefix); }))
      throw InputError(fmt::format("--only {}: expected the beginning of a trained tensor's name, e.g. {}", prefix,
                                   weights.front().name));
  }
  for (Weight& weight : weights) {
    const bool chosen = only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& prefix) {
                          return weight.name.starts_with(prefix);
                        });
    weight.trained = weight.trained && chosen;
    if (!weight.trained)
      weight.tensor.set_requires_grad(false);
  }
  return weights;
}

class Training {
public:
  Training(const TrainRequest& request, const TrainListener& listener, const Budget& budget);
  TrainResult run();
  /// What run.json says of a run that an error ended; a checkpoint may stand beside it.
  void note_failure() const;

private:
  void prepare_folder();
  void write_run_file(const char* status) const;
  [[nodiscard]] double estimate_seconds();
  [[nodiscard]] const std::vector<std::int64_t>& order_of(std::int64_t epoch);
  double make_step();
  void report_row();
  void write_checkpoint();
  [[nodiscard]] std::int64_t find_epoch(std::int64_t step) const { return step / steps_per_epoch_; }

  /// Is there a row of metrics.csv after this step?
  [[nodiscard]] bool is_row(std::int64_t step) const {
    return step == steps_ || step % steps_per_epoch_ == 0 ||
           (row_interval_ < steps_per_epoch_ && step % row_interval_ == 0);
  }
  [[nodiscard]] bool is_enough() const {
    return settings_.patience && state_.best_step >= 0 &&
           state_.step - state_.best_step >= *settings_.patience * steps_per_epoch_;
  }

  const TrainRequest& request_;
  const TrainListener& listener_;
  const Budget& budget_;
  architecture::Train settings_;
  at::Device device_;
  ProcessGroup group_;
  int threads_ = 1;
  Batch training_, validation_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<FlatParameters> flat_;
  std::unique_ptr<Optimiser> optimiser_;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<data::MetricsFile> metrics_;
  State state_;
  std::int64_t steps_ = 0, steps_per_epoch_ = 1, row_interval_ = 1;
  std::int64_t ordered_epoch_ = -1;
  std::vector<std::int64_t> order_;
  bool best_is_new_ = false, stop_ = false;
  std::optional<double> validation_loss_;
  data::TensorFile best_;
};

Training::Training(const TrainRequest& request, const TrainListener& listener, const Budget& budget)
    : request_(request), listener_(listener), budget_(budget),
      settings_(request.architecture.train.value_or(architecture::Train{})), device_(open_device(request.device)),
      group_(ProcessGroup::from_environment(device_)) {
  const architecture::Architecture& a = request.architecture;
  const at::ScalarType type = settings_.dtype == architecture::Precision::float64 ? at::kDouble : at::kFloat;
  data::Dataset data =
      data::read_dataset(request.data, request.targets, expect(a, std::nullopt, std::nullopt, true), budget);
  const auto seed = static_cast<std::uint64_t>(settings_.seed);
  // The samples may be right for what the user does; the answer for this file is about others.
  if (const auto missing = a.input.bos ? data::find_missing_bos(data) : std::nullopt; missing && group_.is_first())
    listener_.say(fmt::format("warning: {}: {}; what certify says of this file (input.bos) is about samples with one id in front that stands nowhere else",
                              request.data, *missing));
  data::split_validation(data, request.validation, seed);

  ModelOptions options;
  options.dtype = type;
  options.seed = seed;
  options.outputs = a.output.dim ? *a.output.dim : static_cast<std::int64_t>(data::count_outputs(data));
  if (a.input.embedding == architecture::Embedding::table) {
    options.ids = a.input.vocabulary ? *a.input.vocabulary + (a.input.bos ? 1 : 0)
                                     : static_cast<std::int64_t>(data::count_ids(data));
  }
  model_ = std::make_unique<Model>(a, options, budget);
  if (model_->count_parameters() == 0)
    throw InputError(a.file + ": expected an architecture with something to train, found one without parameters");
  if (request.init_from) {
    const std::unique_ptr<Model> other = load_model(*request.init_from, budget);
    load_weights(*model_, to_file(*other, ""), *request.init_from);
  }
  if (device_.is_cuda())
    model_->to(device_);
  training_ = to_batch(data.train, type);
  if (data.validation)
    validation_ = to_batch(*data.validation, type);

  flat_ = std::make_unique<FlatParameters>(choose_weights(*model_, request.only));
  optimiser_ = std::make_unique<Optimiser>(settings_, flat_->values());
  steps_per_epoch_ = (training_.size() + settings_.batch - 1) / settings_.batch;
  steps_ = settings_.steps.value_or(settings_.epochs * steps_per_epoch_);
  row_interval_ = std::min(steps_per_epoch_, std::max<std::int64_t>(1, (steps_ + 19) / 20));
}

/// The first process owns the folder; the others get the state from it.
void Training::prepare_folder() {
  const Tensor numbers = at::zeros({6}, at::kDouble);
  auto* cell = numbers.data_ptr<double>();
  std::int64_t threads = 0;
  if (group_.is_first()) {
    const std::string samples =
        fmt::format("{:x} {:x}", compute_fingerprint(training_), compute_fingerprint(validation_));
    folder_ = std::make_unique<RunFolder>(request_.out, request_.architecture, request_.resume);
    if (request_.resume) {
      if (auto stored = folder_->read_state(flat_->values().numel(), budget_)) {
        if (!stored->samples.empty() && stored->samples != samples)
          throw InputError(request_.out +
                           ": expected the samples that this run began with (--data, --targets, --validation), found "
                           "others");
        state_ = std::move(*stored);
        if ((state_.first.defined()) != optimiser_->first.defined())
          throw InternalError("the state belongs to another optimiser");
        flat_->values().copy_(state_.values);
        if (state_.first.defined()) {
          optimiser_->first.copy_(state_.first);
          optimiser_->second.copy_(state_.second);
        }
      } else if (folder_->has_steps()) {
        throw InputError(folder_->file("optimiser.safetensors") +
                         ": expected the state that the run in this folder stopped with, found no such file (--init-from "
                         "starts a new run from its weights)");
      } else {
        listener_.say(request_.out + ": holds no step of a run: the training begins anew");
      }
      const RunFolder::Place place = folder_->read_place();
      threads = place.threads;
      if (!place.device.empty() && place.device != request_.device)
        listener_.say(
            fmt::format("this run was started on {}: on {} its numbers go on, but not bit for bit the same",
                        place.device, request_.device));
    }
    state_.samples = samples;
    const double values[] = {static_cast<double>(state_.step),
                             state_.loss_sum,
                             state_.loss_weight,
                             state_.best_loss,
                             static_cast<double>(state_.best_step),
                             static_cast<double>(threads)};
    std::copy(std::begin(values), std::end(values), cell);
  }
  group_.hand_out(numbers);
  group_.hand_out(flat_->values());
  if (optimiser_->first.defined()) {
    group_.hand_out(optimiser_->first);
    group_.hand_out(optimiser_->second);
  }
  state_.step = static_cast<std::int64_t>(cell[0]);
  state_.loss_sum = cell[1];
  state_.loss_weight = cell[2];
  state_.best_loss = cell[3];
  state_.best_step = static_cast<std::int64_t>(cell[4]);
  threads = static_cast<std::int64_t>(cell[5]);
  const int cores = group_.size() > 1 ? 1 : count_cores();
  threads_ = request_.threads.value_or(threads > 0 ? static_cast<int>(threads) : cores);
  use_threads(threads_);
  if (const std::string word = describe_threads(threads_); !word.empty() && group_.is_first())
    listener_.say(word);
  if (threads > 0 && threads != threads_ && group_.is_first()) {
    listener_.say(
        fmt::format("this run was started with {} threads: with {} its numbers go on, but not bit for bit the same",
                    threads, threads_));
  }
  if (!group_.is_first())
    return;
  // A run that was killed before its first checkpoint starts again, whatever else it had written.
  const std::string rows = folder_->file("metrics.csv");
  const bool keep = state_.step > 0 && std::filesystem::exists(rows);
  metrics_ = std::make_unique<data::MetricsFile>(
      rows, std::vector<std::string>{"step", "epoch", "loss", "val_loss", "val_metric", "lr"},
      keep ? std::optional<std::uint64_t>(static_cast<std::uint64_t>(state_.step)) : std::nullopt);
  write_run_file("running");
  if (state_.step == 0)
    write_checkpoint();
}

void Training::write_run_file(const char* status) const {
  nlohmann::ordered_json json;
  json["status"] = status;
  json["data"] = request_.data;
  json["samples"] = {{"training", training_.size()}, {"validation", validation_.x.defined() ? validation_.size() : 0}};
  json["parameters"] = model_->count_parameters();
  json["step"] = state_.step;
  json["steps"] = steps_;
  json["steps_per_epoch"] = steps_per_epoch_;
  json["best_step"] = state_.best_step;
  json["best_loss"] = state_.best_step < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(state_.best_loss);
  json["threads"] = threads_;
  json["device"] = request_.device;
  json["processes"] = group_.size();
  json["torch"] = TORCH_VERSION;
  folder_->write_text("run.json", print_json(json, 2) + "\n");
}

const std::vector<std::int64_t>& Training::order_of(std::int64_t epoch) {
  if (ordered_epoch_ != epoch) {
    Random random(static_cast<std::uint64_t>(settings_.seed), fmt::format("epoch {}", epoch));
    const auto permuted = data::permute(static_cast<std::uint64_t>(training_.size()), random.draw());
    order_.assign(permuted.begin(), permuted.end());
    ordered_epoch_ = epoch;
  }
  return order_;
}

/// One step; its loss. Every process takes an equal share of the batch and divides by the weight of the whole.
double Training::make_step() {
  const std::vector<std::int64_t>& order = order_of(find_epoch(state_.step));
  const std::int64_t begin = state_.step % steps_per_epoch_ * settings_.batch,
                     end = std::min(begin + settings_.batch, training_.size());
  const std::int64_t count = end - begin, rank = group_.rank(), size = group_.size();
  const std::vector<std::int64_t> rows(order.begin() + begin, order.begin() + end);
  const std::vector<std::int64_t> mine(order.begin() + begin + count * rank / size,
                                       order.begin() + begin + count * (rank + 1) / size);
  const Run run{threads_};
  flat_->clear_gradients();
  const Batch batch = take_rows(training_, mine, device_);
  const double weight = size == 1 ? count_weight(batch) : count_weight(take_rows(training_, rows, at::kCPU));
  if (!mine.empty() && weight > 0) {
    const Score score = compute_score(model_->forward(batch.x, batch.lengths, run), batch, settings_.label_smoothing);
    (score.loss / weight).backward();
    flat_->gradients().select(0, flat_->values().numel()).copy_(score.loss.detach());
  }
  group_.add_up(flat_->gradients());
  const double sum = flat_->gradients()[flat_->values().numel()].item<double>();
  if (!std::isfinite(sum)) {
    throw InputError(
        fmt::format("the loss became {} at step {} (a smaller --train.lr may help); the last checkpoint in {} is kept",
                    name_bad_loss(sum), state_.step + 1, request_.out));
  }
  state_.loss_sum += sum;
  state_.loss_weight += weight;
  clip_gradient(flat_->gradient(), settings_.clip);
  optimiser_->update(flat_->values(), flat_->gradient(), state_.step, compute_rate(settings_, state_.step, steps_));
  model_->constrain();
  ++state_.step;
  return weight > 0 ? sum / weight : 0;
}

/// A row of metrics.csv; the first process decides what is best and whether it is enough.
void Training::report_row() {
  const Tensor decision = at::zeros({3}, at::kDouble);
  auto* cell = decision.data_ptr<double>();
  const double training_loss = state_.loss_weight > 0 ? state_.loss_sum / state_.loss_weight : 0;
  if (group_.is_first()) {
    std::optional<double> loss, metric;
    if (validation_.x.defined()) {
      const Evaluation evaluation = evaluate(*model_, validation_, settings_.batch, Run{threads_}, device_, nullptr);
      loss = evaluation.loss;
      metric = evaluation.metric;
      if (!std::isfinite(*loss))
        throw InputError(fmt::format("the validation loss became {} at step {}; the last checkpoint in {} is kept",
                                     name_bad_loss(*loss), state_.step, request_.out));
    }
    const double watched = loss.value_or(training_loss);
    if (state_.best_step < 0 || watched < state_.best_loss) {
      state_.best_loss = watched;
      state_.best_step = state_.step;
      best_ = to_file(*model_, folder_->canonical());
      best_is_new_ = true;
    }
    validation_loss_ = loss;
    metrics_->append(static_cast<std::uint64_t>(state_.step),
                     {static_cast<double>(find_epoch(state_.step - 1) + 1), training_loss, loss, metric,
                      compute_rate(settings_, state_.step - 1, steps_)});
    cell[0] = state_.best_loss;
    cell[1] = static_cast<double>(state_.best_step);
    cell[2] = is_enough() ? 1 : 0;
  }
  group_.hand_out(decision);
  state_.best_loss = cell[0];
  state_.best_step = static_cast<std::int64_t>(cell[1]);
  stop_ = cell[2] != 0;
  state_.loss_sum = state_.loss_weight = 0;
}

/// The state last: as long as the old one stands, what was written before it will be written again, the same.
void Training::write_checkpoint() {
  if (best_is_new_)
    data::write_safetensors(folder_->file("best.safetensors"), best_);
  best_is_new_ = false;
  folder_->write_weights("last.safetensors", *model_);
  state_.values = flat_->values();
  state_.first = optimiser_->first;
  state_.second = optimiser_->second;
  folder_->write_state(state_);
}

/// Time of one step times their number; what it computes is thrown away.
double Training::estimate_seconds() {
  const Run run{threads_};
  const std::int64_t share = std::max<std::int64_t>(1, std::min(settings_.batch, training_.size()) / group_.size());
  const Batch batch = take_range(training_, 0, share, device_);
  double seconds = 0;
  for (int round = 0; round < 2; ++round) { // the first round compiles plans and fills caches
    const auto start = Clock::now();
    compute_score(model_->forward(batch.x, batch.lengths, run), batch, 0).loss.backward();
    seconds = seconds_since(start);
  }
  flat_->clear_gradients();
  const double evaluations =
      validation_.x.defined()
          ? static_cast<double>(steps_) / static_cast<double>(row_interval_) * static_cast<double>(validation_.size())
          : 0;
  return seconds * (static_cast<double>(steps_ - state_.step) + evaluations / 3 / static_cast<double>(share));
}

TrainResult Training::run() {
  prepare_folder();
  if (group_.is_first()) {
    const double seconds = estimate_seconds();
    listener_.say(fmt::format("{} parameters; {} samples, {} for validation", model_->count_parameters(),
                              training_.size(), validation_.x.defined() ? validation_.size() : 0));
    listener_.say(fmt::format("{} steps of {} samples ({} per epoch){}; about {}", steps_,
                              std::min(settings_.batch, training_.size()), steps_per_epoch_,
                              state_.step > 0 ? fmt::format(", going on after step {}", state_.step) : "",
                              print_duration(seconds)));
  }
  stop_ = state_.step > 0 && is_row(state_.step) && is_enough(); // a run that had stopped stays so
  const auto start = Clock::now();
  auto last_checkpoint = Clock::now();
  Progress progress;
  progress.steps = steps_;
  progress.first_step = state_.step;
  progress.epochs = (steps_ + steps_per_epoch_ - 1) / steps_per_epoch_;
  while (state_.step < steps_ && !stop_) {
    progress.epoch = find_epoch(state_.step) + 1;
    progress.loss = make_step();
    const bool row = is_row(state_.step);
    if (row)
      report_row();
    const bool interrupted = Budget::interrupted.load();
    if (group_.is_first()) {
      const bool due = seconds_since(last_checkpoint) >= request_.checkpoint_seconds;
      if (due || interrupted || stop_ || state_.step == steps_) {
        write_checkpoint();
        last_checkpoint = Clock::now();
      }
      progress.step = state_.step;
      progress.validation_loss = validation_loss_;
      progress.seconds_left = seconds_since(start) / static_cast<double>(state_.step - progress.first_step) *
                              static_cast<double>(steps_ - state_.step);
      if (listener_.show)
        listener_.show(progress);
    }
    if (interrupted) {
      if (group_.is_first())
        write_run_file("interrupted");
      throw Interrupted();
    }
  }
  TrainResult result{state_.step, state_.best_step, state_.best_loss, stop_ && state_.step < steps_, group_.is_first()};
  if (group_.is_first()) {
    const std::string curve = folder_->file("metrics.csv");
    data::write_curve(folder_->file("loss.svg"), data::read_curve(curve, "loss", "val_loss"),
                      request_.architecture.name.empty() ? "loss" : request_.architecture.name);
    write_run_file(result.stopped_early ? "stopped early" : "finished");
  }
  return result;
}

void Training::note_failure() const {
  if (!metrics_)
    return; // nothing had begun
  try {
    write_run_file("failed");
  } catch (const InputError&) { // the disk is full: what is said is why the run ended
  }
}

} // namespace

std::string print_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60)
    return fmt::format("{} s", whole);
  if (whole < 3600)
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

TrainResult train(const TrainRequest& request, const TrainListener& listener, const Budget& budget) {
  Training training(request, listener, budget);
  try {
    return training.run();
  } catch (const InputError&) {
    training.note_failure();
    throw;
  }
}

} // namespace sightline::train
