#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sightline/architecture/json_text.hpp"
#include "sightline/architecture/number_text.hpp"
#include "sightline/architecture/to_tree.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

void print(const Node& node, std::string& out) {
  if (node.is_null()) {
    out += "null";
  } else if (const bool* flag = node.boolean()) {
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
      if (i != 0)
        out += ',';
      print((*list)[i], out);
    }
    out += ']';
  } else if (const Table* table = node.table()) {
    std::vector<const Member*> members;
    for (const Member& member : *table)
      members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const Member* a, const Member* b) { return a->key < b->key; });
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i != 0)
        out += ',';
      out += quote(members[i]->key);
      out += ':';
      print(members[i]->value, out);
    }
    out += '}';
  } else {
    throw InternalError("print_json: a date cannot be written");
  }
}

void add(Node& table, std::string_view key, Node value) {
  std::get<Table>(table.value).push_back({std::string(key), {}, std::move(value)});
}

Node optional_norm(const std::optional<Norm>& norm) { return norm ? to_tree(*norm, false) : Node{}; }

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  out += '"';
  return out;
}

std::string print_json(const Node& node) {
  std::string out;
  print(node, out);
  return out;
}

std::string to_canonical_json(const Architecture& given) {
  const Architecture a = to_normal_form(given);
  const std::string folder = std::filesystem::path(a.file).parent_path().string();
  Node root{Table{}, {}};
  add(root, "name", {a.name, {}});
  add(root, "tokens", {a.tokens, {}});
  add(root, "dim", {a.dim, {}});
  add(root, "depth", {std::string(a.depth == Depth::listed ? "listed" : "unbounded"), {}});
  add(root, "target", to_tree(a.target));
  Node input = to_tree(a.input);
  add(input, "norm", optional_norm(a.input.norm));
  if (a.input.positions == Positions::fixed)
    add(input, "table", to_tree(a.input.table));
  add(root, "input", std::move(input));
  Node output = to_tree(a.output);
  add(output, "norm", optional_norm(a.output.norm));
  add(root, "output", std::move(output));
  add(root, "block", to_tree(a.block));
  add(root, "mixer", to_tree(a.mixer, Detail::full, folder));
  add(root, "feedforward", to_tree(a.feedforward));
  add(root, "norm", to_tree(a.norm, true));
  List layers;
  for (const LayerSpec& spec : a.layers) {
    Node layer{Table{}, {}};
    add(layer, "mixer", to_tree(spec.mixer, Detail::full, folder));
    add(layer, "feedforward", to_tree(spec.feedforward));
    add(layer, "norm", to_tree(spec.norm, true));
    add(layer, "repeat", {spec.repeat, {}});
    layers.push_back(std::move(layer));
  }
  add(root, "layer", {std::move(layers), {}});
  if (a.train)
    add(root, "train", to_tree(*a.train));
  return print_json(root);
}

}  // namespace sightline::architecture
