#include "sightline/base/tokens.hpp"

#include <fmt/format.h>

#include "sightline/base/error.hpp"

namespace sightline {
namespace {

using Kind = Token::Kind;

constexpr std::size_t greatest_length = 65536;
constexpr std::size_t greatest_nesting = 200;

Token next_token(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) ++at;
  if (at == text.size()) return {Kind::end, at, {}};
  std::size_t end = at;
  auto digits = [&] { while (end < text.size() && is_digit(text[end])) ++end; };
  const char c = text[at];
  if (is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
    digits();
    if (end < text.size() && text[end] == '.') { ++end; digits(); }
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      std::size_t mark = end + 1;
      if (mark < text.size() && (text[mark] == '+' || text[mark] == '-')) ++mark;
      if (mark < text.size() && is_digit(text[mark])) { end = mark; digits(); }
    }
    return {Kind::number, at, text.substr(at, end - at)};
  }
  if (is_letter(c)) {
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    return {Kind::word, at, text.substr(at, end - at)};
  }
  const bool known = std::string_view("+-*/^()[],").find(c) != std::string_view::npos;
  return {known ? Kind::symbol : Kind::bad, at, text.substr(at, 1)};
}

}  // namespace

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void fail_at(std::size_t at, std::string_view expected, std::string_view found) {
  throw InputError(fmt::format("character {}: expected {}, found {}", at + 1, expected, found));
}

std::string describe(const Token& token) {
  if (token.kind == Kind::end) return "the end";
  const unsigned char first = static_cast<unsigned char>(token.text.front());
  if (token.kind == Kind::bad && (first < 0x20 || first > 0x7e)) return fmt::format("the byte 0x{:02x}", first);
  if (token.text.size() > 40) return fmt::format("\"{}...\"", token.text.substr(0, 37));
  return fmt::format("\"{}\"", token.text);
}

TokenCursor::TokenCursor(std::string_view text) : text_(text) {
  if (text.size() > greatest_length) fail_at(greatest_length, fmt::format("at most {} characters", greatest_length), fmt::format("{}", text.size()));
  token_ = next_token(text, 0);
}

void TokenCursor::advance() { token_ = next_token(text_, token_.at + token_.text.size()); }

bool TokenCursor::take(char symbol) {
  if (!at(symbol)) return false;
  advance();
  return true;
}

void TokenCursor::require(char symbol) {
  if (!take(symbol)) fail_at(token_.at, fmt::format("\"{}\"", symbol), describe(token_));
}

TokenCursor::Nesting::Nesting(TokenCursor& cursor, std::string_view what) : cursor_(cursor) {
  if (++cursor_.nesting_ > greatest_nesting) fail_at(cursor_.token_.at, fmt::format("at most {} nested {}", greatest_nesting, what), "more");
}

}  // namespace sightline
