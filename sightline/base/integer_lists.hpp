// Nested lists of integers as the text of JSON: of millions of numbers no tree is made.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sightline {

/// "[[1,2],[]]" by open(), open(), add(1), add(2), close(), open(), close(), close(). Every list that was opened has to be closed. O(size).
class IntegerLists {
public:
  void open() {
    begin_element();
    put('[');
    first_ = true;
  }
  void close() {
    make_room();
    put(']');
    first_ = false;
  }
  void add(std::int64_t number) {
    begin_element();
    char* const begin = reinterpret_cast<char*>(text_.data() + size_);
    size_ += static_cast<std::size_t>(std::to_chars(begin, begin + longest, number).ptr - begin);
  }
  void add_list(std::initializer_list<std::int64_t> numbers) {
    open();
    for (const std::int64_t number : numbers) add(number);
    close();
  }
  /// The bytes of the text; what nlohmann's json::binary takes, and print_canonical writes as it is.
  [[nodiscard]] std::vector<std::uint8_t> take() && {
    text_.resize(size_);
    return std::move(text_);
  }

private:
  static constexpr std::size_t longest = 24;  ///< of a number, its comma and a bracket

  void make_room() {
    if (size_ + longest > text_.size()) text_.resize(2 * text_.size() + longest);
  }
  void put(char c) { text_[size_++] = static_cast<std::uint8_t>(c); }
  void begin_element() {
    make_room();
    if (!std::exchange(first_, false)) put(',');
  }

  std::vector<std::uint8_t> text_;
  std::size_t size_ = 0;
  bool first_ = true;
};

}  // namespace sightline
