#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sightline/base/print_json.hpp"
#include "sightline/rate/rate.hpp"

namespace sightline::rate {
namespace {

using Json = nlohmann::ordered_json;

Json exponent_of(const std::optional<Exponent>& exponent) {
  if (!exponent) return nullptr;
  return {{"value", exponent->value}, {"low", exponent->low}, {"high", exponent->high}, {"from", exponent->from}, {"to", exponent->to}};
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json core(const Result& result) {
  Json json;
  json["sigma"] = result.sigma;
  json["exponent"] = exponent_of(result.exponent);
  json["noise_floor"] = result.noise_floor;
  json["predicted"] = Json::array();
  for (const Head& head : result.predicted) json["predicted"].push_back({head.heads, head.l1, head.l2squared});
  json["recommended"] = or_null(result.recommended);
  json["rank"] = or_null(result.rank);
  return json;
}

/// Quartiles by linear interpolation between order statistics.
Json quartiles(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  Json json = Json::array();
  for (double share : {0.25, 0.5, 0.75}) {
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const double above = values[std::min(below + 1, values.size() - 1)];
    json.push_back(values[below] + (at - static_cast<double>(below)) * (above - values[below]));
  }
  return json;
}

struct Quartiles { Json exponent, recommended; };
Quartiles quartiles_of(const Result& result) {
  std::vector<double> exponents, dimensions;
  for (const Result& one : result.each) {
    if (one.exponent) exponents.push_back(one.exponent->value);
    if (one.recommended) dimensions.push_back(static_cast<double>(*one.recommended));
  }
  return {quartiles(exponents), quartiles(dimensions)};
}

const char* name(Diagonal diagonal) {
  return diagonal == Diagonal::smooth ? "smooth" : diagonal == Diagonal::kink ? "kink" : "cusp";
}

}  // namespace

std::string to_json(const Result& result) {
  Json json = core(result);
  json["target"] = result.target;
  json["method"] = result.method;
  json["points"] = result.points;
  json["digits"] = result.digits;
  json["diagonal"] = name(result.diagonal);
  json["norm_squared"] = result.norm_squared;
  json["tail_squared"] = result.tail_squared;
  json["error"] = result.error;
  json["notes"] = result.notes;
  if (!result.each.empty()) {
    json["each"] = Json::array();
    for (const Result& one : result.each) json["each"].push_back(core(one));
    const Quartiles q = quartiles_of(result);
    json["quartiles"] = {{"exponent", q.exponent}, {"recommended", q.recommended}};
  }
  return print_json(json);
}

std::string to_text(const Result& result) {
  std::string text = fmt::format("             {}\n\n", result.target);
  text += fmt::format("method       {}, {} points\n", result.method, result.points);
  if (result.rank) text += fmt::format("rank         {}: everything beyond is below 1e-13 of the first\n", *result.rank);
  if (result.exponent) {
    const Exponent& e = *result.exponent;
    text += fmt::format("exponent     {:.4g}, 95 % interval {:.4g} to {:.4g}, fitted from k = {} to {}\n", e.value, e.low, e.high, e.from, e.to);
  } else {
    text += "exponent     none: fewer than four values to fit\n";
  }
  text += fmt::format("noise floor  {:.2g}\n", result.noise_floor);
  if (result.recommended) text += fmt::format("recommended  head dimension {}: the score to {:.3g} of its norm\n", *result.recommended, result.error);
  else text += fmt::format("recommended  none: no head dimension among the computed ones gives the score to {:.3g} of its norm\n", result.error);
  for (const std::string& note : result.notes) text += fmt::format("note         {}\n", note);
  text += "\n    k  sigma_k                  error of rank k: mean |e| at most    mean e^2\n";
  for (std::size_t k = 0; k < std::min<std::size_t>(result.sigma.size(), 24); ++k) {
    const std::string value = result.digits[k] == 17 ? "0" : fmt::format("{:.{}e}", result.sigma[k], std::max(result.digits[k] - 1, 0));
    text += fmt::format("{:>5}  {:<25}", k + 1, value);
    if (k < result.predicted.size()) text += fmt::format("                 {:<18.3g} {:.3g}", result.predicted[k].l1, result.predicted[k].l2squared);
    while (text.back() == ' ') text.pop_back();
    text += '\n';
    if (result.digits[k] == 17) break;
  }
  if (!result.each.empty()) {
    const Quartiles q = quartiles_of(result);
    text += fmt::format("\n{} samples    quartiles of the exponent {}, of the head dimension {}\n", result.each.size(), q.exponent.dump(), q.recommended.dump());
  }
  return text;
}

}  // namespace sightline::rate
