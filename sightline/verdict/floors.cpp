#include "sightline/verdict/floors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sightline::verdict {
namespace {

mpq_class ratio(const mpz_class& numerator, const mpz_class& denominator) {
  mpq_class value(numerator, denominator);
  value.canonicalize();
  return value;
}

mpz_class integer(std::uint64_t value) { return mpz_class(static_cast<unsigned long>(value)); }

mpz_class power(const mpz_class& base, std::uint64_t exponent) {
  mpz_class result;
  mpz_pow_ui(result.get_mpz_t(), base.get_mpz_t(), static_cast<unsigned long>(exponent));
  return result;
}

/// Above this many digits a power of V is no number for people: the floor is then given without one.
constexpr std::uint64_t largest_exponent = 4000;
/// Terms of a sum of falling powers that is given in full up to that exponent.
constexpr std::uint64_t terms_of_many = 16;

std::string ids_domain(const Context& context) {
  return context.architecture.input.bos ? "uniform over the ids behind the BOS" : "uniform over all id sequences";
}

bool is_centred(const Context& context) { return context.architecture.input.domain == architecture::Domain::centred; }

/// Where the raw coordinates that targets look at are independent: of a centred token that holds of the first one (or two, of three) and what is
/// left of it (docs/theory.md 16.61).
std::string cube(const Context& context, const std::string& interval, bool two = false) {
  if (!is_centred(context)) return interval + "^(d n)";
  return fmt::format("centred tokens: {} uniform on {}, the rest of a token on a ball, all independent", two ? "X[0] and X[1]" : "X[0]", interval);
}

std::vector<std::vector<layout::Vertex>> compute_orbits(const group::Group& group) {
  std::map<group::Point, std::vector<layout::Vertex>> by_least;
  for (group::Point x = 0; x < group.degree; ++x) by_least[group.orbit[x]].push_back(x);
  std::vector<std::vector<layout::Vertex>> orbits;
  for (auto& [least, points] : by_least) orbits.push_back(std::move(points));
  return orbits;
}

}  // namespace

std::vector<std::uint32_t> label_tuples(const group::Group& group, int k, const Budget& budget) {
  std::vector<group::Permutation> generators = group.generators;
  for (const auto& members : group.symmetric_classes) {  // Sym(class) by a transposition and a cycle
    std::vector<group::Point> cycle(members.begin() + 1, members.end());
    cycle.push_back(members.front());
    generators.push_back(group::Permutation::transposition(members[0], members[1]));
    generators.push_back(group::Permutation::from_support(members, cycle));
  }
  const std::uint64_t n = group.degree;
  std::vector<std::vector<std::size_t>> moving(n);
  for (std::size_t g = 0; g < generators.size(); ++g) {
    for (const group::Point x : generators[g].moved()) moving[x].push_back(g);
  }
  std::uint64_t size = 1;
  for (int i = 0; i < k; ++i) size *= n;
  constexpr std::uint32_t fresh = ~std::uint32_t{0};
  std::vector<std::uint32_t> label(size, fresh);
  std::vector<std::uint64_t> open;
  std::uint32_t next = 0;
  for (std::uint64_t start = 0; start < size; ++start) {
    if (label[start] != fresh) continue;
    label[start] = next;
    for (open.push_back(start); !open.empty();) {
      budget.poll();
      const std::uint64_t tuple = open.back();
      open.pop_back();
      std::uint64_t rest = tuple;
      for (int i = 0; i < k; ++i, rest /= n) {
        for (const std::size_t g : moving[rest % n]) {
          std::uint64_t image = 0, place = 1, left = tuple;
          for (int j = 0; j < k; ++j, left /= n, place *= n) image += place * generators[g](static_cast<group::Point>(left % n));
          if (label[image] != fresh) continue;
          label[image] = next;
          open.push_back(image);
        }
      }
    }
    ++next;
  }
  return label;
}

Floor make_unseen_floor(const Context& context, const mpz_class& unseen_pairs) {
  // Which tokens a target of the class and with the symmetry may read (docs/theory.md 16.7): all, those up to i, or as the two together say.
  const bool all = context.target_class == sight::ClassKind::all, causal = context.target_class == sight::ClassKind::causal && context.target.is_trivial();
  return {2, ratio(unseen_pairs, 12),
          all      ? "F(X)_i = (sum over j of X[0][j]) e_1"
          : causal ? "F(X)_i = (sum of X[0][j] over j <= i) e_1"
                   : "F(X)_i = (sum of X[0][j] over the tokens j that i should see) e_1",
          cube(context, "[0,1]"), "unseen tokens (theory 3.1)"};
}

Floor make_blind_floor(const Context& context) {
  const mpz_class n = integer(context.tokens());
  return {2, ratio(n * (n - 1), 12), "F(X)_i = (sum over j of X[0][j]) e_1", "[0,1]^(d n)", "blind mixer (theory 3.3)"};
}

namespace {

bool keeps_layout(const Context& context) {
  const group::Membership layout(context.layout_group, context.budget);
  const auto generators = group::list_generators(context.target, static_cast<std::size_t>(-1));
  return std::all_of(generators.begin(), generators.end(), [&](const group::Permutation& g) { return layout.contains(g); });
}

}  // namespace

Floor make_collision_floor(const Context& context, const sight::Collision& collision) {
  const std::uint64_t n = context.tokens();
  Floor floor;
  floor.domain = cube(context, "[-1/2,1/2]");
  floor.rule = "collision (theory 3.2)";
  floor.target = fmt::format("a G-equivariant F with F(X)_{} different from F(tau X)_{}", context.token(collision.a), context.token(collision.b));
  const bool all = context.target_class == sight::ClassKind::all;
  if (n > 1500 || (all && collision.tau.size() != n)) return floor;  // orbits of pairs are n^2
  // What a sees are the symmetries' images of what others see where G keeps the layout (theory 16.7).
  if (context.target_class == sight::ClassKind::seen && !(context.target_is_layout || keeps_layout(context))) return floor;
  std::vector<layout::Vertex> tau(n);
  for (auto [x, y] : collision.tau) tau[x] = y;
  const mpq_class c = collision.a != collision.b ? mpq_class(1, 2) : mpq_class(1, 4);
  // Linear targets first: F_i = sum of X[0][v] over (i,v) in the orbit of (a,u).
  const std::vector<std::uint32_t> pairs = label_tuples(context.target, 2, context.budget);
  std::uint64_t best = 0;
  layout::Vertex best_u = 0;
  std::set<std::uint32_t> done;
  if (context.target_class == sight::ClassKind::causal) {  // orbits with a token that comes behind its reader are of no causal target
    for (layout::Vertex i = 0; i < n; ++i) {
      for (layout::Vertex v = i + 1; v < n; ++v) done.insert(pairs[i + n * v]);
    }
  }
  for (const auto& [u, image_of_u] : collision.tau) {
    const std::uint32_t orbit = pairs[collision.a + n * u];
    if (!done.insert(orbit).second) continue;
    std::uint64_t difference = 0;
    for (const auto& [v, image] : collision.tau) {
      difference += (pairs[collision.a + n * v] == orbit) != (pairs[collision.b + n * image] == orbit);
    }
    if (difference > best) best = difference, best_u = u;
  }
  if (best > 0) {
    floor.squared_error = c * ratio(integer(best), 12);
    floor.orbit = {collision.a, best_u};
    floor.target = fmt::format("F(X)_i = (sum of X[0][v] over (i,v) in the orbit of ({},{}) under G) e_1", context.token(collision.a), context.token(best_u));
    return floor;
  }
  // Two coordinates of a raw token that do not depend on each other.
  if (!all || count_raw_directions(context.architecture) < 2 || n > 60) return floor;
  const std::vector<std::uint32_t> triples = label_tuples(context.target, 3, context.budget);
  for (layout::Vertex u = 0; u < n; ++u) {
    for (layout::Vertex v = 0; v < n; ++v) {
      const std::uint32_t orbit = triples[collision.a + n * (u + n * v)];
      if (triples[collision.b + n * (tau[u] + n * tau[v])] == orbit) continue;
      std::uint64_t difference = 0;
      for (layout::Vertex x = 0; x < n; ++x) {
        for (layout::Vertex y = 0; y < n; ++y) {
          difference += (triples[collision.a + n * (x + n * y)] == orbit) != (triples[collision.b + n * (tau[x] + n * tau[y])] == orbit);
        }
      }
      floor.domain = cube(context, "[-1/2,1/2]", true);
      floor.squared_error = c * ratio(integer(difference), 144);
      floor.orbit = {collision.a, u, v};
      floor.target = fmt::format("F(X)_i = (sum of X[0][u] X[1][v] over (i,u,v) in the orbit of ({},{},{}) under G) e_1", context.token(collision.a), context.token(u), context.token(v));
      return floor;
    }
  }
  return floor;
}

Floor make_odd_floor(const Context& context, bool to_the_end) {
  const std::string domain = cube(context, "[-1,1]"), rule = "odd network (theory 3.4)";
  if (to_the_end) return {2, mpq_class(integer(context.tokens())), "F(X)_i = e_1 (a constant)", domain, rule};
  // F(X) + F(-X) is one constant: an even target is missed by its variance (16.23).
  return {2, ratio(4 * integer(context.tokens()), 45), "F(X)_i = X[0][i]^2 e_1", domain, rule};
}

Floor make_homogeneous_floor(const Context& context) {
  const mpz_class n = integer(context.tokens()), dimension = n * static_cast<long>(count_raw_directions(context.architecture));
  const std::string domain = is_centred(context) ? "the unit ball of the raw inputs" : "the unit ball of R^(d n)", rule = "positively homogeneous network (theory 3.5)";
  const auto& output = context.architecture.output;
  if (output.norm && output.norm->kind != architecture::NormKind::none) {  // monotone along every ray (16.23)
    return {2, std::nullopt, "F(X)_i = cos(20 X[0][i]) e_1", domain, rule};
  }
  if (output.head != architecture::Head::none) {  // up to one constant (16.23)
    const mpz_class two = (dimension + 2) * (dimension + 2), three = (dimension + 3) * (dimension + 3);
    mpq_class value = ratio(2 * n * (dimension + 1), two * three * (dimension + 4));
    if (is_centred(context)) {  // X[0] is sqrt((d - 1)/d) times a coordinate of the hyperplane
      const mpq_class share = 1 - ratio(1, mpz_class(static_cast<long>(context.architecture.input.dim)));
      value *= share * share;
    }
    return {2, value, "F(X)_i = X[0][i]^2 e_1", domain, rule};
  }
  return {2, ratio(n, (dimension + 1) * (dimension + 1)), "F(X)_i = e_1 (a constant)", domain, rule};
}

Floor make_affine_floor(const Context& context) {
  const auto& norm = context.architecture.output.norm;
  if (norm && norm->kind != architecture::NormKind::none) {  // at most two monotone pieces along a line (16.23)
    return {2, std::nullopt, "F(X)_i = cos(20 X[0][i]) e_1", cube(context, "[0,1]"), "affine network (theory 3.6)"};
  }
  return {2, ratio(integer(context.tokens()), 180), "F(X)_i = X[0][i]^2 e_1", cube(context, "[0,1]"), "affine network (theory 3.6)"};
}

Floor make_pre_layernorm_floor(const Context& context) {
  const bool final_norm = context.architecture.output.norm && context.architecture.output.norm->kind != architecture::NormKind::none;
  const bool head = context.architecture.output.head != architecture::Head::none;
  const std::string domain = "each token: |mean part| <= 1 and |rest| <= 1, uniform";
  const Floor no_number{2, std::nullopt, "F(X)_i = cos(20 times the component of X_i along (1,..,1)/sqrt d) e_1", domain, "pre-LayerNorm translation (theory 3.7)"};
  // Behind a norm of the raw tokens their mean parts are no mean parts any more, and its gains may be 0 (docs/theory.md 16.50).
  if (context.architecture.input.norm && context.architecture.input.norm->kind != architecture::NormKind::none) return no_number;
  // Without a residual, or behind a last LayerNorm, the output does not depend on the mean part at all. Layers of no sublayers leave tokens as they are, residual or
  // not (docs/theory.md 16.88).
  const bool replaces = !context.architecture.block.residual && std::any_of(context.architecture.layers.begin(), context.architecture.layers.end(), [](const architecture::LayerSpec& l) {
    return l.mixer.kind != architecture::MixerKind::tokenwise || has_feedforward(l);
  });
  if (replaces || (final_norm && context.architecture.output.norm->kind == architecture::NormKind::layernorm)) {
    return {2, ratio(integer(context.tokens()), 3), "F(X)_i = (the component of X_i along (1,..,1)/sqrt d) e_1", domain,
            "pre-LayerNorm translation (theory 3.7)"};
  }
  if (final_norm) {
    // RMSNorm reads the own mean part, nothing reads that of others (16.21); class all speaks of those.
    if (context.tokens() > 1 && context.target_class == sight::ClassKind::all) {
      return {2, ratio(integer(context.tokens()) * integer(context.tokens() - 1), 3),
              "F(X)_i = (sum over j != i of the component of X_j along (1,..,1)/sqrt d) e_1", domain, "pre-LayerNorm translation (theory 3.7)"};
    }
    return no_number;
  }
  if (head) {
    // The network is affine along the all-ones direction of every token; t^2 on [-1,1] is 4/45 away from affine functions.
    return {2, ratio(4 * integer(context.tokens()), 45), "F(X)_i = (the component of X_i along (1,..,1)/sqrt d)^2 e_1", domain,
            "pre-LayerNorm translation (theory 3.7)"};
  }
  // Each of the first numbers of the state, which are the outputs, moves with the mean part (docs/theory.md 16.59).
  const std::int64_t outputs = std::min(context.architecture.dim, context.answer.output_dim.value_or(context.architecture.dim));
  return {2, ratio(integer(context.tokens()) * static_cast<long>(outputs), mpz_class(static_cast<long>(context.architecture.dim)) * 3), "F(X)_i = 0", domain, "pre-LayerNorm translation (theory 3.7)"};
}

Floor make_sphere_floor(const Context& context) {
  const std::string rule = "values in the range of the last norm (theory 3.8)";
  const bool ids = context.architecture.input.embedding == architecture::Embedding::table;
  const std::string domain = ids ? ids_domain(context) : cube(context, "[-1,1]");
  if (context.rank.sphere_gain) {
    const bool flat = context.rank.affine < context.architecture.dim;
    return {2, std::nullopt,
            !ids  ? "F(X)_i at the corners and the centre of a cube"
            : flat ? "F(X)_i = 0, e_1, .., e_d at d + 1 target labels"
                   : "F(X)_i = e_1 + .. + e_d at one target label, twice that at the others",
            domain, rule};
  }
  const mpz_class size = integer(context.tokens()) * static_cast<long>(context.architecture.dim);
  return {2, mpq_class(size), context.rank.sphere_open_ball ? "F(X)_i = 2 sqrt(d) e_1" : "F(X)_i = 0", domain, rule};
}

Floor make_output_rank_floor(const Context& context, std::int64_t output_dim) {
  const auto& input = context.architecture.input;
  const std::int64_t excess = output_dim - std::max(context.rank.affine, context.rank.anywhere);
  Floor floor;
  floor.rule = "output rank (theory 15.2)";
  if (input.embedding == architecture::Embedding::table) {
    floor.target = fmt::format("F(X)_i = one-hot of the id of token i (the first {} ids)", output_dim);
    floor.domain = ids_domain(context);
    if (excess > 0 && input.vocabulary && *input.vocabulary >= output_dim) {
      const mpz_class v(static_cast<long>(*input.vocabulary));
      const mpq_class per_token = ratio(mpz_class(static_cast<long>(excess - 1)), v) + ratio(v - static_cast<long>(output_dim), v * v);
      floor.squared_error = per_token * integer(context.ordinary());
      if (per_token == 0) {  // as many ids as fit: more of what the target asks for does not (docs/theory.md 16.32)
        floor.squared_error.reset();
        floor.target = fmt::format("F(X)_i = e_k at the k-th of the first {} target labels, 0 at all others", output_dim);
      }
    }
    return floor;
  }
  if (input.dim >= output_dim && !is_centred(context)) {  // the coordinates of a centred token are dependent
    floor.target = fmt::format("F(X)_i = the first {} coordinates of X_i", output_dim);
    floor.domain = "[-1,1]^(d n)";
    if (excess > 0) floor.squared_error = ratio(integer(context.tokens()) * static_cast<long>(excess), 3);
  } else {
    floor.target = fmt::format("F(X)_i = sqrt(2) (cos 2 pi t, cos 4 pi t, .., {} terms), t = X[0][i]", output_dim);
    floor.domain = cube(context, "[0,1]");
    if (excess > 0) floor.squared_error = mpq_class(integer(context.tokens()) * static_cast<long>(excess));
  }
  return floor;
}

Floor make_input_rank_floor(const Context& context, std::int64_t kept_per_token) {
  const mpz_class n = integer(context.tokens());
  // Targets of a class may look at fewer tokens: there every token is asked about itself.
  const bool all = context.target_class == sight::ClassKind::all;
  const mpz_class asked = all ? n : mpz_class(1);
  const mpz_class dimension = asked * static_cast<long>(count_raw_directions(context.architecture));
  const mpq_class e(dimension - asked * static_cast<long>(kept_per_token));
  const mpq_class half = mpq_class(dimension) / 2;
  const mpq_class value = 4 * e / ((e + 4) * (e + 2) * (e + 2)) * ((e / 2 + 1) * (e / 2 + 2)) / ((half + 1) * (half + 2));
  return {2, mpq_class(n) * value, all ? "F(X)_i = |X|^2 e_1" : "F(X)_i = |X_i|^2 e_1", all ? "the unit ball of the raw inputs" : "the unit ball of every raw token",
          "input rank (theory 15.6 F)"};
}

Floor make_ray_floor(const Context& context) {
  Floor floor{2, std::nullopt, "F(X)_i = X[0][i]^2 e_1", "the unit ball of every raw token", "input rank (theory 15.6 F)"};
  if (context.architecture.input.domain == architecture::Domain::centred) return floor;
  // The best constant on each ray leaves the variance of r^2 (docs/theory.md 16.23).
  const mpz_class d(static_cast<long>(context.architecture.input.dim));
  floor.squared_error = ratio(12 * integer(context.tokens()), (d + 2) * (d + 2) * (d + 2) * (d + 4));
  return floor;
}

Floor make_unseen_ids_floor(const Context& context, const mpz_class& unseen_pairs) {
  const auto& vocabulary = context.architecture.input.vocabulary;
  mpq_class value(unseen_pairs);
  if (vocabulary && *vocabulary % 2 == 1) {
    const mpz_class v(static_cast<long>(*vocabulary));
    value *= 1 - ratio(1, v * v);
  }
  return {2, value, "F(X)_i = (sum of +-1 over the tokens i should see: +1 for the first half of the ids) e_1",
          ids_domain(context), "unseen tokens (theory 15.5 D7)"};
}

std::optional<Floor> make_constant_ids_floor(const Context& context, bool causal) {
  const std::uint64_t n = context.tokens();
  const auto& vocabulary = context.architecture.input.vocabulary;
  Floor floor;
  floor.domain = ids_domain(context);
  if (causal) {
    if (context.target.orbit.size() > 1 && std::count(context.target.orbit.begin(), context.target.orbit.end(), 0u) != 1) return std::nullopt;
    floor.target = "F(X)_0 = e_1, F(X)_i = 0 for i >= 1";
    floor.rule = "constant prefixes (theory 15.5 D3)";
    if (vocabulary) {
      // q = sum over i = 1 .. n-1 of V^-i, floor q / (1 + q), which grows with q: the first terms of many are a bound as well.
      const std::uint64_t terms = n <= largest_exponent ? n - 1 : terms_of_many;
      const mpz_class v(static_cast<long>(*vocabulary));
      const mpz_class top = power(v, terms);
      const mpz_class q_numerator = v == 1 ? integer(terms) : mpz_class((top - 1) / (v - 1));
      floor.squared_error = ratio(q_numerator, q_numerator + top);
    }
    return floor;
  }
  const auto orbits = compute_orbits(context.target);
  if (orbits.size() < 2) return std::nullopt;
  std::uint64_t best = 0;
  std::size_t which = 0;
  for (std::size_t k = 0; k < orbits.size(); ++k) {
    const std::uint64_t size = orbits[k].size() * (n - orbits[k].size());
    if (size > best) best = size, which = k;
  }
  floor.target = orbits[which].size() == 1
                     ? fmt::format("F(X)_{0} = e_1, F(X)_i = 0 for i != {0}", orbits[which].front())
                     : fmt::format("F(X)_i = e_1 for the {} tokens of the orbit of {}, else 0", orbits[which].size(), orbits[which].front());
  floor.rule = "constant sequences (theory 15.5 D3)";
  if (vocabulary && n <= largest_exponent) {
    floor.squared_error = ratio(integer(best), integer(n) * power(mpz_class(static_cast<long>(*vocabulary)), n - 1));
  }
  return floor;
}

Floor make_linformer_ids_floor(const Context& context) {
  const std::uint64_t n = context.ordinary();
  layout::Vertex first = context.architecture.input.bos ? 1 : 0;
  const auto& orbit = context.target.orbit;
  const auto alone = [&](layout::Vertex i) { return std::count(orbit.begin(), orbit.end(), orbit[i]) == 1; };
  while (first < orbit.size() && !alone(first)) ++first;
  if (first >= orbit.size()) {
    return {2, std::nullopt, "F(X)_i = e_1 for the tokens of one orbit of G, else 0", ids_domain(context), "equal ids stay equal (theory 15.4)"};
  }
  Floor floor{2, std::nullopt, fmt::format("F(X)_{0} = e_1, F(X)_i = 0 for i != {0}", first), ids_domain(context),
              "equal ids stay equal (theory 15.4)"};
  const auto& vocabulary = context.architecture.input.vocabulary;
  if (vocabulary && n <= largest_exponent) {
    const mpz_class v(static_cast<long>(*vocabulary));
    const mpq_class missing = 1 - ratio(power(v - 1, n), power(v, n));
    floor.squared_error = 1 - mpq_class(v) * missing / integer(n);
  }
  return floor;
}

Floor make_id_collision_floor(const Context& context) {
  Floor floor{2, std::nullopt, "F = e_1 on the first of the two labelled sequences and its images under G, else 0", ids_domain(context),
              "two sequences with one label (theory 15.4)"};
  const auto& vocabulary = context.architecture.input.vocabulary;
  if (vocabulary && context.tokens() <= largest_exponent) {
    floor.squared_error = ratio(1, 2 * power(mpz_class(static_cast<long>(*vocabulary)), context.ordinary()));
  }
  return floor;
}

}  // namespace sightline::verdict
