#include <fmt/format.h>

#include <filesystem>

#include "sightline/architecture/json_text.hpp"
#include "sightline/architecture/names.hpp"
#include "sightline/architecture/number_text.hpp"
#include "sightline/architecture/to_tree.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

void print_value(const Node& node, std::string& out) {
  if (const bool* flag = node.boolean()) {
    out += *flag ? "true" : "false";
  } else if (const std::int64_t* integer = node.integer()) {
    fmt::format_to(std::back_inserter(out), "{}", *integer);
  } else if (const double* number = node.number()) {
    out += print_number(*number);
  } else if (const std::string* text = node.string()) {
    out += quote(*text);
  } else if (const List* list = node.list()) {
    out += '[';
    for (std::size_t i = 0; i < list->size(); ++i) {
      out += i == 0 ? "" : ", ";
      print_value((*list)[i], out);
    }
    out += ']';
  } else if (const Table* table = node.table()) {
    out += "{ ";
    for (std::size_t i = 0; i < table->size(); ++i) {
      out += i == 0 ? "" : ", ";
      fmt::format_to(std::back_inserter(out), "{} = ", (*table)[i].key);
      print_value((*table)[i].value, out);
    }
    out += table->empty() ? "}" : " }";
  } else {
    throw InternalError("to_toml: null and dates cannot be written");
  }
}

void print_members(const Table& members, std::string& out) {
  for (const Member& member : members) {
    fmt::format_to(std::back_inserter(out), "{} = ", member.key);
    print_value(member.value, out);
    out += '\n';
  }
}

/// A `[name]` section, left out when nothing stands in it.
void print_section(std::string_view name, const Table& members, std::string& out) {
  if (members.empty())
    return;
  fmt::format_to(std::back_inserter(out), "\n[{}]\n", name);
  print_members(members, out);
}

void add_norm(Table& members, const std::optional<Norm>& norm) {
  if (!norm)
    return;
  Table differences = subtract(to_tree(*norm, false), to_tree(Norm{}, false));
  members.push_back({"norm", {}, Node{std::move(differences), {}}});
}

/// What a layer says on top of the defaults.
struct LayerText {
  Table mixer, feedforward, norm;
  std::optional<Node> pattern;
};

/// Drops what TOML need not (keys that the kind does not use) and cannot (null) say; false when a null would be needed.
template <class Kind> bool drop_unsaid(Table& members, Kind kind) {
  bool sayable = true;
  std::erase_if(members, [&](const Member& member) {
    if (!uses_key(kind, member.key))
      return true;
    sayable = sayable && !member.value.is_null();
    return member.value.is_null();
  });
  return sayable;
}

/// Nothing when the layer lacks an optional value that the defaults have: there is no word for that in TOML.
std::optional<LayerText> describe_layer(const LayerSpec& layer, const Mixer& mixer, const Feedforward& feedforward,
                                        const Norm& norm, const std::string& folder) {
  LayerText text;
  text.mixer = subtract(to_tree(layer.mixer, Detail::brief, folder), to_tree(mixer, Detail::brief, folder));
  text.feedforward = subtract(to_tree(layer.feedforward), to_tree(feedforward));
  text.norm = subtract(to_tree(layer.norm, true), to_tree(norm, true));
  if (!drop_unsaid(text.mixer, layer.mixer.kind) || !drop_unsaid(text.feedforward, layer.feedforward.kind))
    return std::nullopt;
  std::erase_if(text.mixer, [&](Member& member) {
    if (member.key == "pattern")
      text.pattern = std::move(member.value);
    const bool follows_from_pattern = member.key == "heads" && mixer.heads == 1 && count_heads(layer.mixer.pattern) == layer.mixer.heads;
    return member.key == "pattern" || follows_from_pattern;
  });
  return text;
}

void print_layer(LayerText text, std::int64_t repeat, std::string& out) {
  Table members;
  if (text.pattern)
    members.push_back({"pattern", {}, std::move(*text.pattern)});
  if (!text.mixer.empty())
    members.push_back({"mixer", {}, Node{std::move(text.mixer), {}}});
  if (!text.feedforward.empty())
    members.push_back({"feedforward", {}, Node{std::move(text.feedforward), {}}});
  if (!text.norm.empty())
    members.push_back({"norm", {}, Node{std::move(text.norm), {}}});
  if (repeat != 1)
    members.push_back({"repeat", {}, Node{repeat, {}}});
  out += "\n[[layer]]\n";
  print_members(members, out);
}

bool says_nothing(const LayerText& text) {
  return !text.pattern && text.mixer.empty() && text.feedforward.empty() && text.norm.empty();
}

void print_comments(const std::vector<std::string>& comments, std::string& out) {
  for (const std::string& comment : comments) {
    out += "# ";
    for (const char c : comment) {
      const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
      out += c == '\n' ? "\n# " : control ? " " : std::string(1, c);
    }
    out += '\n';
  }
  if (!comments.empty())
    out += '\n';
}

}  // namespace

std::string to_toml(const Architecture& given) {
  const Architecture a = to_normal_form(given);
  const std::string folder = std::filesystem::path(a.file).parent_path().string();
  std::string out;
  print_comments(a.comments, out);
  if (!a.name.empty())
    out += fmt::format("name = {}\n", quote(a.name));
  out += fmt::format("tokens = {}\ndim = {}\n", a.tokens, a.dim);
  if (a.depth == Depth::unbounded)
    out += "depth = \"unbounded\"\n";

  print_section("target", subtract(to_tree(a.target), to_tree(Target{})), out);
  Input fresh_input;
  fresh_input.dim = a.dim;
  Table input = subtract(to_tree(a.input), to_tree(fresh_input));
  add_norm(input, a.input.norm);
  if (a.input.positions == Positions::fixed) {
    if (a.input.file.empty())
      input.push_back({"table", {}, to_tree(a.input.table)});
    else
      input.push_back({"file", {}, Node{relative_path(a.input.file, folder), {}}});
  }
  print_section("input", input, out);
  Table output = subtract(to_tree(a.output), to_tree(Output{}));
  add_norm(output, a.output.norm);
  print_section("output", output, out);
  print_section("block", subtract(to_tree(a.block), to_tree(Block{})), out);

  bool defaults_usable = true;
  std::vector<LayerText> layers;
  for (const LayerSpec& layer : a.layers)
    if (auto text = describe_layer(layer, a.mixer, a.feedforward, a.norm, folder))
      layers.push_back(std::move(*text));
    else
      defaults_usable = false;
  if (defaults_usable) {
    print_section("mixer", subtract(to_tree(a.mixer, Detail::brief, folder), to_tree(Mixer{}, Detail::brief, folder)), out);
    print_section("feedforward", subtract(to_tree(a.feedforward), to_tree(Feedforward{})), out);
    print_section("norm", subtract(to_tree(a.norm, true), to_tree(Norm{}, true)), out);
  } else {
    layers.clear();
    for (const LayerSpec& layer : a.layers)
      layers.push_back(*describe_layer(layer, Mixer{}, Feedforward{}, Norm{}, folder));
  }
  if (a.train)
    print_section("train", subtract(to_tree(*a.train), to_tree(Train{})), out);
  if (layers.size() != 1 || a.layers[0].repeat != 1 || !says_nothing(layers[0]))
    for (std::size_t i = 0; i < layers.size(); ++i)
      print_layer(std::move(layers[i]), a.layers[i].repeat, out);
  return out;
}

}  // namespace sightline::architecture
