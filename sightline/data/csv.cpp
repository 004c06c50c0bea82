// Data sets as CSV: a header, one row per sample, columns x[i][k] row-major, then y.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/base/words.hpp"
#include "sightline/data/validate.hpp"

namespace sightline::data {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

class CsvReader {
public:
  CsvReader(std::string_view text, const std::string& file, const Expected& expected, const Budget& budget)
      : text_(text), file_(file), expected_(expected), budget_(budget) {}

  Dataset read() {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    read_header();
    while (!text_.empty()) read_row();
    if (rows_ == 0) fail("at least one row after the header", "none");
    return build();
  }

private:
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw InputError(fmt::format("{}:{}: expected {}, found {}", file_, line_, expected, found));
  }

  std::string_view next_line() {
    ++line_;
    const std::size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    return line;
  }

  /// Calls visit(column, text) for each field.
  template <class Visit> std::uint64_t split(std::string_view line, const Visit& visit) const {
    std::uint64_t column = 0;
    for (;;) {
      const std::size_t comma = line.find(',');
      visit(column++, trim(line.substr(0, comma)));
      if (comma == std::string_view::npos) return column;
      line.remove_prefix(comma + 1);
    }
  }

  void read_header() {
    const std::string_view line = next_line();
    if (trim(line).empty()) fail("a header", "an empty line");
    if (__builtin_mul_overflow(expected_.tokens, expected_.ids ? 1 : expected_.width, &of_x_)) fail("fewer columns", "too many");
    bool numbers = true;
    std::uint64_t first_y = 0;
    columns_ = split(line, [&](std::uint64_t column, std::string_view name) {
      double value = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
      numbers = numbers && error == std::errc{} && end == name.data() + name.size();
      if (first_y == 0 && column > 0 && name.starts_with('y')) first_y = column;
    });
    if (numbers) fail("a header that names the columns", quote_bytes(line));
    const std::string wanted = expected_.ids ? fmt::format("{} columns of x (tokens)", of_x_)
                                             : fmt::format("{} columns of x ({} tokens x {} numbers)", of_x_, expected_.tokens, expected_.width);
    if (columns_ < of_x_ || (columns_ == of_x_ && expected_.targets)) {
      fail(expected_.targets ? wanted + ", then y" : wanted, fmt::format("{} columns", columns_));
    }
    expect_order(line, "x", 0, of_x_);
    if (expected_.targets) expect_order(line, "y", of_x_, columns_);
    if (first_y != 0 && first_y != of_x_) fail(wanted + " before y", fmt::format("{}", first_y));
  }

  /// Names are free, but where they number the columns, x[0][1] or x0_1 or x1, all of them and each once, they must do it row by row:
  /// a table that goes through the coordinates first would be read with tokens and coordinates exchanged.
  void expect_order(std::string_view line, std::string_view letter, std::uint64_t begin, std::uint64_t end) const {
    std::vector<std::pair<std::vector<std::uint64_t>, std::string_view>> numbered;
    bool all = true;
    split(line, [&](std::uint64_t column, std::string_view name) {
      if (column < begin || column >= end || !all) return;
      std::vector<std::uint64_t> numbers = find_numbers(name);
      all = name.starts_with(letter) && !numbers.empty() && (numbered.empty() || numbers.size() == numbered.front().first.size());
      numbered.emplace_back(std::move(numbers), name);
    });
    if (!all || numbered.size() != end - begin) return;
    auto ordered = numbered;
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t k = 1; k < ordered.size(); ++k)
      if (ordered[k].first == ordered[k - 1].first) return;
    for (std::size_t k = 0; k < ordered.size(); ++k)
      if (ordered[k].first != numbered[k].first)
        fail(fmt::format("{} in column {} (columns are row-major: all numbers of a token, then the next token)", quote_bytes(ordered[k].second), begin + k + 1), quote_bytes(numbered[k].second));
  }

  static std::vector<std::uint64_t> find_numbers(std::string_view name) {
    std::vector<std::uint64_t> numbers;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t k = 0; k < name.size();) {
      if (!is_digit(name[k])) {
        ++k;
        continue;
      }
      std::uint64_t value = 0;
      const auto [stop, error] = std::from_chars(name.data() + k, name.data() + name.size(), value);
      if (error != std::errc{}) return {};
      numbers.push_back(value);
      k = static_cast<std::size_t>(stop - name.data());
    }
    return numbers;
  }

  void read_row() {
    const std::string_view line = next_line();
    if (trim(line).empty()) {
      if (!trim(text_).empty()) fail("a row", "an empty line");
      return;
    }
    if ((rows_++ & 255U) == 0) {
      budget_.poll();
      budget_.ask(256 * 8 * columns_);
    }
    const std::uint64_t found = split(line, [&](std::uint64_t column, std::string_view field) {
      if (column < columns_) read_field(column, field);
    });
    if (found != columns_) fail(fmt::format("{} columns", columns_), fmt::format("{}", found));
  }

  void read_field(std::uint64_t column, std::string_view field) {
    const bool in_x = column < of_x_;
    if (field.starts_with('+')) field.remove_prefix(1);
    const char *begin = field.data(), *end = begin + field.size();
    std::int64_t integer = 0;
    if (const auto [stop, error] = std::from_chars(begin, end, integer); error == std::errc{} && stop == end) {
      if (in_x && expected_.ids) ids_.push_back(integer);
      else (in_x ? x_ : y_).push_back(static_cast<double>(integer));
      if (!in_x) classes_.push_back(integer);
      return;
    }
    if (in_x && expected_.ids) fail(fmt::format("an id in column {}", column + 1), quote_bytes(field));
    double value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || stop != end) fail(fmt::format("a number in column {}", column + 1), quote_bytes(field));
    (in_x ? x_ : y_).push_back(value);
    if (!in_x) only_integers_ = false;
  }

  Dataset build() {
    NamedArrays arrays;
    const std::uint64_t n = expected_.tokens, of_y = columns_ - of_x_;
    if (expected_.ids) arrays["x"] = {{rows_, n}, std::move(ids_)};
    else arrays["x"] = {{rows_, n, expected_.width}, std::move(x_)};
    if (of_y != 0 && expected_.targets) {
      // Numbers without a point are classes where the shape allows it; with that many columns they could be nothing else
      // unless one number per token (or sample) was meant: then write a point somewhere.
      const bool classes = only_integers_ && of_y == (expected_.pooled ? 1 : n);
      if (classes && expected_.pooled) arrays["y"] = {{rows_}, std::move(classes_)};
      else if (classes) arrays["y"] = {{rows_, n}, std::move(classes_)};
      else if (expected_.pooled) arrays["y"] = {{rows_, of_y}, std::move(y_)};
      else if (of_y % n == 0) arrays["y"] = {{rows_, n, of_y / n}, std::move(y_)};
      else throw InputError(fmt::format("{}: y: expected a multiple of {} columns (tokens) after x, found {}", file_, n, of_y));
    }
    return validate(std::move(arrays), expected_, [&](std::string_view name) { return fmt::format("{}: {}", file_, name); });
  }

  std::string_view text_;
  const std::string& file_;
  const Expected& expected_;
  const Budget& budget_;
  std::uint64_t line_ = 0, rows_ = 0, columns_ = 0, of_x_ = 0;
  std::vector<double> x_, y_;
  std::vector<std::int64_t> ids_, classes_;
  bool only_integers_ = true;
};

}  // namespace

Dataset parse_csv(std::string_view text, const std::string& file, const Expected& expected, const Budget& budget) {
  return CsvReader(text, file, expected, budget).read();
}

}  // namespace sightline::data
