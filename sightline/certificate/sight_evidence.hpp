// The certificate's evidence for sight: why so many layers are needed, which outputs collide, and which group a depth expresses.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "sightline/sight/views.hpp"

namespace sightline::certificate {

/// Gathers evidence for questions about one layout with one group (docs/certificate.md, "Sight"). Every add_ answers its question
/// with the library's own functions first, so what is shown is what `certify` answers; then it says how the checker can confirm it.
/// Cost: the question once or twice more, plus the evidence for groups of views. Throws BudgetExhausted, and OutOfReach where the
/// question itself is out of reach (add_needed writes bounds instead).
class SightEvidence {
public:
  /// @param records  searches that were made for the answer: they are taken over (none: nullptr)
  /// @param skips_first  is it also asked who sees all but token 0?
  SightEvidence(const layout::Layout& layout, const group::Group& layout_group, sight::RegisterRows rows, const Budget& budget,
                const sight::ViewRecords* records = nullptr, bool skips_first = false);

  /// compute_needed(question). The question's layout and layout group are the ones given above. `known`: the answer, when it was
  /// found already for the same question (here and below).
  void add_needed(const sight::ViewQuestion& question, const sight::Needed* known = nullptr);
  /// find_collision(question, depth).
  void add_collision(const sight::ViewQuestion& question, std::uint64_t depth, const std::optional<sight::Collision>* known = nullptr);
  /// compute_expressed_group(question, depth), or compute_limit_group without a depth.
  void add_expressed(std::optional<std::uint64_t> depth, const std::optional<group::Group>* known = nullptr);

  /// {"collisions":..,"groups":..,"needed":..,"reach":..,"views":..}, keys without content left out.
  [[nodiscard]] nlohmann::json result() const { return evidence_; }

private:
  void add_reach(bool skips_first);
  void add_views(const sight::ViewQuestion& question, std::uint64_t depth);
  void put_collision(const sight::ViewQuestion& question, const std::string& key, std::uint64_t depth, const sight::Collision& collision);

  const layout::Layout& layout_;
  const group::Group& layout_group_;
  sight::RegisterRows rows_;
  const sight::ViewRecords* records_;
  const Budget& budget_;
  nlohmann::json evidence_ = nlohmann::json::object();
};

}  // namespace sightline::certificate
