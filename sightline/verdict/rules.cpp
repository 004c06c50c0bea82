#include "sightline/verdict/rules.hpp"

#include <algorithm>
#include <string>

#include "sightline/base/error.hpp"

namespace sightline::verdict {
namespace {

// scripts/check_rules.py holds this table against docs/theory.md 16.8 and against the checker's.
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

}  // namespace

const RuleText& find_rule_text(std::string_view name) {
  const auto* found = std::find_if(std::begin(rule_texts), std::end(rule_texts), [&](const RuleText& rule) { return rule.name == name; });
  if (found == std::end(rule_texts)) throw InternalError("no rule is called " + std::string(name));
  return *found;
}

}  // namespace sightline::verdict
