#include "sightline/group/expression.hpp"

#include <doctest/doctest.h>

#include "sightline/base/error.hpp"
#include "sightline/group/families.hpp"
#include "tests/unit/group/brute.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using namespace sightline::group;

namespace {

std::string order_of(const std::string& text, Point degree) { return parse_group(text, degree, unlimited).order.factored(); }
std::string name_of(const std::string& text, Point degree) { return find_name(parse_group(text, degree, unlimited), unlimited).value_or("null"); }

std::string error_of(const std::string& text, Point degree) {
  try {
    (void)parse_group(text, degree, unlimited);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

std::set<brute::Images> elements_of(const Group& group) {
  std::vector<brute::Images> generators;
  for (const Permutation& g : list_generators(group, 100000)) generators.push_back(g.images(group.degree));
  return brute::closure(group.degree, generators);
}

/// Automorphisms of a graph by backtracking over all partial maps: the oracle for lattices.
std::set<brute::Images> automorphisms(const std::vector<std::vector<bool>>& adjacent) {
  const std::size_t n = adjacent.size();
  std::set<brute::Images> found;
  brute::Images images;
  std::vector<bool> used(n, false);
  auto extend = [&](auto&& self) -> void {
    const std::size_t x = images.size();
    if (x == n) {
      found.insert(images);
      return;
    }
    for (unsigned y = 0; y < n; ++y) {
      bool fits = !used[y];
      for (std::size_t z = 0; fits && z < x; ++z) fits = adjacent[x][z] == adjacent[y][images[z]];
      if (!fits) continue;
      used[y] = true;
      images.push_back(y);
      self(self);
      images.pop_back();
      used[y] = false;
    }
  };
  extend(extend);
  return found;
}

std::vector<std::vector<bool>> lattice_graph(const std::vector<unsigned>& sides, bool cyclic) {
  unsigned n = 1;
  for (const unsigned side : sides) n *= side;
  std::vector<std::vector<bool>> adjacent(n, std::vector<bool>(n, false));
  unsigned stride = n;
  for (const unsigned side : sides) {
    stride /= side;
    for (unsigned x = 0; x < n; ++x) {
      const unsigned c = x / stride % side;
      if (c + 1 < side) adjacent[x][x + stride] = adjacent[x + stride][x] = true;
      if (cyclic && c + 1 == side && side > 1) adjacent[x][x - c * stride] = adjacent[x - c * stride][x] = true;
    }
  }
  return adjacent;
}

}  // namespace

TEST_CASE("atoms have their degrees and orders") {
  CHECK(order_of("C_12", 12) == "12");
  CHECK(order_of("D_12", 12) == "24");
  CHECK(order_of("D_2", 2) == "2!");
  CHECK(order_of("D_1", 1) == "1");
  CHECK(order_of("S_5", 5) == "5!");
  CHECK(order_of("A_5", 5) == "60");
  CHECK(order_of("A_2", 2) == "1");
  CHECK(order_of("A_3", 3) == "3");
  CHECK(order_of("B_3", 6) == "2!^3 * 6");
  CHECK(order_of("trivial(4)", 4) == "1");
  CHECK(order_of(" cyclic ( 7 ) ", 7) == "7");
  CHECK(order_of("dihedral(7)", 7) == "14");
  CHECK(order_of("symmetric(7)", 7) == "7!");
  CHECK(order_of("alternating(7)", 7) == "2520");
  CHECK(order_of("hypercube(3)", 8) == "48");
  CHECK(order_of("torus(12,12)", 144) == "1152");
  CHECK(order_of("grid(3,5)", 15) == "4");
  CHECK(order_of("gens[(0 1 2),(3 4)]", 6) == "2! * 3");
  CHECK(order_of("gens[(0,1,2),(0,1)(3,4)]", 5) == "6");
  CHECK(order_of("gens[()]", 5) == "1");
}

TEST_CASE("products, pairs and wreaths are the groups that enumeration finds") {
  struct Case {
    std::string text;
    Point degree;
    std::size_t order;
  };
  const std::vector<Case> cases = {{"S_3 x S_2", 5, 12},         {"S_3xS_2", 5, 12},           {"C_3 x C_2 x trivial(2)", 7, 6}, {"cyclic(3)*cyclic(4)", 12, 12},
                                   {"S_3*S_2", 6, 12},           {"S_3 wr S_2", 6, 72},        {"S_2 wr S_3", 6, 48},            {"C_3 wr C_2", 6, 18},
                                   {"C_2 wr C_3", 6, 24},        {"(S_2 x C_3) wr S_2", 10, 72}, {"S_3 wr (S_2 x trivial(1))", 9, 432}, {"regular(S_3)", 6, 6},
                                   {"regular(C_2*C_2)", 4, 4},   {"regular(D_4)", 8, 8},       {"regular(A_4)", 12, 12},         {"C_2 * gens[(0 1 2)]", 6, 6},
                                   {"gens[(0 1)] x gens[(0 1 2)]", 5, 6}, {"A_4 x C_2", 6, 24},  {"S_1 wr S_4", 4, 24},            {"S_3 wr trivial(2)", 6, 36},
                                   {"C_2*C_2*C_2", 8, 8},        {"(D_4)", 4, 8},              {"C_4 wr D_4", 16, 2048}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Group group = parse_group(c.text, c.degree, unlimited);
    CHECK(group.order.value() == mpz_class(static_cast<unsigned long>(c.order)));
    const auto elements = elements_of(group);
    CHECK(elements.size() == c.order);
    for (Point x = 0; x < c.degree; ++x) {
      Point least = x;
      for (const auto& g : elements) least = std::min(least, g[x]);
      CHECK(group.orbit[x] == least);
    }
    CHECK(Membership(group, unlimited).order() == static_cast<unsigned long>(c.order));
  }
}

TEST_CASE("points are laid out as the language says") {
  // x: left points first; *: row-major; wr: blocks of consecutive points.
  CHECK(parse_group("C_3 x S_2", 5, unlimited).symmetric_classes == std::vector<std::vector<Point>>{{3, 4}});
  const Membership pairs(parse_group("C_2*C_3", 6, unlimited), unlimited);
  CHECK(pairs.contains(parse_cycles("(0 3)(1 4)(2 5)", 6)));
  CHECK(pairs.contains(parse_cycles("(0 1 2)(3 4 5)", 6)));
  const Membership wreath(parse_group("C_3 wr C_2", 6, unlimited), unlimited);
  CHECK(wreath.contains(parse_cycles("(0 1 2)", 6)));
  CHECK(wreath.contains(parse_cycles("(0 3)(1 4)(2 5)", 6)));
  CHECK_FALSE(wreath.contains(parse_cycles("(0 1)", 6)));
  const Group regular = parse_group("regular(C_5)", 5, unlimited);
  CHECK(Membership(regular, unlimited).contains(parse_cycles("(0 1 2 3 4)", 5)));
}

TEST_CASE("grids and tori have all automorphisms of their graphs and no others") {
  for (unsigned a = 1; a <= 5; ++a) {
    for (unsigned b = 1; b <= 6; ++b) {
      for (const bool cyclic : {false, true}) {
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(cyclic);
        const Group group = parse_group(std::string(cyclic ? "torus(" : "grid(") + std::to_string(a) + "," + std::to_string(b) + ")", a * b, unlimited);
        const auto expected = automorphisms(lattice_graph({a, b}, cyclic));
        CHECK(group.order.value() == mpz_class(static_cast<unsigned long>(expected.size())));
        CHECK(elements_of(group) == expected);
      }
    }
  }
  CHECK(elements_of(parse_group("hypercube(4)", 16, unlimited)) == automorphisms(lattice_graph({2, 2, 2, 2}, false)));
  CHECK(elements_of(parse_group("torus(2,3,4)", 24, unlimited)) == automorphisms(lattice_graph({2, 3, 4}, true)));
  CHECK(elements_of(parse_group("torus(4,4)", 16, unlimited)) == automorphisms(lattice_graph({4, 4}, true)));
}

TEST_CASE("expressions come back under their names") {
  CHECK(name_of("D_12", 12) == "D_12");
  CHECK(name_of("dihedral(3)", 3) == "S_3");
  CHECK(name_of("S_3 wr S_2", 6) == "S_3 wr S_2");
  CHECK(name_of("S_64 wr S_16384", 1 << 20) == "S_64 wr S_16384");
  CHECK(name_of("D_5 wr S_3", 15) == "D_5 wr S_3");
  CHECK(name_of("(S_3 x S_2) wr S_2", 10) == "(S_3 x S_2) wr S_2");
  CHECK(name_of("(S_62 x S_2) wr S_64", 4096) == "(S_62 x S_2) wr S_64");
  CHECK(name_of("(C_3 x S_4) wr S_3", 21) == "(S_4 x C_3) wr S_3");
  CHECK(name_of("(C_3 x S_4) wr C_3", 21) == "null");
  CHECK(name_of("(S_5 x trivial(1)) wr S_1000", 6000) == "S_5 wr S_1000");
  CHECK(name_of("S_5 wr C_1000", 5000) == "null");
  CHECK(name_of("B_4", 8) == "B_4");
  CHECK(name_of("hypercube(2)", 4) == "D_4");
  CHECK(name_of("hypercube(5)", 32) == "B_5");
  CHECK(name_of("hypercube(8)", 256) == "B_8");
  CHECK(name_of("torus(4,4)", 16) == "B_4");
  CHECK(name_of("torus(5,7)", 35) == "D_7 x D_5");
  CHECK(name_of("grid(3,4)", 12) == "C_2 x C_2");
  CHECK(name_of("grid(4,4)", 16) == "D_4");
  CHECK(name_of("cyclic(3)*cyclic(4)", 12) == "C_12");
  CHECK(name_of("cyclic(4)*cyclic(4)", 16) == "C_4 x C_4");
  CHECK(name_of("S_4*S_3", 12) == "S_4 x S_3");
  CHECK(name_of("regular(S_3)", 6) == "S_3");
  CHECK(name_of("A_5", 5) == "null");
  CHECK(name_of("A_4 x S_2", 6) == "null");
}

TEST_CASE("large expressions cost no search") {
  const Point n = 1 << 20;
  CHECK(order_of("S_64 wr S_16384", n) == "16384! * 64!^16384");
  CHECK(order_of("S_64 wr D_16384", n) == "64!^16384 * 32768");
  CHECK(order_of("S_64 wr (C_2 x trivial(16382))", n) == "64!^16384 * 2");
  CHECK(order_of("torus(1024,1024)", n) == "8388608");
  CHECK(order_of("cyclic(1024)*cyclic(1024)", n) == "1048576");
  CHECK(order_of("A_1000", 1000) == "998! * 499500");
  CHECK(Membership(parse_group("S_64 wr D_16384", n, unlimited), unlimited).extends({0, 64, 65}, {n - 1, n - 65, n - 128}));
  CHECK_FALSE(Membership(parse_group("S_64 wr D_16384", n, unlimited), unlimited).extends({0, 64, 65}, {n - 1, n - 65, n - 129}));
}

TEST_CASE("blocks permuted evenly: two blocks never go to one") {
  const Membership membership(parse_group("S_2 wr A_9", 18, unlimited), unlimited);
  CHECK_FALSE(membership.extends({0, 2}, {0, 1}));
  CHECK(membership.extends({0, 1}, {3, 2}));
  CHECK(membership.extends({0, 2, 4, 6, 8, 10, 12}, {2, 0, 4, 6, 8, 10, 12}));
  CHECK_FALSE(membership.extends({0, 2, 4, 6, 8, 10, 12, 14}, {2, 0, 4, 6, 8, 10, 12, 14}));
}

TEST_CASE("too many points are refused before anything is built") {
  CHECK(has(error_of("D_12999988", 12), "character 1: this acts on 12999988 points, expected 12"));
  CHECK(has(error_of(" dihedral(16000000) ", 12), "character 2: this acts on 16000000 points, expected 12"));
  CHECK(has(error_of("C_2 x D_12999988", 12), "character 7: this acts on 12999988 points, expected at most 12"));
  CHECK(has(error_of("(B_4)", 7), "character 2: this acts on 8 points, expected at most 7"));
  CHECK(has(error_of("C_2 x gens[(0 7)]", 5), "this acts on 8 points, expected at most 5"));
  // The regular action of a group of order 1 has one point, whatever it acted on before.
  CHECK(parse_group("regular(trivial(9)) x C_3", 4, Budget()).degree == 4);
}

TEST_CASE("the files that a symmetry names") {
  CHECK(list_files("D_12").empty());
  CHECK(list_files("graph:a.edges") == std::vector<std::string>{"a.edges"});
  CHECK(list_files("(mask:m.npy) x cell:'a b.cif' wr graph:\"c:d\"") == std::vector<std::string>{"m.npy", "a b.cif", "c:d"});
  CHECK(list_files("graph:'never closed") == std::vector<std::string>{"never closed"});
  CHECK(list_files("graph:") == std::vector<std::string>{""});
}

TEST_CASE("mistakes are named with their character") {
  CHECK(has(error_of("S_12", 8), "group \"S_12\", character 1: this acts on 12 points, expected 8"));
  CHECK(has(error_of("", 3), "character 1: expected C_n, D_n"));
  CHECK(has(error_of("S_", 3), "character 3: expected a number, found the end"));
  CHECK(has(error_of("S_0", 3), "character 3: expected a number >= 1, found 0"));
  CHECK(has(error_of("S_3 x", 3), "character 6: expected C_n"));
  CHECK(has(error_of("S_3 + S_2", 5), "character 5: expected \"x\", \"*\", \"wr\" or the end, found \"+\""));
  CHECK(has(error_of("(S_3", 3), "character 5: expected \")\", found the end"));
  CHECK(has(error_of("gens[(0 1),(0 9)]", 3), "character 15: expected a point below 3, found 9"));
  CHECK(has(error_of(std::string("gens[(0 1),\0(0 2)]", 18), 3), "group \"gens[(0 1),\\0(0 2)]\", character 12: expected \"(\""));
  CHECK(has(error_of("cyclc(3)", 3), "character 1: expected C_n"));
  CHECK(has(error_of("cyclc(3)", 3), "did you mean \"cyclic\"?"));
  CHECK(has(error_of("S_2 x hypercub(3)", 3), "character 7"));
  CHECK(has(error_of("S_2 x hypercub(3)", 3), "did you mean \"hypercube\"?"));
  CHECK(has(error_of("S3", 3), "did you mean \"S_3\"?"));
  CHECK(has(error_of("d_12", 12), "did you mean \"D_12\"?"));
  CHECK(has(error_of("graph:a.txt", 3), "character 1: \"graph:\" names a file, which this place cannot read"));
  CHECK(has(error_of("hypercube(2,3)", 3), "character 1: hypercube takes one number, found 2"));
  CHECK(has(error_of("hypercube(40)", 3), "at most 16777216"));
  CHECK(has(error_of("S_99999999999999", 3), "at most 16777216"));
  CHECK(has(error_of("torus(100000,100000)", 3), "at most 16777216"));
  CHECK(has(error_of("S_5000 * S_5000", 5000), "at most 16777216"));
  CHECK(has(error_of("gens[(0 1)", 3), "character 11: expected \"]\""));
  CHECK(has(error_of("gens[(0 1),(1 5)]", 3), "character 15: expected a point below 3, found 5"));
  CHECK(has(error_of("gens[(0 1),(1 1)]", 3), "character 15: point 1 occurs twice"));
  CHECK(has(error_of("gens[]", 3), "character 6: expected \"(\""));
  CHECK(has(error_of("gens[(0 1),]", 3), "character 12: expected \"(\""));
  CHECK(has(error_of("S_2 wr S_2 wr S_2", 8), "character 12: \"wr\" does not chain"));
  CHECK(has(error_of("torus()", 3), "character 7: expected a number, found \")\""));
  CHECK(has(error_of("regular(S_3", 6), "character 12: expected \")\""));
  CHECK(has(error_of(std::string(5000, '('), 3), "nested more than 200 deep"));
  CHECK_THROWS_AS((void)parse_group("regular(S_12)", 3, unlimited), BudgetExhausted);
}
