#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "sightline/architecture/json_text.hpp"
#include "sightline/architecture/tree.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

/// Builds the tree from parser events; nlohmann's parser keeps its own stack, so depth is limited here.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
  TreeBuilder(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool null() override {
    (void)add();
    return true;
  }
  bool boolean(bool value) override { return add<bool>(value); }
  bool number_integer(number_integer_t value) override { return add<std::int64_t>(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return add<double>(static_cast<double>(value));
    return add<std::int64_t>(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return add<double>(value); }
  bool string(string_t& value) override { return add<std::string>(std::move(value)); }
  bool binary(binary_t&) override { throw InternalError("parse_json: binary value in text"); }
  bool start_object(std::size_t) override { return open<Table>(); }
  bool start_array(std::size_t) override { return open<List>(); }
  bool key(string_t& value) override {
    Frame& frame = open_.back();
    if (!frame.keys.insert(value).second)
      throw InputError(fmt::format("{}: {}: expected every key once, found it twice", file_,
                                   fmt::format("{}/{}", pointer(), escape_pointer(value))));
    std::get<Table>(frame.node->value).emplace_back().key = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& last_token, const nlohmann::detail::exception& error) override {
    const Place place = place_of_byte(text_, position == 0 ? 0 : position - 1);
    throw InputError(fmt::format("{}:{}:{}: {}", file_, place.line, place.column, explain(error.what(), last_token)));
  }

  Node root;

private:
  /// An open list or table stays where it is: what holds it does not grow before it is closed.
  struct Frame {
    Node* node;
    std::unordered_set<std::string> keys;
  };

  std::string pointer() const {
    std::string out;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i)
      if (const Table* table = open_[i].node->table())
        out += fmt::format("/{}", escape_pointer(table->back().key));
      else
        out += fmt::format("/{}", open_[i].node->list()->size());
    return out;
  }

  template <class Kind> bool open() {
    if (open_.size() >= static_cast<std::size_t>(deepest_nesting))
      throw InputError(fmt::format("{}: {}: expected at most {} levels of nesting, found more", file_, pointer(), deepest_nesting));
    Node& node = add();
    node.value.emplace<Kind>();
    open_.push_back({&node, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  /// Where the next value goes, null so far. Values are made in place and never moved.
  Node& add() {
    if (open_.empty()) return root;
    Node& around = *open_.back().node;
    if (List* list = std::get_if<List>(&around.value)) return list->emplace_back();
    return std::get<Table>(around.value).back().value;
  }

  template <class Kind> bool add(Kind value) {
    add().value.emplace<Kind>(std::move(value));
    return true;
  }

  /// nlohmann says "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while parsing value -
  /// unexpected '}'; expected ..." or "... - invalid literal; last read: '...'". Only the useful half is kept, on one line.
  static std::string explain(std::string_view what, const std::string& last_token) {
    const auto between = [&](std::string_view before, std::string_view after) -> std::optional<std::string> {
      const auto begin = what.find(before);
      if (begin == std::string_view::npos)
        return std::nullopt;
      const auto rest = what.substr(begin + before.size());
      const auto end = after.empty() ? std::string_view::npos : rest.find(after);
      return std::string(rest.substr(0, end));
    };
    const auto expected = between("; expected ", "");
    if (const auto unexpected = between(" - unexpected ", "; expected "))
      return fmt::format("expected {}, found {}", expected ? *expected : "valid JSON", *unexpected);
    if (what.find("out_of_range") != std::string_view::npos)
      return fmt::format("expected a number that fits, found {}", quote_for_message(last_token));
    const auto reason = between(" - ", "; last read: ");
    return fmt::format("expected valid JSON, found {}", reason ? *reason : std::string("malformed text"));
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Frame> open_;
};

/// Looks for a key of models' configs at the top level and stops at the first.
class ConfigKeyFinder : public nlohmann::json_sax<nlohmann::json> {
public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool key(string_t& key) override {
    found = depth_ == 1 && (key == "model_type" || key == "architectures");
    return !found;
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  bool found = false;

private:
  bool enter() {
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  int depth_ = 0;
};

}  // namespace

std::string escape_pointer(std::string_view key) {
  std::string out;
  for (const char c : key)
    if (out.size() >= 80 && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U)
      return fmt::format("{}...", out);
    else if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  return out;
}

Document parse_json(std::string_view text, const std::string& file) {
  TreeBuilder builder(text, file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  Document document;
  document.root = std::move(builder.root);
  document.file = file;
  return document;
}

bool is_model_config(std::string_view text) {
  ConfigKeyFinder finder;
  nlohmann::json::sax_parse(text.begin(), text.end(), &finder);
  return finder.found;
}

}  // namespace sightline::architecture
