#include "sightline/design/front.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/base/error.hpp"
#include "sightline/design/closed_forms.hpp"
#include "sightline/design/search.hpp"
#include "sightline/design/two_closure.hpp"
#include "sightline/group/chain.hpp"
#include "sightline/group/expression.hpp"

namespace sightline::design {

std::string to_word(PointKind kind) {
  switch (kind) {
  case PointKind::single:
    return "single";
  case PointKind::several:
    return "several";
  case PointKind::coloured:
    return "coloured";
  case PointKind::gather_broadcast:
    return "gather-broadcast";
  case PointKind::registers:
    return "registers";
  }
  throw InternalError("unknown kind of point");
}

namespace {

constexpr std::uint64_t most_register_pairs = 100'000;
constexpr Point most_certified = 5000; ///< tokens of closed forms that the certifier is asked about
constexpr Point most_certified_intransitive =
    100; ///< the same for groups under which every token may have a view of its own
constexpr std::uint64_t most_certified_layers = 64;
constexpr Point closed_forms_from = 512; ///< tokens; below, the general search finds the same points and more

/// All elements of a small group, the identity first, by breadth.
std::vector<group::Images> list_group_elements(const group::Group& group, const Budget& budget) {
  std::vector<group::Images> generators;
  for (const auto& g : group::list_generators(group, ~std::size_t{0}))
    generators.push_back(g.images(group.degree));
  group::Images identity(group.degree);
  for (Point x = 0; x < group.degree; ++x)
    identity[x] = x;
  std::vector<group::Images> elements{identity};
  std::map<group::Images, bool> seen{{identity, true}};
  for (std::size_t k = 0; k < elements.size(); ++k) {
    budget.poll();
    for (const group::Images& g : generators) {
      group::Images product = group::compose(g, elements[k]);
      if (seen.emplace(product, true).second)
        elements.push_back(std::move(product));
    }
  }
  return elements;
}

/// theory.md 7.6: register g and token g(k) attend to each other in head k. Reading first, being read second.
std::optional<FrontPoint> find_registers(const Request& request, std::vector<std::string>& notes,
                                         const Budget& budget) {
  const std::optional<mpz_class> order = request.group.order.value(20);
  const std::uint64_t n = request.group.degree;
  if (!order || *order * static_cast<unsigned long>(n) > static_cast<unsigned long>(most_register_pairs)) {
    notes.push_back("one register per element of the group was not offered: |G| n is above 100,000");
    return std::nullopt;
  }
  if (request.registers && *order > static_cast<unsigned long>(*request.registers)) {
    notes.push_back(fmt::format("one register per element of the group needs {} registers, at most {} are allowed",
                                order->get_str(), *request.registers));
    return std::nullopt;
  }
  if (request.layers && *request.layers < 2)
    return std::nullopt;
  const std::vector<group::Images> elements = list_group_elements(request.group, budget);
  const std::uint64_t registers = elements.size();
  layout::PatternSpec gather, broadcast;
  gather.kind = broadcast.kind = layout::PatternKind::per_head;
  for (Point k = 0; k < n; ++k) {
    std::vector<std::vector<std::int64_t>> reads(n + registers), read(n + registers);
    for (std::uint64_t g = 0; g < registers; ++g) {
      const std::uint64_t vertex = n + g;
      reads[vertex].push_back(elements[g][k]);
      read[elements[g][k]].push_back(static_cast<std::int64_t>(vertex));
      read[vertex].push_back(static_cast<std::int64_t>(vertex));
    }
    for (Point i = 0; i < n; ++i)
      reads[i].push_back(i);
    gather.of.push_back(make_rows_spec(std::move(reads)));
    broadcast.of.push_back(make_rows_spec(std::move(read)));
  }
  Candidate candidate;
  candidate.kind = PointKind::registers;
  candidate.registers = registers;
  candidate.whole_list_once = true;
  candidate.layers = {{std::move(gather), n * registers}, {std::move(broadcast), n * registers}};
  candidate.description = fmt::format("{} equal registers, one per element of the group, {} heads", registers, n);
  std::optional<FrontPoint> point = certify_candidate(request, candidate, 2, budget);
  if (!point) {
    notes.push_back("the registers of theory 7.6 were beyond the certifier's bounds");
    return std::nullopt;
  }
  // Every register must read and be read, or it could be left out; and every token must be read, and read.
  point->lower_bound = 2 * n;
  return point;
}

/// A group that is 2-closed needs no registers; they are offered where nothing else with two layers costs as little,
/// and the file stays small (a row of every token in every head).
bool worth_registers(std::uint64_t tokens, std::uint64_t order, std::uint64_t fewest_pairs) {
  return tokens > 1 && order < 1000 && 2 * tokens * order < fewest_pairs && tokens * (tokens + order) <= 20'000;
}

void mark_nondominated(std::vector<FrontPoint>& front) {
  for (FrontPoint& p : front) {
    p.nondominated = std::none_of(front.begin(), front.end(), [&](const FrontPoint& q) {
      const bool as_good = q.layers <= p.layers && q.pairs <= p.pairs && q.registers <= p.registers;
      return as_good && (q.layers < p.layers || q.pairs < p.pairs || q.registers < p.registers);
    });
  }
}

/// Of every kind what no other point of the kind beats in layers, pairs and pairs per list.
void drop_beaten(std::vector<FrontPoint>& front) {
  std::vector<FrontPoint> kept;
  for (std::size_t k = 0; k < front.size(); ++k) {
    const FrontPoint& p = front[k];
    const auto beats = [&](const FrontPoint& q) {
      return q.kind == p.kind && q.layers <= p.layers && q.pairs <= p.pairs && q.pattern_pairs <= p.pattern_pairs;
    };
    const bool beaten =
        std::any_of(kept.begin(), kept.end(), beats) ||
        std::any_of(front.begin() + static_cast<std::ptrdiff_t>(k) + 1, front.end(), [&](const FrontPoint& q) {
          return beats(q) && !(q.layers == p.layers && q.pairs == p.pairs && q.pattern_pairs == p.pattern_pairs);
        });
    if (!beaten)
      kept.push_back(std::move(front[k]));
  }
  front = std::move(kept);
}

void finish(Design& design) {
  std::stable_sort(design.front.begin(), design.front.end(), [](const FrontPoint& a, const FrontPoint& b) {
    return std::tie(a.layers, a.pairs, a.registers, a.kind) < std::tie(b.layers, b.pairs, b.registers, b.kind);
  });
  mark_nondominated(design.front);
}

/// Has every point of the family's small member been certified, with the kernel asked for?
bool is_small_member_certified(const Request& request, const ClosedForm& form, const Budget& budget) {
  Request small = request;
  small.group = group::parse_group(form.small, std::nullopt, {}, budget);
  small.symmetry = small.closed_form = form.small;
  small.layers = small.registers = std::nullopt;
  const std::optional<ClosedForm> same = find_closed_form(form.small);
  return same && std::all_of(same->points.begin(), same->points.end(), [&](const ClosedForm::Point& point) {
           const std::optional<FrontPoint> found = certify_candidate(small, point.candidate, point.layers, budget);
           return found && found->layers == point.layers;
         });
}

/// Certifies a point of a closed form, or takes it by proof where that would take long. Nothing beyond the limits asked
/// for.
class KnownPoints {
public:
  KnownPoints(const Request& request, const ClosedForm& form, const Budget& budget)
      : request_(request), form_(form), budget_(budget) {}

  std::optional<FrontPoint> make(const ClosedForm::Point& known) {
    const auto& [candidate, layers, least] = known;
    if (candidate.registers > request_.registers.value_or(candidate.registers) ||
        layers > request_.layers.value_or(layers))
      return std::nullopt;
    std::optional<FrontPoint> point;
    const Point most = form_.transitive ? most_certified : most_certified_intransitive;
    if (request_.group.degree > most || layers > most_certified_layers) {
      if (!small_is_certified_)
        small_is_certified_ = is_small_member_certified(request_, form_, budget_);
      if (!*small_is_certified_)
        return std::nullopt;
      point = make_point(request_, candidate, layers);
      point->by_proof = true;
    } else {
      point = certify_candidate(request_, candidate, layers, budget_);
    }
    if (point)
      point->lower_bound = std::min(least, point->pairs);
    return point;
  }

  /// Whether some point was taken by proof.
  [[nodiscard]] bool used_proof() const { return small_is_certified_.value_or(false); }

private:
  const Request& request_;
  const ClosedForm& form_;
  const Budget& budget_;
  std::optional<bool> small_is_certified_;
};

std::string explain_proof(const ClosedForm& form) {
  return fmt::format(
      "points marked + are proved for every length (docs/theory.md 16.9) and certified for {}; `certify` "
      "takes their files at this length too, with more time",
      form.small);
}

void make_closed_form(const Request& request, const ClosedForm& form, Design& design, const Budget& budget) {
  design.two_closed = true; // each is the automorphism group of its E
  design.name = form.name;
  KnownPoints points(request, form, budget);
  for (const ClosedForm::Point& known : form.points) {
    std::optional<FrontPoint> point = points.make(known);
    if (!point)
      continue;
    // Families with more than 16 orbitals were not looked through, even where the bound is met.
    point->proved = form.few_orbitals && point->lower_bound == point->pairs;
    design.front.push_back(std::move(*point));
  }
  drop_beaten(design.front);
  design.notes.push_back(
      "closed form: the points known for this family; other layouts were not searched at this length");
  if (points.used_proof())
    design.notes.push_back(explain_proof(form));
  if (request.group.degree > 20'000)
    design.notes.push_back("both hub layers use every pair that touches the register: with rows of their own they "
                           "would cost 2n pairs less");
  if (design.front.empty())
    design.notes.push_back("no point of this family can be certified with these limits");
}

} // namespace

Design make_design(const Request& request, const Budget& budget) {
  if (request.causal && !request.group.is_trivial()) {
    throw InputError(fmt::format(
        "--causal: expected a trivial symmetry, because causal functions treat every token differently, found order {}",
        request.group.order.factored()));
  }
  Design design;
  if (!request.causal && request.group.degree > closed_forms_from && !request.closed_form.empty()) {
    if (const std::optional<ClosedForm> form = find_closed_form(request.closed_form)) {
      make_closed_form(request, *form, design, budget);
      finish(design);
      return design;
    }
  }
  const Orbitals orbitals = compute_orbitals(request.group, budget);
  group::Group closure = compute_two_closure(request.group, orbitals, budget);
  design.two_closed = closure.order == request.group.order;
  if (!design.two_closed)
    design.closure = std::move(closure);
  if (request.causal) {
    Search search(request, orbitals, budget);
    search.find_causal();
    design.front = std::move(search.points());
    design.notes = std::move(search.notes());
  } else if (design.two_closed) {
    Search search(request, orbitals, budget);
    search.find_single();
    search.find_several();
    search.find_coloured();
    search.find_gather_broadcast();
    if (const std::optional<ClosedForm> form = find_closed_form(request.closed_form)) {
      KnownPoints known(request, *form, budget);
      bool by_proof = false;
      for (const ClosedForm::Point& one : form->points) {
        const std::uint64_t pairs = count_pairs(one.candidate.layers, one.layers);
        if (search.is_beaten(one.candidate.kind, one.layers, pairs, count_pattern_pairs(one.candidate, one.layers)))
          continue;
        std::optional<FrontPoint> point = known.make(one);
        by_proof = by_proof || (point && point->by_proof);
        if (point)
          search.add_known(std::move(*point));
      }
      if (by_proof)
        search.notes().push_back(explain_proof(*form));
    }
    std::optional<FrontPoint> point;
    if (const auto order = request.group.order.value(9);
        order && worth_registers(request.group.degree, order->get_ui(), search.find_fewest_pairs(2))) {
      point = find_registers(request, search.notes(), budget);
    }
    design.front = std::move(search.points());
    if (point)
      design.front.push_back(std::move(*point));
    design.notes = std::move(search.notes());
  } else {
    if (std::optional<FrontPoint> point = find_registers(request, design.notes, budget))
      design.front.push_back(std::move(*point));
  }
  if (request.group.degree == 1)
    design.notes.push_back("one token: there is nothing to mix");
  finish(design);
  return design;
}

} // namespace sightline::design
