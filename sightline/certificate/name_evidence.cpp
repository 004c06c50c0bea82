#include "sightline/certificate/name_evidence.hpp"

#include <nlohmann/json.hpp>

#include "sightline/base/integer_lists.hpp"
#include "sightline/certificate/group_evidence.hpp"

namespace sightline::certificate {

using nlohmann::json;
using group::NameProof;
using group::Point;

namespace {

/// Points in their order as runs [first, count, step], as long as they go; a single point has step 1.
void append_runs(const std::vector<Point>& points, IntegerLists& out) {
  out.open();
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    std::int64_t step = 1;
    for (end = begin + 1; end < points.size(); ++end) {
      const std::int64_t next = std::int64_t{points[end]} - points[end - 1];
      if (end == begin + 1 && next > 0) step = next;
      if (next != step) break;
    }
    if (end == begin + 1) step = 1;
    out.add_list({points[begin], static_cast<std::int64_t>(end - begin), step});
  }
  out.close();
}

json to_runs(const std::vector<Point>& points) {
  IntegerLists runs;
  append_runs(points, runs);
  return json::binary(std::move(runs).take());
}

json list_runs(const std::vector<std::vector<Point>>& sets) {
  IntegerLists list;
  list.open();
  for (const auto& points : sets) append_runs(points, list);
  list.close();
  return json::binary(std::move(list).take());
}

json to_family(const NameProof::Family& family) {
  if (family.points.empty()) return {{"sets", list_runs(family.sets)}};
  return {{"points", to_runs(family.points)}};
}

}  // namespace

json to_evidence(const NameProof& proof) {
  json elements = json::array(), families = json::array(), proofs = json::array();
  for (const auto& element : proof.elements) elements.push_back(to_evidence(element));
  for (const auto& family : proof.families) families.push_back(to_family(family));
  for (const auto& inner : proof.proofs) proofs.push_back(to_evidence(inner));
  switch (proof.kind) {
    case NameProof::Kind::symmetric: return {{"kind", "symmetric"}};
    case NameProof::Kind::abelian: return {{"elements", std::move(elements)}, {"kind", "abelian"}};
    case NameProof::Kind::dihedral: return {{"elements", std::move(elements)}, {"kind", "dihedral"}};
    case NameProof::Kind::actions: return {{"actions", std::move(families)}, {"kind", "actions"}, {"proofs", std::move(proofs)}};
    case NameProof::Kind::blocks: break;
  }
  return {{"blocks", list_runs(proof.blocks)}, {"kind", "blocks"}, {"proofs", std::move(proofs)}};
}

json make_name_evidence(const verdict::GroupAnswer& group) {
  json evidence = {{"name", group.name ? json(*group.name) : json()}};
  if (group.proof) evidence["proof"] = to_evidence(*group.proof);
  return evidence;
}

}  // namespace sightline::certificate
