#include "sightline/samples/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "sightline/base/error.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/group/group.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::samples {
namespace {

using architecture::Architecture;
using Tuple = std::vector<std::uint32_t>;

/// What the functions need to know; shared by the lambdas.
struct Frame {
  std::size_t n, d, k, first;  ///< tokens, raw width, outputs, first token with content
  bool causal;
  std::vector<std::vector<std::size_t>> reads = {};  ///< where class and symmetry together leave fewer tokens than the class: these
};

/// G of the targets (theory.md 1.1), as certify takes it.
group::Group make_target_group(const Architecture& a, const Budget& budget) {
  const auto degree = static_cast<group::Point>(a.tokens);
  group::Group group;
  if (!a.target.symmetry_is_layout) {
    group = architecture::parse_symmetry(a, budget);
  } else if (a.input.embedding == architecture::Embedding::table && a.target.target_class == architecture::TargetClass::causal) {
    group = group::make_trivial_group(degree);
  } else {
    group = symmetry::compute_layout_group(architecture::make_layout(a, budget), budget);
  }
  if (a.input.embedding == architecture::Embedding::table && a.input.bos) group = group::make_stabiliser(group, 0, budget);
  return group;
}

/// All images of a tuple under G, by breadth-first search.
std::set<Tuple> collect_orbit(const std::vector<group::Permutation>& generators, const Tuple& start, const Budget& budget) {
  constexpr std::size_t most = 4'000'000;
  std::set<Tuple> orbit{start};
  std::vector<Tuple> open{start};
  while (!open.empty()) {
    budget.poll();
    const Tuple tuple = std::move(open.back());
    open.pop_back();
    for (const auto& generator : generators) {
      Tuple image = tuple;
      for (auto& x : image) x = generator(x);
      if (orbit.insert(image).second) open.push_back(std::move(image));
    }
    if (orbit.size() > most) throw OutOfReach(fmt::format("the target is a sum over more than {} tuples", most));
  }
  return orbit;
}

std::vector<group::Permutation> list_all_generators(const Architecture& a, const Budget& budget) {
  return group::list_generators(make_target_group(a, budget), static_cast<std::size_t>(-1));
}

/// F_i = (sum over j of value(j)) e_1, over all tokens with content or (causal) those up to i.
template <class Value>
void write_sums(const Frame& frame, Value value, double* y) {
  for (std::size_t i = 0; i < frame.reads.size(); ++i) {
    y[i * frame.k] = 0;
    for (const std::size_t j : frame.reads[i]) y[i * frame.k] += value(j);
  }
  if (!frame.reads.empty()) return;
  double sum = 0;
  if (!frame.causal) {
    for (std::size_t j = frame.first; j < frame.n; ++j) sum += value(j);
  }
  for (std::size_t i = 0; i < frame.n; ++i) {
    if (frame.causal && i >= frame.first) sum += value(i);
    y[i * frame.k] = sum;
  }
}

/// W(i) of docs/theory.md 16.7: the tokens j with g(j) in the class's set of g(i) for every g in G, by orbits of pairs.
/// @param in_class  does the class alone let token i read token j?
template <class InClass>
std::vector<std::vector<std::size_t>> collect_reads(const Frame& frame, const Architecture& a, InClass in_class, const Budget& budget) {
  const auto generators = list_all_generators(a, budget);
  std::vector<std::vector<std::size_t>> reads(frame.n);
  std::set<Tuple> done;
  for (std::uint32_t i = 0; i < frame.n; ++i) {
    for (auto j = static_cast<std::uint32_t>(frame.first); j < frame.n; ++j) {
      if (done.count({i, j}) > 0) continue;
      const std::set<Tuple> orbit = collect_orbit(generators, {i, j}, budget);
      const bool read = std::all_of(orbit.begin(), orbit.end(), [&](const Tuple& pair) { return in_class(pair[0], pair[1]); });
      for (const Tuple& pair : orbit) {
        done.insert(pair);
        if (read) reads[pair[0]].push_back(pair[1]);
      }
    }
  }
  return reads;
}

bool comes_up_to(std::uint32_t i, std::uint32_t j) { return j <= i; }

/// What every token comes to see, the list of layers repeated for ever: the sets of class seen.
std::vector<std::set<std::uint32_t>> compute_sight(const layout::Layout& layout, const Budget& budget) {
  std::vector<std::set<std::uint32_t>> sees(layout.vertices());
  for (std::uint32_t i = 0; i < sees.size(); ++i) sees[i].insert(i);
  std::vector<layout::Run> row;
  for (bool grown = true; grown;) {
    grown = false;
    for (const layout::Relation& relation : layout.relations) {
      for (std::uint32_t i = 0; i < sees.size(); ++i) {
        budget.poll();
        const std::size_t before = sees[i].size();
        relation.pattern().row(i, row);
        for (std::uint32_t j = 0; j < sees.size(); ++j) {
          if (std::any_of(row.begin(), row.end(), [&](const layout::Run& run) { return run.contains(j); })) sees[i].insert(sees[j].begin(), sees[j].end());
        }
        grown = grown || sees[i].size() > before;
      }
    }
  }
  return sees;
}

double along_ones(const double* token, std::size_t d) {
  double sum = 0;
  for (std::size_t k = 0; k < d; ++k) sum += token[k];
  return sum / std::sqrt(static_cast<double>(d));
}

double squared_length(const double* x, std::size_t size) {
  double sum = 0;
  for (std::size_t k = 0; k < size; ++k) sum += x[k] * x[k];
  return sum;
}

/// The numbers that stand where the pattern has '#'; nothing unless the text begins with the whole pattern.
std::optional<std::vector<std::uint32_t>> read_numbers(std::string_view text, std::string_view pattern) {
  std::vector<std::uint32_t> numbers;
  std::size_t at = 0;
  for (const char c : pattern) {
    if (c != '#') {
      if (at >= text.size() || text[at] != c) return std::nullopt;
      ++at;
      continue;
    }
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    numbers.push_back(number);
    at = static_cast<std::size_t>(end - text.data());
  }
  return numbers;
}

/// value(X_i) e_1 for every token.
template <class Value>
Recipe tokenwise(const Frame& frame, Value value) {
  Recipe recipe;
  recipe.on_reals = [frame, value](const double* x, double* y) {
    for (std::size_t i = 0; i < frame.n; ++i) y[i * frame.k] = value(x + i * frame.d);
  };
  return recipe;
}

Recipe make_orbit_sum(const Frame& frame, const Architecture& a, const Tuple& start, const Budget& budget) {
  const std::set<Tuple> orbit = collect_orbit(list_all_generators(a, budget), start, budget);
  const std::vector<Tuple> tuples(orbit.begin(), orbit.end());
  Recipe recipe;
  recipe.on_reals = [frame, tuples](const double* x, double* y) {
    for (const Tuple& tuple : tuples) {
      double product = 1;
      for (std::size_t k = 1; k < tuple.size(); ++k) product *= x[tuple[k] * frame.d + k - 1];
      y[tuple[0] * frame.k] += product;
    }
  };
  return recipe;
}

/// Targets that say e_1 for some tokens, whatever the input is.
template <class Recipe>
void fill_constant(Recipe& recipe, const Frame& frame, const std::vector<std::uint32_t>& tokens, double value) {
  const auto write = [frame, tokens, value](const auto*, double* y) {
    for (auto i : tokens) y[i * frame.k] = value;
  };
  recipe.on_reals = write;
  recipe.on_ids = write;
}

std::vector<std::uint32_t> list_all_tokens(std::size_t n) {
  std::vector<std::uint32_t> tokens(n);
  for (std::size_t i = 0; i < n; ++i) tokens[i] = static_cast<std::uint32_t>(i);
  return tokens;
}

/// The tokens that G takes one of them to: what a G-equivariant target says of it, it says of all.
std::vector<std::uint32_t> list_orbit(const Frame& frame, const Architecture& a, std::uint32_t token, const Budget& budget) {
  const group::Group group = make_target_group(a, budget);
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t i = 0; i < frame.n; ++i) {
    if (group.orbit[i] == group.orbit.at(token)) tokens.push_back(i);
  }
  return tokens;
}

/// Targets that say the same for every input, real or ids.
std::optional<Recipe> make_constant_recipe(const Frame& frame, const Architecture& a, const std::string& target, const Budget& budget) {
  Recipe recipe;
  if (const auto token = read_numbers(target, "F(X)_# = e_1, F(X)_i = 0 for i ")) {
    fill_constant(recipe, frame, {token->front()}, 1);
  } else if (const auto tokens = read_numbers(target, "F(X)_# = 0, F(X)_# = e_1")) {
    fill_constant(recipe, frame, list_orbit(frame, a, tokens->back(), budget), 1);
  } else if (target == "F(X)_i = e_1 (a constant)") {
    fill_constant(recipe, frame, list_all_tokens(frame.n), 1);
  } else if (target == "F(X)_i = 2 sqrt(d) e_1") {
    fill_constant(recipe, frame, list_all_tokens(frame.n), 2 * std::sqrt(static_cast<double>(a.dim)));
  } else if (target == "F(X)_i = 0") {
    fill_constant(recipe, frame, {}, 0);
  } else {
    return std::nullopt;
  }
  return recipe;
}

std::optional<Recipe> make_real_recipe(const Frame& frame, const Architecture& a, const std::string& target, const Budget& budget) {
  Recipe recipe;
  if (target == "F(X)_i = (sum over j of X[0][j]) e_1" || target == "F(X)_i = (sum of X[0][j] over j <= i) e_1" || !frame.reads.empty()) {
    recipe.on_reals = [frame](const double* x, double* y) { write_sums(frame, [&](std::size_t j) { return x[j * frame.d]; }, y); };
    return recipe;
  }
  if (const auto pair = read_numbers(target, "F(X)_i = (sum of X[0][v] over (i,v) in the orbit of (#,#) under G) e_1")) return make_orbit_sum(frame, a, *pair, budget);
  if (const auto triple = read_numbers(target, "F(X)_i = (sum of X[0][u] X[1][v] over (i,u,v) in the orbit of (#,#,#) under G) e_1")) {
    return make_orbit_sum(frame, a, *triple, budget);
  }
  if (target == "F(X)_i = X[0][i]^2 e_1") return tokenwise(frame, [](const double* x) { return x[0] * x[0]; });
  if (target == "F(X)_i = (the component of X_i along (1,..,1)/sqrt d) e_1") return tokenwise(frame, [d = frame.d](const double* x) { return along_ones(x, d); });
  if (target == "F(X)_i = (the component of X_i along (1,..,1)/sqrt d)^2 e_1") {
    return tokenwise(frame, [d = frame.d](const double* x) { return along_ones(x, d) * along_ones(x, d); });
  }
  if (target == "F(X)_i = cos(20 times the component of X_i along (1,..,1)/sqrt d) e_1") {
    return tokenwise(frame, [d = frame.d](const double* x) { return std::cos(20 * along_ones(x, d)); });
  }
  if (target == "F(X)_i = (sum over j != i of the component of X_j along (1,..,1)/sqrt d) e_1") {
    recipe.on_reals = [frame](const double* x, double* y) {
      for (std::size_t i = 0; i < frame.n; ++i) {
        y[i * frame.k] = 0;
        for (std::size_t j = 0; j < frame.n; ++j) y[i * frame.k] += j == i ? 0 : along_ones(x + j * frame.d, frame.d);
      }
    };
    return recipe;
  }
  if (target == "F(X)_i = |X_i|^2 e_1") return tokenwise(frame, [d = frame.d](const double* x) { return squared_length(x, d); });
  if (target == "F(X)_i = cos(20 |X_i|^2) e_1") return tokenwise(frame, [d = frame.d](const double* x) { return std::cos(20 * squared_length(x, d)); });
  if (target == "F(X)_i = |X|^2 e_1") {
    recipe.on_reals = [frame](const double* x, double* y) {
      const double value = squared_length(x, frame.n * frame.d);
      for (std::size_t i = 0; i < frame.n; ++i) y[i * frame.k] = value;
    };
    return recipe;
  }
  if (const auto count = read_numbers(target, "F(X)_i = the first # coordinates of X_i"); count && count->front() <= frame.d) {
    recipe.on_reals = [frame, count = std::min<std::size_t>(count->front(), frame.k)](const double* x, double* y) {
      for (std::size_t i = 0; i < frame.n; ++i) std::copy_n(x + i * frame.d, count, y + i * frame.k);
    };
    return recipe;
  }
  if (const auto terms = read_numbers(target, "F(X)_i = sqrt(2) (cos 2 pi t, cos 4 pi t, .., # terms), t = X[0][i]")) {
    recipe.on_reals = [frame, count = std::min<std::size_t>(terms->front(), frame.k)](const double* x, double* y) {
      for (std::size_t i = 0; i < frame.n; ++i) {
        for (std::size_t c = 0; c < count; ++c) y[i * frame.k + c] = std::sqrt(2.0) * std::cos(2 * M_PI * static_cast<double>(c + 1) * x[i * frame.d]);
      }
    };
    return recipe;
  }
  return std::nullopt;
}

/// +1 on the first half of the ids (the larger one when V is odd), else -1.
double sign_of(std::int64_t id, std::int64_t vocabulary) { return id < (vocabulary + 1) / 2 ? 1 : -1; }

/// (sequence, token) for which F = e_1: the orbit of the first labelled sequence of the collision, with all sequences that differ from it where a target
/// of the class does not look (docs/theory.md 16.3, 16.88).
Recipe make_indicator(const Frame& frame, const Architecture& a, const sight::IdCollision& collision, const Budget& budget) {
  constexpr std::size_t most = 200'000;
  const auto generators = list_all_generators(a, budget);
  using Labelled = std::pair<std::vector<std::int64_t>, std::uint32_t>;
  std::set<Labelled> orbit{{{collision.x.begin(), collision.x.end()}, collision.a}};
  std::vector<Labelled> open(orbit.begin(), orbit.end());
  while (!open.empty()) {
    budget.poll();
    const Labelled from = std::move(open.back());
    open.pop_back();
    for (const auto& g : generators) {
      Labelled image{std::vector<std::int64_t>(frame.n), g(from.second)};
      for (std::uint32_t i = 0; i < frame.n; ++i) image.first[g(i)] = from.first[i];
      if (orbit.insert(image).second) open.push_back(std::move(image));
    }
    if (orbit.size() > most) throw OutOfReach(fmt::format("the target is e_1 on more than {} labelled sequences", most));
  }
  std::vector<std::vector<std::size_t>> reads;
  if (a.target.target_class == architecture::TargetClass::seen) {
    const auto sees = compute_sight(architecture::make_layout(a, budget), budget);
    reads = collect_reads(frame, a, [&](std::uint32_t i, std::uint32_t j) { return sees[i].contains(j); }, budget);
  } else {
    reads = collect_reads(frame, a, [&](std::uint32_t i, std::uint32_t j) { return !frame.causal || comes_up_to(i, j); }, budget);
  }
  const auto look = [reads](const std::int64_t* ids, std::uint32_t i) {
    Labelled part{{}, i};
    for (const std::size_t j : reads[i]) part.first.push_back(ids[j]);
    return part;
  };
  std::set<Labelled> parts;
  for (const Labelled& labelled : orbit) parts.insert(look(labelled.first.data(), labelled.second));
  Recipe recipe;
  recipe.on_ids = [frame, parts, look](const std::int64_t* ids, double* y) {
    for (std::uint32_t i = 0; i < frame.n; ++i) y[i * frame.k] = parts.contains(look(ids, i)) ? 1 : 0;
  };
  return recipe;
}

std::optional<Recipe> make_id_recipe(const Frame& frame, const Architecture& a, const verdict::Answer& answer, const std::string& target, std::int64_t vocabulary,
                                     const Budget& budget) {
  Recipe recipe;
  if (target.starts_with("F(X)_i = (sum of +-1 over the tokens i should see")) {
    recipe.on_ids = [frame, vocabulary](const std::int64_t* ids, double* y) {
      write_sums(frame, [&](std::size_t j) { return sign_of(ids[j], vocabulary); }, y);
    };
    return recipe;
  }
  if (target == "F(X)_i = (sum over j of +1 for one id, -1 for the other) e_1") {
    recipe.on_ids = [frame](const std::int64_t* ids, double* y) {
      write_sums(frame, [&](std::size_t j) { return ids[j] == 0 ? 1.0 : ids[j] == 1 ? -1.0 : 0.0; }, y);
    };
    return recipe;
  }
  if (const auto ids_shown = read_numbers(target, "F(X)_i = one-hot of the id of token i (the first # ids)")) {
    recipe.on_ids = [frame, count = static_cast<std::int64_t>(ids_shown->front())](const std::int64_t* ids, double* y) {
      for (std::size_t i = frame.first; i < frame.n; ++i) {
        if (ids[i] < count && ids[i] < static_cast<std::int64_t>(frame.k)) y[i * frame.k + static_cast<std::size_t>(ids[i])] = 1;
      }
    };
    return recipe;
  }
  if (const auto numbers = read_numbers(target, "F(X)_i = e_1 for the # tokens of the orbit of #, else 0")) {
    fill_constant(recipe, frame, list_orbit(frame, a, numbers->back(), budget), 1);
    return recipe;
  }
  if (target.starts_with("F = e_1 on the first of the two labelled sequences") && answer.id_collision) return make_indicator(frame, a, *answer.id_collision, budget);
  return std::nullopt;
}

}  // namespace

Recipe make_recipe(const Architecture& a, const verdict::Answer& answer, const verdict::Floor& floor, std::uint64_t outputs, const Budget& budget) {
  const bool ids = a.input.embedding == architecture::Embedding::table;
  Frame frame{static_cast<std::size_t>(a.tokens), static_cast<std::size_t>(a.input.dim), outputs, ids && a.input.bos ? std::size_t{1} : std::size_t{0},
                    a.target.target_class == architecture::TargetClass::causal};
  // "The tokens i should see" are those of the class only while G does not exchange them.
  const bool of_class = a.target.target_class == architecture::TargetClass::all ||
                        (frame.causal && ((ids && a.target.symmetry_is_layout) || make_target_group(a, budget).is_trivial()));
  const bool sums = floor.target.find("should see") != std::string::npos || floor.target.find("over j <= i") != std::string::npos;
  if (sums && !of_class && frame.causal && frame.n <= 512) frame.reads = collect_reads(frame, a, comes_up_to, budget);
  else if (sums && !of_class) throw InputError("no samples: which tokens the target reads depends on the class and the symmetry together; ask for class all, or a trivial symmetry");
  const std::int64_t n = a.tokens;
  const std::int64_t vocabulary = a.input.vocabulary.value_or(std::max<std::int64_t>(2, n + n % 2));
  std::optional<Recipe> recipe = make_constant_recipe(frame, a, floor.target, budget);
  if (!recipe) recipe = ids ? make_id_recipe(frame, a, answer, floor.target, vocabulary, budget) : make_real_recipe(frame, a, floor.target, budget);
  if (!recipe) throw InputError(fmt::format("no samples: the floor has no closed target (\"{}\")", floor.target));
  recipe->vocabulary = vocabulary;
  recipe->ids_drawn = floor.rule.starts_with("maximum forgets counts") ? std::min<std::int64_t>(2, vocabulary) : vocabulary;
  return *recipe;
}

}  // namespace sightline::samples
