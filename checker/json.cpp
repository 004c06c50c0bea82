#include "json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "poll.hpp"

namespace checker {

Json::Json(std::string value) : value_(std::make_unique<std::string>(std::move(value))) {}
Json::Json(Array value) : value_(std::make_unique<Array>(std::move(value))) {}
Json::Json(Object value) : value_(std::make_unique<Object>(std::move(value))) {}
Json::Json(Numbers value) : value_(std::make_shared<Kept<Numbers>>(std::move(value))) {}
Json::Json(Texts value) : value_(std::make_shared<Kept<Texts>>(std::move(value))) {}

namespace {

template <class T, class V> const T& get(const V& value, const char* kind) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  throw Malformed(std::string("expected ") + kind);
}

Json::Array write_out(const std::int64_t*& at) {
  const std::int64_t header = *at++;
  Json::Array members;
  members.reserve(static_cast<std::size_t>(header / 2));
  for (std::int64_t k = 0; k < header / 2; ++k) {
    if (header % 2 == 1) members.push_back(Json(write_out(at)));
    else members.push_back(Json(*at++));
  }
  return members;
}

void flatten(const Json& value, Json::Numbers& out) {
  const Json::Array& members = value.array();
  const bool lists = !members.empty() && members.front().is_array();
  out.push_back(static_cast<std::int64_t>(2 * members.size() + (lists ? 1 : 0)));
  for (const Json& member : members) {
    if (lists) flatten(member, out);
    else out.push_back(member.integer());
  }
}

}  // namespace

bool Json::boolean() const { return get<bool>(value_, "true or false"); }
std::int64_t Json::integer() const { return get<std::int64_t>(value_, "an integer"); }
const std::string& Json::string() const { return *get<std::shared_ptr<std::string>>(value_, "a string"); }
const Json::Array& Json::array() const {
  if (const auto* numbers = std::get_if<std::shared_ptr<Kept<Numbers>>>(&value_)) {
    Kept<Numbers>& table = **numbers;
    std::call_once(table.once, [&table] {
      const std::int64_t* at = table.values.data();
      table.written = write_out(at);
    });
    return table.written;
  }
  if (const auto* strings = std::get_if<std::shared_ptr<Kept<Texts>>>(&value_)) {
    Kept<Texts>& list = **strings;
    std::call_once(list.once, [&list] {
      for (const std::string_view text : list.values) list.written.push_back(Json(std::string(text)));
    });
    return list.written;
  }
  return *get<std::shared_ptr<Array>>(value_, "a list");
}
std::size_t Json::size() const {
  if (const Numbers* table = flat()) return static_cast<std::size_t>(table->front() / 2);
  return texts() != nullptr ? texts()->size() : array().size();
}
std::shared_ptr<const Json::Numbers> Json::numbers() const {
  if (const auto* table = std::get_if<std::shared_ptr<Kept<Numbers>>>(&value_)) return {*table, &(*table)->values};
  auto flat = std::make_shared<Numbers>();
  flatten(*this, *flat);
  return flat;
}
const Json::Object& Json::object() const { return *get<std::shared_ptr<Object>>(value_, "an object"); }
double Json::number() const { return is_integer() ? static_cast<double>(integer()) : get<double>(value_, "a number"); }

std::uint64_t Json::natural(std::uint64_t limit) const {
  const std::int64_t value = integer();
  if (value < 0 || static_cast<std::uint64_t>(value) > limit)
    throw Malformed("expected an integer in 0 .. " + std::to_string(limit) + ", found " + std::to_string(value));
  return static_cast<std::uint64_t>(value);
}

const Json& Json::operator[](std::size_t index) const {
  const Array& values = array();
  if (index >= values.size()) throw Malformed("expected a list of more than " + std::to_string(index) + " members");
  return values[index];
}

const Json* Json::find(std::string_view key) const {
  const Object& members = object();
  const auto found = members.find(key);
  return found == members.end() ? nullptr : &found->second;
}

const Json& Json::operator[](std::string_view key) const {
  if (const Json* found = find(key)) return *found;
  throw Malformed("expected the key \"" + std::string(key) + "\"");
}

bool operator==(const Json& a, const Json& b) {
  if (a.texts() != nullptr && b.texts() != nullptr) return a.texts() == b.texts() || *a.texts() == *b.texts();
  if (a.is_flat() != b.is_flat() || (a.texts() != nullptr) != (b.texts() != nullptr)) return a.is_array() && b.is_array() && a.array() == b.array();
  if (a.value_.index() != b.value_.index()) return false;
  if (a.is_flat()) return *a.flat() == *b.flat();
  if (a.is_string()) return a.string() == b.string();
  if (a.is_array()) return a.array() == b.array();
  if (a.is_object()) return a.object() == b.object();
  return a.value_ == b.value_;
}

namespace {

/// The fewest digits that read back the same; plain from 0.0001 up to below 1e15, else with an exponent.
void print_real(double value, std::string& out) {
  if (!std::isfinite(value)) throw Malformed("a number that is not finite");
  const bool plain = value == 0 || (std::abs(value) >= 1e-4 && std::abs(value) < 1e15);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, plain ? std::chars_format::fixed : std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  out += text;
  if (plain && text.find('.') == std::string_view::npos) out += ".0";
}

constexpr std::string_view short_escapes = "\"\"\\\\b\bf\fn\nr\rt\t";  // letter, character

void print_string(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && c != '"' && c != '\\') {
      out += c;
      continue;
    }
    out += '\\';
    std::size_t k = 0;
    while (k < short_escapes.size() && short_escapes[k + 1] != c) k += 2;
    if (k < short_escapes.size()) {
      out += short_escapes[k];
    } else {
      out += "u00";
      out += "0123456789abcdef"[code >> 4];
      out += "0123456789abcdef"[code & 15];
    }
  }
  out += '"';
}

void print_integer(std::int64_t value, std::string& out) {
  char buffer[24];
  out += std::string_view(buffer, static_cast<std::size_t>(std::to_chars(buffer, buffer + sizeof buffer, value).ptr - buffer));
}

const std::int64_t* print_flat(const std::int64_t* at, std::string& out) {
  const std::int64_t header = *at++;
  out += '[';
  for (std::int64_t k = 0; k < header / 2; ++k) {
    if (k > 0) out += ',';
    if (header % 2 == 1) at = print_flat(at, out);
    else print_integer(*at++, out);
  }
  out += ']';
  return at;
}

}  // namespace

void print_value(const Json& value, std::string& out) {
  if (value.is_flat()) {
    print_flat(value.flat()->data(), out);
    return;
  }
  if (const Json::Texts* strings = value.texts()) {
    char separator = '[';
    for (const std::string_view text : *strings) {
      out += std::exchange(separator, ',');
      print_string(text, out);
    }
    out += separator == '[' ? "[]" : "]";
    return;
  }
  if (value.is_null()) {
    out += "null";
  } else if (value.is_boolean()) {
    out += value.boolean() ? "true" : "false";
  } else if (value.is_integer()) {
    print_integer(value.integer(), out);
  } else if (value.is_real()) {
    print_real(value.number(), out);
  } else if (value.is_string()) {
    print_string(value.string(), out);
  } else if (value.is_array()) {
    char separator = '[';
    for (const Json& member : value.array()) {
      out += std::exchange(separator, ',');
      print_value(member, out);
    }
    out += separator == '[' ? "[]" : "]";
  } else {
    char separator = '{';
    for (const auto& [key, member] : value.object()) {
      out += std::exchange(separator, ',');
      print_string(key, out);
      out += ':';
      print_value(member, out);
    }
    out += separator == '{' ? "{}" : "}";
  }
}

std::string print(const Json& value) {
  std::string out;
  print_value(value, out);
  return out;
}

namespace {

class Parser {
public:
  Parser(std::string_view text, Strings strings) : text_(text), strings_(strings) {}

  Json parse() {
    Json value = parse_value(0);
    if (text_.substr(at_) != "" && text_.substr(at_) != "\n") fail("the end of the text");
    return value;
  }

private:
  [[noreturn]] void fail(const std::string& expected) const { throw Malformed("byte " + std::to_string(at_) + ": expected " + expected); }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void require(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) fail(std::string(word));
    at_ += word.size();
  }

  Json parse_value(int depth) {
    poll();
    if (depth > 64) fail("nesting of at most 64");
    switch (peek()) {
      case 'n': require("null"); return Json();
      case 't': require("true"); return Json(true);
      case 'f': require("false"); return Json(false);
      case '"': return Json(parse_string());
      case '[': return parse_array(depth);
      case '{': return parse_object(depth);
      default: return parse_number();
    }
  }

  /// Members wait on one stack for all lists, so that every list is allocated once and in its size.
  Json parse_array(int depth) {
    require("[");
    const std::size_t base = waiting_.size();
    if (!take(']')) {
      do {
        Json member = parse_value(depth + 1);
        waiting_.push_back(std::move(member));
      } while (take(','));
      require("]");
    }
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(base);
    Json::Array members(std::make_move_iterator(begin), std::make_move_iterator(waiting_.end()));
    waiting_.erase(begin, waiting_.end());
    return Json(std::move(members));
  }

  Json parse_object(int depth) {
    require("{");
    Json::Object members;
    if (!take('}')) {
      do {
        std::string key = parse_string();
        if (!members.empty() && key <= members.rbegin()->first) fail("canonical form: keys in order");
        require(":");
        Json member = key == "lists" || key == "segments" ? parse_table(depth + 1) : key == "generators" && strings_ == Strings::in_place ? parse_texts(depth + 1) : parse_value(depth + 1);
        members.emplace_hint(members.end(), std::move(key), std::move(member));
      } while (take(','));
      require("}");
    }
    return Json(std::move(members));
  }

  /// Flat where nothing but nested lists of integers stands here; read again in full where something else does.
  Json parse_table(int depth) {
    const std::size_t start = at_;
    Json::Numbers flat;
    if (peek() == '[' && append_table(depth, flat)) return Json(std::move(flat));
    at_ = start;
    return parse_value(depth);
  }

  /// In place where nothing but strings without escapes stands here; read again, as a table or in full, where something else does.
  Json parse_texts(int depth) {
    const std::size_t start = at_;
    Json::Texts texts;
    if (depth <= 63 && take('[')) {
      do {
        poll();
        if (!take('"')) break;
        const std::size_t end = text_.find('"', at_);
        if (end == std::string_view::npos) break;
        const std::string_view string = text_.substr(at_, end - at_);
        int plain = 1;  // without a branch, so that many are looked at together
        for (const char c : string) plain &= static_cast<int>(c >= ' ') & static_cast<int>(c <= '~') & static_cast<int>(c != '\\');
        if (plain == 0) break;
        texts.push_back(string);
        at_ = end + 1;
        if (take(']')) return Json(std::move(texts));
      } while (take(','));
    }
    at_ = start;
    return parse_table(depth);
  }

  bool append_table(int depth, Json::Numbers& out) {
    if (depth > 64 || !take('[')) return false;
    poll();
    const std::size_t header = out.size();
    make_room(out);
    out.push_back(0);
    if (take(']')) return true;
    const bool lists = peek() == '[';
    std::int64_t count = 0;
    do {
      if ((peek() == '[') != lists) return false;
      if (lists) {
        if (!append_table(depth + 1, out)) return false;
      } else {
        make_room(out);
        if (!take_integer(out.emplace_back())) return false;
      }
      ++count;
    } while (take(','));
    out[header] = 2 * count + (lists ? 1 : 0);
    return take(']');
  }

  /// Long tables are not moved again and again: no number takes less than two characters, and what is never written to takes no memory.
  void make_room(Json::Numbers& out) const {
    constexpr std::size_t many = std::size_t{1} << 20;
    if (out.size() == out.capacity() && out.size() >= many) out.reserve(out.size() + (text_.size() - at_) / 2 + 1);
  }

  /// False, and nothing taken, where something else than an integer in canonical form stands.
  bool take_integer(std::int64_t& value) {
    const char *const begin = text_.data() + at_, *const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || (rest != end && std::string_view("+-.eE").find(*rest) != std::string_view::npos)) return false;
    if (*begin == '0' ? rest != begin + 1 : *begin == '-' && begin[1] == '0') return false;
    at_ += static_cast<std::size_t>(rest - begin);
    return true;
  }

  Json parse_number() {
    if (std::int64_t integer = 0; take_integer(integer)) return Json(integer);
    double real = 0;
    const char* const begin = text_.data() + at_;
    const auto [rest, error] = std::from_chars(begin, text_.data() + text_.size(), real);
    if (error != std::errc() || !std::isfinite(real)) fail("a value");
    std::string canonical;
    print_real(real, canonical);
    if (canonical != std::string_view(begin, static_cast<std::size_t>(rest - begin))) fail("canonical form: a number");
    at_ += canonical.size();
    return Json(real);
  }

  std::string parse_string() {
    require("\"");
    std::string out;
    while (!take('"')) {
      const std::size_t start = at_;
      while (at_ < text_.size() && static_cast<signed char>(text_[at_]) >= 0x20 && text_[at_] != '"' && text_[at_] != '\\') ++at_;
      out.append(text_, start, at_ - start);
      if (static_cast<signed char>(peek()) < 0)
        parse_utf8(out);
      else if (take('\\'))
        parse_escape(out);
      else if (peek() != '"') fail("the rest of a string");
    }
    return out;
  }

  void parse_escape(std::string& out) {
    for (std::size_t k = 0; k < short_escapes.size(); k += 2)
      if (take(short_escapes[k])) {
        out += short_escapes[k + 1];
        return;
      }
    require("u00");
    const auto digit = [&](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 32; };
    const int code = text_.size() < at_ + 2 ? 32 : 16 * digit(text_[at_]) + digit(text_[at_ + 1]);
    bool canonical = code < 32;
    for (std::size_t k = 0; k < short_escapes.size(); k += 2) canonical = canonical && short_escapes[k + 1] != code;
    if (!canonical) fail("canonical form: an escape");
    at_ += 2;
    out += static_cast<char>(code);
  }

  /// One character of two to four bytes: shortest form, no surrogates, at most U+10FFFF.
  void parse_utf8(std::string& out) {
    const auto byte = [&](std::size_t k) { return at_ + k < text_.size() ? static_cast<unsigned char>(text_[at_ + k]) : 0U; };
    const unsigned lead = byte(0);
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    unsigned code = lead & (0xFFU >> (length + 1));
    bool good = lead >= 0xC2 && lead <= 0xF4;
    for (std::size_t k = 1; k < length; ++k) {
      good = good && (byte(k) & 0xC0U) == 0x80U;
      code = code << 6 | (byte(k) & 0x3FU);
    }
    if (!good || (length == 3 && code < 0x800) || (length == 4 && code < 0x10000) || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail("UTF-8");
    out.append(text_, at_, length);
    at_ += length;
  }

  std::string_view text_;
  Strings strings_;
  std::size_t at_ = 0;
  Json::Array waiting_;
};

}  // namespace

Json parse(std::string_view text, Strings strings) { return Parser(text, strings).parse(); }

}  // namespace checker
