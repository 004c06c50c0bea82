// Targets with a proven error floor, as exact rationals (theory 3, 15), and what a fixed position table keeps apart (3.9, 15.5 D1).
#include <algorithm>
#include <cmath>
#include <set>

#include "derivation.hpp"

namespace checker {

namespace {

constexpr std::uint64_t largest_exponent = 4000;  // larger powers of V are no numbers for people: the floor then has none
Rational ratio(const Natural& numerator, const Natural& denominator) { return Rational(numerator, denominator); }
Rational whole(const Natural& value) { return Rational(value, 1); }
std::string ids_domain(const Derivation& d) { return d.a["input"]["bos"].boolean() ? "uniform over the ids behind the BOS" : "uniform over all id sequences"; }

bool centred(const Derivation& d) { return d.a["input"]["domain"].is("centred"); }

/// The first coordinate of a centred token (two, of three) is independent of what is left of it (16.61).
std::string cube(const Derivation& d, const std::string& interval, bool two = false) {
  if (!centred(d)) return interval + "^(d n)";
  return std::string("centred tokens: ") + (two ? "X[0] and X[1]" : "X[0]") + " uniform on " + interval + ", the rest of a token on a ball, all independent";
}

std::string fill(std::string text, const std::vector<std::string>& values) {  // {0}, {1}, ..
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::string mark = "{" + std::to_string(k) + "}";
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.replace(at, mark.size(), values[k]);
  }
  return text;
}

/// Every k-tuple of points, written in base n, with the number of its orbit under the group.
std::vector<std::uint32_t> label_tuples(const Group& group, std::uint64_t n, int k) {
  std::vector<Permutation> generators = group.generators;
  for (const auto& members : group.classes) {  // Sym(class) by a transposition and a cycle
    std::vector<std::pair<Vertex, Vertex>> cycle;
    for (std::size_t i = 0; i < members.size(); ++i) cycle.emplace_back(members[i], members[(i + 1) % members.size()]);
    generators.push_back(Permutation(cycle));
    generators.push_back(Permutation({{members[0], members[1]}, {members[1], members[0]}}));
  }
  std::vector<std::vector<std::size_t>> moving(n);
  for (std::size_t g = 0; g < generators.size(); ++g) for (const auto& move : generators[g].moves()) moving[move.first].push_back(g);
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
      const std::uint64_t tuple = open.back();
      open.pop_back();
      for (std::uint64_t rest = tuple, i = 0; i < static_cast<std::uint64_t>(k); ++i, rest /= n) {
        for (const std::size_t g : moving[rest % n]) {
          std::uint64_t image = 0, place = 1;
          for (std::uint64_t left = tuple, j = 0; j < static_cast<std::uint64_t>(k); ++j, left /= n, place *= n) image += place * generators[g](static_cast<Vertex>(left % n));
          if (label[image] == fresh) label[image] = next, open.push_back(image);
        }
      }
    }
    ++next;
  }
  return label;
}

/// The decimal number that a JSON number spells, exactly.
Rational decimal(const Json& value) {
  std::string text = print(value), digits;
  std::int64_t exponent = 0;
  if (const auto e = text.find('e'); e != std::string::npos) exponent = std::stoll(text.substr(e + 1)), text.resize(e);
  if (const auto point = text.find('.'); point != std::string::npos) exponent -= static_cast<std::int64_t>(text.size() - point - 1), text.erase(point, 1);
  const bool negative = text[0] == '-';
  text.erase(0, std::min(text.find_first_not_of("-0"), text.size()));
  const Natural mantissa = Natural::from_decimal(text.empty() ? "0" : text), scale = power(10, static_cast<std::uint64_t>(std::abs(exponent)));
  return exponent >= 0 ? Rational(mantissa * scale, 1, negative) : Rational(mantissa, scale, negative);
}

/// Of the position table: row p, column k.
double position_entry(const Derivation& d, std::size_t p, std::size_t k) {
  if (d.a["input"]["positions"].is("fixed")) return d.a["input"]["table"][p][k].number();
  const double angle = static_cast<double>(p) / std::pow(10000.0, static_cast<double>(k / 2 * 2) / static_cast<double>(d.dim));
  return k % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

}  // namespace

void add_unseen_floor(Derivation& d, std::uint64_t pairs) {
  const bool trivial = d.target.classes.empty() && d.target.generators.empty(), causal = d.target_class == ClassKind::causal && trivial;
  const std::string read = d.target_class == ClassKind::all ? "(sum over j of X[0][j])" : causal ? "(sum of X[0][j] over j <= i)" : "(sum of X[0][j] over the tokens j that i should see)";
  d.add_floor(ratio(pairs, 12), "F(X)_i = " + read + " e_1", cube(d, "[0,1]"), "unseen tokens (theory 3.1)");
}

void add_collision_floor(Derivation& d, const Collision& c, const ViewQuestion& question) {
  const std::uint64_t n = d.n;
  const std::string domain = cube(d, "[-1/2,1/2]"), rule = "collision (theory 3.2)", a = std::to_string(d.token(c.a));
  const Rational share = ratio(1, c.a != c.b ? 2 : 4);
  const auto none = [&] { d.add_floor({}, fill("a G-equivariant F with F(X)_{0} different from F(tau X)_{1}", {a, std::to_string(d.token(c.b))}), domain, rule); };
  const bool all = d.target_class == ClassKind::all;
  if (n > 1500 || (all && c.tau.size() != n)) return none();
  const Group& target = d.target_is_layout ? d.layout_group.group : d.target;
  if (d.target_class == ClassKind::seen && !d.target_is_layout) {  // symmetries of the layout move what is seen along; others need not (16.7)
    const Chain chain(d.layout_group.group);
    const std::vector<Permutation> generators = list_generators(target, ~std::size_t{0});
    if (!std::all_of(generators.begin(), generators.end(), [&](const Permutation& g) { return chain.contains(g); })) return none();
  }
  const std::vector<std::uint32_t> pairs = label_tuples(target, n, 2);
  std::uint64_t best = 0, best_u = 0;
  std::set<std::uint32_t> done;
  if (d.target_class == ClassKind::causal) {  // orbits with a token that comes behind its reader are of no causal target
    for (std::uint64_t i = 0; i < n; ++i) {
      for (std::uint64_t v = i + 1; v < n; ++v) done.insert(pairs[i + n * v]);
    }
  }
  for (const auto& [u, image_of_u] : c.tau) {  // linear targets first: the sum of X[0][v] over (i,v) in the orbit of (a,u)
    const std::uint32_t orbit = pairs[c.a + n * u];
    if (!done.insert(orbit).second) continue;
    std::uint64_t difference = 0;
    for (const auto& [v, image] : c.tau) difference += (pairs[c.a + n * v] == orbit) != (pairs[c.b + n * image] == orbit) ? 1 : 0;
    if (difference > best) best = difference, best_u = u;
  }
  if (best > 0) {
    d.add_floor(share * ratio(best, 12), fill("F(X)_i = (sum of X[0][v] over (i,v) in the orbit of ({0},{1}) under G) e_1", {a, std::to_string(d.token(best_u))}), domain, rule);
    add_distance(d, question, pairs, pairs[c.a + n * best_u], true);
    return;
  }
  if (!all || d.directions < 2 || n > 60) return none();  // two coordinates of a raw token that do not depend on each other
  const std::vector<std::uint32_t> triples = label_tuples(target, n, 3);
  for (const auto& [u, tau_u] : c.tau) {
    for (const auto& [v, tau_v] : c.tau) {
      const std::uint32_t orbit = triples[c.a + n * (u + n * v)];
      if (triples[c.b + n * (tau_u + n * tau_v)] == orbit) continue;
      std::uint64_t difference = 0;
      for (const auto& [x, tau_x] : c.tau) for (const auto& [y, tau_y] : c.tau)
        difference += (triples[c.a + n * (x + n * y)] == orbit) != (triples[c.b + n * (tau_x + n * tau_y)] == orbit) ? 1 : 0;
      d.add_floor(share * ratio(difference, 144), fill("F(X)_i = (sum of X[0][u] X[1][v] over (i,u,v) in the orbit of ({0},{1},{2}) under G) e_1",
                                                              {a, std::to_string(d.token(u)), std::to_string(d.token(v))}), cube(d, "[-1/2,1/2]", true), rule);
      add_distance(d, question, triples, orbit, false);
      return;
    }
  }
  none();
}

void add_pre_layernorm_floor(Derivation& d) {
  const std::string domain = "each token: |mean part| <= 1 and |rest| <= 1, uniform", rule = "pre-LayerNorm translation (theory 3.7)";
  const std::string along = "F(X)_i = (the component of X_i along (1,..,1)/sqrt d)";
  const Json& last = d.a["output"]["norm"];
  // Behind a norm of the raw tokens their mean parts are no mean parts any more, and its gains may be 0 (16.50).
  if (real(d.a["input"]["norm"])) return d.add_floor({}, "F(X)_i = cos(20 times the component of X_i along (1,..,1)/sqrt d) e_1", domain, rule);
  // A layer of no sublayers leaves tokens as they are, residual or not (16.88).
  const bool replaces = !d.a["block"]["residual"].boolean() &&
                        std::ranges::any_of(d.a["layer"].array(), [](const Json& l) { return !l["mixer"]["kind"].is("tokenwise") || has_feedforward(l); });
  if (replaces || (real(last) && last["kind"].is("layernorm"))) return d.add_floor(ratio(d.n, 3), along + " e_1", domain, rule);
  if (real(last)) {  // RMSNorm reads the own mean part, nothing reads that of others (16.21)
    if (d.n > 1 && d.target_class == ClassKind::all)
      return d.add_floor(ratio(Natural(d.n) * (d.n - 1), 3), "F(X)_i = (sum over j != i of the component of X_j along (1,..,1)/sqrt d) e_1", domain, rule);
    return d.add_floor({}, "F(X)_i = cos(20 times the component of X_i along (1,..,1)/sqrt d) e_1", domain, rule);
  }
  // With a head the network is affine along the all-ones direction of every token; t^2 on [-1,1] is 4/45 away from affine functions.
  if (!d.a["output"]["head"].is("none")) return d.add_floor(ratio(Natural(4) * d.n, 45), along + "^2 e_1", domain, rule);
  const std::int64_t outputs = std::min(d.dim, d.output_dim);  // each of them moves with the mean part (16.59)
  d.add_floor(Rational(static_cast<std::int64_t>(d.n)) * outputs / (d.dim * 3), "F(X)_i = 0", domain, rule);
}

void add_sphere_floor(Derivation& d) {
  const std::string rule = "values in the range of the last norm (theory 3.8)";
  const bool ids = d.a["input"]["embedding"].is("table");
  const std::string domain = ids ? ids_domain(d) : cube(d, "[-1,1]");
  const std::string labels = d.rank.affine < d.dim ? "F(X)_i = 0, e_1, .., e_d at d + 1 target labels" : "F(X)_i = e_1 + .. + e_d at one target label, twice that at the others";
  if (d.rank.sphere_gain) return d.add_floor({}, ids ? labels : "F(X)_i at the corners and the centre of a cube", domain, rule);
  d.add_floor(whole(Natural(d.n) * static_cast<std::uint64_t>(d.dim)), d.rank.sphere_open_ball ? "F(X)_i = 2 sqrt(d) e_1" : "F(X)_i = 0", domain, rule);
}

void add_output_rank_floor(Derivation& d, std::int64_t wanted) {
  const std::int64_t excess = wanted - std::max(d.rank.affine, d.rank.anywhere);
  const std::string rule = "output rank (theory 15.2)", count = std::to_string(wanted);
  std::optional<Rational> value;
  if (d.a["input"]["embedding"].is("table")) {
    if (excess > 0 && d.vocabulary && static_cast<std::int64_t>(*d.vocabulary) >= wanted) {
      const auto v = static_cast<std::int64_t>(*d.vocabulary);
      // As many ids as fit: their one-hot codes are no witness, more labels are (16.32).
      if (excess == 1 && v == wanted) return d.add_floor({}, "F(X)_i = e_k at the k-th of the first " + count + " target labels, 0 at all others", ids_domain(d), rule);
      value = (Rational(excess - 1) / v + Rational(v - wanted) / (Rational(v) * v)) * static_cast<std::int64_t>(d.ordinary);
    }
    return d.add_floor(value, "F(X)_i = one-hot of the id of token i (the first " + count + " ids)", ids_domain(d), rule);
  }
  const bool wide = d.raw >= wanted && !centred(d);  // the coordinates of a centred token are dependent
  if (excess > 0) value = Rational(static_cast<std::int64_t>(d.n)) * excess / (wide ? 3 : 1);
  if (wide) return d.add_floor(value, "F(X)_i = the first " + count + " coordinates of X_i", "[-1,1]^(d n)", rule);
  d.add_floor(value, "F(X)_i = sqrt(2) (cos 2 pi t, cos 4 pi t, .., " + count + " terms), t = X[0][i]", cube(d, "[0,1]"), rule);
}

void add_input_rank_floor(Derivation& d, std::int64_t kept) {
  const bool all = d.target_class == ClassKind::all;  // else every token is asked about itself
  const Rational n = static_cast<std::int64_t>(d.n), asked = all ? n : Rational(1), dimension = asked * d.directions, e = dimension - asked * kept, half = dimension / 2;
  const Rational value = Rational(4) * e / ((e + 4) * (e + 2) * (e + 2)) * ((e / 2 + 1) * (e / 2 + 2)) / ((half + 1) * (half + 2));
  d.add_floor(n * value, all ? "F(X)_i = |X|^2 e_1" : "F(X)_i = |X_i|^2 e_1", all ? "the unit ball of the raw inputs" : "the unit ball of every raw token",
              "input rank (theory 15.6 F)");
}

void add_ray_floor(Derivation& d) {
  std::optional<Rational> value;
  const Rational two = d.raw + 2;
  if (!d.a["input"]["domain"].is("centred")) value = Rational(static_cast<std::int64_t>(d.n)) * 12 / (two * two * two * (two + 2));
  d.add_floor(value, "F(X)_i = X[0][i]^2 e_1", "the unit ball of every raw token", "input rank (theory 15.6 F)");
}

void add_odd_floor(Derivation& d, bool to_the_end) {
  const Rational n = static_cast<std::int64_t>(d.n);
  if (to_the_end) d.add_floor(n, "F(X)_i = e_1 (a constant)", cube(d, "[-1,1]"), "odd network (theory 3.4)");
  else d.add_floor(n * 4 / 45, "F(X)_i = X[0][i]^2 e_1", cube(d, "[-1,1]"), "odd network (theory 3.4)");
}

void add_homogeneous_floor(Derivation& d) {
  const Rational n = static_cast<std::int64_t>(d.n), dimension = n * d.directions, one = dimension + 1, two = dimension + 2, three = dimension + 3;
  // X[0] of a centred token is sqrt((d - 1)/d) times a coordinate of the hyperplane.
  const Rational share = centred(d) ? Rational(d.raw - 1) / d.raw : Rational(1);
  const std::string domain = centred(d) ? "the unit ball of the raw inputs" : "the unit ball of R^(d n)", rule = "positively homogeneous network (theory 3.5)";
  if (real(d.a["output"]["norm"])) d.add_floor({}, "F(X)_i = cos(20 X[0][i]) e_1", domain, rule);
  else if (d.a["output"]["head"].is("none")) d.add_floor(n / (one * one), "F(X)_i = e_1 (a constant)", domain, rule);
  else d.add_floor(share * share * n * 2 * one / (two * two * three * three * (dimension + 4)), "F(X)_i = X[0][i]^2 e_1", domain, rule);
}

void add_affine_floor(Derivation& d) {
  const std::string domain = cube(d, "[0,1]"), rule = "affine network (theory 3.6)";
  if (real(d.a["output"]["norm"])) return d.add_floor({}, "F(X)_i = cos(20 X[0][i]) e_1", domain, rule);
  d.add_floor(Rational(static_cast<std::int64_t>(d.n)) / 180, "F(X)_i = X[0][i]^2 e_1", domain, rule);
}

void add_unseen_ids_floor(Derivation& d, const Natural& pairs) {
  Rational value = whole(pairs);
  if (d.vocabulary && *d.vocabulary % 2 == 1) value = value * (Rational(1) - ratio(1, Natural(*d.vocabulary) * *d.vocabulary));
  d.add_floor(value, "F(X)_i = (sum of +-1 over the tokens i should see: +1 for the first half of the ids) e_1", ids_domain(d), "unseen tokens (theory 15.5 D7)");
}

void add_label_floor(Derivation& d, IdFloor kind) {
  const std::uint64_t n = d.n, v = d.vocabulary.value_or(0);
  const std::vector<Vertex> orbit = orbits(d.target_is_layout ? d.layout_group.group : d.target);
  std::map<Vertex, std::uint64_t> sizes;
  for (const Vertex least : orbit) ++sizes[least];
  const std::string domain = ids_domain(d), alone = "F(X)_{0} = e_1, F(X)_i = 0 for i != {0}";
  const bool known = d.vocabulary && n <= largest_exponent;
  std::optional<Rational> value;
  if (kind == IdFloor::constant_prefixes) {
    if (n > 1 && sizes[orbit[0]] != 1) return;
    if (d.vocabulary) {  // q = sum over i = 1 .. n-1 of V^-i, or the first terms of many, floor q / (1 + q)
      const std::uint64_t terms = n <= largest_exponent ? n - 1 : 16;
      const Natural top = power(v, terms), q = v == 1 ? Natural(terms) : (top - 1) / (v - 1);
      value = ratio(q, q + top);
    }
    d.add_floor(value, "F(X)_0 = e_1, F(X)_i = 0 for i >= 1", domain, "constant prefixes (theory 15.5 D3)");
  } else if (kind == IdFloor::constant_sequences) {
    if (sizes.size() < 2) return;
    std::pair<Vertex, std::uint64_t> best{0, 0};
    for (const auto& [least, size] : sizes) if (best.second == 0 || size * (n - size) > best.second * (n - best.second)) best = {least, size};
    if (known) value = ratio(best.second * (n - best.second), Natural(n) * power(v, n - 1));
    const std::string least = std::to_string(best.first), many = "F(X)_i = e_1 for the " + std::to_string(best.second) + " tokens of the orbit of " + least + ", else 0";
    d.add_floor(value, best.second == 1 ? fill(alone, {least}) : many, domain, "constant sequences (theory 15.5 D3)");
  } else if (kind == IdFloor::linformer) {
    Vertex first = d.a["input"]["bos"].boolean() ? 1 : 0;
    while (first < n && sizes[orbit[first]] != 1) ++first;
    const std::string rule = "equal ids stay equal (theory 15.4)";
    if (first >= n) return d.add_floor({}, "F(X)_i = e_1 for the tokens of one orbit of G, else 0", domain, rule);
    if (d.vocabulary && d.ordinary <= largest_exponent)
      value = Rational(1) - whole(v) * (Rational(1) - ratio(power(v - 1, d.ordinary), power(v, d.ordinary))) / static_cast<std::int64_t>(d.ordinary);
    d.add_floor(value, fill(alone, {std::to_string(first)}), domain, rule);
  } else if (kind == IdFloor::max_of_three) {
    d.add_floor(Rational(2), "F(X)_i = (sum over j of +1 for one id, -1 for the other) e_1", "uniform over all id sequences", "maximum forgets counts (theory 15.5 D2)");
  } else if (kind == IdFloor::collision) {
    if (known) value = ratio(1, Natural(2) * power(v, d.ordinary));
    d.add_floor(value, "F = e_1 on the first of the two labelled sequences and its images under G, else 0", domain, "two sequences with one label (theory 15.4)");
  }
}

void add_overlap_floor(Derivation& d, const std::optional<Collision>& collision, bool for_every_group) {
  const double box = d.a["target"]["box"].number();
  std::string side = print(d.a["target"]["box"]);
  if (side.size() > 2 && side.substr(side.size() - 2) == ".0") side.resize(side.size() - 2);
  const std::string domain = (centred(d) ? "centred tokens of " : "") + fill("[-{0},{0}]^(d n)", {side}), rule = "fixed positions overlap (theory 3.9)";
  if (for_every_group) return d.add_floor({}, "F(X)_i = X_i + (sum over j of |X_j|^2) e_1", domain, rule);
  const std::vector<Vertex> orbit = orbits(d.target_is_layout ? d.layout_group.group : d.target);
  if (!collision || orbit[collision->a] == orbit[collision->b]) return d.add_floor({}, "a target that differs on two inputs which the table makes equal", domain, rule);
  const std::string exchanged = fill("F(X)_{0} = 0, F(X)_{1} = e_1", {std::to_string(collision->a), std::to_string(collision->b)});
  if (centred(d)) return d.add_floor({}, exchanged, domain, rule);  // the share of such inputs is not a product over coordinates
  double share = 0.5;  // every factor is taken 2^-50 smaller, more than its rounding; 1e-9 covers the products and sines
  for (const auto& [i, j] : collision->tau) {
    for (std::size_t k = 0; i != j && k < static_cast<std::size_t>(d.dim); ++k) share *= std::max(0.0, 1 - std::abs(position_entry(d, i, k) - position_entry(d, j, k)) / (2 * box) - 0x1p-50);
  }
  const double scaled = std::floor(share * (1 - 1e-9) * 1e12);
  std::optional<Rational> value;
  if (scaled >= 1) value = ratio(static_cast<std::uint64_t>(scaled), 1000000000000);
  d.add_floor(value, exchanged, domain, rule);
}

namespace {

/// Which rows the box can make equal.
class RowOverlap {
public:
  explicit RowOverlap(const Derivation& d)
      : d_(d), width_(2 * d.a["target"]["box"].number()), fixed_(d.a["input"]["positions"].is("fixed")), centred_(d.a["input"]["domain"].is("centred")) {
    const Json& front = d.a["input"]["norm"];
    layernorm_ = real(front) && front["kind"].is("layernorm");
    for (const Json& layer : d.a["layer"].array()) layernorm_ = layernorm_ || layer["norm"]["kind"].is("layernorm");
    if (!centred_ && !fixed_ && width_ >= 2) return;  // sines and cosines of a table differ by less than 2 (16.95)
    double widest = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(d.dim); ++k) {
      poll_now();
      Column column{k, std::vector<double>(d.n)};
      for (std::size_t p = 0; p < d.n; ++p) column.entry[p] = position_entry(d, p, k);
      const auto [low, high] = std::ranges::minmax(column.entry);
      if (!centred_ && high - low < width_ - slack(low, high)) continue;
      columns_.push_back(std::move(column));
      if (high - low > widest && !centred_) std::swap(columns_.front(), columns_.back()), widest = high - low;
    }
  }
  bool close = false;  ///< some sine lies near the edge of the box
  bool exact = true;   ///< whatever was confused is equal

  bool overlap(std::size_t i, std::size_t j) {
    if (centred_) return overlap_centred(i, j);
    return std::ranges::none_of(columns_, [&](const Column& column) { return apart(i, j, column); });
  }
  /// use(i, j) for every pair that overlaps, once.
  template <class Use>
  void visit(const Use& use) {
    std::vector<std::size_t> order(d_.n);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const bool sorted = !centred_ && !columns_.empty();
    if (sorted) std::ranges::sort(order, {}, [&](std::size_t i) { return columns_.front().entry[i]; });
    for (std::size_t p = 0; p < order.size(); ++p) {
      poll();
      for (std::size_t q = p; q-- > 0;) {
        if (sorted) {  // in this column all that come before are farther still
          const double low = columns_.front().entry[order[q]], high = columns_.front().entry[order[p]];
          if (high - low > width_ + slack(low, high)) break;
        }
        if ((q & 1023U) == 0) poll_now();
        if (overlap(order[p], order[q])) use(order[p], order[q]);
      }
    }
  }
  [[nodiscard]] bool all_overlap() const { return !centred_ && columns_.empty(); }

private:
  struct Column {
    std::size_t k;
    std::vector<double> entry;
  };
  /// More than rounding.
  [[nodiscard]] double slack(double x, double y) const { return 1e-6 * std::max({1.0, std::abs(x), std::abs(y), width_}); }
  bool apart(std::size_t i, std::size_t j, const Column& column) {
    const double a = column.entry[i], b = column.entry[j], gap = std::abs(a - b);
    if (std::abs(gap - width_) > 1e-9 * std::max({1.0, std::abs(a), std::abs(b), width_})) return gap > width_;
    if (!fixed_) return close = true, gap >= width_;
    const Rational x = decimal(d_.a["input"]["table"][i][column.k]), y = decimal(d_.a["input"]["table"][j][column.k]);
    return !((x < y ? y - x : x - y) < decimal(d_.a["target"]["box"]) * 2);
  }
  /// Centred tokens: x + e_i = x' + e_j asks e_i - e_j to be centred too; behind a LayerNorm only up to the mean, and then they are not equal (16.21).
  bool overlap_centred(std::size_t i, std::size_t j) {
    bool inside = true;
    if (!fixed_) {
      double sum = 0;
      for (const Column& x : columns_) sum += x.entry[i] - x.entry[j];
      if (!layernorm_ && std::abs(sum) > 1e-6) return false;
      for (const Column& x : columns_) inside = inside && std::abs(x.entry[i] - x.entry[j] - sum / static_cast<double>(d_.dim)) < width_ + 1e-9;
      exact = exact && !inside;
      return inside;
    }
    Rational sum = 0;
    std::vector<Rational> gap;
    for (std::size_t k = 0; k < columns_.size(); ++k) gap.push_back(decimal(d_.a["input"]["table"][i][k]) - decimal(d_.a["input"]["table"][j][k])), sum = sum + gap.back();
    if (!layernorm_ && !sum.is_zero()) return false;
    for (const Rational& g : gap) {
      const Rational rest = g - sum / d_.dim;
      inside = inside && (rest.negative() ? Rational(0) - rest : rest) < decimal(d_.a["target"]["box"]) * 2;
    }
    exact = exact && (!inside || sum.is_zero());
    return inside;
  }

  const Derivation& d_;
  double width_;
  bool fixed_, centred_, layernorm_ = false;
  std::vector<Column> columns_;  ///< in which some rows may be apart, the widest first; centred tokens: all
};

}  // namespace

/// Colours tokens by the connected components of "rows differ by less than the box is wide, in every coordinate"; are they cliques?
Overlaps recolour_by_overlap(const Derivation& d, Layout& layout) {
  RowOverlap rows(d);
  if (rows.all_overlap()) {
    std::fill_n(layout.vertex_colour.begin(), d.n, 1);
    return Overlaps::exact;
  }
  std::vector<std::size_t> parent(d.n), degree(d.n, 0), size(d.n, 0);  // the least of a component is its root
  for (std::size_t i = 0; i < d.n; ++i) parent[i] = i;
  const auto root = [&](std::size_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  rows.visit([&](std::size_t i, std::size_t j) {
    ++degree[i], ++degree[j];
    const std::size_t a = root(i), b = root(j);
    parent[std::max(a, b)] = std::min(a, b);
  });
  if (rows.close) d.trusted.push_back("sines of the position table that lie within 1e-9 of the edge of the box are taken as computed");
  bool cliques = true;
  for (std::size_t i = 0; i < d.n; ++i) ++size[root(i)];
  for (std::size_t i = 0; i < d.n; ++i) layout.vertex_colour[i] = root(i) + 1, cliques = cliques && degree[i] + 1 == size[root(i)];
  return !rows.exact ? Overlaps::unsettled : cliques ? Overlaps::exact : Overlaps::by_pairs;
}

ExchangedRows find_exchanged_rows(const Derivation& d, const Group& group, const Group& harmless, bool keeping_rows) {
  using Images = std::vector<Vertex>;
  const auto n = static_cast<Vertex>(d.n);
  const Chain chain_of_harmless(harmless);
  const auto& row = d.layout.vertex_colour;
  const auto is_harmless = [&](const Permutation& g) {
    for (Vertex i = 0; i < n && keeping_rows; ++i) {
      if (row[g(i)] != row[i]) return false;  // what looks alike differs by the rows (16.24 f)
    }
    return chain_of_harmless.contains(g);
  };
  const std::vector<Permutation> generators = list_generators(group, ~std::size_t{0});
  ExchangedRows result;
  result.complete = std::all_of(generators.begin(), generators.end(), is_harmless);
  if (result.complete || n > 4096) return result;
  RowOverlap rows(d);
  if (n > 64) {  // transpositions of neighbours
    const Chain chain(group);
    for (Vertex i = n - 1; i > 0 && !result.first; --i) {
      const Permutation exchange({{i - 1, i}, {i, i - 1}});
      if (!rows.overlap(i, i - 1) || !chain.contains(exchange) || is_harmless(exchange)) continue;
      result.first = Collision{i - 1, i, {}};
      for (Vertex j = 0; j < n; ++j) result.first->tau.emplace_back(j, exchange(j));
    }
    return result;
  }
  std::vector<std::vector<char>> overlap(n, std::vector<char>(n, 1));
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < i; ++j) overlap[i][j] = overlap[j][i] = rows.overlap(i, j) ? 1 : 0;
  }
  const auto to_permutation = [&](const Images& images) {
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (Vertex i = 0; i < n; ++i) moves.emplace_back(i, images[i]);
    return Permutation(std::move(moves));
  };
  std::pair<std::size_t, Images> best{0, {}};
  const auto consider = [&](const Images& images) {
    std::size_t moved = 0;
    for (Vertex i = 0; i < n; ++i) {
      if (overlap[i][images[i]] == 0) return;
      moved += images[i] == i ? 0 : 1;
    }
    if (moved == 0 || (best.first > 0 && best <= std::pair(moved, images)) || is_harmless(to_permutation(images))) return;
    best = {moved, images};
  };
  Images identity(n);
  for (Vertex i = 0; i < n; ++i) identity[i] = i;
  constexpr std::size_t most = 5040;
  std::set<Images> elements{identity};
  for (std::vector<Images> newest{identity}; !newest.empty() && elements.size() <= most;) {
    std::vector<Images> found;
    for (const Images& element : newest) {
      for (const Permutation& g : generators) {
        if (elements.size() > most) break;
        Images product = element;
        for (Vertex& x : product) x = g(x);
        if (elements.insert(product).second) found.push_back(std::move(product));
      }
    }
    newest = std::move(found);
  }
  result.complete = elements.size() <= most;
  if (result.complete) {
    for (const Images& images : elements) consider(images);
  } else {
    const Chain chain(group);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < i; ++j) {
        if (overlap[i][j] == 0 || !chain.contains(Permutation({{j, i}, {i, j}}))) continue;
        Images images = identity;
        std::swap(images[i], images[j]);
        consider(images);
      }
    }
  }
  if (best.first == 0) return result;
  const std::vector<Vertex> orbit = orbits(harmless);
  const Images& tau = best.second;
  std::optional<Vertex> a;  // whose image lies in another orbit, if there is one
  for (Vertex i = 0; i < n; ++i) {
    if (tau[i] != i && (!a || (orbit[*a] == orbit[tau[*a]] && orbit[i] != orbit[tau[i]]))) a = i;
  }
  result.first = Collision{*a, tau[*a], {}};
  for (Vertex i = 0; i < n; ++i) result.first->tau.emplace_back(i, tau[i]);
  return result;
}

/// Does a norm make different rows of a fixed table equal: LayerNorm takes the mean away, eps = 0 the length?
bool norms_merge_rows(const Json& a) {
  if (!a["input"]["positions"].is("fixed")) return false;
  bool layernorm = false, no_eps = false;
  const auto look_at = [&](const Json& norm) {
    layernorm = layernorm || (real(norm) && norm["kind"].is("layernorm")), no_eps = no_eps || (real(norm) && norm["eps"].number() == 0);
  };
  for (const Json& layer : a["layer"].array()) look_at(layer["norm"]);
  look_at(a["input"]["norm"]);
  if (!layernorm && !no_eps) return false;
  std::map<std::string, const Json*> seen;  // what the norm leaves of a row, up to the number of its entries -> the row
  for (const Json& row : a["input"]["table"].array()) {
    std::vector<Rational> left;
    Rational sum = 0, largest = 0;
    for (const Json& x : row.array()) left.push_back(decimal(x)), sum = sum + left.back();
    for (Rational& x : left) {
      if (layernorm) x = x * static_cast<std::int64_t>(left.size()) - sum;
      const Rational size = x.negative() ? Rational(0) - x : x;
      if (largest < size) largest = size;
    }
    std::string key;
    for (const Rational& x : left) key += (no_eps && !largest.is_zero() ? x / largest : x).text() + " ";
    const auto [place, fresh] = seen.emplace(key, &row);
    if (!fresh && !(*place->second == row)) return true;
  }
  return false;
}

}  // namespace checker
