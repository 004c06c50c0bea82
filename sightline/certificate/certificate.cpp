#include "sightline/certificate/certificate.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sightline/architecture/write.hpp"
#include "sightline/base/crew.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/sha256.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/fact_evidence.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/certificate/label_evidence.hpp"
#include "sightline/certificate/name_evidence.hpp"
#include "sightline/certificate/pattern_evidence.hpp"
#include "sightline/certificate/sight_evidence.hpp"
#include "sightline/symmetry/structure.hpp"
#include "sightline/verdict/id_layers.hpp"

namespace sightline::certificate {
namespace {

using nlohmann::json;
using verdict::Context;
using verdict::ViewsAsked;

constexpr const char* format_name = "sightline-certificate";

json group_of(const Context& context, const layout::Layout& layout) {
  return make_group_evidence(symmetry::make_structure(layout), layout.tokens, context.budget);
}

/// Evidence for every question that was asked about the views of one layout.
json views_of(const Context& context, const std::string& name, const layout::Layout& layout, const group::Group& group) {
  auto rows = sight::RegisterRows::frequencies;
  for (const ViewsAsked& asked : context.asked) {
    if (asked.views == name) rows = asked.rows;
  }
  const auto records = context.view_records.find(name);
  SightEvidence evidence(layout, group, rows, context.budget, records != context.view_records.end() ? &records->second : nullptr,
                         context.architecture.input.embedding == architecture::Embedding::table);
  for (const ViewsAsked& asked : context.asked) {
    if (asked.views != name) continue;
    const sight::ViewQuestion question{&layout, asked.target ? asked.target.get() : &group, &group, asked.kind, asked.rows};
    // The answers of hidden layers were found with the group of the whole layout, so only those of "layout" can be taken over.
    const bool found = asked.needed || asked.collision || asked.expressed;
    const bool same = name == "layout";
    if (same && !found) continue;  // it was out of reach
    try {
      if (asked.what == ViewsAsked::What::needed) evidence.add_needed(question, same ? &*asked.needed : nullptr);
      if (asked.what == ViewsAsked::What::collision) evidence.add_collision(question, *asked.depth, same ? &*asked.collision : nullptr);
      if (asked.what == ViewsAsked::What::expressed) evidence.add_expressed(asked.depth, same ? &*asked.expressed : nullptr);
    } catch (const OutOfReach&) {  // the answer leaves this figure out, and says so
    }
  }
  return evidence.result();
}

}  // namespace

bool is_certificate(const json& tree) { return tree.is_object() && tree.value("format", json()) == format_name; }

bool is_complete(const verdict::Answer& answer) {
  return !answer.limit && std::none_of(answer.rules.begin(), answer.rules.end(), [](const verdict::Rule& rule) {
    return rule.name == "left-out" && rule.premises.front() == "the verdict";
  });
}

namespace {

/// All but the answer and the patterns.
json make_rest(const Context& context) {
  if (!is_complete(context.answer)) throw ArgumentError("an answer that was cut short has no certificate");
  const architecture::Architecture& a = context.architecture;
  const bool ids = a.input.embedding == architecture::Embedding::table;
  const json architecture = json::parse(architecture::to_canonical_json(a));
  json evidence = json::object();
  add_fact_evidence(evidence, a, architecture, context.budget);
  if (!context.tokens_of_places.empty()) evidence["places"] = to_evidence(context.tokens_of_places);
  json& groups = evidence["groups"];
  json& views = evidence["views"];
  groups["layout"] = context.layout_search.is_tight ? to_evidence(context.layout_search) : group_of(context, context.layout);
  if (context.answer.layout) evidence["names"]["layout"] = make_name_evidence(*context.answer.layout);
  if (context.answer.expressed) evidence["names"]["expressed"] = make_name_evidence(*context.answer.expressed);
  views["layout"] = views_of(context, "layout", context.layout, context.layout_group);
  const bool whole = context.sighted_layout().order == context.layout.order;
  if (!whole && ids) views["sighted"] = views_of(context, "sighted", context.sighted_layout(), context.layout_group);
  if (!whole && !ids) {
    const verdict::Sighted& sighted = context.sighted();
    groups["sighted"] = group_of(context, sighted.layout);
    views["sighted"] = views_of(context, "sighted", sighted.layout, sighted.group);
    views["pattern"] = views_of(context, "pattern", sighted.layout, sighted.group);
  }
  if (context.recoloured) {
    groups["recoloured"] = group_of(context, context.recoloured->layout);
    views["recoloured"] = views_of(context, "recoloured", context.recoloured->layout, context.recoloured->group);
  }
  if (ids) {
    if (json labels = to_evidence(verdict::compute_id_layers(context, context.target_class)); !labels.is_null()) evidence["ids"] = std::move(labels);
  }
  json certificate = {{"architecture", architecture},
                      {"conversion", {{"assumptions", a.assumptions}, {"file", context.answer.file}}},
                      {"digest", sha256(print_canonical(architecture))},
                      {"evidence", std::move(evidence)},
                      {"format", format_name},
                      {"version", 1}};
  return certificate;
}

}  // namespace

json make_certificate(const Context& context, const json& answer) {
  json certificate = make_rest(context);
  certificate["answer"] = answer;
  certificate["patterns"] = make_pattern_evidence(context.architecture, context.budget);
  return to_plain(certificate);
}

namespace {

/// Of a group of the answer; null where there is none.
const verdict::SharedTexts* find_generators(const verdict::Answer& answer, std::string_view key) {
  const auto& group = key == "layout" ? answer.layout : answer.expressed;
  return (key == "layout" || key == "expressed") && group ? &group->generators : nullptr;
}

std::size_t measure_generators(const verdict::SharedTexts* generators) {
  std::size_t length = 2;
  for (std::size_t k = 0; generators != nullptr && k < generators->size(); ++k) length += (*generators)[k].size() + 3;
  return length;
}

/// Cycles hold nothing that would have to be escaped, and they are most of the text: from the answer to its place, without a copy between.
void append_answer(const json& tree, const verdict::Answer& answer, std::string& out) {
  char before = '{';
  for (const auto& [key, value] : tree.items()) {
    out += std::exchange(before, ',');
    out += print_canonical(key) + ":";
    const verdict::SharedTexts* generators = find_generators(answer, key);
    if (generators == nullptr) {
      out += print_canonical(value);
      continue;
    }
    char inside = '{';
    for (const auto& [inner_key, inner] : value.items()) {
      out += std::exchange(inside, ',');
      out += print_canonical(inner_key) + ":";
      if (inner_key != "generators") {
        out += print_canonical(inner);
        continue;
      }
      out += '[';
      for (std::size_t k = 0; k < generators->size(); ++k) {
        out += k == 0 ? "\"" : ",\"";
        out += (*generators)[k];
        out += '"';
      }
      out += ']';
    }
    out += '}';
  }
  out += '}';
}

}  // namespace

std::string print_certificate(const Context& context, const std::function<json()>& answer) {
  // Patterns are long where the rest is short: they are written beside it.
  Task patterns(context.budget, [&architecture = context.architecture](const Budget& own) { return write_pattern_evidence(architecture, own); });
  Task tree(context.budget, [&answer](const Budget&) { return answer(); });
  std::vector<std::pair<std::string, std::string>> parts;
  {
    json certificate = make_rest(context);
    certificate["answer"] = certificate["patterns"] = nullptr;
    for (auto& [key, value] : certificate.items()) {
      parts.emplace_back(print_canonical(key) + ":", key == "patterns" || key == "answer" ? "" : print_canonical(value));
      value = nullptr;
    }
  }
  const json answered = tree.take();
  std::size_t length = print_canonical(answered).size() + 3;  // a line may be ended
  for (const char* key : {"layout", "expressed"}) length += measure_generators(find_generators(context.answer, key));
  for (auto& [key, part] : parts) {
    if (key == "\"patterns\":") part = patterns.take();
    length += key.size() + part.size() + 1;
  }
  // In one piece: parts may take most of the memory there is.
  std::string text;
  text.reserve(length);
  char before = '{';
  for (auto& [key, part] : parts) {
    text += std::exchange(before, ',');
    text += key;
    if (key == "\"answer\":") append_answer(answered, context.answer, text);
    else text += part;
    part = {};
  }
  text += '}';
  return text;
}

}  // namespace sightline::certificate
