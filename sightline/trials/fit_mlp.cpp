#include "sightline/trials/fit_mlp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sightline/base/print_json.hpp"
#include "sightline/train/sumformer_network.hpp"

namespace sightline::trials {
namespace {

approximate::LinearMap to_map(const train::Linear& linear) {
  const at::Tensor weight = linear.weight.detach().to(at::kDouble).contiguous(),
                   bias = linear.bias.detach().to(at::kDouble).contiguous();
  const auto list = [](const at::Tensor& t) {
    const double* begin = t.data_ptr<double>();
    return std::vector<double>(begin, begin + t.numel());
  };
  return {static_cast<std::size_t>(weight.size(1)), static_cast<std::size_t>(weight.size(0)), list(weight), list(bias)};
}

/// The map of (x - centre) / half in its first coordinates as a map of x.
void unscale_input(approximate::LinearMap& map, const std::vector<double>& centre, const std::vector<double>& half) {
  for (std::size_t r = 0; r < map.out; ++r) {
    for (std::size_t c = 0; c < centre.size(); ++c) {
      double& weight = map.weight[r * map.in + c];
      weight /= half[c];
      map.bias[r] -= weight * centre[c];
    }
  }
}

void scale_output(approximate::LinearMap& map, double factor, double shift) {
  for (double& weight : map.weight)
    weight *= factor;
  for (double& bias : map.bias)
    bias = bias * factor + shift;
}

approximate::MlpSumformer to_model(const train::SumformerNetwork& network, const TaskData& data) {
  std::vector<approximate::LinearMap> phi, psi;
  for (const train::Linear& linear : network.phi())
    phi.push_back(to_map(linear));
  for (const train::Linear& linear : network.psi())
    psi.push_back(to_map(linear));
  const std::vector<double> centre = data.centre(), half = data.half();
  unscale_input(phi.front(), centre, half);
  unscale_input(psi.front(), centre, half);
  scale_output(phi.back(), 1 / static_cast<double>(data.tokens), 0); // the mean was trained, the sum is saved
  scale_output(psi.back(), data.deviation, data.mean);
  return {static_cast<std::size_t>(data.tokens), static_cast<std::size_t>(data.dim), std::move(phi), std::move(psi)};
}

struct Errors {
  double rms = 0, scale = 0, sup = 0, largest = 0;
};

Errors measure(const approximate::MlpSumformer& model, const std::vector<double>& x, const std::vector<double>& y,
               std::size_t count, const Budget& budget) {
  std::vector<double> out(y.size());
  const std::size_t per_x = model.tokens() * model.dim(), per_y = model.tokens() * model.outputs();
  const std::size_t at_a_time = std::max<std::size_t>(1, 256 / model.tokens());
  for (std::size_t s = 0; s < count; s += at_a_time) {
    budget.poll();
    model.evaluate(std::min(at_a_time, count - s), x.data() + s * per_x, out.data() + s * per_y);
  }
  Errors errors;
  for (std::size_t k = 0; k < y.size(); ++k) {
    const double difference = std::fabs(out[k] - y[k]);
    errors.rms += difference * difference;
    errors.scale += y[k] * y[k];
    errors.sup = std::max(errors.sup, difference);
    errors.largest = std::max(errors.largest, std::fabs(y[k]));
  }
  errors.rms = std::sqrt(errors.rms / static_cast<double>(y.size()));
  errors.scale = std::sqrt(errors.scale / static_cast<double>(y.size()));
  return errors;
}

/// |S(sX) - sS(X)| for a cyclic shift and the reversal of a few test sequences.
double measure_equivariance(const approximate::MlpSumformer& model, const TaskData& data) {
  const std::size_t n = model.tokens(), d = model.dim(), k = model.outputs();
  double largest = 0;
  std::vector<double> moved(n * d), out(n * k), moved_out(n * k);
  for (std::size_t s = 0; s < std::min<std::size_t>(8, static_cast<std::size_t>(data.test)); ++s) {
    const double* x = data.test_x.data() + s * n * d;
    model.evaluate(1, x, out.data());
    for (const bool reversed : {false, true}) {
      const auto to = [&](std::size_t i) { return reversed ? n - 1 - i : (i + 1) % n; };
      for (std::size_t i = 0; i < n; ++i)
        std::copy_n(x + i * d, d, moved.begin() + static_cast<std::ptrdiff_t>(to(i) * d));
      model.evaluate(1, moved.data(), moved_out.data());
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t e = 0; e < k; ++e)
          largest = std::max(largest, std::fabs(moved_out[to(i) * k + e] - out[i * k + e]));
      }
    }
  }
  return largest;
}

} // namespace

MlpResult fit_mlp(const TaskData& data, const MlpOptions& options, const Budget& budget,
                  const std::function<void(const std::string& stage, double share)>& show) {
  train::SumformerShape shape;
  shape.tokens = data.tokens;
  shape.dim = data.dim;
  shape.outputs = data.outputs;
  shape.phi = {options.width, options.width, options.latent};
  shape.psi = {options.width, options.width};
  const auto network =
      std::make_shared<train::SumformerNetwork>(shape, data.centre(), data.half(), at::kDouble, options.seed);
  train::FitOptions fit =
      train::make_fit_options(options.steps, options.batch, options.rate, options.seed, options.threads);
  fit.checkpoint = options.checkpoint;
  fit.checkpoint_seconds = options.checkpoint_seconds;
  fit.fingerprint =
      fmt::format("mlp Sumformer {} samples {} tokens {} dim {} outputs {} latent {} width {} steps {} "
                  "batch {} lr {} seed {} first {} {}",
                  data.name, data.count, data.tokens, data.dim, data.outputs, options.latent, options.width,
                  options.steps, options.batch, options.rate, options.seed, data.x[0], data.y[0]);
  train::use_threads(options.threads);
  // The steps from 70 to 75 % of the way, just before the learning rate becomes small: did the loss still fall after
  // them?
  double before = 0, count = 0;
  const train::FitResult fitted =
      train::fit(train::make_network(network), to_batch(data, false, at::kDouble), fit, budget,
                 [&](std::int64_t step, double loss) {
                   if (10 * step > 7 * options.steps && 20 * step <= 15 * options.steps) {
                     before += loss;
                     count += 1;
                   }
                   if (show)
                     show("training", static_cast<double>(step) / static_cast<double>(options.steps));
                 });
  MlpResult result;
  result.target = data.name;
  result.notes = data.notes;
  result.tokens = data.tokens;
  result.dim = data.dim;
  result.outputs = data.outputs;
  result.latent = options.latent;
  result.width = options.width;
  result.steps = options.steps;
  result.first_step = fitted.first_step;
  result.rows = data.count * data.tokens;
  result.seconds = fitted.seconds;
  result.wanted = options.error;
  result.model.emplace(to_model(*network, data));
  result.parameters = result.model->parameters();
  const Errors test = measure(*result.model, data.test_x, data.test_y, static_cast<std::size_t>(data.test), budget),
               train = measure(*result.model, data.x, data.y, static_cast<std::size_t>(data.count), budget);
  result.l2 = test.rms;
  result.sup = test.sup;
  result.relative_l2 = test.scale > 0 ? test.rms / test.scale : test.rms;
  result.relative_sup = test.largest > 0 ? test.sup / test.largest : test.sup;
  result.train = train.scale > 0 ? train.rms / train.scale : train.rms;
  result.before = count > 0 && train.scale > 0 ? data.deviation * std::sqrt(before / count) / train.scale : 0;
  result.equivariance = measure_equivariance(*result.model, data);
  if (!(result.relative_l2 <= result.wanted)) {
    if (result.relative_l2 > 2 * result.train) {
      result.blame.push_back(fmt::format("data: {:.2g} on the fitted sequences but {:.2g} on fresh ones, {} fitted "
                                         "numbers for {} parameters: more --samples",
                                         result.train, result.relative_l2, result.rows * data.outputs,
                                         result.parameters));
    } else {
      result.blame.push_back(fmt::format("not the data: {:.2g} on the fitted sequences, {:.2g} on fresh ones",
                                         result.train, result.relative_l2));
      if (count > 0 && result.train > 0)
        result.blame.push_back(fmt::format(
            "steps: {:.2g} at three quarters of them, {:.2g} at the end{}", result.before, result.train,
            result.before > 1.5 * result.train    ? ": it still falls, more --steps"
            : result.before > 1.05 * result.train ? ": it may fall further with more --steps"
                                                  : ": it has come to rest"));
      result.blame.push_back(
          fmt::format("size: latent dimension {}, widths {}; a larger --latent helps where the sum says too "
                      "little, a larger --width where phi and psi are too simple",
                      result.latent, result.width));
    }
  }
  return result;
}

std::string to_json(const MlpResult& r, const std::string& saved, const std::string& architecture) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["target"] = r.target;
  json["method"] = "mlp";
  json["tokens"] = r.tokens;
  json["dim"] = r.dim;
  json["outputs"] = r.outputs;
  json["latent"] = r.latent;
  json["width"] = r.width;
  json["parameters"] = r.parameters;
  json["steps"] = r.steps;
  json["first_step"] = r.first_step;
  json["rows"] = r.rows;
  json["l2"] = r.l2;
  json["relative_l2"] = r.relative_l2;
  json["sup"] = r.sup;
  json["relative_sup"] = r.relative_sup;
  json["train"] = r.train;
  json["equivariance"] = r.equivariance;
  json["group"] = fmt::format("S_{}", r.tokens);
  json["seconds"] = r.seconds;
  json["wanted"] = r.wanted;
  json["model"] = saved.empty() ? Json(nullptr) : Json(saved);
  json["architecture"] = architecture.empty() ? Json(nullptr) : Json(architecture);
  json["notes"] = r.notes;
  json["blame"] = r.blame;
  return print_json(json);
}

std::string to_text(const MlpResult& r, const std::string& saved, const std::string& architecture) {
  std::string text = fmt::format("             {}\n\n", r.target);
  text += fmt::format("method       MLP Sumformer, {} tokens of {} numbers to {} each\n", r.tokens, r.dim, r.outputs);
  text += fmt::format("latent       {} (phi {}-{}-{}-{}, psi {}-{}-{}-{}), {} parameters\n", r.latent, r.dim, r.width,
                      r.width, r.latent, r.dim + r.latent, r.width, r.width, r.outputs, r.parameters);
  text += fmt::format("training     {} steps{}, {} rows, {:.1f} s of the processor\n", r.steps,
                      r.first_step > 0 ? fmt::format(" (resumed after {})", r.first_step) : "", r.rows, r.seconds);
  text += fmt::format("error        L2 {:.3g} ({:.2g} of the target's; {:.2g} on the fitted sequences), sup {:.3g} "
                      "({:.2g} of the largest value), on fresh sequences\n",
                      r.l2, r.relative_l2, r.train, r.sup, r.relative_sup);
  text += fmt::format("equivariance {:.2g} under S_{}\n", r.equivariance, r.tokens);
  for (const std::string& note : r.notes)
    text += fmt::format("note         {}\n", note);
  if (!r.blame.empty()) {
    text += fmt::format("\nthe wanted error {:.2g} is missed:\n", r.wanted);
    for (const std::string& line : r.blame)
      text += fmt::format("  {}\n", line);
  }
  if (!architecture.empty())
    text += fmt::format("\nwritten      {} (sightline certify reads it)", architecture);
  if (!saved.empty())
    text += fmt::format("\nwritten      {}\n", saved);
  return text;
}

} // namespace sightline::trials
