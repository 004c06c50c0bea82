#include "sightline/architecture/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sightline/architecture/json_text.hpp"
#include "sightline/architecture/number_text.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/words.hpp"

namespace sightline::architecture {
namespace {

std::string join_quoted(const std::vector<std::string_view>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return out;
}

std::string print_range(Range range) {
  if (range.most >= largest_integer)
    return range.least <= -largest_integer ? "an integer" : fmt::format("an integer >= {}", range.least);
  return fmt::format("an integer from {} to {}", range.least, range.most);
}

[[noreturn]] void fail_located(const View& view, const Place& place, const std::string& pointer, const std::string& message) {
  const Document& document = view.document();
  if (document.places)
    throw InputError(fmt::format("{}:{}:{}: {}", document.file, place.line, place.column, message));
  throw InputError(fmt::format("{}: {}{}{}", document.file, pointer, pointer.empty() ? "" : ": ", message));
}

}  // namespace

std::optional<View> View::find(std::string_view key) const& {
  if (const Table* table = node_->table())
    for (const Member& member : *table)
      if (member.key == key)
        return View(*this, member.key, member.value);
  return std::nullopt;
}

std::string View::pointer() const {
  if (parent_ == nullptr)
    return "";
  return fmt::format("{}/{}", parent_->pointer(), key_.data() != nullptr ? escape_pointer(key_) : fmt::format("{}", index_));
}

std::string View::where() const {
  return document_->places ? fmt::format("{}:{}", node_->place.line, node_->place.column) : pointer();
}

void fail(const View& view, const std::string& message) { fail_located(view, view.node().place, view.pointer(), message); }

void fail_expected(const View& view, const std::string& expected, const std::vector<std::string_view>& candidates) {
  const std::string* text = view.node().string();
  fail(view, fmt::format("expected {}, found {}{}", expected, describe(view.node()), text ? suggest(*text, candidates) : ""));
}

void fail_missing(const View& table, std::string_view key, std::string_view what) {
  fail_located(table, table.node().place, fmt::format("{}/{}", table.pointer(), escape_pointer(key)),
               fmt::format("expected the key \"{}\" ({}), found none", key, what));
}

void fail_at_key(const View& table, std::string_view key, const std::string& message) {
  for (const Member& member : *table.node().table())
    if (member.key == key)
      fail_located(table, member.key_place, View(table, member.key, member.value).pointer(), message);
  fail(table, message);
}

std::string suggest(std::string_view text, const std::vector<std::string_view>& candidates) {
  if (text.size() > 64)
    return "";
  std::string_view best;
  std::size_t least = std::clamp<std::size_t>(text.size() / 3, 1, 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = compute_edit_distance(text, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      best = candidate;
    }
  }
  return best.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", best);
}

void require_table(const View& view, std::string_view owner, const std::vector<std::string_view>& keys) {
  const Table* table = view.node().table();
  if (table == nullptr)
    fail_expected(view, fmt::format("a table ({})", owner));
  for (const Member& member : *table)
    if (std::find(keys.begin(), keys.end(), member.key) == keys.end())
      fail_at_key(view, member.key,
                  fmt::format("expected a key of {} ({}), found {}{}", owner, fmt::join(keys, ", "),
                              quote_for_message(member.key), suggest(member.key, keys)));
}

std::int64_t to_integer(const View& view, Range range) {
  const std::int64_t* value = view.node().integer();
  if (value != nullptr && *value > largest_integer && range.most == largest_integer)
    fail_expected(view, fmt::format("an integer from {} to {}", range.least, range.most));
  if (value == nullptr || *value < range.least || *value > range.most)
    fail_expected(view, print_range(range));
  return *value;
}

double to_number(const View& view) {
  if (const std::int64_t* integer = view.node().integer())
    return static_cast<double>(*integer);
  const double* number = view.node().number();
  if (number == nullptr || !std::isfinite(*number))
    fail_expected(view, number == nullptr ? "a number" : "a finite number");
  return *number == 0 ? 0.0 : *number;
}

const std::string& to_string(const View& view, std::string_view expected) {
  const std::string* text = view.node().string();
  if (text == nullptr)
    fail_expected(view, std::string(expected));
  return *text;
}

const List& to_list(const View& view, std::string_view expected) {
  const List* list = view.node().list();
  if (list == nullptr)
    fail_expected(view, std::string(expected));
  return *list;
}

std::vector<std::int64_t> to_integers(const View& view, Range range) {
  const List& list = to_list(view, "a list of integers");
  std::vector<std::int64_t> out;
  out.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    out.push_back(to_integer(View(view, i), range));
  return out;
}

std::vector<double> to_numbers(const View& view) {
  const List& list = to_list(view, "a list of numbers");
  std::vector<double> out;
  out.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    out.push_back(to_number(View(view, i)));
  return out;
}

std::vector<std::vector<std::int64_t>> to_integer_rows(const View& view, Range range) {
  const List& list = to_list(view, "a list of lists of integers");
  std::vector<std::vector<std::int64_t>> out;
  out.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    out.push_back(to_integers(View(view, i), range));
  return out;
}

void read_boolean(const View& table, std::string_view key, bool& out) {
  if (const auto value = table.find(key)) {
    const bool* boolean = value->node().boolean();
    if (boolean == nullptr)
      fail_expected(*value, "true or false");
    out = *boolean;
  }
}

void read_integer(const View& table, std::string_view key, std::int64_t& out, Range range) {
  if (const auto value = table.find(key))
    out = to_integer(*value, range);
}

void read_integer(const View& table, std::string_view key, std::optional<std::int64_t>& out, Range range) {
  if (const auto value = table.find(key)) {
    if (value->node().is_null())
      out.reset();
    else
      out = to_integer(*value, range);
  }
}

void read_number(const View& table, std::string_view key, double& out, Sign sign) {
  if (const auto value = table.find(key)) {
    const double number = to_number(*value);
    if (sign == Sign::positive && number <= 0)
      fail_expected(*value, "a number > 0");
    if (sign == Sign::not_negative && number < 0)
      fail_expected(*value, "a number >= 0");
    out = number;
  }
}

void read_number(const View& table, std::string_view key, std::optional<double>& out, Sign sign) {
  if (const auto value = table.find(key)) {
    if (value->node().is_null()) {
      out.reset();
    } else {
      double number = 0;
      read_number(table, key, number, sign);
      out = number;
    }
  }
}

void read_string(const View& table, std::string_view key, std::string& out) {
  if (const auto value = table.find(key))
    out = to_string(*value);
}

std::size_t find_choice(const View& view, const std::vector<std::string_view>& names) {
  if (const std::string* text = view.node().string())
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == *text)
        return i;
  fail_expected(view, join_quoted(names), names);
}

}  // namespace sightline::architecture
