#include "cli/rule_notes.hpp"

namespace sightline::cli {

// Ids: input.embedding = "table". Reals: everything else.
const std::vector<RuleNote>& rule_notes() {
  static const std::vector<RuleNote> notes = {
      {"absolute-positions", "ids; learned, or fixed and pairwise different, position rows; one sublayer can interpolate; positions survive the norms"},
      {"additive-positions", "ids; positions are added; no norm before the first mixer; mean, sum or a kernel that weighs all keys the same; a first row with two other tokens that the target needs"},
      {"affine", "reals; feedforwards affine or absent; every mixer linear; no norms"},
      {"alibi-both-ways", "ids; ALiBi, full pattern, softmax, BOS at token 0, no mask"},
      {"blind", "ids; every mixer gives the same whatever the other tokens are (constant alpha, tokenwise)"},
      {"causal-bos", "ids; causal full pattern, no positions, normalised, BOS at token 0; registers beside the rows only for class causal"},
      {"causal-sink", "ids; causal full pattern, no positions, a sink, eps or no normalisation; no BOS; registers beside the rows only for class causal"},
      {"constant-prefixes", "ids; causal rows, none empty; every layer normalised, no sink, eps 0; no BOS, no register in view, no absolute positions; n >= 2"},
      {"constant-sequences", "ids; no row empty; every layer normalised, no sink, eps 0; no BOS, no register in view, no absolute positions; G not transitive; n >= 2"},
      {"exact-counts", "ids; rows counted exactly (sum, sink, eps) and colours that name the tokens of a row"},
      {"feedforward", "reals; the closure of the feedforward is full or zero-fixing: activation, biases and width as in 6 A-D"},
      {"few-labels", "ids; the target has at most A + 1 labels (A without any bias in head and norm)"},
      {"fixed-positions", "reals; a fixed table of positions, inputs in a box of half-width s; rows overlap where all coordinates differ by less than 2s"},
      {"full-without-positions", "ids; full pattern, no positions; fixed length, or BOS, sink or no normalisation"},
      {"homogeneous", "reals; bias-free ReLU-like feedforwards, 1-homogeneous mixers, no norms or positions"},
      {"input-rank", "reals; a linear embedding into fewer dimensions, or a norm that loses one"},
      {"labels", "ids; few enough sequences to compute every label (n V^n up to 10^6 with V cut to n)"},
      {"left-out", "a figure or the verdict would take more steps than the project allows, on every machine"},
      {"limit", "--time or --memory was given, or memory ran out"},
      {"linformer-ids", "ids; one trained Linformer layer or more"},
      {"max-forgets-counts", "ids; max pooling, full pattern, no positions; n >= 3 (4 with a BOS)"},
      {"mixed-rotary", "ids; full causal layers, rotary and without positions in turn, BOS at token 0; registers beside the rows only for class causal"},
      {"mixer", "reals; k(0,0) != 0, or k continuous and not 0 somewhere with two coordinates; alpha continuous and not constant; linear mixers; trained Linformer"},
      {"norm-range", "reals; a norm at the end and no head"},
      {"odd", "reals; odd feedforwards without biases and odd mixers (kernel even in both tokens together), no biases or positions anywhere"},
      {"open", "a hypothesis that no theorem here covers; it is named"},
      {"output-rank", "a norm, a head or neither at the end; output.dim against the dimension that is left"},
      {"post-norm", "post-norm blocks; feedforward dense or interpolating; the raw token survives the first norm; k >= 2 (3 for LayerNorm with eps = 0)"},
      {"pre-layernorm", "reals; raw width at most dim - 1 behind an embedding, or centred input; d >= 3"},
      {"pre-layernorm-translation", "reals; pre-LayerNorm on raw tokens of full width, without an embedding that makes room"},
      {"pre-rmsnorm", "reals; eps > 0, or eps = 0 with biases; d >= 2"},
      {"sandwich-rmsnorm", "reals; RMSNorm inside the branch, eps > 0"},
      {"t5-buckets", "ids; T5 or clipped offsets, full pattern, BOS at token 0"},
      {"theorem-bos", "ids; every row contains the own token; normalised; colours name the tokens of a row (rotary, learned, ALiBi under a mask); BOS at token 0"},
      {"theorem-e", "reals; feedforward and mixer rules hold; connected (R), and every isomorphism of views lies in G (I)"},
      {"theorem-g", "reals; mixers that depend on other tokens, are S_n-equivariant, continuous and scalable, but for which no number of layers is known (max, top-k)"},
      {"tied", "ids; layers share weights"},
      {"unseen", "ids; some token that the target needs is out of view"},
      {"views", "ids; at least n ids, no registers, rows that are read without a sum over everything; some isomorphism of views is not in G"},
  };
  return notes;
}

}  // namespace sightline::cli
