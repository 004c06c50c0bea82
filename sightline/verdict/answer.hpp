// The answer of `certify` as plain values (format.md, "The answer"). Report, JSON and certificate are made from this alone.
#pragma once

#include <cstdint>
#include <gmpxx.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sightline/group/name.hpp"
#include "sightline/group/order.hpp"
#include "sightline/sight/labels.hpp"
#include "sightline/sight/reach.hpp"
#include "sightline/sight/views.hpp"

namespace sightline::verdict {

enum class Verdict { certified, impossible, unknown };
enum class PublishedVerdict { certified, not_covered };

/// Long texts that do not change any more: copies have them in common.
class SharedTexts {
public:
  SharedTexts() = default;
  SharedTexts(std::vector<std::string> texts) : texts_(std::make_shared<const std::vector<std::string>>(std::move(texts))) {}  // NOLINT: as good as the list
  [[nodiscard]] const std::vector<std::string>& list() const { return *texts_; }
  [[nodiscard]] std::size_t size() const { return texts_->size(); }
  [[nodiscard]] bool empty() const { return texts_->empty(); }
  [[nodiscard]] const std::string& operator[](std::size_t k) const { return (*texts_)[k]; }
  friend bool operator==(const SharedTexts& a, const SharedTexts& b) { return a.texts_ == b.texts_ || *a.texts_ == *b.texts_; }

private:
  std::shared_ptr<const std::vector<std::string>> texts_ = std::make_shared<const std::vector<std::string>>();
};

struct GroupAnswer {
  group::Order order;
  SharedTexts generators;  ///< cycle notation
  std::optional<std::string> name;
  std::optional<group::NameProof> proof;  ///< of the name
};

/// How far the target is from everything that networks of this depth do, by averaging over all isomorphisms of views (theory.md 3.2, 16.12).
struct Distance {
  mpq_class squared_error;        ///< the least squared error, over all tokens
  mpq_class norm;                 ///< the target's own squared size: what answering 0 costs
  std::uint64_t isomorphisms = 0;
  bool exact = false;             ///< networks come as close as that; otherwise a lower bound, and feedforward or norms may cost more
};

/// A target that no network of this kind comes near: squared error at least `squared_error` on `domain` (exact), or no
/// closed form (then squared_error is absent).
struct Floor {
  int p = 2;
  std::optional<mpq_class> squared_error;
  std::string target;
  std::string domain;
  std::string rule;  ///< e.g. "unseen tokens (theory 3.1)"
  std::optional<Distance> distance = {};
  std::vector<layout::Vertex> orbit = {};  ///< collisions: (a, u) or (a, u, v), whose orbit under G makes the target
};

/// A rule that was used: its name, where it is proved, and what had to hold.
struct Rule {
  std::string name;                   ///< e.g. "theorem-e"; find_rule_text has its source and statement
  std::vector<std::string> premises;  ///< what was checked, with the values found
};

struct Published {
  PublishedVerdict verdict = PublishedVerdict::not_covered;
  std::string theorem;                       ///< "Corollary 1"; empty when not covered
  std::optional<std::uint64_t> layers;
  std::optional<bool> sound = true;          ///< null: the layers that are needed are known up to bounds only
};

struct Answer {
  std::string file, name;
  Verdict verdict = Verdict::unknown;
  std::optional<GroupAnswer> layout, expressed;
  std::optional<std::uint64_t> given, connected, needed;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> needed_between;
  std::optional<group::Order> at_connected;
  std::optional<sight::ClassKind> class_kind;
  std::optional<std::uint64_t> class_layers;
  std::optional<std::int64_t> output_dim, output_largest;
  std::string condition13 = "not applicable";  ///< holds | fails | undecided | not applicable
  Published published;
  std::optional<Floor> floor;
  std::vector<Floor> floors;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> unseen;  ///< run-length: value, repeat
  std::vector<Rule> rules;
  std::vector<std::string> assumptions, advice;
  // What people are shown beside the claims
  std::optional<sight::Collision> collision;
  bool collision_moves_rows = false;  ///< its tokens move together with their rows of a fixed table of positions
  std::optional<sight::IdCollision> id_collision;
  std::optional<sight::UnreachablePair> unreachable;
  std::optional<std::string> limit;  ///< the budget that was hit, with the bounds reached: verdict unknown, exit 3
  // Sizes the report speaks of
  std::uint64_t tokens = 0;
  sight::ClassKind target_class = sight::ClassKind::all;
  std::string symmetry_text = "layout";

  void use(std::string rule, std::vector<std::string> premises = {}) { rules.push_back({std::move(rule), std::move(premises)}); }
};

}  // namespace sightline::verdict
