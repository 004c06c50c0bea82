#include "sightline/report/argument.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sightline/report/words.hpp"

namespace sightline::report {
namespace {

using nlohmann::json;

/// Numbered steps; a paragraph under each, and the evidence behind "shown by".
class Steps {
public:
  void step(const std::string& title) { text_ += fmt::format("{}{}. {}\n", number_ == 0 ? "" : "\n", number_ + 1, title), ++number_; }
  void say(const std::string& sentence) { wrap(sentence, "   "); }
  void show(const std::string& evidence) { wrap("shown by: " + evidence, "     "); }
  [[nodiscard]] const std::string& text() const { return text_; }

private:
  void wrap(const std::string& sentence, const std::string& indent) {
    constexpr std::size_t width = 100;
    std::istringstream words(sentence);
    std::string line = indent, word;
    while (words >> word) {
      if (word.size() > width - 20) word = word.substr(0, width - 23) + "...";
      if (line.size() + 1 + word.size() > width) {
        text_ += line + "\n";
        line = indent + "  ";
      }
      line += (line.size() > indent.size() && line.back() != ' ' ? " " : "") + word;
    }
    text_ += line + "\n";
  }

  std::string text_;
  int number_ = 0;
};

/// What stands under a key; an empty list when nothing does.
const json& part(const json& value, const std::string& key) {
  static const json nothing = json::array();
  return value.is_object() && value.contains(key) && !value[key].is_null() ? value[key] : nothing;
}

std::string to_text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string to_order(const json& group) {
  if (group["order"].is_string()) return group["order"].get<std::string>();
  return group.value("order_factored", std::string("?"));
}

std::string list_first(const json& list, std::size_t most) {
  std::string text;
  for (std::size_t k = 0; k < std::min(most, list.size()); ++k) text += (k == 0 ? "" : ", ") + to_text(list[k]);
  return list.size() > most ? fmt::format("{}, ... ({} in all)", text, list.size()) : text;
}

/// A permutation written as stretches, in cycles; cut after some thirty points.
std::string to_cycles(const json& stretches) {
  std::map<std::int64_t, std::int64_t> image;
  for (const json& stretch : stretches) {
    for (std::int64_t k = 0; k < std::min<std::int64_t>(stretch[1].get<std::int64_t>(), 1000); ++k) {
      image[stretch[0].get<std::int64_t>() + k] = stretch[2].get<std::int64_t>() + k * stretch[3].get<std::int64_t>();
    }
  }
  std::string text;
  std::set<std::int64_t> done;
  for (const auto& [start, ignored] : image) {
    if (done.size() > 30) return text + " ...";
    if (done.count(start) != 0) continue;
    std::string cycle;
    std::int64_t x = start;
    for (; image.count(x) != 0 && done.insert(x).second; x = image[x]) cycle += fmt::format("{}{}", cycle.empty() ? "" : " ", x);
    // Views of part of the tokens: what is mapped need not come back.
    text += x == start ? fmt::format("({})", cycle) : fmt::format("[{} to {}]", cycle, x);
  }
  return text.empty() ? "()" : text;
}

void tell_layout(Steps& steps, const json& certificate) {
  const json& a = certificate["architecture"];
  steps.step("The architecture and its patterns");
  std::size_t layers = 0;
  for (const json& layer : a["layer"]) layers += layer["repeat"].get<std::size_t>();
  steps.say(fmt::format("{}: {} of width {}, {}{}.", to_text(a["name"]).empty() ? "without a name" : to_text(a["name"]), plural(a["tokens"].get<std::size_t>(), "token"),
                        a["dim"].get<std::int64_t>(), plural(layers, "mixing layer"), a["depth"] == "unbounded" ? ", repeated for ever" : ""));
  std::size_t runs = 0;
  for (const json& pattern : certificate["patterns"]) {
    for (const json& list : pattern["lists"]) runs += list.size();
  }
  steps.show(fmt::format("the architecture with every default filled in (SHA-256 {}...), {} written as {}, made again from the architecture and compared row by row",
                         certificate["digest"].get<std::string>().substr(0, 16), plural(certificate["patterns"].size(), "pattern"), plural(runs, "run")));
  const json& places = part(certificate["evidence"], "places");
  if (places.empty()) return;
  steps.say(fmt::format("The tokens are looked at in another order, in which rows are few runs: {} (theory 16.109). What is shown below speaks of places in that order, what is said of tokens.", list_first(places, 8)));
}

void tell_group(Steps& steps, const json& certificate) {
  const json& layout = certificate["answer"]["layout"];
  if (layout.is_null()) return;
  steps.step("The symmetry of the layout");
  steps.say(fmt::format("Its order is {}{}; generators: {}.", to_order(layout), layout["name"].is_string() ? " (" + layout["name"].get<std::string>() + ")" : "",
                        layout["generators"].empty() ? "none" : list_first(layout["generators"], 4)));
  const json& evidence = certificate["evidence"]["groups"]["layout"];
  std::size_t nodes = 0;
  for (const json& failed : evidence["failed"]) nodes += 1 + failed[2].size() / 2;
  steps.show(fmt::format("from below: classes of twins found again and verified ({}), and {} confirmed arc by arc; from above: tokens {} individualised, each reaching "
                         "exactly the rest of its cell, and {} that lead nowhere ({})",
                         plural(evidence["twins"].size(), "stage"), plural(evidence["generators"].size(), "generator"),
                         evidence["path"].empty() ? "none" : list_first(evidence["path"], 6), plural(evidence["failed"].size(), "other choice"), plural(nodes, "node")));
}

void tell_sight(Steps& steps, const json& certificate) {
  const json& answer = certificate["answer"];
  steps.step("Who sees whom");
  const json& connected = answer["layers"]["connected"];
  steps.say(connected.is_null() ? "Some token never sees some other, however often the list is repeated."
                                : fmt::format("Every token sees every token after {}.", plural(connected.get<std::size_t>(), "layer")));
  steps.say(fmt::format("In the end the layout shows every token {}.", answer["class"]["kind"] == "all"      ? "all tokens"
                                                                        : answer["class"]["kind"] == "causal" ? "exactly the tokens up to itself"
                                                                                                              : "what its rows lead to"));
  steps.show("reach computed again on the runs");
  if (const json& witness = answer["witness"]; witness.is_object() && witness.contains("unseen")) {
    steps.say(fmt::format("Token {} is out of sight of token {} at the given depth.", witness["unseen"]["token"].dump(), witness["unseen"]["reader"].dump()));
  }
}

/// What stands under one layout's views: needed layers, collisions, groups.
void tell_views(Steps& steps, const std::string& name, const json& views, const json& architecture) {
  const json& positions = architecture["input"]["positions"];
  const char* const rows = positions == "fixed" || positions == "sinusoidal" ? ", each with its row of the table of positions," : "";
  const auto about = [&](const std::string& key) {
    const auto slash = key.find('/');
    return fmt::format("class {}, {}{}", key.substr(0, slash), key.substr(slash + 1) == "layout" ? "the layout's symmetry" : "the target's symmetry",
                       name == "layout" ? "" : fmt::format(", layout \"{}\"", name));
  };
  for (const auto& [key, entry] : part(views, "needed").items()) {
    if (entry.contains("layers")) steps.say(fmt::format("For {}: {} and no fewer.", about(key), plural(entry["layers"].get<std::size_t>(), "layer")));
    else if (entry.contains("never")) steps.say(fmt::format("For {}: no number of layers is enough.", about(key)));
    else steps.say(fmt::format("For {}: between {} and {} layers.", about(key), entry["between"][0].dump(), entry["between"][1].dump()));
    if (entry.contains("missed")) steps.show(fmt::format("token {} does not see token {} {}", entry["missed"][0].dump(), entry["missed"][1].dump(), entry.contains("never") ? "at any depth" : "one layer earlier"));
  }
  for (const auto& [key, depths] : part(views, "collisions").items()) {
    for (const auto& [depth, collision] : depths.items()) {
      steps.show(fmt::format("{}: output {} and output {} agree in every network {} when tokens are moved by {}{} which is no symmetry of the target",
                             about(key), collision["a"].dump(), collision["b"].dump(), depth == "ever" ? "of any depth" : fmt::format("of {} layers", depth), to_cycles(collision["map"]), *rows != 0 ? rows : ","));
    }
  }
  for (const auto& [key, depths] : part(views, "views").items()) {
    for (const auto& [depth, shown] : depths.items()) {
      const std::size_t pairs = part(shown, "pairs").size();
      steps.show(fmt::format("{}, {}: the symmetries of {} listed and found harmless, {} compared", about(key), depth == "ever" ? "any depth" : depth + " layers",
                             plural(part(shown, "roots").size(), "view"), pairs == 1 ? "1 pair of views" : fmt::format("{} pairs of views", pairs)));
      for (const auto& [first, group] : part(shown, "parts").items()) {
        if (first == "ground") steps.show("the tokens that all see in the end have, with their rows, no symmetries but those of the layout: views that hold all rows of what they see need no look (theory 16.105)");
        else steps.show(fmt::format("the rows of the first {} have no symmetries but those of the layout: views in which all of them are seen need no look (theory 16.39)", first == "1" ? "layer" : first + " layers"));
      }
    }
  }
  for (const auto& [depth, group] : part(views, "groups").items()) {
    steps.show(fmt::format("the group that {} tell apart: {} and {}, each found in a view", depth == "ever" ? "all layers" : depth + " layers",
                           plural(part(group, "classes").size(), "symmetric class"), plural(part(group, "generators").size(), "generator")));
  }
}

void tell_ids(Steps& steps, const json& ids) {
  for (const char* which : {"at_given", "below"}) {
    if (!ids.is_object() || !ids.contains(which)) continue;
    const json& pair = ids[which];
    steps.show(fmt::format("the id sequences {} (token {}) and {} (token {}) have one label {}", pair["x"].dump(), pair["a"].dump(), pair["y"].dump(), pair["b"].dump(),
                           std::string_view(which) == "at_given" ? "at the given depth" : "one layer earlier, or for ever"));
  }
}

}  // namespace

std::string to_argument(const json& certificate, const std::vector<std::string>& trusted) {
  const json& answer = certificate["answer"];
  const json& evidence = certificate["evidence"];
  Steps steps;
  tell_layout(steps, certificate);
  tell_group(steps, certificate);
  tell_sight(steps, certificate);
  steps.step("How many layers");
  const json& needed = answer["layers"]["needed"];
  steps.say(needed.is_null() ? "No exact number is known, or none is enough." : fmt::format("The target needs {}.", plural(needed.get<std::size_t>(), "layer")));
  for (const auto& [name, views] : part(evidence, "views").items()) tell_views(steps, name, views, certificate["architecture"]);
  tell_ids(steps, part(evidence, "ids"));
  steps.step("Rules, with what was found");
  for (const json& rule : answer["rules"]) steps.say("- " + rule.get<std::string>());
  steps.step("Verdict");
  steps.say(fmt::format("{}.", to_text(answer["verdict"])));
  if (answer["floor"].is_object()) {
    steps.say(fmt::format("The target {} on {} keeps a squared error of at least {} ({}).", to_text(answer["floor"]["target"]), to_text(answer["floor"]["domain"]),
                          answer["floor"]["squared_error"].is_null() ? "a positive number" : to_text(answer["floor"]["squared_error"]), to_text(answer["floor"]["rule"])));
  }
  for (const json& assumption : answer["assumptions"]) steps.say("assumes: " + assumption.get<std::string>());
  steps.step("What is taken on trust");
  steps.say("The theorems of docs/theory.md that the rules name.");
  for (const std::string& sentence : trusted) steps.say(sentence + ".");
  return steps.text();
}

}  // namespace sightline::report
