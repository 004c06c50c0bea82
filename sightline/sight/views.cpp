#include "sightline/sight/views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/sight/wanted.hpp"

namespace sightline::sight {

namespace {

group::Permutation to_permutation(const Move& move) {
  std::vector<group::Point> images;
  for (const auto& [j, image] : move.tau) images.push_back(image);
  return group::Permutation::from_images(images);
}

// Stops at the first isomorphism outside of the target's group.
class CollisionSweep : public ViewSweep {
public:
  CollisionSweep(const ViewQuestion& question, std::uint64_t depth, const Budget& budget)
      : ViewSweep(question, depth, budget), depth_(depth), wanted_(question, budget),
        number_(number_symmetric_classes(*question.target)) {}

  /// @param before  one of a smaller depth, which may have lasted
  std::optional<Collision> search(bool layout_group_is_all, const std::optional<Collision>& before) {
    if (!wanted_.own_only() && check_layout_group() && !layout_group_is_all && (!before || try_again(*before))) run();
    return std::move(collision_);
  }

protected:
  bool explains(const Move& move) const override {
    // The layout's group is known by what it preserves; a chain is built only when that does not answer.
    if (wanted_.everything() && question_.target == question_.layout_group && move.tau.size() == question_.layout->tokens) {
      return is_layout_symmetry(to_permutation(move));
    }
    if (question_.target == question_.layout_group && is_symmetry_as_it_is(move)) return true;
    std::vector<group::Point> from, to;
    const std::vector<bool>& wanted = wanted_.of(move.a);
    for (const auto& [j, image] : move.tau) {
      if (!wanted[j]) continue;
      from.push_back(j);
      to.push_back(image);
    }
    if (from.size() == 1) return question_.target->orbit[from[0]] == question_.target->orbit[to[0]];
    if (from.size() < question_.layout->tokens) return member().extends(from, to);
    return member().contains(group::Permutation::from_images(to));
  }
  bool leaves(Vertex a, const group::Permutation& tau) const override { return !wanted_.may_be_moved(a, tau); }
  bool is_alone(Vertex a) const override { return wanted_.own_only(a); }
  const std::vector<Vertex>& symmetric_class() const override { return number_; }
  bool found(const Move& move) override {
    collision_ = move;
    return false;
  }
  bool absorb(Vertex, const group::Group&) override { return false; }
  bool holds_layout_group() const override { return question_.target == question_.layout_group; }
  bool first_only() const override { return true; }

private:
  // What is out of sight may have nothing to do with it: then it is a symmetry of the layout that moves nothing else.
  bool is_symmetry_as_it_is(const Move& move) const {
    const auto permutation = permute_seen(move);
    return permutation && is_layout_symmetry(*permutation);
  }

  const group::Membership& member() const {
    std::optional<group::Membership>& member = question_.target_member ? *question_.target_member : own_member_;
    if (!member) member.emplace(*question_.target, budget_);
    return *member;
  }

  // An automorphism of the layout maps every view to a view, at every depth.
  bool check_layout_group() {
    if (question_.target == question_.layout_group) return true;
    const Vertex tokens = question_.layout->tokens;
    const auto check = [&](const group::Permutation& g) {
      if (wanted_.everything() && member().contains(g)) return true;
      // A root that moves gives the larger floor, and with all tokens in view it says it all.
      const Vertex mover = wanted_.everything() ? g.moved().front() : 0;
      for (Vertex k = 0; k < tokens; ++k) {
        const Vertex a = k == 0 ? mover : k <= mover ? k - 1 : k;
        if (leaves(a, g)) continue;
        const std::vector<std::int64_t> latest = compute_latest(*question_.layout, depth_, a, budget_);
        const std::vector<Vertex> seen = list_seen(latest, tokens);
        const Move move = make_move(a, g, seen);
        if (!explains(move)) return found(move);
        if (wanted_.everything() && move.tau.size() == tokens) break;
      }
      return true;
    };
    for (const auto& members : question_.layout_group->symmetric_classes) {
      for (std::size_t k = 1; k < members.size(); ++k) {
        if (number_[members[k - 1]] != number_[members[k]] && !check(group::Permutation::transposition(members[k - 1], members[k]))) return false;
      }
    }
    for (const group::Permutation& g : question_.layout_group->generators) {
      if (!check(g)) return false;
    }
    return true;
  }

  std::uint64_t depth_;
  WantedTokens wanted_;
  mutable std::optional<group::Membership> own_member_;
  std::vector<Vertex> number_;
  std::optional<Collision> collision_;
};

// Lets a group grow until it holds every isomorphism.
class GroupSweep : public ViewSweep {
public:
  GroupSweep(const ViewQuestion& question, std::uint64_t depth, const Budget& budget)
      : ViewSweep(question, depth, budget), group_(*question.layout_group), number_(number_symmetric_classes(group_)) {}

  group::Group result() && { return std::move(group_); }

  /// For the evidence: who made the group grow, where only groups of views did.
  void keep_contributors(std::uint64_t depth) const {
    if (question_.records != nullptr && roots_suffice_ && !contributors_.empty()) question_.records->contributors[depth] = contributors_;
  }

protected:
  bool explains(const Move& move) const override { return contains(to_permutation(move)); }
  const std::vector<Vertex>& symmetric_class() const override { return number_; }
  bool found(const Move& move) override {
    grow(group::make_group(group_.degree, {to_permutation(move)}, budget_));
    roots_suffice_ = false;
    return true;
  }
  bool absorb(Vertex root, const group::Group& automorphisms) override {
    bool known = std::all_of(automorphisms.generators.begin(), automorphisms.generators.end(),
                             [&](const group::Permutation& g) { return contains(g); });
    for (const auto& members : automorphisms.symmetric_classes) {
      for (std::size_t k = 1; k < members.size() && known; ++k) {
        known = number_[members[k - 1]] == number_[members[k]] || contains(group::Permutation::transposition(members[k - 1], members[k]));
      }
    }
    if (known) return true;
    grow(automorphisms);
    contributors_.push_back(root);
    return true;
  }
  bool holds_layout_group() const override { return true; }
  bool first_only() const override { return false; }

private:
  bool contains(const group::Permutation& permutation) const {
    if (!grown_) return is_layout_symmetry(permutation);
    if (!member_) member_ = std::make_unique<group::Membership>(group_, budget_);
    return member_->contains(permutation);
  }

  void grow(const group::Group& by) {
    group_ = group::make_join({group_, by}, budget_);
    number_ = number_symmetric_classes(group_);
    member_.reset();
    grown_ = true;
  }

  group::Group group_;
  mutable std::unique_ptr<group::Membership> member_;
  std::vector<Vertex> number_;
  std::vector<Vertex> contributors_;
  bool grown_ = false, roots_suffice_ = true;
};

void check(const ViewQuestion& question) {
  if (question.layout == nullptr || question.target == nullptr || question.layout_group == nullptr) {
    throw ArgumentError("a question about views needs a layout, its group and the target's group");
  }
  if (question.target->degree != question.layout->tokens || question.layout_group->degree != question.layout->tokens) {
    throw ArgumentError("the groups of a question about views act on the tokens of the layout");
  }
}

// With every row in view from every root, the rooted views are the layout itself.
bool sees_the_layout(std::uint64_t depth, const Limit& limit) { return limit.everything && depth >= limit.depth; }

group::Group compute_group_within(const ViewQuestion& question, std::uint64_t depth, const Limit& limit, const Budget& budget) {
  if (sees_the_layout(depth, limit)) return *question.layout_group;
  GroupSweep sweep(question, std::min(depth, limit.depth), budget);
  sweep.run();
  sweep.keep_contributors(std::min(depth, limit.depth));
  return std::move(sweep).result();
}

std::string describe(const ViewQuestion& question) {
  switch (question.target_class) {
    case ClassKind::all: return "every token sees every token";
    case ClassKind::causal: return "every token sees the tokens up to itself";
    case ClassKind::seen: return "no view grows any more";
  }
  return {};
}

}  // namespace

std::optional<Collision> find_collision_within(const ViewQuestion& question, std::uint64_t depth, const Limit& limit, const Budget& budget,
                                               const std::optional<Collision>& before) {
  if (question.layout->tokens == 1) return std::nullopt;
  // From the limit on every view holds all rows of what it sees; the layout's own group is then trivial as well.
  if (depth >= limit.depth && question.layout_group->is_trivial() && do_rows_name_tokens(*question.layout, budget)) return std::nullopt;
  return CollisionSweep(question, std::min(depth, limit.depth), budget).search(sees_the_layout(depth, limit), before);
}

std::optional<Collision> find_collision(const ViewQuestion& question, std::uint64_t depth, const Budget& budget) {
  check(question);
  return find_collision_within(question, depth, compute_limit(question, budget), budget);
}

std::optional<group::Group> compute_expressed_group(const ViewQuestion& question, std::uint64_t depth, const Budget& budget) {
  check(question);
  const Connected connected = compute_connected(*question.layout, budget);
  if (!connected.layers || *connected.layers > depth) return std::nullopt;
  return compute_group_within(question, depth, compute_limit(question, budget), budget);
}

std::optional<group::Group> compute_limit_group(const ViewQuestion& question, const Budget& budget) {
  check(question);
  const Connected connected = compute_connected(*question.layout, budget);
  if (!connected.layers) return std::nullopt;
  const Limit limit = compute_limit(question, budget);
  return compute_group_within(question, std::max(limit.depth, *connected.layers), limit, budget);
}

Needed compute_needed(const ViewQuestion& asked, const Budget& budget) {
  check(asked);
  ViewQuestion question = asked;
  question.target_member = std::make_shared<std::optional<group::Membership>>();
  Needed needed;
  const Connected reach = compute_wanted_reach(question, false, budget);
  if (!reach.layers) {
    needed.never = true;
    needed.missing = reach.witness;
    needed.why = fmt::format("token {} never sees token {}, however often the list is repeated", reach.witness->reader, reach.witness->unseen);
    return needed;
  }
  const std::uint64_t start = *reach.layers;
  const Limit limit = compute_limit(question, budget);
  const std::uint64_t end = std::max(start, limit.depth);
  needed.start = needed.low = start;
  try {
    // Isomorphisms only disappear with depth, and none after `end`.
    if (sees_the_layout(end, limit)) {
      if (auto collision = find_collision_within(question, end, limit, budget)) {
        needed.never = true;
        needed.below = std::move(collision);
      } else {
        needed.high = end;
      }
    }
    std::optional<Collision> below;
    if (!needed.never) below = find_collision_within(question, start, limit, budget);
    if (!needed.never && !below) {
      needed.layers = start;
      if (start > 0) needed.missing = reach.witness;
      needed.why = fmt::format("after {} layer{} {}, and no two views can be confused", start, start == 1 ? "" : "s", describe(question));
    } else if (!needed.never) {
      if (needed.high == 0) {
        needed.low = start + 1;
        if (auto collision = find_collision_within(question, end, limit, budget, below)) {
          needed.never = true;
          needed.below = std::move(collision);
        } else {
          needed.high = end;
        }
      }
      std::uint64_t low = start, high = end;
      // Mostly few more are needed, of many that are given: steps double.
      for (std::uint64_t step = 1; !needed.never && high - low > 1; step = std::min(2 * step, high - low)) {
        const std::uint64_t middle = low + std::min(step, (high - low) / 2);
        if (auto collision = find_collision_within(question, middle, limit, budget, below)) {
          low = middle;
          below = std::move(collision);
        } else {
          high = middle;
        }
        needed.low = low + 1;
        needed.high = high;
      }
      if (!needed.never) {
        needed.layers = high;
        needed.why = fmt::format("after {} layer{} {}, but a symmetry of the views that is not one of the target survives until layer {}",
                                 start, start == 1 ? "" : "s", describe(question), high);
        needed.below = std::move(below);
      }
    }
    if (needed.never) needed.why = "a symmetry of the views that is not one of the target survives at every depth";
  } catch (const OutOfReach& limit_reached) {
    needed.layers.reset();
    needed.why = limit_reached.what();
    return needed;
  }
  needed.low = needed.high = 0;
  return needed;
}

}  // namespace sightline::sight
