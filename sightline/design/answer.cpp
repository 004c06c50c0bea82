#include "sightline/design/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sightline/architecture/write.hpp"
#include "sightline/base/print_json.hpp"

namespace sightline::design {

namespace {

nlohmann::ordered_json describe_group(const group::Group& group, const std::optional<std::string>& known, const Budget& budget) {
  nlohmann::ordered_json object;
  object["tokens"] = group.degree;
  const std::optional<mpz_class> order = group.order.value();
  object["order"] = nullptr;
  if (order) object["order"] = order->get_str();
  else object["order_factored"] = group.order.factored();
  nlohmann::ordered_json generators = nlohmann::ordered_json::array();
  std::size_t written = 0;
  // Above 100 generators, or a megabyte of them, the rest is left out as in `certify`.
  for (const auto& g : group::list_generators(group, 100)) {
    if (written > 1'000'000) break;
    generators.push_back(group::to_cycles(g));
    written += g.moved().size();
  }
  object["generators"] = std::move(generators);
  const std::optional<std::string> name = !known ? group::find_name(group, budget) : known->empty() ? std::nullopt : known;
  object["name"] = nullptr;
  if (name) object["name"] = *name;
  return object;
}

std::string describe_order(const group::Group& group, const std::optional<std::string>& known, const Budget& budget) {
  const std::optional<std::string> name = !known ? group::find_name(group, budget) : known->empty() ? std::nullopt : known;
  const std::optional<mpz_class> order = group.order.value(30);
  std::string text = order ? order->get_str() : group.order.factored();
  if (text.size() > 80) text = fmt::format("about 10^{:.3f}", group.order.log10());
  return fmt::format("{}order {}", name ? *name + ", " : "", text);
}

}  // namespace

std::string to_json(const Request& request, const Design& design, const Budget& budget) {
  nlohmann::ordered_json object;
  object["group"] = describe_group(request.group, design.name, budget);
  object["two_closed"] = design.two_closed;
  object["closure"] = nullptr;
  if (design.closure) object["closure"] = describe_group(*design.closure, std::nullopt, budget);
  object["front"] = nlohmann::ordered_json::array();
  for (const FrontPoint& p : design.front) {
    nlohmann::ordered_json point;
    point["layers"] = p.layers;
    point["pairs"] = p.pairs;
    point["registers"] = p.registers;
    point["kind"] = to_word(p.kind);
    point["optimal"] = p.proved ? "proved" : "best found";
    point["lower_bound"] = p.lower_bound;
    point["pattern_pairs"] = p.pattern_pairs;
    point["loops"] = p.loops_chosen ? "chosen" : "all";
    point["nondominated"] = p.nondominated;
    point["certified"] = p.by_proof ? "closed form" : "run";
    point["description"] = p.description;
    point["architecture"] = nlohmann::ordered_json::parse(architecture::to_canonical_json(p.architecture));
    object["front"].push_back(std::move(point));
  }
  object["notes"] = design.notes;
  return print_json(object);
}

std::string to_text(const Request& request, const Design& design, const Budget& budget) {
  std::string text = fmt::format("symmetry     {} on {} tokens\n", describe_order(request.group, design.name, budget), request.group.degree);
  if (design.two_closed) {
    text += "possible     yes: the group is 2-closed, patterns on the tokens alone can have exactly this symmetry\n";
  } else {
    text += fmt::format(
        "possible     not with patterns on the tokens alone: they see pairs, and the same pairs have {}\n"
        "             choose that larger symmetry, or the registers below\n",
        describe_order(*design.closure, std::nullopt, budget));
  }
  if (!design.front.empty()) {
    text += fmt::format("\n      {:>7} {:>12} {:>12} {:>9}  {:<16} {:<11} {:>12}\n", "layers", "pairs", "per list", "registers", "kind", "", "at least");
    for (std::size_t k = 0; k < design.front.size(); ++k) {
      const FrontPoint& p = design.front[k];
      text += fmt::format("{:>3}{}{} {:>7} {:>12} {:>12} {:>9}  {:<16} {:<11} {:>12}  {}\n", k + 1, p.nondominated ? '*' : ' ', p.by_proof ? '+' : ' ', p.layers, p.pairs, p.pattern_pairs,
                          p.registers, to_word(p.kind), p.proved ? "proved" : "best found", p.lower_bound, p.description);
    }
    text += "\n* no other point is as good in layers, pairs and registers. pairs: attended pairs i != j over all layers;\n"
            "  per list: every pattern counted once. Every point is certified at exactly its layers";
    const bool some_by_proof = std::any_of(design.front.begin(), design.front.end(), [](const FrontPoint& p) { return p.by_proof; });
    text += some_by_proof ? ",\n  or, marked +, proved to need them.\n" : ".\n";
  }
  for (const std::string& note : design.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace sightline::design
