#include "sightline/trials/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sightline/base/error.hpp"
#include "sightline/base/watched.hpp"
#include "sightline/target/sampler.hpp"
#include "sightline/train/head_network.hpp"

namespace sightline::trials {
namespace {

/// Sequences of independent tokens, [sequence][token][dim].
std::vector<double> draw_tokens(const rate::Measure& measure, std::int64_t count, std::uint64_t seed,
                                std::uint64_t stream, const Budget& budget) {
  const std::size_t size = static_cast<std::size_t>(count) * measure.dim;
  std::vector<double> x(size);
  target::Sampler sampler;
  sampler.law = measure.shape == rate::Shape::uniform ? target::Sampler::Law::uniform : target::Sampler::Law::normal;
  sampler.low = measure.low;
  sampler.high = measure.high;
  sampler.fill(seed, stream, 0, size, x.data(), &budget);
  if (measure.shape == rate::Shape::circle) {
    for (std::size_t k = 0; k < size; k += 2) {
      const double length = std::hypot(x[k], x[k + 1]);
      x[k] /= length;
      x[k + 1] /= length;
    }
  }
  if (measure.shape == rate::Shape::points) {
    std::mt19937_64 random = target::make_random(seed, stream + 1, 0);
    const std::size_t points = measure.points.size() / measure.dim;
    for (std::size_t k = 0; k < size; k += measure.dim)
      std::copy_n(measure.points.begin() + static_cast<std::ptrdiff_t>(random() % points * measure.dim), measure.dim,
                  x.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return x;
}

/// rho of every pair of a sequence: [sequence][reader][read].
std::vector<double> score_pairs(const rate::Score& score, const std::vector<double>& x, std::int64_t sequences,
                                std::int64_t tokens, std::size_t dim, const Budget& budget) {
  const auto n = static_cast<std::size_t>(tokens);
  std::vector<double> all(static_cast<std::size_t>(sequences) * n * n), own(dim * n);
  for (std::size_t s = 0; s < static_cast<std::size_t>(sequences); ++s) {
    budget.poll();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t e = 0; e < dim; ++e)
        own[e * n + i] = x[(s * n + i) * dim + e];
    }
    score.all(n, own.data(), n, own.data(), all.data() + s * n * n);
  }
  for (const double value : all) {
    if (!std::isfinite(value))
      throw InputError(fmt::format("the score: expected finite numbers, found {}", std::isnan(value) ? "nan" : "an infinity"));
  }
  return all;
}

struct Part {
  at::Tensor x, rho, attention; ///< [sequence, token, dim], [sequence, token, token], [sequence, token, dim]
};

Part make_part(const rate::Score& score, const rate::Measure& measure, std::int64_t sequences, std::int64_t tokens,
               std::uint64_t seed, std::uint64_t stream, const Budget& budget) {
  const auto dim = static_cast<std::int64_t>(measure.dim);
  constexpr std::uint64_t copies = 3; // the list, its tensor and the softmax
  budget.ask(static_cast<std::uint64_t>(sequences) * static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(tokens + 2 * dim) * copies * sizeof(double));
  const std::vector<double> x = draw_tokens(measure, sequences * tokens, seed, stream, budget);
  Part part;
  part.x = at::tensor(x, at::kDouble).reshape({sequences, tokens, dim});
  part.rho = at::tensor(score_pairs(score, x, sequences, tokens, measure.dim, budget), at::kDouble)
                 .reshape({sequences, tokens, tokens});
  const LongCall call;
  part.attention = at::softmax(part.rho, -1).matmul(part.x);
  return part;
}

train::Batch to_batch(const at::Tensor& x, const at::Tensor& y, double mean, double deviation) {
  train::Batch batch;
  batch.type = at::kFloat;
  batch.x = x.to(at::kFloat);
  batch.y = ((y - mean) / deviation).to(at::kFloat);
  return batch;
}

/// Mean and standard error over sequences.
std::pair<double, double> mean_and_error(const at::Tensor& per_sequence) {
  return {per_sequence.mean().item<double>(),
          per_sequence.std().item<double>() / std::sqrt(static_cast<double>(per_sequence.numel()))};
}

} // namespace

Verification verify(const rate::Score& score, const rate::Measure& measure, rate::Result rate,
                    const VerifyOptions& options, const Budget& budget,
                    const std::function<void(const std::string& stage, double share)>& show) {
  Verification result;
  result.rate = std::move(rate);
  result.options = options;
  const std::int64_t n = options.tokens;
  const Part training = make_part(score, measure, options.samples, n, options.seed, 501, budget),
             test = make_part(score, measure, options.test, n, options.seed, 511, budget);
  // A token read by itself has probability 0 under the measure: pairs i != j alone are scored.
  const at::Tensor apart = 1 - at::eye(n, at::kDouble);
  const double pairs = static_cast<double>(n * (n - 1));
  const auto mean_apart = [&](const at::Tensor& t) { return (t * apart).sum({1, 2}) / pairs; };
  result.score_variance = mean_apart(at::square(test.rho)).mean().item<double>();
  const double rho_size = std::sqrt(std::max(mean_apart(at::square(training.rho)).mean().item<double>(), 1e-300));
  const double mean = training.attention.mean().item<double>(),
               deviation = std::max(training.attention.std().item<double>(), 1e-150);
  result.target_variance = at::square(test.attention - mean).mean().item<double>();
  train::use_threads(options.threads);
  const train::FitOptions fit =
      train::make_fit_options(options.steps, options.batch, options.rate, options.seed, options.threads);
  double done = 0;
  const double trials = 2 * static_cast<double>(options.heads.size());
  for (const std::int64_t heads : options.heads) {
    VerifyRow row;
    row.heads = heads;
    for (const rate::Head& head : result.rate.predicted) {
      if (head.heads == static_cast<std::size_t>(heads))
        row.predicted = head.l2squared;
    }
    train::HeadShape shape;
    shape.dim = static_cast<std::int64_t>(measure.dim);
    shape.outputs = shape.dim;
    shape.width = options.width;
    shape.head = heads;
    shape.frequency = options.frequency;
    const auto progress = [&](const char* what) {
      return [&, what](std::int64_t step, double) {
        if (show)
          show(fmt::format("head dimension {}, {}", heads, what),
               (done + static_cast<double>(step) / static_cast<double>(options.steps)) / trials);
      };
    };
    {
      const auto network = std::make_shared<train::HeadNetwork>(shape, at::kFloat, options.seed);
      train::Network scores = train::make_score_network(network);
      const at::Tensor keep = apart.to(at::kFloat);
      scores.forward = [network, keep](const at::Tensor& x, const train::Run& run) {
        return network->score(x, run) * keep;
      };
      (void)train::fit(scores, to_batch(training.x, training.rho * apart, 0, rho_size), fit, budget, progress("score"));
      const at::Tensor out = train::run_network(scores, test.x.to(at::kFloat), 256, {options.threads}).to(at::kDouble);
      std::tie(row.score, row.score_error) = mean_and_error(mean_apart(at::square(out * rho_size - test.rho)));
      ++done;
    }
    {
      const auto network = std::make_shared<train::HeadNetwork>(shape, at::kFloat, options.seed);
      const train::Network attention = train::make_network(network);
      (void)train::fit(attention, to_batch(training.x, training.attention, mean, deviation), fit, budget,
                       progress("attention"));
      const at::Tensor out =
          train::run_network(attention, test.x.to(at::kFloat), 256, {options.threads}).to(at::kDouble);
      std::tie(row.attention, row.attention_error) =
          mean_and_error(at::square(out * deviation + mean - test.attention).mean({1, 2}));
      ++done;
    }
    if (row.score < row.predicted - 4 * row.score_error)
      result.notes.push_back(
          fmt::format("head dimension {}: the trained score has error {:.3g}, below the predicted {:.3g} by "
                      "more than four standard errors: one of the two is wrong",
                      heads, row.score, row.predicted));
    else if (row.score > 2 * row.predicted + 4 * row.score_error && row.score > 1e-4 * result.score_variance)
      result.notes.push_back(
          fmt::format("head dimension {}: the trained score has error {:.3g}, {:.1f} times the predicted "
                      "{:.3g}: the training, or f of width {}, is what stands in the way, not the rank{}",
                      heads, row.score, row.score / std::max(row.predicted, 1e-300), row.predicted, options.width,
                      options.frequency == 0 ? " (--frequency: an f with sines, for scores that oscillate)" : ""));
    result.rows.push_back(row);
  }
  return result;
}

std::string to_text(const Verification& v) {
  const VerifyOptions& o = v.options;
  std::string text = rate::to_text(v.rate);
  text += fmt::format(
      "\nverified     heads trained {} steps of {} on {} sequences of {} tokens, tested on {} others, seed {}\n",
      o.steps, std::min(o.batch, o.samples), o.samples, o.tokens, o.test, o.seed);
  for (const std::string& note : v.notes)
    text += fmt::format("note         {}\n", note);
  text += "\nhead  mean e^2 of the score: predicted  trained              of H: trained\n";
  text += fmt::format("{:>4}  {:>33.3g}  {:<19}  {:.3g}\n", 0, v.score_variance, "", v.target_variance);
  for (const VerifyRow& row : v.rows)
    text +=
        fmt::format("{:>4}  {:>33.3g}  {:<19}  {:.3g} +- {:.1g}\n", row.heads, row.predicted,
                    fmt::format("{:.3g} +- {:.1g}", row.score, row.score_error), row.attention, row.attention_error);
  text += "\nscore: a head trained to be rho itself, at two different tokens. H: a head trained to be sum_s "
          "softmax_s(rho(x_t, x_s)) x_s. Row 0: no head.\n";
  return text;
}

std::string to_json(const Verification& v) {
  const std::string rate = rate::to_json(v.rate);
  std::string rows;
  for (const VerifyRow& row : v.rows)
    rows += fmt::format(
        "{}{{\"heads\":{},\"predicted\":{},\"score\":{},\"score_error\":{},\"attention\":{},\"attention_error\":{}}}",
        rows.empty() ? "" : ",", row.heads, row.predicted, row.score, row.score_error, row.attention,
        row.attention_error);
  return fmt::format("{},\"verified\":{{\"score_variance\":{},\"target_variance\":{},\"tokens\":{},\"samples\":{},"
                     "\"steps\":{},\"seed\":{},\"rows\":[{}]}}}}",
                     rate.substr(0, rate.size() - 1), v.score_variance, v.target_variance, v.options.tokens,
                     v.options.samples, v.options.steps, v.options.seed, rows);
}

std::string to_svg(const Verification& v) {
  const double width = 680, height = 400, left = 70, right = 200, top = 36, bottom = 46;
  struct Curve {
    const char *name, *colour;
    bool dashed;
    std::vector<std::pair<double, double>> points;
  };
  std::vector<Curve> curves = {{"score, predicted", "#2166ac", true, {}},
                               {"score, trained", "#2166ac", false, {}},
                               {"H, trained", "#b2182b", false, {}}};
  for (const rate::Head& head : v.rate.predicted) {
    if (head.heads >= 1 && static_cast<std::int64_t>(head.heads) <= v.rows.back().heads)
      curves[0].points.emplace_back(static_cast<double>(head.heads), head.l2squared);
  }
  for (const VerifyRow& row : v.rows) {
    curves[1].points.emplace_back(static_cast<double>(row.heads), row.score);
    curves[2].points.emplace_back(static_cast<double>(row.heads), row.attention);
  }
  double low = INFINITY, high = -INFINITY, first = INFINITY, last = 0;
  const double floor = 1e-12 * std::max(v.score_variance, 1e-300); // what a logarithm cannot show
  for (const Curve& curve : curves) {
    for (const auto& [x, y] : curve.points) {
      first = std::min(first, x);
      last = std::max(last, x);
      if (y > floor) {
        low = std::min(low, std::log10(y));
        high = std::max(high, std::log10(y));
      }
    }
  }
  low = std::floor(low);
  high = std::max(low + 1, std::ceil(high));
  const auto at_x = [&](double x) {
    return left +
           (std::log(x) - std::log(first)) / std::max(std::log(last) - std::log(first), 1e-9) * (width - left - right);
  };
  const auto at_y = [&](double y) {
    return height - bottom - (std::log10(y) - low) / (high - low) * (height - top - bottom);
  };
  std::string name;
  for (const char c : v.rate.target.substr(0, 80))
    name += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                                "font-family=\"sans-serif\" font-size=\"11\">\n"
                                "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n<text x=\"{2:.0f}\" "
                                "y=\"20\" font-size=\"13\">{3}</text>\n",
                                width, height, left, name);
  for (double power = low; power <= high; ++power)
    svg += fmt::format("<line x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/><text "
                       "x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">1e{5:.0f}</text>\n",
                       left, width - right, at_y(std::pow(10, power)), left - 6, at_y(std::pow(10, power)) + 4, power);
  for (const VerifyRow& row : v.rows)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                       at_x(static_cast<double>(row.heads)), height - bottom + 15, row.heads);
  double legend = top + 10;
  for (const Curve& curve : curves) {
    std::string points;
    for (const auto& [x, y] : curve.points) {
      if (!(y > floor))
        continue;
      points += fmt::format("{:.1f},{:.1f} ", at_x(x), at_y(y));
      if (!curve.dashed)
        svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>", at_x(x), at_y(y), curve.colour);
    }
    const char* dash = curve.dashed ? " stroke-dasharray=\"5 4\"" : "";
    svg += fmt::format("<polyline points=\"{0}\" fill=\"none\" stroke=\"{1}\" stroke-width=\"1.6\"{2}/>\n<line "
                       "x1=\"{3:.0f}\" x2=\"{4:.0f}\" y1=\"{5:.0f}\" y2=\"{5:.0f}\" stroke=\"{1}\" "
                       "stroke-width=\"1.6\"{2}/><text x=\"{6:.0f}\" y=\"{7:.0f}\">{8}</text>\n",
                       points, curve.colour, dash, width - right + 10, width - right + 30, legend, width - right + 36,
                       legend + 4, curve.name);
    legend += 16;
  }
  svg +=
      fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">head dimension</text>\n<text x=\"16\" "
                  "y=\"{:.0f}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {:.0f})\">mean e^2</text>\n</svg>\n",
                  (left + width - right) / 2, height - 8, (top + height - bottom) / 2, (top + height - bottom) / 2);
  return svg;
}

} // namespace sightline::trials
