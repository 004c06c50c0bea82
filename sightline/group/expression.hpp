// The group language of the project (interfaces.md 7): "D_12", "S_3 wr S_2", "cyclic(3)*cyclic(4)", "gens[(0 1 2),(3 4)]".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

/// Parses and builds the group on `degree` points.
///
///     expr   = term { "x" term }         on the disjoint union, left points first
///     term   = factor { "*" factor }     on pairs, row-major
///     factor = atom [ "wr" atom ]        A wr B: B moves blocks of consecutive points, A acts inside
///     atom   = C_n D_n S_n A_n B_k | trivial(n) cyclic(n) dihedral(n) symmetric(n) alternating(n) hypercube(k)
///            | torus(a,b,..) grid(a,b,..) | "regular(" expr ")" | "gens[" cycles { "," cycles } "]" | "(" expr ")"
///            | graph:FILE molecule:FILE cell:FILE mask:FILE      FILE: up to a blank or ")", or in quotes ' or "
///
/// Blanks are free between tokens. B_k is S_2 wr S_k on 2k points, hypercube(k) all automorphisms of the k-cube on 2^k,
/// torus and grid all automorphisms of the graph (families.hpp). D_n is the image on n points: order 2n from n = 3 on.
/// `gens[...]` alone acts on all `degree` points; inside a larger expression on 0 .. the largest point it mentions.
///
/// Orders are closed formulas except for gens. Throws InputError: what is wrong and at which character (1-based), with a
/// suggestion for a misspelt name; also when the group acts on another number of points than `degree`, or on more than
/// 2^24. Throws BudgetExhausted for gens beyond make_group and regular beyond make_regular_group.
[[nodiscard]] Group parse_group(std::string_view text, Point degree, const Budget& budget);

/// The symmetry of the thing in a file: source is "graph", "molecule", "cell" or "mask". Throws InputError naming the file.
using ReadSource = std::function<Group(const std::string& source, const std::string& file)>;
/// The order of a group that contains the one of these generators on that many points, when it is easier to find than their own.
using BoundOrder = std::function<std::optional<Order>(Point degree, const std::vector<Permutation>& generators)>;
/// The same with files, and on as many points as the text says when `degree` is absent (bare gens[...]: up to the largest
/// point). Without a reader (above) the four sources are an InputError.
[[nodiscard]] Group parse_group(std::string_view text, std::optional<Point> degree, const ReadSource& read_source, const Budget& budget,
                                const BoundOrder& bound_order = {});
/// Does the text name a file? Nothing is read.
[[nodiscard]] bool names_files(std::string_view text);
/// The files that it names, as they stand there, in order.
[[nodiscard]] std::vector<std::string> list_files(std::string_view text);

}  // namespace sightline::group
