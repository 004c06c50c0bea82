// The answer, derived again from the architecture: what every rule needs is set up here, and the pieces are put together.
#include "rules.hpp"

#include <cstdlib>
#include <cstring>

#include "beside.hpp"
#include "derivation.hpp"
#include "places.hpp"
#include "product_group.hpp"
#include "views.hpp"

namespace checker {

namespace {

struct RuleText { const char *name, *source, *statement; };
constexpr RuleText rule_texts[] = {
    {"absolute-positions", "theory 15.5 D1", "labels (id, position) are all different, so sight alone decides"},
    {"additive-positions", "theory 15.4 Lemma S, 15.8 h, 16.22", "the first layer adds up id + position and cannot tell (x_j, x_k) from (x_k, x_j): more layers where no other row shows them"},
    {"affine", "theory 3.6", "affine feedforwards and linear mixers make an affine network"},
    {"alibi-both-ways", "theory 15.5 D5", "the BOS reads exact contents and hands them out"},
    {"blind", "theory 3.3", "other tokens do not matter to any layer"},
    {"causal-bos", "theory 15.5 D3", "the frequency of the BOS gives every token its position; the second layer orders the rest"},
    {"causal-sink", "theory 15.5 D3", "row lengths are seen: the first layer gives every token its position, the second orders the rest"},
    {"constant-prefixes", "theory 15.5 D3, 15.8 c", "a sequence of one id repeated shows every token the same at every depth, so no token learns where it stands"},
    {"constant-sequences", "theory 15.5 D3, 15.8 c", "a sequence of one id repeated shows every token the same at every depth, so no token learns where it stands"},
    {"exact-counts", "theory 16.4", "rows are counted exactly and offsets name their tokens: two complete views agree only when their tokens are the same"},
    {"feedforward", "theory 2.1, 6", "feedforward sublayers generate every tokenwise flow"},
    {"few-labels", "theory 15.8 e", "so few labels that every read-out fits them"},
    {"fixed-positions", "theory 3.9", "a fixed table keeps tokens apart where its rows do not overlap on the box"},
    {"full-without-positions", "theory 15.5 D2", "one layer shows how often every id occurs, and the target asks for no more"},
    {"homogeneous", "theory 3.5", "every sublayer is positively homogeneous, so F(cX) = cF(X) for c > 0, up to what a read-out adds"},
    {"input-rank", "theory 15.6 F, 16.1", "all that follows sees fewer directions than a raw token has"},
    {"labels", "theory 15.4, Theorem D", "all labels of id sequences were computed"},
    {"left-out", "", "left out, beyond the project's own bounds on steps"},
    {"limit", "", "not decided within the given limit"},
    {"linformer-ids", "theory 15.4, 15.8 c", "one layer shows the whole input, and equal ids of one input stay equal at every depth"},
    {"max-forgets-counts", "theory 15.5 D2, 15.8 j", "a maximum shows which ids occur, not how often"},
    {"mixed-rotary", "theory 15.5 D5", "a full rotary layer names every token; a full layer without positions needs a second one to order the rest"},
    {"mixer", "theory 2.3, 2.5", "some weights make every layer an average of free features"},
    {"norm-range", "theory 3.8, 15.8 b", "the outputs themselves lie in the range of the last norm"},
    {"odd", "theory 3.4", "every sublayer is odd, so F(-X) = -F(X) for every network, up to the constant that a read-out adds"},
    {"open", "theory 15.7", "not decided"},
    {"output-rank", "theory 15.2, 15.8 a, e", "the last norm and the head bound how many numbers a token can show"},
    {"post-norm", "theory 15.3", "a feedforward behind a post-norm realises every map into the range of the norm"},
    {"pre-layernorm", "theory 7.1", "the raw tokens survive LayerNorm, the mean channel is driven by the rest"},
    {"pre-layernorm-translation", "theory 3.7, 16.2", "adding a constant to all coordinates of a token passes every sublayer unseen"},
    {"pre-rmsnorm", "theory 7.1", "pre-RMSNorm loses nothing that the sublayers need"},
    {"sandwich-rmsnorm", "theory 15.3", "RMSNorm with eps > 0 inside the branch is a homeomorphism onto a ball"},
    {"t5-buckets", "theory 15.5 D5", "buckets name the tokens of a row; where two tokens share one, the second layer tells them apart"},
    {"theorem-bos", "theory 15.5 D4", "relative positions name every token of a row, and tokens that see the BOS know their own"},
    {"theorem-e", "theory 2.4, 3.1", "what a token can express is decided by what it sees, up to isomorphisms of views"},
    {"theorem-g", "theory 2.6", "no number of layers is known for this mixer"},
    {"tied", "theory 15.4", "layers that share weights: states of different layers are chosen apart, one feedforward serves all"},
    {"unseen", "theory 2.4, 15.5 D7", "no function of what a token sees depends on what it never sees"},
    {"views", "theory 15.5 D6, 2.4", "id sequences in general position show no more than views"},
};

Json text(const std::string& value) { return Json(value); }
template <class Number>
Json optional(const std::optional<Number>& value) { return value ? Json(static_cast<std::int64_t>(*value)) : Json(); }
const char* word(ClassKind kind) { return kind == ClassKind::all ? "all" : kind == ClassKind::causal ? "causal" : "seen"; }

/// Decimal up to 1,000 digits, else factored. The logarithm is no claim: three decimals, give or take one of the last.
void add_order(Json::Object& object, const Order& order, const Json& claimed) {
  const std::string decimal = order.decimal();
  object["order"] = decimal.empty() ? Json() : text(decimal);
  if (!decimal.empty()) return;
  const Json* written = claimed.is_object() ? claimed.find("order_factored") : nullptr;
  const bool is_this = written != nullptr && written->is_string() && order.is_written_as(written->string());
  object["order_factored"] = is_this ? *written : text(order.factored());
  const Json* log = claimed.is_object() ? claimed.find("order_log10") : nullptr;
  if (log == nullptr || std::abs(log->number() - order.log10()) > 0.002) throw Rejected("order_log10", "is far from the logarithm of the order");
  object["order_log10"] = *log;
}

/// The generators as cycles. Where the claim says the same it is taken, instead of writing it again.
Json generators_answer(const Derivation& d, const Group& group, const Json* claimed) {
  std::vector<Permutation> generators = list_generators(group, 100);
  for (Permutation& g : generators) g = in_tokens(g, d.tokens_of_places);
  const auto agrees = [](const Permutation& g, std::string_view text) { return g.has_cycles(text); };
  const Json::Texts* texts = claimed == nullptr ? nullptr : claimed->texts();
  if (texts != nullptr && std::ranges::equal(generators, *texts, agrees)) return *claimed;
  Json::Array written;
  for (const Permutation& g : generators) written.push_back(text(g.cycles()));
  return Json(std::move(written));
}

/// Given by the same lists, not by copies of them?
bool is_given_by(const Group& a, const Group& b) {
  const auto same = [](const Permutation& g, const Permutation& h) { return &g.moves() == &h.moves(); };
  return a.degree == b.degree && a.classes == b.classes && std::ranges::equal(a.generators, b.generators, same);
}

/// @param written  the layout's group's answer, once there is one: the same generators are not written again
Json group_answer(const Derivation& d, const ConfirmedGroup& group, const std::string& key, const Json& written = {}) {
  const Json& claimed = d.claimed(key);
  if (!claimed.is_object()) throw Rejected(key, "the group is left out");
  Json::Object object;
  add_order(object, *group.order, claimed);
  const bool known = !written.is_null() && is_given_by(group.group, d.layout_group.group);
  object["generators"] = known ? written["generators"] : generators_answer(d, group.group, claimed.find("generators"));
  // Where order or generators differ, these are the false claims, not the name.
  const auto is_claimed = [&](const auto& field) { return claimed.find(field.first) != nullptr && claimed[field.first] == field.second; };
  const bool agrees = std::all_of(object.begin(), object.end(), is_claimed);
  if (agrees) check_name(claimed["name"], group.group, *group.order, d.shown("names", key), "/answer/" + key + "/name");
  object["name"] = claimed["name"];
  return Json(std::move(object));
}

void read_target(Derivation& d) {
  const Json& symmetry = d.a["target"]["symmetry"];
  d.target_is_layout = symmetry.is("layout");
  d.target_class = d.a["target"]["class"].is("all") ? ClassKind::all : d.a["target"]["class"].is("causal") ? ClassKind::causal : ClassKind::seen;
  const bool ids = d.a["input"]["embedding"].is("table");
  if (d.target_is_layout) {
    d.target = d.layout_group.group;
    if (ids && d.target_class == ClassKind::causal) d.target = {d.layout.tokens, {}, {}}, d.target_is_layout = false;  // all causal functions (16.7)
  } else if (symmetry.is_string()) {
    d.target = parse_group(symmetry.string(), d.layout.tokens);
  } else {
    d.target = {d.layout.tokens, {}, {}};
    for (const Json& cycles : symmetry.array()) {
      Permutation generator = Permutation::from_cycles(cycles.string(), d.layout.tokens);
      if (!generator.is_identity()) d.target.generators.push_back(std::move(generator));  // no generators: trivial
    }
  }
  if (ids && d.a["input"]["bos"].boolean()) d.target = fix_point(d.target, 0);
}

/// Layers whose mixer ignores other tokens show nothing, whatever their pattern says.
void hide_blind_layers(Derivation& d) {
  d.sighted = d.layout;
  std::size_t position = 0;
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    for (std::int64_t r = d.a["layer"][k]["repeat"].integer(); r > 0; --r, ++position) {
      if (!d.mixer[k].blind || d.layout.layers[d.layout.order[position]].empty()) continue;
      if (d.whole) d.sighted.layers.emplace_back();
      d.whole = false;
      d.sighted.order[position] = static_cast<std::uint32_t>(d.sighted.layers.size() - 1);
    }
  }
  if (d.whole) return;
  d.sighted_sight.emplace(d.sighted, d.shown("views", "sighted"), &d.layout_group);
  if (d.a["input"]["embedding"].is("table")) return;  // ids ask who sees whom only
  d.sighted_group = confirm_automorphisms(make_structure(d.sighted), d.sighted.tokens, d.shown("groups", "sighted"), "groups.sighted");
}

Json assumptions(const Derivation& d) {
  const Json &input = d.a["input"], &embedding = input["embedding"], &pool = d.a["output"]["pool"];
  Json::Array list;
  if (embedding.is("table")) {
    const Json::Array& layers = d.a["layer"].array();
    const bool hidden = std::any_of(layers.begin(), layers.end(), [](const Json& layer) {
      return !layer["feedforward"]["kind"].is("none") && !layer["feedforward"]["kind"].is("affine");
    });
    if (hidden) list.push_back(text("feedforward width is free (as many hidden units as the target needs)"));
    list.push_back(text(input["bos"].boolean() ? "token 0 is an id that occurs nowhere else (BOS)" : "no token is known to be a BOS: any id may stand at token 0"));
    if (!d.vocabulary) list.push_back(text("the vocabulary is even and has at least as many ids as there are tokens"));
  } else {
    list.push_back(text("feedforward-only sublayers may stand before, between and after the mixing layers (theory 1.12)"));
    if (d.given && d.needed == d.given && (embedding.is("none") || embedding.is("linear")))
      list.push_back(text("the stack has no layer to spare: one more tokenwise map in front may be needed at exactly this depth (theory 15.6 F)"));
  }
  if (!pool.is("none")) list.push_back(text("outputs are pooled (" + pool.string() + ") after the model; the verdict is about tokens"));
  for (const Json& one : d.certificate["conversion"]["assumptions"].array()) list.push_back(text(one.string()));
  return Json(std::move(list));
}

Json advice(const Derivation& d) {
  Json::Array list;
  if (d.verdict != "impossible") return Json(std::move(list));
  const auto say = [&](const std::string& line) { list.push_back(text(line)); };
  const auto used = [&](const char* name) { return std::find(d.used.begin(), d.used.end(), name) != d.used.end(); };
  if (d.given && d.needed && *d.needed > *d.given) {
    const std::uint64_t more = *d.needed - *d.given;
    say(std::to_string(more) + " more layer" + (more == 1 ? "" : "s") + " of the same list: " + std::to_string(*d.needed) + " in all");
  } else if (d.given && d.needed_between && d.needed_between->second > *d.given) {
    say(std::to_string(d.needed_between->second) + " layers in all would do");
  }
  if (d.class_kind == ClassKind::causal && d.target_class == ClassKind::all) say("ask for target.class = \"causal\": no causal mask lets a token see later ones");
  else if (d.unreachable && !d.needed) {
    say("add a global token (a token or register that reads all and is read by all)");
    if (d.target_class == ClassKind::all) say("or ask for target.class = \"seen\": functions of what each token comes to see");
  } else if (d.unreachable) say("or widen the pattern, or add a global token");
  if (used("constant-prefixes") || used("constant-sequences")) say("add a BOS token (input.bos = true), or absolute positions, or an attention sink");
  if (used("pre-layernorm-translation")) say("embed the tokens into a wider stream (raw width at most d - 1), centre them, or use RMSNorm");
  if (used("odd") || used("homogeneous")) say("give the feedforward biases");
  if (used("affine")) say("use a feedforward with an activation");
  char number[40];
  std::snprintf(number, sizeof number, "%g", 2 * d.a["target"]["box"].number() + 1);
  if (used("fixed-positions")) say(std::string("use a table whose rows stay apart on the box, e.g. e_i = ") + number + " i e_1, or train it");
  if (used("norm-range")) say("add a linear head behind the last norm");
  if ((used("output-rank") || (used("norm-range") && d.output_largest > 0)) && d.output_dim > d.output_largest) say("at most " + std::to_string(d.output_largest) + " outputs per token");
  if (d.collided && !d.needed) {
    if (!d.target_is_layout) say("the layout is more symmetric than the target: add positions, or a pattern with only the wanted symmetry");
    else if (!d.needed_between && d.a["input"]["positions"].is("none")) say("add positions (they end every symmetry): tokens that see alike are then told apart");
  }
  return Json(std::move(list));
}

/// (13) of the stack: fails when it fails in one layer, holds when it holds in all that have a kernel.
std::string condition13(const Derivation& d) {
  std::string total = "not applicable";
  for (std::size_t k = 0; k < d.kernel.size(); ++k) {
    if (!has_kernel(d.a["layer"][k]["mixer"])) continue;
    const char here = d.kernel[k].flags[KernelFacts::condition13];
    if (here == 'f') return "fails";
    if (here != 'h') total = "undecided";
    else if (total == "not applicable") total = "holds";
  }
  return total;
}

}  // namespace

std::string rule_sentence(const std::string& name, const std::vector<std::string>& premises) {
  for (const RuleText& rule : rule_texts) {
    if (name != rule.name) continue;
    std::string sentence = name + (*rule.source == 0 ? "" : std::string(" (") + rule.source + ")") + ": " + rule.statement;
    for (const std::string& premise : premises) sentence += "; " + premise;
    return sentence;
  }
  throw Malformed("no rule is called " + name);
}

void Derivation::use(const std::string& name, const std::vector<std::string>& premises) {
  used.push_back(name);
  rules.push_back(text(rule_sentence(name, premises)));
}
const Json& Derivation::shown(std::string_view key, std::string_view part) const {
  static const Json nothing;
  const Json *list = evidence->find(key), *found = list == nullptr ? nullptr : list->find(part);
  return found == nullptr ? nothing : *found;
}
bool Derivation::left_out(const std::string& figure) const {
  const Json sentence = text(rule_sentence("left-out", {figure}));
  const Json::Array& list = claimed("rules").array();
  return std::find(list.begin(), list.end(), sentence) != list.end();
}
void Derivation::add_floor(std::optional<Rational> squared_error, const std::string& target, const std::string& domain, const std::string& rule) {
  floors.push_back(Json(Json::Object{{"p", Json(std::int64_t{2})}, {"squared_error", squared_error ? text(squared_error->text()) : Json()},
                                     {"target", text(target)}, {"domain", text(domain)}, {"rule", text(rule)}}));
}
void Derivation::set_collision(const Collision& c) {
  std::vector<std::pair<Vertex, Vertex>> tau;
  for (const auto& [from, to] : c.tau) tau.emplace_back(token(from), token(to));
  std::ranges::sort(tau);
  Json::Array moves;
  for (const auto& [from, to] : tau) if (from != to) moves.push_back(Json(Json::Array{Json(std::int64_t{from}), Json(std::int64_t{to})}));
  collided = true;
  witness["collision"] = Json(Json::Object{{"a", Json(std::int64_t{token(c.a)})}, {"b", Json(std::int64_t{token(c.b)})}, {"tau_moves", Json(std::move(moves))}});
}
void Derivation::set_unreachable(const std::pair<Vertex, Vertex>& pair) {
  unreachable = true;
  witness["unseen"] = Json(Json::Object{{"reader", Json(std::int64_t{token(pair.first)})}, {"token", Json(std::int64_t{token(pair.second)})}});
}
bool Derivation::uses_fixed_table() const {
  const Json& input = a["input"];
  return (input["positions"].is("fixed") || input["positions"].is("sinusoidal")) && input["embedding"].is("none");
}
bool Derivation::is_fixed_pooling() const { return a["layer"].size() == 1 && a["layer"][0]["mixer"]["projections"].is_object(); }

namespace {

/// All that follows from the layout and its group, but for their order and names.
void derive_rest(Derivation& d) {
  const Json &input = d.a["input"], &layers = d.a["layer"];
  d.n = d.layout.tokens, d.ordinary = d.n - (input["bos"].boolean() ? 1 : 0), d.dim = d.a["dim"].integer(), d.raw = input["dim"].integer();
  d.directions = d.raw - (input["domain"].is("centred") ? 1 : 0);
  if (!input["vocabulary"].is_null()) d.vocabulary = input["vocabulary"].natural();
  if (d.a["depth"].is("listed")) d.given = d.layout.order.size();
  d.sight.emplace(d.layout, d.shown("views", "layout"), &d.layout_group);
  if (d.grid) d.sight->keep_grid(*std::exchange(d.grid, std::nullopt));
  d.connected = d.sight->connected();
  read_target(d);
  for (const Json& layer : layers.array()) {
    const Json& mixer = layer["mixer"];
    d.kernel.push_back(has_kernel(mixer) ? kernel_facts(mixer["kernel"], d.dim, d.evidence, d.trusted) : KernelFacts{"??????????"});
    d.alpha.push_back(mixer["kind"].is("bias") ? activation_facts(mixer["activation"], d.evidence, d.trusted) : ActivationFacts{std::string(14, '?')});
    d.feedforward.push_back(feedforward_facts(layer["feedforward"], layer["norm"], d.dim, activation_facts(layer["feedforward"]["activation"], d.evidence, d.trusted)));
    d.mixer.push_back(mixer_facts(mixer, d.kernel.back(), d.alpha.back(), d.dim, selects_keys(d.a, mixer)));
  }
  hide_blind_layers(d);
  d.class_kind = d.sight_of_networks().class_kind();
  // Rows of the file lead to later tokens (places.hpp): no token sees just those before it.
  if (d.class_kind == ClassKind::causal && !d.tokens_of_places.empty()) d.class_kind = ClassKind::seen;
  d.rank = output_rank(d.a);
  // Behind a last norm without a head all numbers of the state are out of reach, fewer may not be (16.59). No outputs at all would be no target (16.30).
  std::int64_t largest = d.rank.certified;
  if (d.rank.sphere) {
    Json::Object one_output = d.a.object(), output = d.a["output"].object();
    output["dim"] = Json(std::int64_t{1});
    one_output["output"] = Json(std::move(output));
    largest = output_rank(Json(std::move(one_output))).certified;
  }
  d.output_largest = std::max<std::int64_t>(0, largest);
  d.output_dim = !d.a["output"]["dim"].is_null() ? d.a["output"]["dim"].integer() : d.rank.sphere ? d.dim : std::max<std::int64_t>(1, largest);
  if (input["embedding"].is("table")) decide_ids(d);
  else decide_continuous(d);
}

}  // namespace

Json derive_answer(const Json& certificate, std::vector<std::string>& trusted, unsigned threads) {
  Derivation d(certificate, trusted);
  d.layout = make_layout(d.a, certificate["patterns"], trusted);
  if (const Json* places = d.evidence->find("places")) {
    d.tokens_of_places = read_places(*places, d.a, d.layout.tokens);
    put_into_places(d.layout, d.tokens_of_places);
  }
  // Once automorphisms are confirmed, what follows from them need not wait for the proof that there are no others.
  const Structure structure = make_structure(d.layout);
  const Json& shown = d.shown("groups", "layout");
  std::optional<ConfirmedGroup> confirmed = find_named_group(d.layout, shown);
  if (!confirmed) confirmed = confirm_on_grid(d.layout, shown, d.grid);
  std::optional<GroupProof> proof;
  if (!confirmed) proof.emplace(structure, d.layout.tokens, shown, "layout");
  d.layout_group = confirmed ? *std::move(confirmed) : std::move(proof->confirmed);
  if (threads < 2 && proof) proof->finish();
  Json layout;
  bool whole = false;
  Beside beside(threads, [&] {
    if (threads > 1 && proof) proof->finish();
    whole = true;
    layout = group_answer(d, d.layout_group, "layout");
  });
  const auto prefer_proof = [&] {  // what one thread alone would have come upon first
    try {
      beside.wait();
    } catch (...) {
      if (!whole) throw;
    }
  };
  try {
    derive_rest(d);
  } catch (const Rejected&) {
    prefer_proof();
    throw;
  } catch (const Malformed&) {
    prefer_proof();
    throw;
  }

  Json::Array unseen;
  for (const auto& [value, repeat] : d.sight_of_networks().unseen(d.given, d.tokens_of_places)) {
    const Json number(static_cast<std::int64_t>(value));
    if (d.n > 1000) unseen.push_back(Json(Json::Array{number, Json(static_cast<std::int64_t>(repeat))}));
    else unseen.insert(unseen.end(), repeat, number);
  }
  Json::Object answer, depths{{"given", optional(d.given)}, {"connected", optional(d.connected)}, {"needed", optional(d.needed)}}, at_connected{{"order", Json()}};
  if (d.needed_between)
    depths["needed_between"] = Json(Json::Array{Json(static_cast<std::int64_t>(d.needed_between->first)), Json(static_cast<std::int64_t>(d.needed_between->second))});
  beside.wait();
  if (d.at_connected) add_order(at_connected, *d.at_connected, d.claimed("at_connected"));
  const bool published = !d.published.theorem.empty();
  answer["file"] = certificate["conversion"]["file"];
  answer["name"] = d.a["name"];
  answer["verdict"] = text(d.verdict);
  answer["layout"] = std::move(layout);
  answer["expressed"] = d.expressed ? group_answer(d, *d.expressed, "expressed", answer["layout"]) : Json();
  if (d.certificate["evidence"]["names"].object().size() != (d.expressed ? 2 : 1)) throw Malformed("/evidence/names: one entry for every group of the answer");
  answer["layers"] = Json(std::move(depths));
  answer["at_connected"] = Json(std::move(at_connected));
  answer["class"] = Json(Json::Object{{"kind", text(word(d.class_kind))}, {"layers", optional(d.class_layers)}});
  answer["output"] = Json(Json::Object{{"dim", Json(d.output_dim)}, {"largest", Json(d.output_largest)}});
  answer["condition13"] = text(condition13(d));
  answer["published"] = Json(Json::Object{{"verdict", text(published ? "certified" : "not covered")}, {"theorem", published ? text(d.published.theorem) : Json()},
                                          {"layers", published ? optional(d.connected) : Json()}, {"sound", d.published.sound ? Json(*d.published.sound) : Json()}});
  answer["floor"] = d.floors.empty() ? Json() : d.floors.front();
  answer["floors"] = Json(d.floors.empty() ? Json::Array{} : Json::Array(d.floors.begin() + 1, d.floors.end()));
  answer["unseen"] = Json(std::move(unseen));
  answer["witness"] = d.witness.empty() ? Json() : Json(d.witness);
  answer["rules"] = Json(d.rules);
  answer["assumptions"] = assumptions(d);
  answer["advice"] = advice(d);
  return Json(std::move(answer));
}

}  // namespace checker
