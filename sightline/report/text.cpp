// The answer on one screen: the verdict in words first, then the figures, then why and what to change.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "sightline/report/report.hpp"
#include "sightline/report/words.hpp"

namespace sightline::report {

using verdict::Answer;
using verdict::Verdict;

namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t indent = 13;
constexpr std::size_t most_lines = 40;

/// Lines of at most 100 columns: a label in front of the first, the rest indented.
class Page {
public:
  void add(const std::string& label, const std::string& text) {
    std::istringstream words(text);
    std::string line = fmt::format("{:<{}}", label, indent), word;
    bool empty = true;
    while (words >> word) {
      // Names come from files, and a terminal obeys what it is sent.
      std::replace_if(word.begin(), word.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
      if (word.size() > columns - indent) word = word.substr(0, columns - indent - 3) + "...";
      if (!empty && line.size() + 1 + word.size() > columns) {
        lines_.push_back(line);
        line = std::string(indent, ' ');
        empty = true;
      }
      if (!empty) line += ' ';
      line += word;
      empty = false;
    }
    lines_.push_back(line);
  }
  void blank() { lines_.emplace_back(); }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] std::string text() const {
    std::string result;
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      if (k + 1 == most_lines && lines_.size() > most_lines) {
        result += fmt::format("{:<{}}({} more lines: --json has everything)\n", "", indent, lines_.size() - k);
        break;
      }
      result += lines_[k] + "\n";
    }
    return result;
  }

private:
  std::vector<std::string> lines_;
};

std::string describe_class(const Answer& answer) {
  switch (answer.target_class) {
    case sight::ClassKind::all: return "functions of all tokens";
    case sight::ClassKind::causal: return "causal functions (output i depends on tokens 0..i)";
    case sight::ClassKind::seen: return "functions of what each token sees";
  }
  return "";
}

std::string describe_group(const verdict::GroupAnswer& group) {
  std::string text = group.name ? (*group.name == "trivial" ? std::string("none (trivial group)") : *group.name) : "";
  if (!group.order.is_one()) text += (text.empty() ? "order " : ", order ") + to_words(group.order);
  if (!group.generators.empty()) {
    std::string generators;
    for (std::size_t k = 0; k < group.generators.size() && k < 3; ++k) {
      if (group.generators[k].size() > 40) continue;
      generators += (generators.empty() ? "" : ", ") + group.generators[k];
    }
    if (!generators.empty()) text += ", e.g. " + generators;
  }
  return text;
}

std::string describe_verdict(const Answer& answer) {
  const std::string subject = answer.symmetry_text == "layout" ? describe_class(answer) : fmt::format("{}, equivariant under {}", describe_class(answer), answer.symmetry_text);
  const std::string_view comma = answer.symmetry_text == "layout" ? "" : ",";
  switch (answer.verdict) {
    case Verdict::certified: return fmt::format("CERTIFIED: it can approximate all {}{}.", subject, answer.symmetry_text == "layout" && answer.layout && !answer.layout->order.is_one() ? " that share its symmetry" : "");
    case Verdict::impossible: return fmt::format("IMPOSSIBLE: some {}{} stay out of reach, whatever the weights and widths.", subject, comma);
    case Verdict::unknown: return answer.limit ? fmt::format("UNKNOWN: {}.", *answer.limit) : fmt::format("UNKNOWN: no rule settles {} here.", subject);
  }
  return "";
}

std::string describe_layers(const Answer& answer) {
  std::string text = answer.given ? fmt::format("{} given", *answer.given) : "list repeated for ever";
  if (answer.needed) text += fmt::format(", {} needed", *answer.needed);
  else if (answer.needed_between) text += fmt::format(", between {} and {} needed", answer.needed_between->first, answer.needed_between->second);
  else if (answer.verdict == Verdict::impossible) text += ", no number suffices or none is known";
  else text += ", no exact number known";
  if (answer.connected && answer.class_kind == sight::ClassKind::all) text += fmt::format("; every token sees every token after {}", *answer.connected);
  else if (answer.class_kind == sight::ClassKind::causal) text += "; no token sees a later one";
  else if (answer.class_kind) text += "; some token never sees some other";
  return text;
}

std::string describe_sight(const Answer& answer) {
  const std::string depth = answer.given ? fmt::format("after {}", plural(*answer.given, "layer")) : "in the end";
  std::uint64_t most = 0, token = 0, at = 0, whole = 0;
  for (auto [value, repeat] : answer.unseen) {
    if (value > most || at == 0) most = std::max(most, value), token = value == most ? at : token;
    if (value == 0) whole += repeat;
    at += repeat;
  }
  if (answer.unseen.empty()) return "";
  if (most == 0) return fmt::format("{} every token sees all {}", depth, plural(answer.tokens, "token"));
  std::string text;
  const auto last = answer.unseen.back().first;
  if (answer.class_kind == sight::ClassKind::causal) {
    text = fmt::format("{} token {} (the last) sees {}", depth, answer.tokens - 1, plural(answer.tokens - last, "token"));
    if (last > 0) text += fmt::format(" and misses {}", last);
  } else {
    text = fmt::format("{} token {} misses {} of {} tokens", depth, token, most, answer.tokens);
    if (whole > 0) text += fmt::format("; {} {} all", plural(whole, "token"), whole == 1 ? "sees" : "see");
  }
  return text;
}

std::string describe_ids(const std::vector<std::uint32_t>& ids) {
  if (ids.size() > 6 && std::all_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return id == ids.front(); })) {
    return fmt::format("{} {} {} ... ({} times the same)", ids.front(), ids.front(), ids.front(), ids.size());
  }
  std::string text;
  for (std::size_t k = 0; k < ids.size() && k < 24; ++k) text += (k ? " " : "") + std::to_string(ids[k]);
  return ids.size() > 24 ? text + " ..." : text;
}

std::string describe_floor(const verdict::Floor& floor) {
  const std::string number = floor.squared_error ? "at least " + describe_number(*floor.squared_error) : "bounded away from 0 (no closed form)";
  std::string text = fmt::format("target {}, inputs {}: squared error {} [{}]", floor.target, floor.domain, number, floor.rule);
  if (floor.distance) {
    text += fmt::format("; averaged over all {} isomorphisms of views: {}{}, where the target's own square is {}", floor.distance->isomorphisms,
                        floor.distance->exact ? "exactly " : "at least ", describe_number(floor.distance->squared_error), describe_number(floor.distance->norm));
  }
  return text;
}

void add_witness(Page& page, const Answer& answer) {
  if (answer.id_collision && answer.id_collision->x == answer.id_collision->y) {
    const auto& c = *answer.id_collision;
    page.add("try it", fmt::format("ids {}: outputs {} and {} are equal", describe_ids(c.x), c.a, c.b));
  } else if (answer.id_collision) {
    const auto& c = *answer.id_collision;
    const std::string where = answer.given ? fmt::format("at {}", plural(*answer.given, "layer")) : "at every depth";
    page.add("try it", fmt::format("{} these give the same output: ids {} at token {}, and ids {} at token {}", where, describe_ids(c.x), c.a, describe_ids(c.y), c.b));
  } else if (answer.unreachable) {
    page.add("try it", fmt::format("change token {}: output {} stays as it is", answer.unreachable->unseen, answer.unreachable->reader));
  } else if (answer.collision) {
    std::string moves;
    std::size_t moved = 0;
    for (auto [from, to] : answer.collision->tau) {
      if (from == to) continue;
      if (++moved <= 6) moves += fmt::format("{}{}->{}", moved > 1 ? ", " : "", from, to);
    }
    if (moved > 6) moves += fmt::format(", ... ({} tokens move)", moved);
    // What a network reads of token j is x_j plus its row: the sum is what moves.
    const char* const rows = answer.collision_moves_rows ? ", each with its row of the table (x_j + p_j - p_k goes to k, as far as the box allows)" : "";
    page.add("try it", fmt::format("move the tokens {}{}: output {} becomes exactly the old output {}", moves, rows, answer.collision->b, answer.collision->a));
  }
}

}  // namespace

std::string to_text(const Answer& answer, bool colour) {
  Page page;
  page.add("", fmt::format("{}  ({})", answer.name.empty() ? answer.file : answer.name, plural(answer.tokens, "token")));
  page.blank();
  page.add("verdict", describe_verdict(answer));
  if (answer.layout) page.add("symmetry", "of the layout: " + describe_group(*answer.layout));
  if (answer.expressed && answer.layout && !(answer.expressed->order == answer.layout->order)) {
    page.add("", "at this depth only targets with this larger symmetry can be met: " + describe_group(*answer.expressed));
  }
  page.add("layers", describe_layers(answer));
  if (const std::string sight = describe_sight(answer); !sight.empty()) page.add("sight", sight);
  if (answer.class_kind && *answer.class_kind != answer.target_class) {
    const std::string word = to_word(*answer.class_kind);
    page.add("class", fmt::format("this layout is {}; all such functions with its symmetry need {} (asked by --require {})", word == "seen" ? "partial" : "\"" + word + "\"",
                                  answer.class_layers ? plural(*answer.class_layers, "layer") : "a number of layers that is not known, or cannot all be met", word == "all" ? "universal" : word));
  }
  if (answer.output_dim && answer.output_largest) page.add("outputs", fmt::format("{} per token asked, {} possible", *answer.output_dim, *answer.output_largest));
  if (answer.published.verdict == verdict::PublishedVerdict::certified) {
    const std::optional<bool>& sound = answer.published.sound;
    const std::optional<std::uint64_t> least = answer.needed ? answer.needed : answer.needed_between ? std::optional(answer.needed_between->first) : std::nullopt;
    const bool fewer = least && answer.published.layers < least;
    page.add("published", fmt::format("{} promises {}{}", answer.published.theorem, plural(answer.published.layers.value_or(0), "layer"),
                                      !sound ? "; whether that is enough is not known" : fewer ? ": too few, see above" : *sound ? ", rightly" : ": its argument does not hold here"));
  }
  if (answer.at_connected && answer.layout && !(*answer.at_connected == answer.layout->order) && answer.connected) {
    page.add("", fmt::format("with {} only the symmetry of order {} is told apart", plural(*answer.connected, "layer"), to_words(*answer.at_connected)));
  }
  page.blank();
  for (std::size_t k = 0; k < answer.rules.size() && k < 6; ++k) page.add(k == 0 ? "why" : "", to_sentence(answer.rules[k]));
  if (answer.floor) page.add("floor", describe_floor(*answer.floor));
  add_witness(page, answer);
  for (std::size_t k = 0; k < answer.advice.size(); ++k) page.add(k == 0 ? "to change" : "", answer.advice[k]);
  for (std::size_t k = 0; k < answer.assumptions.size() && page.size() < most_lines; ++k) page.add(k == 0 ? "assumes" : "", answer.assumptions[k]);
  std::string text = page.text();
  if (colour) {
    const std::string word = answer.verdict == Verdict::certified ? "CERTIFIED" : answer.verdict == Verdict::impossible ? "IMPOSSIBLE" : "UNKNOWN";
    const std::string code = answer.verdict == Verdict::certified ? "\033[1;32m" : answer.verdict == Verdict::impossible ? "\033[1;31m" : "\033[1;33m";
    if (const auto at = text.find(word); at != std::string::npos) text.replace(at, word.size(), code + word + "\033[0m");
  }
  return text;
}

}  // namespace sightline::report
