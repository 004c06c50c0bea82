// What an answer assumes, and what could be changed when it is not the wanted one.
#include <fmt/format.h>

#include <algorithm>

#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

using namespace architecture;

void add_assumptions(Context& context) {
  const Architecture& a = context.architecture;
  auto& list = context.answer.assumptions;
  const bool ids = a.input.embedding == Embedding::table;
  if (ids) {
    const bool hidden = std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) {
      return layer.feedforward.kind != FeedforwardKind::none && layer.feedforward.kind != FeedforwardKind::affine;
    });
    if (hidden) list.push_back("feedforward width is free (as many hidden units as the target needs)");
    list.push_back(a.input.bos ? "token 0 is an id that occurs nowhere else (BOS)" : "no token is known to be a BOS: any id may stand at token 0");
    if (!a.input.vocabulary) list.push_back("the vocabulary is even and has at least as many ids as there are tokens");
  } else {
    list.push_back("feedforward-only sublayers may stand before, between and after the mixing layers (theory 1.12)");
    if (context.given && context.answer.needed == context.given && (a.input.embedding == Embedding::none || a.input.embedding == Embedding::linear)) {
      list.push_back("the stack has no layer to spare: one more tokenwise map in front may be needed at exactly this depth (theory 15.6 F)");
    }
  }
  if (a.output.pool != "none") list.push_back(fmt::format("outputs are pooled ({}) after the model; the verdict is about tokens", a.output.pool));
  list.insert(list.end(), a.assumptions.begin(), a.assumptions.end());
}

void add_advice(Context& context) {
  const Architecture& a = context.architecture;
  Answer& answer = context.answer;
  auto& advice = answer.advice;
  if (answer.verdict != Verdict::impossible) return;
  const auto used = [&](std::string_view name) {
    return std::any_of(answer.rules.begin(), answer.rules.end(), [&](const Rule& rule) { return rule.name == name; });
  };
  if (context.given && answer.needed && *answer.needed > *context.given) {
    const std::uint64_t more = *answer.needed - *context.given;
    advice.push_back(fmt::format("{} more layer{} of the same list: {} in all", more, more == 1 ? "" : "s", *answer.needed));
  } else if (context.given && answer.needed_between && answer.needed_between->second > *context.given) {
    advice.push_back(fmt::format("{} layers in all would do", answer.needed_between->second));
  }
  const bool causal = answer.class_kind == sight::ClassKind::causal;
  if (causal && context.target_class == sight::ClassKind::all) {
    advice.push_back("ask for target.class = \"causal\": no causal mask lets a token see later ones");
  } else if (answer.unreachable && !answer.needed) {
    advice.push_back("add a global token (a token or register that reads all and is read by all)");
    if (context.target_class == sight::ClassKind::all) advice.push_back("or ask for target.class = \"seen\": functions of what each token comes to see");
  } else if (answer.unreachable) {
    advice.push_back("or widen the pattern, or add a global token");
  }
  if (used("constant-prefixes") || used("constant-sequences")) {
    advice.push_back("add a BOS token (input.bos = true), or absolute positions, or an attention sink");
  }
  if (used("pre-layernorm-translation")) advice.push_back("embed the tokens into a wider stream (raw width at most d - 1), centre them, or use RMSNorm");
  if (used("odd") || used("homogeneous")) advice.push_back("give the feedforward biases");
  if (used("affine")) advice.push_back("use a feedforward with an activation");
  if (used("fixed-positions")) {
    advice.push_back(fmt::format("use a table whose rows stay apart on the box, e.g. e_i = {:g} i e_1, or train it", 2 * a.target.box + 1));
  }
  if (used("norm-range")) advice.push_back("add a linear head behind the last norm");
  const bool few_fit = used("output-rank") || (used("norm-range") && answer.output_largest > 0);
  if (few_fit && answer.output_dim && answer.output_largest && *answer.output_dim > *answer.output_largest) {
    advice.push_back(fmt::format("at most {} outputs per token", *answer.output_largest));
  }
  if (answer.collision && !answer.needed) {
    if (!context.target_is_layout) {
      advice.push_back("the layout is more symmetric than the target: add positions, or a pattern with only the wanted symmetry");
    } else if (!answer.needed_between && a.input.positions == architecture::Positions::none) {
      advice.push_back("add positions (they end every symmetry): tokens that see alike are then told apart");
    }
  }
}

}  // namespace sightline::verdict
