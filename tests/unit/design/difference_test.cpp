// diff: the first pair, what each expresses, and a target between them.
#include <doctest/doctest.h>

#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/design/difference.hpp"
#include "sightline/design/take_away.hpp"
#include "sightline/layout/mask_file.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;

namespace {

architecture::Architecture parse(const std::string& pattern, int layers) {
  return architecture::parse_architecture("tokens = 6\ndim = 4\n[mixer]\npattern = " + pattern + "\n[[layer]]\nrepeat = " + std::to_string(layers) + "\n", "x.toml");
}

const std::string ring = "{ kind = \"ring\", radius = 1 }";

}  // namespace

TEST_CASE("an architecture is the same as itself, and as another layout that expresses as much") {
  const auto self = design::compute_difference(parse(ring, 3), parse(ring, 3), unlimited);
  CHECK(self.same);
  CHECK(self.layout_equal);
  CHECK_FALSE(self.first);
  CHECK_FALSE(self.separating);
  // The same ring with steps of five: another list, the same arcs; one layer more changes nothing.
  const auto longer = design::compute_difference(parse(ring, 3), parse("{ kind = \"circulant\", offsets = [0, 1, 5] }", 4), unlimited);
  CHECK(longer.same);
  CHECK_FALSE(longer.layout_equal);
  REQUIRE(longer.first);
  CHECK(longer.first->layer == 4);
  CHECK(longer.first->in == "b");
}

TEST_CASE("a smaller symmetry is a target that the larger one misses") {
  const auto d = design::compute_difference(parse(ring, 5), parse("{ kind = \"circulant\", offsets = [0, 1] }", 5), unlimited);
  CHECK_FALSE(d.same);
  REQUIRE(d.first);
  CHECK(d.first->layer == 1);
  CHECK(d.first->reader == 0);
  CHECK(d.first->read == 5);
  CHECK(d.first->in == "a");
  REQUIRE(d.separating);
  CHECK(d.separating->missed_by == "a");
  REQUIRE(d.separating->floor);
  CHECK(*d.separating->floor > 0);
  CHECK(d.answers[0].needed == 3);
  CHECK(d.answers[1].needed == 5);
}

TEST_CASE("too few layers miss what enough layers express") {
  const auto d = design::compute_difference(parse(ring, 3), parse(ring, 2), unlimited);
  CHECK_FALSE(d.same);
  REQUIRE(d.separating);
  CHECK(d.separating->missed_by == "b");
  CHECK(*d.separating->floor == mpq_class(1, 2));  // six tokens, one unseen each, 1/12
  CHECK(d.first->layer == 3);
  CHECK(design::to_json(d).find("\"floor\":\"1/2\"") != std::string::npos);
}

TEST_CASE("what tokens see is compared, not only that each side is certified for it") {
  const auto parse_rows = [](const std::string& rows, const std::string& more) {
    return architecture::parse_architecture("tokens = 2\ndim = 4\n" + more + "[[layer]]\npattern = { kind = \"rows\", rows = " + rows + " }\n", "x.toml");
  };
  const std::string learned = "[input]\npositions = \"learned\"\n";
  const auto d = design::compute_difference(parse_rows("[[0],[1]]", learned), parse_rows("[[0,1],[1]]", learned), unlimited);
  CHECK_FALSE(d.same);
  REQUIRE(d.separating);
  CHECK(d.separating->missed_by == "a");
  CHECK(design::compute_difference(parse_rows("[[0,1],[1]]", learned), parse_rows("[[0,1],[1]]", learned), unlimited).same);
  // One layer of two circulants: both certified for nothing, with equal numbers of tokens out of sight.
  const auto circulants = design::compute_difference(parse("{ kind = \"circulant\", offsets = [0, 1] }", 1), parse("{ kind = \"circulant\", offsets = [0, 5] }", 1), unlimited);
  CHECK_FALSE(circulants.same);
  CHECK(circulants.separating);
  const std::string mean = "[mixer]\nkind = \"mean\"\n[feedforward]\n";
  CHECK_FALSE(design::compute_difference(parse_rows("[[0,1],[0,1]]", mean + "kind = \"affine\"\n"), parse_rows("[[0,1],[0,1]]", mean + "activation = \"tanh\"\nbias = false\n"), unlimited).same);
}

TEST_CASE("networks that do more than what has the symmetry they express are not the same as networks that do just that") {
  const auto parse_three = [](const std::string& rows) { return architecture::parse_architecture("tokens = 3\ndim = 2\n[mixer]\npattern = { kind = \"rows\", rows = " + rows + " }\n[[layer]]\n", "x.toml"); };
  // One layer of the first tells token 2 from the others, two are needed for all that it has to (docs/theory.md 16.92).
  const auto d = design::compute_difference(parse_three("[[0,1,2],[0,1,2],[0,1]]"), parse_three("[[0,1,2],[0,1,2],[0,1,2]]"), unlimited);
  CHECK_FALSE(d.same);
}

TEST_CASE("a BOS has nothing to tell, and a kernel that is 0 shows nobody") {
  const auto parse_rows = [](const std::string& rows) {
    return architecture::parse_architecture("tokens = 2\ndim = 2\n[input]\nembedding = \"table\"\nvocabulary = 2\nbos = true\n[output]\nhead = \"linear\"\ndim = 1\n[mixer]\npattern = { kind = \"rows\", rows = " + rows + " }\n[[layer]]\n", "x.toml");
  };
  CHECK(design::compute_difference(parse_rows("[[1],[]]"), parse_rows("[[1],[0]]"), unlimited).same);
  const auto zero = architecture::parse_architecture("tokens = 2\ndim = 2\n[mixer]\nkernel = \"0*dot(x,y)\"\nnormalised = false\n[[layer]]\n", "x.toml");
  const auto none = architecture::parse_architecture("tokens = 2\ndim = 2\n[mixer]\nkind = \"tokenwise\"\n[[layer]]\n", "y.toml");
  CHECK(design::compute_difference(zero, none, unlimited).same);
}

TEST_CASE("long sequences are compared at tokens that see fewer or more") {
  const auto parse_window = [](const std::string& more) {
    return architecture::parse_architecture("tokens = 5000\ndim = 2\n[target]\nclass = \"causal\"\n[mixer]\npattern = { kind = \"window\", before = 100, causal = true" + more + " }\n[[layer]]\nrepeat = 2\n", "x.toml");
  };
  const auto d = design::compute_difference(parse_window(""), parse_window(", global = [0]"), unlimited);
  REQUIRE(d.separating);
  CHECK(d.separating->missed_by == "a");
}

TEST_CASE("different numbers of tokens cannot be compared") {
  architecture::Architecture other = architecture::parse_architecture("tokens = 7\ndim = 4\n", "y.toml");
  CHECK_THROWS_AS((void)design::compute_difference(parse(ring, 3), other, unlimited), InputError);
}

TEST_CASE("a written mask is read back as it was") {
  const std::vector<std::uint8_t> mask = {1, 0, 1, 0, 1, 0, 0, 0, 1};
  const layout::Pattern pattern = layout::read_npz(design::write_npz(mask, 3), 3, unlimited);
  for (layout::Vertex i = 0; i < 3; ++i) {
    for (layout::Vertex j = 0; j < 3; ++j) CHECK(pattern.reads(i, j) == (mask[3 * i + j] == 1));
  }
}
