// Structures whose stretches are told apart by their rows, but for some that are twins: every automorphism maps these classes to themselves, and their members are
// exchanged freely (docs/theory.md 16.46).
#include <algorithm>
#include <numeric>

#include "field.hpp"
#include "poll.hpp"
#include "stretches.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

class Apart {
public:
  Apart(const Structure& structure, const Stretches& stretches, const Json& lists)
      : structure_(structure), stretches_(stretches), lists_(lists), n_(static_cast<Vertex>(stretches.first.size())), colour_(n_), reads_(structure.relations.size()) {
    for (Vertex k = 0; k < n_; ++k) {
      if (stretches.lead[k] == k) read_rows(k);
      colour_[k] = colour_[stretches.lead[k]];
    }
  }

  /// The stretches by class, or nothing.
  std::optional<std::vector<std::vector<Vertex>>> run() {
    constexpr int most_rounds = 8;
    constexpr Threshold<std::size_t> few{64, 0, "nearly apart"};
    std::size_t known = 0;
    for (int round = 0; round < most_rounds; ++round) {
      refine();
      std::vector<std::pair<std::uint64_t, Vertex>> sorted;
      for (const Vertex lead : leads_) sorted.emplace_back(colour_[lead], lead);
      std::sort(sorted.begin(), sorted.end());
      std::vector<std::vector<Vertex>> groups;
      for (std::size_t k = 0; k < sorted.size(); ++k) {
        if (k == 0 || sorted[k].first != sorted[k - 1].first) groups.emplace_back();
        groups.back().push_back(sorted[k].second);
      }
      const bool nearly = leads_.size() - groups.size() <= few;
      if (nearly && are_twins(groups)) return groups;
      if (groups.size() == known || (!nearly && groups.size() < 2 * known)) return std::nullopt;
      known = groups.size();
    }
    return std::nullopt;
  }

private:
  struct Read {
    Vertex lead;
    Run run;
  };

  void read_rows(Vertex lead) {
    leads_.push_back(lead);
    colour_[lead] = mix(structure_.colour[stretches_.first[lead]]);
    std::vector<Run> row;
    for (std::size_t r = 0; r < reads_.size(); ++r) {
      poll();
      const std::vector<bool>& visible = structure_.relations[r].visible;
      const bool shown = visible.empty() || visible[stretches_.first[lead]];
      colour_[lead] = mix(colour_[lead], shown ? 1 : 0);
      if (!shown) continue;
      stretches_.relations[r].row(lead, row);
      for (const Run& run : row) reads_[r].push_back({lead, run});
    }
  }

  /// Colours that automorphisms keep go on to what vertices read and are read by. Members of a stretch have one colour, and the second counts for all but the first.
  void refine() {
    std::vector<std::uint64_t> next = colour_, sums(std::size_t{n_} + 1, 0), told(std::size_t{n_} + 1), read(n_);
    for (Vertex k = 0; k < n_; ++k) sums[k + 1] = sums[k] + stretches_.count[k] * mix(colour_[k]);
    for (const std::vector<Read>& relation : reads_) {
      poll_now();
      std::fill(told.begin(), told.end(), 0);
      std::fill(read.begin(), read.end(), 0);
      for (const auto& [lead, run] : relation) {
        const std::uint64_t size = stretches_.count[lead] + (lead + 1 < n_ && stretches_.lead[lead + 1] == lead ? stretches_.count[lead + 1] : 0);
        const std::uint64_t by_colour = mix(static_cast<std::uint64_t>(run.colour)) | 1, given = by_colour * size * mix(colour_[lead] + 1);
        const Vertex length = run.step == 1 ? run.last - run.first + 1 : 1;
        for (std::uint64_t first = run.first; first <= run.last; first += length == 1 ? run.step : length) {
          read[lead] += by_colour * (sums[first + length] - sums[first]);
          told[first] += given;
          told[first + length] -= given;
        }
      }
      for (Vertex k = 1; k < n_; ++k) told[k] += told[k - 1];
      for (const Vertex lead : leads_) next[lead] = mix(mix(next[lead], read[lead]), told[lead]);
    }
    for (Vertex k = 0; k < n_; ++k) colour_[k] = next[stretches_.lead[k]];
  }

  /// Are stretches of one group twins, so that every swap within it is an automorphism: one row, and every row reads all of the group with one colour or nothing? And
  /// are the colours with which members read each other listed?
  [[nodiscard]] bool are_twins(const std::vector<std::vector<Vertex>>& groups) const {
    std::vector<std::uint32_t> group(n_, none);       // of more than one vertex that is kept
    std::vector<Vertex> size(groups.size(), 0), next(std::size_t{n_} + 1, n_);  // the first such vertex from each on
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      const Vertex first = groups[g][0];
      for (const Vertex lead : groups[g]) {
        for (Vertex k = lead; k < n_ && stretches_.lead[k] == lead; ++k) ++size[g], group[k] = g;
        if (lead != first && !are_alike(first, lead)) return false;
      }
    }
    for (Vertex k = n_; k-- > 0;) next[k] = groups[group[k]].size() > 1 ? k : next[k + 1];
    std::vector<std::pair<Vertex, std::int64_t>> met(groups.size(), {0, 0});  // by group: how many members a row reads, with which colour
    std::vector<std::uint32_t> read;
    for (std::size_t r = 0; r < reads_.size(); ++r) {
      std::vector<std::int64_t> listed;
      for (const Json& colour : lists_[r].array()) listed.push_back(static_cast<std::int64_t>(colour.natural()));
      const auto is_listed = [&](std::int64_t colour) { return std::find(listed.begin(), listed.end(), colour) != listed.end(); };
      const std::vector<Read>& rows = reads_[r];
      for (std::size_t at = 0, end = 0; at < rows.size(); at = end) {
        poll();
        const Vertex lead = rows[at].lead;
        read.clear();
        for (end = at; end < rows.size() && rows[end].lead == lead; ++end) {
          const Run& run = rows[end].run;
          const bool inner = lead + 1 < n_ && stretches_.lead[lead + 1] == lead && run.first <= lead && lead <= run.last;
          if (inner && (run.step != 1 || !is_listed(run.colour))) return false;
          for (Vertex k = next[run.first]; k <= run.last; k = next[k + 1]) {
            if (run.step != 1) return false;  // hardly ever: stretches next to each other are read by one run
            auto& [count, colour] = met[group[k]];
            if (count > 0 && colour != run.colour) return false;
            if (count++ == 0) read.push_back(group[k]);
            colour = run.colour;
          }
        }
        for (const std::uint32_t g : read) {
          if (met[g].first != size[g] || (group[lead] == g && !is_listed(met[g].second))) return false;
          met[g] = {0, 0};
        }
      }
    }
    return true;
  }

  [[nodiscard]] bool are_alike(Vertex a, Vertex b) const {
    const auto shown = [&](const Structure::Shown& relation, Vertex k) { return relation.visible.empty() || relation.visible[stretches_.first[k]]; };
    if (structure_.colour[stretches_.first[a]] != structure_.colour[stretches_.first[b]]) return false;
    std::vector<Run> left, right;
    for (std::size_t r = 0; r < reads_.size(); ++r) {
      if (shown(structure_.relations[r], a) != shown(structure_.relations[r], b)) return false;
      stretches_.relations[r].row(a, left);
      stretches_.relations[r].row(b, right);
      if (shown(structure_.relations[r], a) && !same_runs(left, right)) return false;
    }
    return true;
  }

  const Structure& structure_;
  const Stretches& stretches_;
  const Json& lists_;
  Vertex n_;
  std::vector<Vertex> leads_;
  std::vector<std::uint64_t> colour_;
  std::vector<std::vector<Read>> reads_;  // by relation and reader
};

}  // namespace

std::optional<std::vector<std::vector<Vertex>>> find_stretches_apart(const Structure& structure, const Json& evidence) {
  const Json& twins = evidence["twins"];
  if (twins.size() != 1 || twins[0].size() != structure.relations.size() || evidence["generators"].size() + evidence["path"].size() + evidence["failed"].size() > 0) return std::nullopt;
  std::vector<const Relation*> relations;
  for (const Structure::Shown& shown : structure.relations) relations.push_back(shown.relation);
  const std::optional<Stretches> stretches = find_stretches(structure.vertices, structure.vertices, relations, &structure);
  if (!stretches) return std::nullopt;
  auto groups = Apart(structure, *stretches, twins[0]).run();
  if (!groups) return std::nullopt;
  std::sort(groups->begin(), groups->end());
  std::vector<std::vector<Vertex>> classes;
  for (const std::vector<Vertex>& leads : *groups) {
    std::vector<Vertex> members;
    for (const Vertex lead : leads) {
      for (Vertex k = lead; k < stretches->first.size() && stretches->lead[k] == lead; ++k) {
        for (Vertex x = 0; x < stretches->count[k]; ++x) members.push_back(stretches->first[k] + x);
      }
    }
    if (members.size() > 1) classes.push_back(std::move(members));
  }
  return classes;
}

}  // namespace checker
