#include "sightline/group/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"

namespace sightline::group {

namespace {

constexpr std::int32_t root = -1;
constexpr std::int32_t unreached = -2;
/// Consecutive random elements that must bring nothing new before the proof is tried.
constexpr Threshold<int> quiet_before_proof{12, 0, "quiet chain"};
constexpr int quiet_between_generators = 3;
/// Where the order is known, patience costs less than a proof: a few hundred generators take as many steps to mix.
constexpr int quiet_when_known = 400;
constexpr double most_proof_steps = 1e13;
/// From this degree on every pass over all points counts: fewer random steps, and no weeding out between generators.
constexpr Threshold<Point> large_degree{20000, 3, "large degree"};

void apply_left(const Images& a, Images& g) {
  for (Point& y : g) y = a[y];
}

}  // namespace

Images compose(const Images& a, const Images& b) {
  Images result(b.size());
  for (std::size_t x = 0; x < b.size(); ++x) result[x] = a[b[x]];
  return result;
}

Images invert(const Images& a) {
  Images result(a.size());
  for (std::size_t x = 0; x < a.size(); ++x) result[a[x]] = static_cast<Point>(x);
  return result;
}

bool is_identity(const Images& a) {
  for (std::size_t x = 0; x < a.size(); ++x) {
    if (a[x] != x) return false;
  }
  return true;
}

RandomElements::RandomElements(Point degree, const std::vector<Images>& generators) {
  accumulator_.resize(degree);
  std::iota(accumulator_.begin(), accumulator_.end(), Point{0});
  if (generators.empty()) return;
  const std::size_t slots = std::max<std::size_t>(8, generators.size() + 2);
  for (std::size_t k = 0; k < slots; ++k) state_.push_back(generators[k % generators.size()]);
  const int scramble = degree < large_degree ? 40 : 12;
  for (int step = 0; step < scramble; ++step) (void)next();
}

const Images& RandomElements::next() {
  if (state_.empty()) return accumulator_;
  const std::size_t i = random_() % state_.size();
  std::size_t j = random_() % (state_.size() - 1);
  if (j >= i) ++j;
  const std::uint64_t coin = random_();
  const Images factor = (coin & 1u) ? invert(state_[j]) : state_[j];
  state_[i] = (coin & 2u) ? compose(state_[i], factor) : compose(factor, state_[i]);
  accumulator_ = (coin & 4u) ? compose(accumulator_, state_[i]) : compose(state_[i], accumulator_);
  return accumulator_;
}

StabiliserChain::StabiliserChain(Point degree, const std::vector<Images>& generators, const std::vector<Point>& prefix,
                                 const std::optional<KnownOrder>& known, const Budget& budget)
    : degree_(degree), budget_(&budget), prefix_length_(prefix.size()) {
  const std::optional<mpz_class> known_order = known ? std::optional(known->value) : std::nullopt;
  for (const Point x : prefix) add_level(x);
  std::vector<Images> kept;
  for (std::size_t k = 0; k < generators.size(); ++k) {
    budget.poll();
    if (known_order && order() == *known_order) {
      // Complete already: the rest is redundant, but a generator outside would prove the known order wrong.
      if (!contains(generators[k])) throw InternalError("a stabiliser chain outgrew the order it was told");
      continue;
    }
    if (!add_generator(generators[k])) continue;
    irredundant_.push_back(k);
    kept.push_back(generators[k]);
    if (degree >= large_degree) continue;
    RandomElements random(degree, kept);
    close_at_random(random, quiet_between_generators, known_order);
  }
  RandomElements random(degree, kept);
  close_at_random(random, known ? quiet_when_known : quiet_before_proof, known_order);
  if (!known_order || order() != *known_order) {
    while (!verify_once()) close_at_random(random, quiet_before_proof, known_order);
  }
  if (known && (known->exact ? order() != known->value : order() > known->value)) {
    throw InternalError(fmt::format("a stabiliser chain has order {}, expected {}", order().get_str(), known->value.get_str()));
  }
  budget_ = nullptr;
}

void StabiliserChain::add_level(Point base) {
  Level level;
  level.base = base;
  level.orbit = {base};
  levels_.push_back(std::move(level));
}

std::uint32_t StabiliserChain::store(const Images& g) {
  budget_->ask(static_cast<std::uint64_t>(degree_) * 8);
  elements_.push_back(g);
  inverses_.push_back(invert(g));
  return static_cast<std::uint32_t>(elements_.size() - 1);
}

void StabiliserChain::extend_orbit(Level& level, std::uint32_t element) {
  level.tree.push_back(element);
  if (level.label.empty()) {
    if (elements_[element][level.base] == level.base) return;
    budget_->ask(static_cast<std::uint64_t>(degree_) * 8);
    level.label.assign(degree_, unreached);
    level.label[level.base] = root;
    level.depth.assign(degree_, 0);
  }
  auto reach = [&](Point from, std::uint32_t by) {
    const Point to = elements_[by][from];
    if (level.label[to] != unreached) return;
    level.label[to] = static_cast<std::int32_t>(by);
    level.depth[to] = level.depth[from] + 1;
    level.height = std::max(level.height, level.depth[to]);
    level.orbit.push_back(to);
  };
  const std::size_t old = level.orbit.size();
  for (std::size_t k = 0; k < old; ++k) reach(level.orbit[k], element);
  for (std::size_t k = old; k < level.orbit.size(); ++k) {
    for (const std::uint32_t by : level.tree) reach(level.orbit[k], by);
  }
}

void StabiliserChain::rebuild_tree(Level& level) {
  for (const Point x : level.orbit) level.label[x] = unreached;
  level.orbit = {level.base};
  level.label[level.base] = root;
  level.height = 0;
  for (std::size_t k = 0; k < level.orbit.size(); ++k) {
    const Point from = level.orbit[k];
    for (const std::uint32_t by : level.tree) {
      const Point to = elements_[by][from];
      if (level.label[to] != unreached) continue;
      level.label[to] = static_cast<std::int32_t>(by);
      level.depth[to] = level.depth[from] + 1;
      level.height = std::max(level.height, level.depth[to]);
      level.orbit.push_back(to);
    }
  }
  budget_->take_steps(level.orbit.size() * level.tree.size());
}

void StabiliserChain::flatten_by_powers(Level& level) {
  const std::vector<std::uint32_t> generators(level.generators.begin(), level.generators.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(8, level.generators.size())));
  for (const std::uint32_t generator : generators) {
    Images power = elements_[generator];
    for (std::size_t exponent = 2; exponent < level.orbit.size(); exponent *= 2) {
      budget_->poll();
      power = compose(power, power);
      if (is_identity(power)) break;
      level.tree.push_back(store(power));
    }
  }
  rebuild_tree(level);
}

bool StabiliserChain::too_high(const Level& level, std::uint32_t factor) const {
  const auto logarithm = static_cast<std::uint32_t>(std::bit_width(level.orbit.size()));
  return level.height > factor * (6 + 2 * logarithm);
}

std::size_t StabiliserChain::sift(Images& g, std::size_t start) const {
  for (std::size_t i = start; i < levels_.size(); ++i) {
    const Level& level = levels_[i];
    Point y = g[level.base];
    if (y == level.base) continue;
    if (level.label.empty() || level.label[y] == unreached) return i;
    while (y != level.base) {
      const Images& back = inverses_[static_cast<std::size_t>(level.label[y])];
      apply_left(back, g);
      y = back[y];
    }
  }
  return levels_.size();
}

bool StabiliserChain::insert(const Images& g, std::size_t at) {
  if (at == levels_.size()) {
    Point moved = 0;
    while (moved < degree_ && g[moved] == moved) ++moved;
    if (moved == degree_) return false;
    add_level(moved);
  }
  const std::uint32_t element = store(g);
  // Level 0 is generated by the group's own generators; below, a residue belongs to every level whose base it fixes.
  for (std::size_t i = 1; i <= at; ++i) {
    levels_[i].generators.push_back(element);
    extend_orbit(levels_[i], element);
  }
  return true;
}

bool StabiliserChain::add_generator(const Images& g) {
  Images residue = g;
  if (sift(residue, 0) == levels_.size() && is_identity(residue)) return false;
  if (levels_.empty()) {
    Point moved = 0;
    while (g[moved] == moved) ++moved;
    add_level(moved);
  }
  const std::uint32_t element = store(g);
  levels_[0].generators.push_back(element);
  extend_orbit(levels_[0], element);
  residue = g;
  (void)insert(residue, sift(residue, 0));
  return true;
}

bool StabiliserChain::take_random(Images g) {
  bool learnt = false;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    if (too_high(level, 1) && !is_identity(g)) {
      // g fixes the earlier base points, so it may serve this level; level 0 needs it in the tree only.
      const std::uint32_t element = store(g);
      level.tree.push_back(element);
      for (std::size_t j = 1; j < i; ++j) {
        levels_[j].generators.push_back(element);
        extend_orbit(levels_[j], element);
      }
      if (i > 0) level.generators.push_back(element);
      rebuild_tree(level);
      learnt = true;
      if (too_high(level, 4)) return true;
    }
    Point y = g[level.base];
    if (y == level.base) continue;
    if (level.label.empty() || level.label[y] == unreached) return insert(g, i);
    while (y != level.base) {
      const Images& back = inverses_[static_cast<std::size_t>(level.label[y])];
      apply_left(back, g);
      y = back[y];
    }
  }
  return insert(g, levels_.size()) || learnt;
}

void StabiliserChain::close_at_random(RandomElements& random, int quiet, const std::optional<mpz_class>& known_order) {
  // Even a chain that is complete may have high trees (a cycle of a million points): random members flatten them.
  auto any_too_high = [&] { return std::any_of(levels_.begin(), levels_.end(), [&](const Level& level) { return too_high(level, 1); }); };
  if (!levels_.empty() && too_high(levels_[0], 4)) flatten_by_powers(levels_[0]);
  for (int tries = 0; tries < 64 && any_too_high(); ++tries) {
    budget_->poll();
    (void)take_random(random.next());
  }
  int silent = 0;
  while (silent < quiet) {
    budget_->poll();
    if (known_order && order() == *known_order) return;
    silent = take_random(random.next()) ? 0 : silent + 1;
  }
}

bool StabiliserChain::verify_once() {
  double steps = 0, sift_steps = 0;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    steps += static_cast<double>(level->orbit.size()) * static_cast<double>(level->generators.size()) * (sift_steps + degree_);
    sift_steps += static_cast<double>(level->height) * degree_;
  }
  if (steps > most_proof_steps) {
    throw OutOfReach(fmt::format("the order of a group on {} points could not be proved: about {:.0e} steps are needed, at most {:.0e} are taken",
                                      degree_, steps, most_proof_steps));
  }
  for (std::size_t i = levels_.size(); i-- > 0;) {
    // levels_[i] may be reallocated by insert only right before returning.
    const Level& level = levels_[i];
    for (const Point x : level.orbit) {
      // u maps the base point to x.
      Images back(degree_);
      std::iota(back.begin(), back.end(), Point{0});
      for (Point y = x; y != level.base;) {
        const Images& step = inverses_[static_cast<std::size_t>(level.label[y])];
        apply_left(step, back);
        y = step[y];
      }
      const Images u = invert(back);
      for (const std::uint32_t s : level.generators) {
        budget_->poll();
        const Point to = elements_[s][x];
        if (!level.label.empty() && level.label[to] == static_cast<std::int32_t>(s)) continue;  // an edge of the tree: u is built along it
        Images schreier = compose(elements_[s], u);
        const std::size_t at = sift(schreier, i);
        if (at < levels_.size() || !is_identity(schreier)) {
          (void)insert(schreier, at);
          return false;
        }
      }
    }
  }
  return true;
}

mpz_class StabiliserChain::order() const {
  mpz_class result = 1;
  for (const Level& level : levels_) {
    if (level.orbit.size() > 1) result *= static_cast<unsigned long>(level.orbit.size());
  }
  return result;
}

bool StabiliserChain::contains(const Images& permutation) const {
  Images g = permutation;
  return sift(g, 0) == levels_.size() && is_identity(g);
}

bool StabiliserChain::extends_prefix(std::vector<Point> targets) const {
  for (std::size_t i = 0; i < prefix_length_; ++i) {
    const Level& level = levels_[i];
    Point y = targets[i];
    if (y == level.base) continue;
    if (level.label.empty() || level.label[y] == unreached) return false;
    while (y != level.base) {
      const Images& back = inverses_[static_cast<std::size_t>(level.label[y])];
      for (std::size_t k = i; k < targets.size(); ++k) targets[k] = back[targets[k]];
      y = back[y];
    }
  }
  return true;
}

std::vector<std::size_t> StabiliserChain::orbit_lengths() const {
  std::vector<std::size_t> lengths;
  for (const Level& level : levels_) lengths.push_back(level.orbit.size());
  return lengths;
}

}  // namespace sightline::group
