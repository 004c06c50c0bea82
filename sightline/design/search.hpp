// Inside of front.hpp: the searches over unions of orbitals. Not for other rooms.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sightline/design/candidate.hpp"
#include "sightline/design/configuration.hpp"

namespace sightline::design {

/// What the searches share. `configuration` is there up to 64 orbitals, `exhaustive` up to 16 non-diagonal ones.
class Search {
public:
  Search(const Request& request, const Orbitals& orbitals, const Budget& budget);

  /// One pattern, repeated. All loops first; then with loops chosen, which is free but asks some tokens not to read themselves.
  void find_single();
  /// Lists of two and three patterns.
  void find_several();
  /// One pattern whose orbitals have trained weights of their own.
  void find_coloured();
  /// Class causal (trivial symmetry): windows that look back, plain and with a trained weight per distance. Best found.
  void find_causal();
  /// The cheapest pattern with automorphism group G, one register that reads all, all read it.
  void find_gather_broadcast();

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
  [[nodiscard]] std::vector<Union> list_unions(bool loops_chosen) const;
  [[nodiscard]] bool is_beaten(PointKind kind, std::uint64_t layers, std::uint64_t pairs, std::uint64_t pattern_pairs) const;
  void keep(std::optional<FrontPoint> point, bool proved);
  void search_lists(std::size_t length);
  void search_by_size();
  /// Loops and a few small orbitals whose union has exactly the symmetry; empty when none was found.
  [[nodiscard]] std::vector<std::uint32_t> find_greedily();
  [[nodiscard]] std::string describe(OrbitalSet set) const;
  [[nodiscard]] std::uint64_t bound_single(std::uint64_t layers) const;

  const Request& request_;
  const Orbitals& orbitals_;
  const Budget& budget_;
  std::unique_ptr<Configuration> configuration_;
  bool exhaustive_ = false;
  std::map<std::vector<std::uint8_t>, bool> right_group_;
  std::vector<FrontPoint> points_;
  std::vector<std::string> notes_;
};

}  // namespace sightline::design
