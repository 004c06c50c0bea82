// Inside of front.hpp: the searches over unions of orbitals. Not for other rooms.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sightline/design/candidate.hpp"
#include "sightline/design/configuration.hpp"

namespace sightline::design {

/// Matrices of colours are written out up to so many tokens.
constexpr Point most_matrix = 512;

/// No layout of the kind that needs exactly so many layers attends fewer pairs: what holds without a search
/// (docs/theory.md 16.10, 16.15). O(orbitals + layers * degree).
[[nodiscard]] std::uint64_t bound_pairs(const Orbitals& orbitals, bool causal, PointKind kind, std::uint64_t layers);

/// The same from what it depends on. `smallest`: pairs of the smallest non-diagonal orbital, or less.
[[nodiscard]] std::uint64_t bound_pairs(std::uint64_t tokens, bool transitive, std::uint64_t smallest, PointKind kind,
                                        std::uint64_t layers);

/// What the searches share. `configuration` is there up to 64 orbitals, `exhaustive` up to 16 non-diagonal ones.
class Search {
public:
  Search(const Request& request, const Orbitals& orbitals, const Budget& budget);

  /// One pattern, repeated. All loops first; then with loops chosen, which is free but asks some tokens not to read
  /// themselves.
  void find_single();
  /// Lists of two and three patterns, repeated; then sequences of a few layers that need not repeat, by their total
  /// (sequences.cpp).
  void find_several();
  /// One pattern whose orbitals have trained weights of their own.
  void find_coloured();
  /// Class causal (trivial symmetry): windows that look back, plain and with a trained weight per distance. Best found.
  /// With at most 16 non-diagonal orbitals (4 tokens) every set of pairs that look back.
  void find_causal();
  /// The cheapest pattern with automorphism group G, one register that reads all, all read it (hub.cpp). The register
  /// may read every orbit with a trained weight of its own, which colours the tokens at no cost.
  void find_gather_broadcast();
  /// A layout known from elsewhere, if nothing of its kind beats it.
  void add_known(FrontPoint point) { (void)keep(std::move(point), false); }
  [[nodiscard]] bool is_beaten(PointKind kind, std::uint64_t layers, std::uint64_t pairs,
                               std::uint64_t pattern_pairs) const;
  /// Fewest pairs of the points with at most so many layers.
  [[nodiscard]] std::uint64_t find_fewest_pairs(std::uint64_t layers) const;

  [[nodiscard]] std::vector<FrontPoint>& points() { return points_; }
  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }

private:
  struct Union {
    std::uint64_t pairs = 0;
    OrbitalSet set = 0;
  };
  [[nodiscard]] std::vector<std::uint32_t> list(OrbitalSet set) const;
  /// Is the common automorphism group of the layers G itself? Remembered by stable partition.
  [[nodiscard]] bool has_right_group(const std::vector<OrbitalSet>& layers);
  /// Least number of layers in [from, to] in which no two views of the list, repeated, are confused; everything must be
  /// in view from `from` on. What the certifier finds as well, for kernels that show all there is to see; it looks at
  /// the kernel and all else each time.
  [[nodiscard]] std::optional<std::uint64_t> find_depth(const std::vector<OrbitalSet>& layers, std::uint64_t from,
                                                        std::uint64_t to);
  [[nodiscard]] const layout::Pattern& get_pattern(OrbitalSet set);
  [[nodiscard]] std::vector<Union> list_unions(bool loops_chosen) const;
  /// `proved`: everything cheaper of the kind with so many layers was looked at. Above 16 non-diagonal orbitals no
  /// point is called proved.
  bool keep(std::optional<FrontPoint> point, bool proved);
  [[nodiscard]] std::optional<FrontPoint> certify(const Candidate& candidate, std::uint64_t at_least);
  void search_lists(std::size_t length);
  void search_causal_unions();
  void search_sequences(std::uint64_t layers);
  void search_by_size();
  /// Loops and a few small orbitals whose union has exactly the symmetry; empty when none was found.
  [[nodiscard]] std::vector<std::uint32_t> find_greedily();
  [[nodiscard]] std::string describe(OrbitalSet set) const;
  /// Is G the product of the symmetric groups on its orbits?
  [[nodiscard]] bool is_product_of_symmetric() const;

  const Request& request_;
  const Orbitals& orbitals_;
  const Budget& budget_;
  std::unique_ptr<Configuration> configuration_;
  bool exhaustive_ = false;
  bool undecided_ =
      false; ///< some candidate was neither certified nor refuted: what costs more is not proved to be best
  std::map<std::vector<std::uint8_t>, bool> right_group_;
  std::map<OrbitalSet, layout::Pattern> patterns_;
  std::vector<FrontPoint> points_;
  std::vector<std::string> notes_;
};

} // namespace sightline::design
