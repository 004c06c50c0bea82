// The grammar of canonical architectures, as a table, and the rules across keys that verdicts rely on.
#include <set>
#include <sstream>

#include "layout.hpp"

namespace checker {
namespace {

// Every object by its keys, each with its type; a key with * may be absent. Types: flag, text, real (bounds behind it), int:least, seed;
// words a|b|c; ?T or null; [T list; @object; %object:key an object whose grammar is named by that key; T/U, chosen by the kind of the value.
const std::map<std::string, std::string_view, std::less<>> grammar = {
    {"architecture", "block @block depth listed|unbounded dim int:1 feedforward @feedforward input @input layer [@layer mixer @mixer name text norm @norm "
                     "output @output target @target tokens int:1 *train @train"},
    {"block", "arrangement sequential|parallel residual flag tied flag"},
    {"target", "box real>0 class all|causal|seen symmetry text/[text"},
    {"input", "bos flag dim int:1 domain all|centred embedding none|linear|mlp|table norm ?@end-norm positions none|learned|fixed|sinusoidal "
              "registers [text *table [[real vocabulary ?int:1"},
    {"output", "dim ?int:1 head none|linear norm ?@end-norm pool none|mean|first"},
    {"layer", "feedforward @feedforward mixer @mixer norm @norm repeat int:1"},
    {"mixer", "activation text eps real>=0 heads int:1 kernel text/%kernel:name kind attention|linformer|bias|convolution|linear|mean|sum|max|lsh|tokenwise "
              "normalised flag pattern %pattern:kind projections trained|tied|generic/@projections query_key free|tied rank ?int:1 "
              "relative none|rotary|alibi|learned/@t5 sink flag taps [int:-2147483647 top_k ?int:1 value free|identity"},
    {"feedforward", "activation text bias output/flag expert mlp|glu experts int:1 kind mlp|glu|moe|affine|none spectral_norm_at_most ?real>0 "
                    "spectral_norm_equals ?real>0 top_k int:1 width ?int:1"},
    {"norm", "affine flag eps real>=0 kind none|layernorm|rmsnorm place pre|post|sandwich|after"},
    {"end-norm", "affine flag eps real>=0 kind layernorm|rmsnorm"},
    {"train", "batch int:1 clip real>0 dtype float32|float64 epochs int:1 label_smoothing real>=0 lr real>0 optimiser adamw|adam|sgd patience ?int:1 "
              "schedule cosine|constant seed seed steps ?int:1 warmup real>=0 weight_decay real>=0"},
    {"projections", "blocks [[int:0"},
    {"t5", "bidirectional flag buckets int:2 kind t5 max_distance int:1"},
    {"kernel gaussian", "gamma real>0 name text"},
    {"kernel rbf", "gamma real>0 name text"},
    {"kernel cosine", "name text temperature real>0"},
    {"kernel performer", "features [[real name text"},
    {"kernel exponential-sum", "name text weight [real"},
    {"pattern full", "causal flag kind text"},
    {"pattern self", "causal flag kind text"},
    {"pattern star", "causal flag kind text"},
    {"pattern window", "*after int:0 *before int:0 causal flag dilation int:1 global [int:0 kind text *radius int:0 wrap flag"},
    {"pattern ring", "causal flag kind text radius int:0"},
    {"pattern blocks", "causal flag kind text size int:1"},
    {"pattern shifted_blocks", "causal flag kind text shift int:0 size int:1 wrap flag"},
    {"pattern strided", "causal flag kind text part merged|local|summary stride int:1 variant paper|code"},
    {"pattern fixed", "causal flag kind text part merged|local|summary stride int:1 *summary int:1 variant paper|code"},
    {"pattern grid", "*blocks [int:1 causal flag columns flag kind text rows flag shape [int:1 *shift [int:0 *window [int:0 wrap flag"},
    {"pattern bigbird", "block int:1 causal flag globals int:0 kind text mode train|eval random int:0 seed seed variant paper|original|huggingface"},
    {"pattern random", "causal flag *degree int:0 *density real>=0 kind text seed seed"},
    {"pattern butterfly", "causal flag distance int:1 kind text"},
    {"pattern circulant", "causal flag kind text offsets [int:-2147483647"},
    {"pattern graph", "causal flag directed flag edges [[int:0 kind text loops flag"},
    {"pattern rows", "causal flag kind text rows [[int:0"},
    {"pattern matrix", "causal flag kind text matrix [[int:0"},
    {"pattern file", "causal flag format text kind text path text"},
    {"pattern union", "causal flag kind text of [%pattern:kind"},
    {"pattern intersection", "causal flag kind text of [%pattern:kind"},
    {"pattern minus", "causal flag kind text of [%pattern:kind"},
    {"pattern per_head", "causal flag heads [%pattern:kind kind text"}};

void require(bool holds, const std::string& path, const std::string& message) {
  if (!holds) throw Malformed("/architecture" + path + ": expected " + message);
}

bool is_whole(const Json& value, std::int64_t least) { return value.is_integer() && value.integer() >= least && value.integer() <= 2147483647; }

void check(const Json& value, std::string_view type, const std::string& path);

void check_object(const Json& value, const std::string& name, const std::string& path) {
  const auto rules = grammar.find(name);
  require(value.is_object() && rules != grammar.end(), path, "an object, one of those of the format");
  std::istringstream words{std::string(rules->second)};
  std::size_t known = 0;
  for (std::string key, type; words >> key >> type;) {
    const bool optional = key[0] == '*';
    if (optional) key.erase(0, 1);
    const Json* member = value.find(key);
    require(member != nullptr || optional, path, "the key \"" + key + "\"");
    if (member == nullptr) continue;
    ++known;
    check(*member, type, path + "/" + key);
  }
  require(known == value.object().size(), path, "no other keys than those of the format");
}

void check(const Json& value, std::string_view type, const std::string& path) {
  if (type[0] == '?') {
    if (value.is_null()) return;
    type.remove_prefix(1);
  }
  if (const std::size_t slash = type.find('/'); slash != std::string_view::npos)
    type = value.is_string() ? type.substr(0, slash) : type.substr(slash + 1);
  if (type[0] == '[') {
    require(value.is_array(), path, "a list");
    type.remove_prefix(1);
    const bool whole = type.substr(0, 4) == "int:";  // long lists of arcs: no path is written down for each number
    const std::int64_t least = whole ? std::stoll(std::string(type.substr(4))) : 0;
    for (std::size_t k = 0; k < value.size(); ++k) {
      if (whole && is_whole(value[k], least)) continue;
      check(value[k], type, path + "/" + std::to_string(k));
    }
  } else if (type[0] == '@') {
    check_object(value, std::string(type.substr(1)), path);
  } else if (type[0] == '%') {
    const std::size_t colon = type.find(':');
    const Json* name = value.is_object() ? value.find(type.substr(colon + 1)) : nullptr;
    require(name != nullptr && name->is_string(), path, "an object with a \"" + std::string(type.substr(colon + 1)) + "\"");
    check_object(value, std::string(type.substr(1, colon - 1)) + " " + name->string(), path);
  } else if (type.substr(0, 4) == "int:") {
    require(is_whole(value, std::stoll(std::string(type.substr(4)))), path, std::string(type));
  } else if (type.substr(0, 4) == "real") {
    const bool above = type == "real>0" ? value.is_real() && value.number() > 0 : type == "real" || (value.is_real() && value.number() >= 0);
    require(value.is_real() && above, path, std::string(type));
  } else if (type == "seed") {
    require(value.is_integer() && value.integer() >= 0, path, "a seed");
  } else if (type == "flag") {
    require(value.is_boolean(), path, "true or false");
  } else {
    const bool word = value.is_string() && ("|" + std::string(type) + "|").find("|" + value.string() + "|") != std::string::npos;
    require(value.is_string() && (type == "text" || (word && value.string().find('|') == std::string::npos)), path, std::string(type));
  }
}

void check_layer(const Json& layer, std::int64_t tokens, const std::string& path) {
  const Json &mixer = layer["mixer"], &forward = layer["feedforward"];
  const bool linformer = mixer["kind"].is("linformer"), convolution = mixer["kind"].is("convolution"), moe = forward["kind"].is("moe");
  const Json &projections = mixer["projections"], &rank = mixer["rank"], &relative = mixer["relative"];
  if (linformer && projections.is_object())
    require(rank.is_null() || rank.natural() == projections["blocks"].size(), path + "/mixer/rank", "the number of blocks");
  else if (linformer)
    require(!rank.is_null() || projections.is("generic"), path + "/mixer/rank", "a rank");
  else
    require(rank.is_null() && projections.is("trained"), path + "/mixer", "no rank and no projections but for a linformer");
  require(linformer || mixer["kind"].is("attention") || mixer["top_k"].is_null(), path + "/mixer/top_k", "none but for attention and a linformer");
  require(mixer["kind"].is("attention") || relative.is("none"), path + "/mixer/relative", "none but for attention");
  require(mixer["kind"].is("bias") || mixer["activation"].is("relu"), path + "/mixer/activation", "none but for a bias mixer");
  std::set<std::int64_t> taps;
  for (const Json& tap : mixer["taps"].array()) taps.insert((tap.integer() % tokens + tokens) % tokens);
  require(taps.size() == mixer["taps"].size() && convolution == !taps.empty(), path + "/mixer/taps", "distinct taps for a convolution");
  if (mixer["pattern"]["kind"].is("per_head"))
    require(mixer["heads"].natural() == mixer["pattern"]["heads"].size(), path + "/mixer/heads", "the number of patterns");
  if (relative.is_object()) {
    const std::int64_t parts = relative["bidirectional"].boolean() ? 4 : 2, buckets = relative["buckets"].integer();
    require(buckets >= parts && relative["max_distance"].integer() > buckets / parts, path + "/mixer/relative", "a distance beyond the exact buckets");
  }
  require(moe || (forward["experts"].integer() == 1 && forward["top_k"].integer() == 1 && forward["expert"].is("mlp")), path + "/feedforward",
          "experts for moe only");
  require(forward["top_k"].integer() <= forward["experts"].integer(), path + "/feedforward/top_k", "at most the number of experts");
  const Json &most = forward["spectral_norm_at_most"], &equals = forward["spectral_norm_equals"];
  require(most.is_null() || equals.is_null() || equals.number() <= most.number(), path + "/feedforward/spectral_norm_equals", "at most the bound");
}

}  // namespace

void validate_architecture(const Json& architecture) {
  check(architecture, "@architecture", "");
  const Json& input = architecture["input"];
  const std::int64_t tokens = architecture["tokens"].integer(), dim = architecture["dim"].integer();
  require(tokens <= std::int64_t{1} << 24, "/tokens", "at most 2^24");
  const bool table = input["embedding"].is("table"), fixed = input["positions"].is("fixed");
  require(!input["embedding"].is("none") || input["dim"].integer() == dim, "/input/dim", "dim without an embedding");
  require(table || (input["vocabulary"].is_null() && !input["bos"].boolean()), "/input", "vocabulary and bos with a table only");
  require(!table || input["domain"].is("all"), "/input/domain", "all for token ids");
  require(input["domain"].is("all") || input["dim"].integer() > 1, "/input/domain", "all for raw tokens of one number");
  require(fixed == (input.find("table") != nullptr), "/input/table", "one for fixed positions only");
  if (fixed) {
    require(static_cast<std::int64_t>(input["table"].size()) == tokens, "/input/table", "a row for every token");
    for (const Json& row : input["table"].array()) require(static_cast<std::int64_t>(row.size()) == dim, "/input/table", "rows of dim numbers");
  }
  const Json& layers = architecture["layer"];
  require(layers.size() > 0, "/layer", "at least one layer");
  for (std::size_t k = 0; k < layers.size(); ++k) check_layer(layers[k], tokens, "/layer/" + std::to_string(k));
}

}  // namespace checker
