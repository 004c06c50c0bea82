// The text formats: MatrixMarket coordinate files and edge lists.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "sightline/layout/mask_file.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

namespace {

class Lines {
public:
  explicit Lines(std::string_view text) : text_(text) {}
  // The next line without its end ("\n" or "\r\n"); nothing at the end of the file.
  std::optional<std::string_view> next() {
    if (at_ >= text_.size()) return std::nullopt;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  [[nodiscard]] std::size_t number() const { return number_; }

private:
  std::string_view text_;
  std::size_t at_ = 0, number_ = 0;
};

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

template <typename Number> bool parse(std::string_view word, Number& value) {
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

struct Entry {
  Vertex row, column;
  std::uint32_t colour;
  std::uint32_t line;  // modulo 2^32; only shown
};

// The entries by rows; throws on two entries of one arc.
Pattern make_from_entries(std::vector<Entry>& entries, Vertex vertices, const Budget& budget) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair{a.row, a.column} < std::pair{b.row, b.column} || (a.row == b.row && a.column == b.column && a.line < b.line);
  });
  for (std::size_t k = 1; k < entries.size(); ++k) {
    if (entries[k].row == entries[k - 1].row && entries[k].column == entries[k - 1].column) {
      throw MaskError(entries[k].line, "every entry once", fmt::format("the entry of line {} again", entries[k - 1].line));
    }
  }
  PatternBuilder builder(vertices, budget);
  std::vector<Vertex> columns;
  std::vector<std::uint32_t> colours;
  auto entry = entries.begin();
  for (Vertex i = 0; i < vertices; ++i) {
    columns.clear();
    colours.clear();
    for (; entry != entries.end() && entry->row == i; ++entry) {
      if (entry->colour == 0) continue;
      columns.push_back(entry->column);
      colours.push_back(entry->colour);
    }
    builder.add_segment(i, builder.add_row_once(columns, colours));
  }
  return builder.build();
}

// Books memory for entries as they come, never for what a header promises.
class EntryList {
public:
  explicit EntryList(const Budget& budget) : budget_(&budget) {}
  ~EntryList() { budget_->give_back(booked_); }
  EntryList(const EntryList&) = delete;
  EntryList& operator=(const EntryList&) = delete;
  void add(Entry entry) {
    constexpr std::uint64_t chunk = 1u << 16;
    if (entries.size() % chunk == 0) {
      budget_->poll();
      budget_->ask(chunk * sizeof(Entry));
      booked_ += chunk * sizeof(Entry);
    }
    entries.push_back(entry);
  }
  std::vector<Entry> entries;

private:
  const Budget* budget_;
  std::uint64_t booked_ = 0;
};

std::string lowered(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

enum class Field { pattern, integer, real };

}  // namespace

Pattern read_matrix_market(std::string_view text, Vertex vertices, const Budget& budget) {
  Lines lines(text);
  std::string_view header = lines.next().value_or("");
  std::string_view rest = header;
  if (next_word(rest) != "%%MatrixMarket") throw MaskError(1, "%%MatrixMarket matrix coordinate ...", quote(header));
  const std::string object = lowered(next_word(rest)), layout = lowered(next_word(rest));
  const std::string kind = lowered(next_word(rest)), symmetry = lowered(next_word(rest));
  if (object != "matrix" || layout != "coordinate") {
    throw MaskError(1, "a matrix in coordinate form", quote(object + " " + layout));
  }
  if (kind != "pattern" && kind != "integer" && kind != "real") throw MaskError(1, "pattern, integer or real", quote(kind));
  if (symmetry != "general" && symmetry != "symmetric") throw MaskError(1, "general or symmetric", quote(symmetry));
  const Field field = kind == "pattern" ? Field::pattern : kind == "integer" ? Field::integer : Field::real;
  std::optional<std::uint64_t> promised;
  EntryList list(budget);
  std::uint64_t read = 0;
  while (const auto line = lines.next()) {
    std::string_view words = *line;
    const std::string_view first = next_word(words);
    if (first.empty() || first.starts_with('%')) continue;
    const std::string_view second = next_word(words), third = next_word(words);
    if (!next_word(words).empty()) throw MaskError(lines.number(), promised ? "an entry" : "rows columns entries", quote(*line));
    if (!promised) {
      std::uint64_t rows = 0, columns = 0, entries = 0;
      if (!parse(first, rows) || !parse(second, columns) || !parse(third, entries)) {
        throw MaskError(lines.number(), "rows columns entries", quote(*line));
      }
      if (rows != vertices || columns != vertices) {
        throw MaskError(lines.number(), fmt::format("{} rows and columns (tokens and registers)", vertices), fmt::format("{} x {}", rows, columns));
      }
      promised = entries;
      continue;
    }
    std::uint64_t row = 0, column = 0;
    if (!parse(first, row) || !parse(second, column) || row < 1 || column < 1 || row > vertices || column > vertices) {
      throw MaskError(lines.number(), fmt::format("a row and a column from 1 to {}", vertices), quote(*line));
    }
    std::uint32_t colour = 1;
    if (field == Field::pattern) {
      if (!third.empty()) throw MaskError(lines.number(), "a row and a column only (pattern)", quote(*line));
    } else if (field == Field::integer) {
      if (!parse(third, colour)) throw MaskError(lines.number(), "0 or a colour from 1 to 4294967295", quote(third));
    } else {
      double value = 0;
      if (!parse(third, value) || std::isnan(value)) throw MaskError(lines.number(), "a number", quote(third));
      colour = value != 0 ? 1 : 0;
    }
    if (++read > *promised) throw MaskError(lines.number(), fmt::format("{} entries", *promised), "more of them");
    const auto number = static_cast<std::uint32_t>(lines.number());
    const auto i = static_cast<Vertex>(row - 1), j = static_cast<Vertex>(column - 1);
    list.add({i, j, colour, number});
    if (symmetry == "symmetric" && i != j) list.add({j, i, colour, number});
  }
  if (!promised) throw MaskError(lines.number(), "a line: rows columns entries", "the end of the file");
  if (read < *promised) throw MaskError(lines.number(), fmt::format("{} entries", *promised), fmt::format("{}", read));
  return make_from_entries(list.entries, vertices, budget);
}

Pattern read_edge_list(std::string_view text, Vertex vertices, const Budget& budget) {
  Lines lines(text);
  EntryList list(budget);
  while (const auto line = lines.next()) {
    std::string_view words = line->substr(0, line->find('#'));
    const std::string_view first = next_word(words), second = next_word(words);
    if (first.empty()) continue;
    std::uint64_t u = 0, v = 0;
    if (!parse(first, u) || !parse(second, v) || !next_word(words).empty()) {
      throw MaskError(lines.number(), "two indices u v", quote(*line));
    }
    if (u >= vertices || v >= vertices) {
      throw MaskError(lines.number(), fmt::format("indices from 0 to {}", vertices - 1), quote(*line));
    }
    list.add({static_cast<Vertex>(u), static_cast<Vertex>(v), 1, static_cast<std::uint32_t>(lines.number())});
  }
  return make_from_entries(list.entries, vertices, budget);
}

}  // namespace sightline::layout
