// Groups of things from files: molecules with known orders (and nauty's), graphs, cells, masks; what is wrong and where.
#include <doctest/doctest.h>

#include <string>

#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/design/sources.hpp"
#include "sightline/group/expression.hpp"
#include "tests/unit/symmetry/nauty_oracle.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using design::Bonds;
using design::ColouredGraph;

namespace {

std::string nauty_order(const ColouredGraph& graph) {
  const auto n = static_cast<layout::Vertex>(graph.vertex_colour.size());
  std::vector<std::vector<layout::Vertex>> rows(n);
  std::vector<std::vector<std::uint32_t>> colours(n);
  for (const auto& arc : graph.arcs) {
    rows[arc.from].push_back(arc.to);
    colours[arc.from].push_back(arc.colour);
  }
  const layout::Relation relation(layout::make_pattern_from_rows(n, rows, colours), {}, layout::Cancels::nothing, n);
  return oracle::compute({n, graph.vertex_colour, {{&relation, {}}}}).value().order.get_str();
}

std::string order_of(const ColouredGraph& graph) { return design::compute_symmetry(graph, unlimited).order.value().value().get_str(); }

ColouredGraph read_molecule(const std::string& name, Bonds bonds) {
  const std::string file = std::string(SIGHTLINE_SOURCE_DIR) + "/tests/molecules/" + name + ".sdf";
  return design::parse_molecule(architecture::read_file(file), file, bonds);
}

template <class Call> std::string message_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("molecules have the orders that were counted by hand, and nauty's") {
  struct Case {
    const char* name;
    const char* aromatic;
    const char* order;
  };
  const Case cases[] = {{"benzene", "12", "6"}, {"benzene-hydrogens", "12", "6"}, {"naphthalene", "4", "4"}, {"azulene", "2", "1"}, {"cubane", "48", "48"},
                        {"fullerene-c60", "120", "120"}, {"caffeine", "1", "1"}, {"caffeine-hydrogens", "216", "216"}, {"ferrocene", "200", "200"},
                        {"adamantane", "24", "24"}, {"neopentane", "24", "24"}, {"neopentane-hydrogens", "31104", "31104"}, {"ethane-hydrogens", "72", "72"},
                        {"toluene", "2", "1"}, {"para-benzoquinone", "4", "4"}, {"acetate", "1", "1"}, {"heavy-water", "2", "2"}, {"half-heavy-water", "1", "1"},
                        {"dodecahedrane", "120", "120"}, {"sulfur-hexafluoride", "720", "720"}, {"biphenyl", "8", "2"}, {"tetramethylammonium", "24", "24"}};
  CHECK(std::size(cases) >= 20);
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(order_of(read_molecule(c.name, Bonds::aromatic)) == c.aromatic);
    CHECK(order_of(read_molecule(c.name, Bonds::order)) == c.order);
    for (const Bonds bonds : {Bonds::aromatic, Bonds::order, Bonds::none}) {
      const ColouredGraph graph = read_molecule(c.name, bonds);
      CHECK(order_of(graph) == nauty_order(graph));
    }
  }
}

TEST_CASE("flexible bonds are those that some perfect matchings use and others do not") {
  using Edges = std::vector<std::pair<group::Point, group::Point>>;
  const auto flexible = [](std::size_t atoms, const Edges& edges, const std::vector<bool>& doubles) { return design::find_flexible_bonds(atoms, edges, doubles); };
  // A chain of four conjugated atoms has one perfect matching only.
  CHECK(flexible(4, {{0, 1}, {1, 2}, {2, 3}}, {true, false, true}) == std::vector<bool>{false, false, false});
  CHECK(flexible(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, {true, false, true, false}) == std::vector<bool>(4, true));
  // Azulene: ten bonds round, the bond between the rings in no perfect matching.
  Edges azulene;
  std::vector<bool> doubles;
  for (group::Point k = 0; k < 10; ++k) {
    azulene.emplace_back(k, (k + 1) % 10);
    doubles.push_back(k % 2 == 0);
  }
  azulene.emplace_back(0, 4);
  doubles.push_back(false);
  std::vector<bool> expected(10, true);
  expected.push_back(false);
  CHECK(flexible(10, azulene, doubles) == expected);
  // Two odd rings joined by a bond that every perfect matching uses: blossoms, and nothing is flexible but what must be.
  const Edges bow = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {3, 4}, {4, 5}, {5, 3}};
  CHECK(flexible(6, bow, {false, true, false, true, false, true, false}) == std::vector<bool>(7, false));
}

TEST_CASE("graphs from edge lists, graph6 and MatrixMarket") {
  CHECK(order_of(design::parse_graph("# a square\n0 1\n1 2\n2 3\n3 0\n", "g")) == "8");
  CHECK(order_of(design::parse_graph("0 1\n1 0\n4\n", "g")) == "12");      // an edge and three single vertices
  CHECK(order_of(design::parse_graph("IheA@GUAo\n", "g")) == "120");      // Petersen
  CHECK(order_of(design::parse_graph(">>graph6<<C~\n", "g")) == "24");    // K_4
  CHECK(order_of(design::parse_graph("%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n", "g")) == "3");
}

TEST_CASE("cells: translations, species and numbers of images") {
  CHECK(order_of(design::parse_cell("tokens 2\n0 1 0 0 0\n0 1 -1 0 0\n", "c")) == "2");
  CHECK(order_of(design::parse_cell("tokens 2\nspecies Na Cl\n0 1 0 0 0\n0 1 -1 0 0\n", "c")) == "1");
  // A square of four with one bond doubled through the boundary: the double bond stays where it is.
  CHECK(order_of(design::parse_cell("tokens 4\n0 1 0 0 0\n1 2 0 0 0\n2 3 0 0 0\n3 0 0 0 0\n", "c")) == "8");
  CHECK(order_of(design::parse_cell("tokens 4\n0 1 0 0 0\n0 1 1 0 0\n1 2 0 0 0\n2 3 0 0 0\n3 0 0 0 0\n", "c")) == "2");
}

TEST_CASE("messages name the file, the line and the character") {
  CHECK(message_of([] { (void)design::parse_graph("0 1\n1 x\n", "a.edges"); }).starts_with("a.edges:2:3: expected a vertex"));
  CHECK(message_of([] { (void)design::parse_graph("C!\n", "a.g6"); }).starts_with("a.g6:1:2: expected a graph6 character"));
  CHECK(message_of([] { (void)design::parse_graph("C~~\n", "a.g6"); }) == "a.g6:1: expected 2 characters for 4 vertices, found 3");
  CHECK(message_of([] { (void)design::parse_cell("tokens 2\n0 2 0 0 0\n", "a.cell"); }).starts_with("a.cell:2: expected \"i j a b c\""));
  CHECK(message_of([] { (void)design::parse_molecule("x\n\n\n  1  0 V3000\n", "a.mol", Bonds::order); }).starts_with("a.mol:4: expected a counts line"));
  std::string text = architecture::read_file(std::string(SIGHTLINE_SOURCE_DIR) + "/tests/molecules/heavy-water.sdf");
  text.replace(text.find("  1  3  1"), 9, "  1  9  1");
  CHECK(message_of([&] { (void)design::parse_molecule(text, "a.mol", Bonds::order); }) == "a.mol:9:4: expected an atom from 1 to 3, found 9");
  const group::ReadSource none;
  CHECK(message_of([&] { (void)group::parse_group("C_3 x graph:a.g6", std::nullopt, none, unlimited); }).find("character 7: \"graph:\" names a file") != std::string::npos);
  CHECK(message_of([&] { (void)group::parse_group("graph:", std::nullopt, none, unlimited); }).find("character 7: expected a file") != std::string::npos);
}

TEST_CASE("files stand anywhere in the group language") {
  const group::ReadSource read = [](const std::string& source, const std::string& file) {
    CHECK(source == "molecule");
    return design::read_symmetry(source, file, std::string(SIGHTLINE_SOURCE_DIR) + "/tests/molecules", Bonds::aromatic, std::nullopt, unlimited);
  };
  const group::Group group = group::parse_group("(molecule:heavy-water.sdf) wr S_2 x molecule:'benzene.sdf'", std::nullopt, read, unlimited);
  CHECK(group.degree == 12);
  CHECK(group.order.value() == mpz_class(2 * 2 * 2 * 12));
}
