#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sightline/base/print_json.hpp"
#include "sightline/trials/compare.hpp"

namespace sightline::trials {
namespace {

std::string quote(const std::string& text) {
  std::string result = "\"";
  for (const char c : text)
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string escape(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

} // namespace

std::string to_text(const Comparison& c) {
  const CompareOptions& o = c.options;
  std::string text = fmt::format("             {}\n\n", c.target);
  text += fmt::format("budget       {:.6g} operations forward per sequence, all trained networks within {:.0f} %; {} "
                      "tokens of {} numbers to {} each\n",
                      o.budget, 100 * o.tolerance, c.tokens, c.dim, c.outputs);
  text += fmt::format("training     {} sequences, {} steps of {}, {} from seed {}; tested on {} others\n", c.count,
                      o.steps, std::min(o.batch, c.count), o.seeds == 1 ? "one run" : fmt::format("{} runs", o.seeds),
                      o.seed, c.test);
  for (const std::string& note : c.notes)
    text += fmt::format("note         {}\n", note);
  text +=
      "\nnetwork        relative L2 error    fitted  operations  parameters  us per sequence  training s  certify\n";
  for (const CompareRow& row : c.rows) {
    double fitted = 0;
    for (const double error : row.fitted)
      fitted += error / static_cast<double>(row.fitted.size());
    const std::string error = row.by_least_squares || row.errors.size() == 1
                                  ? fmt::format("{:.3g}", row.mean)
                                  : fmt::format("{:.3g} +- {:.1g}", row.mean, row.spread);
    text += fmt::format("{:<13}  {:>17}  {:>8.3g}  {:>10.0f}  {:>10}  {:>15.2f}  {:>10.1f}  {}\n", row.name, error,
                        fitted, row.operations, row.parameters, row.microseconds, row.train_seconds, row.certify.line);
  }
  text += "\n";
  for (const CompareRow& row : c.rows)
    text += fmt::format("{:<13}  {}{}\n", row.name, row.sizes,
                        row.by_least_squares ? ", solved and not trained: below the budget" : "");
  text += "\nfitted: on the last twentieth of the steps. Times are of the processor, one sequence forward in batches "
          "of 256; +- is the deviation over the seeds.\n";
  return text;
}

std::string to_json(const Comparison& c) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["target"] = c.target;
  json["tokens"] = c.tokens;
  json["dim"] = c.dim;
  json["outputs"] = c.outputs;
  json["budget"] = c.options.budget;
  json["samples"] = c.count;
  json["test"] = c.test;
  json["steps"] = c.options.steps;
  json["batch"] = c.options.batch;
  json["seed"] = c.options.seed;
  json["seeds"] = c.options.seeds;
  json["notes"] = c.notes;
  json["rows"] = Json::array();
  for (const CompareRow& row : c.rows) {
    json["rows"].push_back({{"network", row.name},
                            {"sizes", row.sizes},
                            {"operations", row.operations},
                            {"parameters", row.parameters},
                            {"errors", row.errors},
                            {"fitted", row.fitted},
                            {"mean", row.mean},
                            {"spread", row.spread},
                            {"train_seconds", row.train_seconds},
                            {"microseconds", row.microseconds},
                            {"trained", !row.by_least_squares},
                            {"certify",
                             {{"verdict", row.certify.verdict},
                              {"symmetry", row.certify.symmetry},
                              {"needed", row.certify.needed ? Json(*row.certify.needed) : Json(nullptr)}}}});
  }
  return print_json(json);
}

std::string to_csv(const Comparison& c) {
  std::string text =
      "network,seed,relative_l2,fitted,operations,parameters,microseconds,train_seconds,verdict,symmetry,sizes\n";
  for (const CompareRow& row : c.rows) {
    for (std::size_t s = 0; s < row.errors.size(); ++s)
      text += fmt::format("{},{},{},{},{},{},{:.4g},{:.4g},{},{},{}\n", row.name, c.options.seed + s, row.errors[s],
                          row.fitted[s], row.operations, row.parameters, row.microseconds, row.train_seconds,
                          row.certify.verdict, quote(row.certify.symmetry), quote(row.sizes));
  }
  return text;
}

std::string to_svg(const Comparison& c) {
  const double width = 720, left = 120, right = 190, line = 30, top = 44;
  const double bottom = top + line * static_cast<double>(c.rows.size());
  double least = INFINITY, most = 0;
  for (const CompareRow& row : c.rows) {
    for (const double error : row.errors) {
      if (error > 0)
        least = std::min(least, error);
      most = std::max(most, error);
    }
  }
  least = std::isfinite(least) ? least : 1e-16;
  const double low = std::floor(std::log10(least)),
               high = std::max(low + 1, std::ceil(std::log10(std::max(most, least))));
  const auto at = [&](double error) {
    return left +
           (std::clamp(std::log10(std::max(error, 1e-300)), low, high) - low) / (high - low) * (width - left - right);
  };
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                                "font-family=\"sans-serif\" font-size=\"11\">\n"
                                "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n<text x=\"{2:.0f}\" "
                                "y=\"20\" font-size=\"13\">{3}</text>\n",
                                width, bottom + 40, 12.0, escape(c.target));
  for (double power = low; power <= high; ++power)
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\" stroke=\"#ddd\"/><text "
                       "x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4:g}</text>\n",
                       at(std::pow(10, power)), top - 6, bottom, bottom + 14, std::pow(10, power));
  double y = top + line / 2;
  for (const CompareRow& row : c.rows) {
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 10, y + 4, row.name);
    const auto [first, last] = std::minmax_element(row.errors.begin(), row.errors.end());
    svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#2166ac\"/>", at(*first),
                       at(*last), y, y);
    for (const double error : row.errors)
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\" fill-opacity=\"0.7\"/>", at(error),
                         y, row.by_least_squares ? "#1b7837" : "#2166ac");
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" fill=\"#444\">{} parameters, {:.1f} us</text>\n",
                       width - right + 12, y + 4, row.parameters, row.microseconds);
    y += line;
  }
  svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">relative L2 error, a point per seed; "
                     "{:.6g} operations per sequence (green: solved, below the budget)</text>\n</svg>\n",
                     width / 2, bottom + 32, c.options.budget);
  return svg;
}

} // namespace sightline::trials
