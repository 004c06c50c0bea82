#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sightline/approximate/approximate.hpp"
#include "sightline/base/print_json.hpp"

namespace sightline::approximate {

std::string to_json(const Result& result, const std::string& saved) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["target"] = result.target;
  json["method"] = result.method;
  json["tokens"] = result.tokens;
  json["dim"] = result.dim;
  json["outputs"] = result.outputs;
  json["degree"] = result.degree;
  json["columns"] = static_cast<std::uint64_t>(result.sizes.columns);
  json["independent"] = static_cast<std::uint64_t>(result.sizes.independent) - result.dependent_count;
  json["latent"] = static_cast<std::uint64_t>(result.sizes.latent);
  json["rows"] = result.rows;
  json["images"] = result.images;
  json["l2"] = result.l2;
  json["relative_l2"] = result.relative_l2;
  json["sup"] = result.sup;
  json["relative_sup"] = result.relative_sup;
  json["train"] = result.train;
  json["condition"] = result.condition;
  json["equivariance"] = result.equivariance;
  json["group"] = result.group;
  json["model"] = saved.empty() ? Json(nullptr) : Json(saved);
  json["passes"] = result.passes;
  json["resumed"] = result.resumed;
  json["dependent"] = result.dependent;
  json["dependent_count"] = result.dependent_count;
  json["degrees"] = Json::array();
  for (const DegreeError& one : result.degrees) json["degrees"].push_back({{"degree", one.degree}, {"columns", static_cast<std::uint64_t>(one.columns)}, {"error", one.error}});
  if (result.deviation) json["target_equivariance"] = {{"largest", result.deviation->largest}, {"rms", result.deviation->rms}, {"scale", result.deviation->scale}};
  if (result.target_group) json["target_group"] = *result.target_group;
  if (result.mixer_difference) {
    json["mixer_difference"] = *result.mixer_difference;
    json["architecture"] = result.architecture.empty() ? Json(nullptr) : Json(result.architecture);
  }
  json["wanted"] = result.wanted;
  json["notes"] = result.notes;
  json["blame"] = result.blame;
  return print_json(json);
}

std::string to_text(const Result& result, const std::string& saved) {
  std::string text = fmt::format("             {}\n\n", result.target);
  text += fmt::format("method       polynomial Sumformer, degree {}, {} tokens of {} numbers to {} each\n", result.degree, result.tokens, result.dim, result.outputs);
  text += fmt::format("latent       {:.0f} power sums\n", result.sizes.latent);
  text += fmt::format("columns      {:.0f} products of power sums and the own token, of which {:.0f} are independent for {} tokens\n", result.sizes.columns, result.sizes.independent, result.tokens);
  text += fmt::format("rows         {} ({}{} passes{}), condition number {:.3g}\n", result.rows, result.images > 1 ? fmt::format("{} in {} mirror images each, ", result.rows / result.images, result.images) : "", result.passes, result.resumed > 0 ? fmt::format(", {} blocks of rows from the checkpoint", result.resumed) : "", result.condition);
  text += fmt::format("error        L2 {:.3g} ({:.2g} of the target's), sup {:.3g} ({:.2g} of the largest value), on fresh sequences\n", result.l2, result.relative_l2, result.sup, result.relative_sup);
  text += fmt::format("equivariance {:.2g} under {}\n", result.equivariance, result.group);
  if (result.mixer_difference) text += fmt::format("the sum by   {}: outputs differ by {:.2g} of the largest\n", result.method, *result.mixer_difference);
  for (const std::string& note : result.notes) text += fmt::format("note         {}\n", note);
  for (const std::string& name : result.dependent) text += fmt::format("dependent    {}\n", name);
  if (result.dependent_count > result.dependent.size()) text += fmt::format("dependent    and {} more\n", result.dependent_count - result.dependent.size());
  if (!result.degrees.empty()) {
    text += "\ndegree  columns  relative error in cross-validation\n";
    for (const DegreeError& one : result.degrees) text += fmt::format("{:>6}  {:>7.0f}  {:.3g}{}\n", one.degree, one.columns, one.error, one.degree == result.degree ? "  <- chosen" : "");
  }
  if (!result.blame.empty()) {
    text += fmt::format("\nthe wanted error {:.2g} is missed:\n", result.wanted);
    for (const std::string& line : result.blame) text += fmt::format("  {}\n", line);
  }
  if (!result.architecture.empty()) text += fmt::format("\nwritten      {} (sightline certify reads it)", result.architecture);
  if (!saved.empty()) text += fmt::format("\nwritten      {}\n", saved);
  return text;
}

}  // namespace sightline::approximate
