#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sightline {

/// What the readers of expressions (kernels, activations, targets) have in common: numbers as in C without a sign, words of letters, digits and
/// underscores, the symbols + - * / ^ ( ) [ ] and the comma; blanks between them mean nothing.
struct Token {
  enum class Kind { number, word, symbol, bad, end };
  Kind kind = Kind::end;
  std::size_t at = 0;  ///< 0-based
  std::string_view text;
};

[[nodiscard]] bool is_digit(char c);
/// A to Z, a to z, underscore.
[[nodiscard]] bool is_letter(char c);

/// What an error message calls it: quoted and cut after 40 characters, "the end", or the byte in hexadecimal.
[[nodiscard]] std::string describe(const Token& token);

/// Throws InputError "character AT+1: expected ..., found ...".
[[noreturn]] void fail_at(std::size_t at, std::string_view expected, std::string_view found);

/// The next token of a text and how deep its readers are nested; `text` must outlive it.
class TokenCursor {
protected:
  /// Throws InputError when the text has more than 65,536 characters.
  explicit TokenCursor(std::string_view text);

  void advance();
  [[nodiscard]] bool at(char symbol) const { return token_.kind == Token::Kind::symbol && token_.text[0] == symbol; }
  /// Steps over the symbol if it comes next.
  bool take(char symbol);
  /// Throws InputError when another token comes next.
  void require(char symbol);

  /// Guards the recursion of a reader: throws InputError at the 201st level ("at most 200 nested WHAT").
  class Nesting {
  public:
    Nesting(TokenCursor& cursor, std::string_view what);
    ~Nesting() { --cursor_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

  private:
    TokenCursor& cursor_;
  };

  Token token_;

private:
  std::string_view text_;
  std::size_t nesting_ = 0;
};

}  // namespace sightline
