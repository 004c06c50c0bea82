#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "sightline/base/integer_lists.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/report/report.hpp"
#include "sightline/report/words.hpp"

namespace sightline::report {

using nlohmann::ordered_json;
using verdict::Answer;

namespace {

template <class Value>
ordered_json optional(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// "order", or null with "order_factored" and "order_log10" above 1,000 digits (format.md, Orders).
void add_order(ordered_json& object, const group::Order& order) {
  if (const auto value = order.value(1000)) {
    object["order"] = value->get_str();
    return;
  }
  object["order"] = nullptr;
  object["order_factored"] = order.factored();
  object["order_log10"] = std::stod(fmt::format("{:.3f}", order.log10()));
}

ordered_json to_object(const std::optional<verdict::GroupAnswer>& group) {
  if (!group) return nullptr;
  ordered_json object;
  add_order(object, group->order);
  object["generators"] = nullptr;
  object["name"] = optional(group->name);
  return object;
}

ordered_json to_object(const verdict::Floor& floor) {
  ordered_json object;
  object["p"] = floor.p;
  object["squared_error"] = floor.squared_error ? ordered_json(floor.squared_error->get_str()) : ordered_json(nullptr);
  object["target"] = floor.target;
  object["domain"] = floor.domain;
  object["rule"] = floor.rule;
  if (floor.distance) {
    object["distance"] = {{"squared_error", floor.distance->squared_error.get_str()}, {"norm", floor.distance->norm.get_str()},
                          {"isomorphisms", floor.distance->isomorphisms}, {"exact", floor.distance->exact}};
  }
  return object;
}

ordered_json to_unseen(const Answer& answer) {
  IntegerLists list;
  list.open();
  for (auto [value, repeat] : answer.unseen) {
    if (answer.tokens > 1000) {
      list.add_list({static_cast<std::int64_t>(value), static_cast<std::int64_t>(repeat)});
    } else {
      for (std::uint64_t k = 0; k < repeat; ++k) list.add(static_cast<std::int64_t>(value));
    }
  }
  list.close();
  return ordered_json::binary(std::move(list).take());
}

ordered_json to_witness(const Answer& answer) {
  ordered_json object = ordered_json::object();
  if (answer.unreachable) object["unseen"] = {{"reader", answer.unreachable->reader}, {"token", answer.unreachable->unseen}};
  if (answer.collision) {
    IntegerLists tau;
    tau.open();
    for (auto [from, to] : answer.collision->tau) {
      if (from != to) tau.add_list({from, to});
    }
    tau.close();
    object["collision"] = {{"a", answer.collision->a}, {"b", answer.collision->b}, {"tau_moves", ordered_json::binary(std::move(tau).take())}};
  }
  if (answer.id_collision) {
    object["ids"] = {{"x", answer.id_collision->x}, {"y", answer.id_collision->y}, {"a", answer.id_collision->a}, {"b", answer.id_collision->b}};
  }
  return object.empty() ? ordered_json(nullptr) : object;
}


/// As print does; values that are text already are written as they are, and generators in their place (nothing in cycles needs an escape).
void write_value(const ordered_json& value, const verdict::SharedTexts* generators, const Write& write) {
  if (value.is_binary()) {
    const auto& text = value.get_binary();
    return write({reinterpret_cast<const char*>(text.data()), text.size()});
  }
  if (!value.is_object()) return write(print_json(value));
  for (auto member = value.begin(); member != value.end(); ++member) {
    write(member == value.begin() ? "{" : ",");
    write(print_json(ordered_json(member.key())) + ":");
    if (generators == nullptr || member.key() != "generators") {
      write_value(*member, nullptr, write);
      continue;
    }
    std::string_view before = "[\"";
    for (const std::string& cycles : generators->list()) {
      write(before);
      write(cycles);
      before = "\",\"";
    }
    write(generators->empty() ? "[]" : "\"]");
  }
  write(value.empty() ? "{}" : "}");
}

}  // namespace

ordered_json to_tree(const Answer& answer) {
  ordered_json object;
  object["file"] = answer.file;
  object["name"] = answer.name;
  object["verdict"] = to_word(answer.verdict);
  object["layout"] = to_object(answer.layout);
  object["expressed"] = to_object(answer.expressed);
  ordered_json& layers = object["layers"];
  layers["given"] = optional(answer.given);
  layers["connected"] = optional(answer.connected);
  layers["needed"] = optional(answer.needed);
  if (answer.needed_between) layers["needed_between"] = {answer.needed_between->first, answer.needed_between->second};
  ordered_json& at_connected = object["at_connected"];
  at_connected = ordered_json::object();
  if (answer.at_connected) add_order(at_connected, *answer.at_connected);
  else at_connected["order"] = nullptr;
  object["class"]["kind"] = answer.class_kind ? ordered_json(to_word(*answer.class_kind)) : ordered_json(nullptr);
  object["class"]["layers"] = optional(answer.class_layers);
  object["output"]["dim"] = optional(answer.output_dim);
  object["output"]["largest"] = optional(answer.output_largest);
  object["condition13"] = answer.condition13;
  ordered_json& published = object["published"];
  published["verdict"] = answer.published.verdict == verdict::PublishedVerdict::certified ? "certified" : "not covered";
  published["theorem"] = answer.published.theorem.empty() ? ordered_json(nullptr) : ordered_json(answer.published.theorem);
  published["layers"] = optional(answer.published.layers);
  published["sound"] = answer.published.sound ? ordered_json(*answer.published.sound) : ordered_json(nullptr);
  object["floor"] = answer.floor ? to_object(*answer.floor) : ordered_json(nullptr);
  object["floors"] = ordered_json::array();
  for (const auto& floor : answer.floors) object["floors"].push_back(to_object(floor));
  object["unseen"] = to_unseen(answer);
  object["witness"] = to_witness(answer);
  object["rules"] = ordered_json::array();
  for (const auto& rule : answer.rules) object["rules"].push_back(to_sentence(rule));
  object["assumptions"] = answer.assumptions;
  object["advice"] = answer.advice;
  if (answer.limit) object["limit"] = *answer.limit;
  return object;
}

void write_json(const Answer& answer, const Write& write) {
  const ordered_json tree = to_tree(answer);
  for (auto member = tree.begin(); member != tree.end(); ++member) {
    write(member == tree.begin() ? "{" : ",");
    write(print_json(ordered_json(member.key())) + ":");
    const auto* const group = member.key() == "layout" ? &answer.layout : member.key() == "expressed" ? &answer.expressed : nullptr;
    write_value(*member, group != nullptr && *group ? &(*group)->generators : nullptr, write);
  }
  write("}");
}

std::string to_json(const Answer& answer) {
  std::string text;
  write_json(answer, [&](std::string_view part) { text += part; });
  return text;
}

std::string to_json(const verdict::Floor& floor) { return to_object(floor).dump(); }

std::string to_json_error(const std::string& file, const std::string& message) {
  ordered_json object;
  object["file"] = file;
  object["error"] = message;
  return print_json(object);
}

}  // namespace sightline::report
