// What the tokenwise side of a model on real-valued tokens (feedforward, norms, embedding) contributes, independent of the layout.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

struct Tokenwise {
  bool impossible = false;
  std::vector<std::string> missing;  ///< hypotheses that no rule settles: verdict unknown
};

template <class Predicate>
bool every_mixer(const Context& context, Predicate predicate) {
  return std::all_of(context.facts.mixer.begin(), context.facts.mixer.end(), predicate);
}

void decide_feedforward(Context& context, Tokenwise& result);
void decide_norms(Context& context, Tokenwise& result);

}  // namespace sightline::verdict
