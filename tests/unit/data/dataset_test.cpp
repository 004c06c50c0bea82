#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "sightline/data/dataset.hpp"
#include "sightline/data/predictions.hpp"
#include "tests/unit/data/support.hpp"

using namespace sightline;
using namespace sightline::data;

namespace {

Expected make_expected(std::uint64_t tokens, std::uint64_t width, bool pooled = false) {
  Expected expected;
  expected.tokens = tokens;
  expected.width = width;
  expected.pooled = pooled;
  return expected;
}

Expected make_expected_ids(std::uint64_t tokens, std::uint64_t below) {
  Expected expected = make_expected(tokens, 1);
  expected.ids = true;
  expected.ids_below = below;
  return expected;
}

std::vector<double> count_up(std::size_t size) {
  std::vector<double> out(size);
  for (std::size_t k = 0; k < size; ++k) out[k] = static_cast<double>(k) + 0.5;
  return out;
}

using Numbers = std::vector<std::uint64_t>;
using Ints = std::vector<std::int64_t>;

std::string npz_error(const std::vector<NpyArray>& arrays, const Expected& expected) {
  return error_of([&] { (void)parse_npz(make_npz(arrays), "d.npz", expected, Budget{}); });
}

}  // namespace

TEST_CASE("npz: floats per token, in the type and order they are stored in") {
  const std::vector<double> x = count_up(24), y = count_up(12);
  const Dataset plain = parse_npz(make_npz({make_array("x", {4, 3, 2}, x), make_array("y", {4, 3, 1}, y), make_text("floor", "{}")}), "d", make_expected(3, 2), Budget{});
  CHECK(plain.train.size() == 4);
  CHECK(std::get<std::vector<double>>(plain.train.x.values) == x);
  CHECK(plain.train.y->shape == Numbers{4, 3, 1});
  CHECK_FALSE(plain.validation);
  CHECK_FALSE(has_classes(plain.train));
  CHECK(count_outputs(plain) == 1);

  const std::vector<float> single(x.begin(), x.end());
  const Dataset small = parse_npz(make_npz({make_array("x", {4, 3, 2}, single), make_array("y", {4, 3, 1}, y)}), "d", make_expected(3, 2), Budget{});
  CHECK(std::get<std::vector<float>>(small.train.x.values) == single);

  // Fortran order, big-endian: the first index runs fastest.
  std::string bytes;
  for (std::uint64_t k = 0; k < 2; ++k)
    for (std::uint64_t i = 0; i < 3; ++i)
      for (std::uint64_t s = 0; s < 4; ++s) {
        const auto* from = reinterpret_cast<const char*>(&x[(s * 3 + i) * 2 + k]);
        for (int b = 7; b >= 0; --b) bytes += from[b];
      }
  std::string array = make_npy({"x", ">f8", {4, 3, 2}, bytes});
  const std::size_t at = array.find("False");
  array.replace(at, 5, "True ");
  const Dataset turned = parse_npy(array, make_npy(make_array("y", {4, 3, 1}, y)), "x.npy", "y.npy", make_expected(3, 2), Budget{});
  CHECK((turned.train.x == plain.train.x));
}

TEST_CASE("npz: classes, pooled targets, validation and test parts, weights") {
  const Dataset d = parse_npz(make_npz({make_array("x", {3, 2, 1}, count_up(6)), make_array("y", {3}, Ints{0, 4, 2}), make_array("weight", {3}, std::vector<float>{1, 0, 2}),
                                        make_array("x_val", {1, 2, 1}, count_up(2)), make_array("y_val", {1}, Ints{1}),
                                        make_array("x_test", {2, 2, 1}, count_up(4)), make_array("y_test", {2}, Ints{6, 0})}),
                              "d", make_expected(2, 1, true), Budget{});
  CHECK(has_classes(d.train));
  CHECK(count_outputs(d) == 7);
  CHECK(d.train.weights == std::vector<double>{1, 0, 2});
  CHECK(d.validation->size() == 1);
  CHECK(d.test->size() == 2);
  const Dataset pooled = parse_npz(make_npz({make_array("x", {3, 2, 1}, count_up(6)), make_array("y", {3, 4}, count_up(12))}), "d", make_expected(2, 1, true), Budget{});
  CHECK(count_outputs(pooled) == 4);
  // Pixels: integers are numbers.
  const Dataset pixels = parse_npz(make_npz({make_array("x", {1, 2, 1}, std::vector<std::uint8_t>{3, 255}), make_array("y", {1}, Ints{0})}), "d", make_expected(2, 1, true), Budget{});
  CHECK(std::get<std::vector<double>>(pixels.train.x.values) == std::vector<double>{3, 255});
}

TEST_CASE("npz: ids, and what lies beyond a length is neither checked nor kept") {
  const Dataset d = parse_npz(make_npz({make_array("x", {2, 3}, Ints{0, 4, -7, 1, 2, 3}), make_array("lengths", {2}, Ints{2, 3}), make_array("y", {2, 3}, Ints{1, -100, 999, 0, 2, 1})}),
                              "d", make_expected_ids(3, 5), Budget{});
  CHECK(std::get<Ints>(d.train.x.values) == Ints{0, 4, 0, 1, 2, 3});
  CHECK(std::get<Ints>(d.train.y->values) == Ints{1, -100, -100, 0, 2, 1});
  CHECK(count_ids(d) == 5);
  CHECK(count_outputs(d) == 3);
  std::vector<double> x = count_up(8);
  x[2] = NAN;
  const Dataset real = parse_npz(make_npz({make_array("x", {2, 2, 2}, x), make_array("lengths", {2}, Ints{1, 2}), make_array("y", {2, 2, 1}, std::vector<double>{1, NAN, 2, 3})}), "d",
                                 make_expected(2, 2), Budget{});
  CHECK(std::get<std::vector<double>>(real.train.x.values) == std::vector<double>{0.5, 1.5, 0, 0, 4.5, 5.5, 6.5, 7.5});
  CHECK(std::get<std::vector<double>>(real.train.y->values) == std::vector<double>{1, 0, 2, 3});
}

TEST_CASE("npz: names near those that are read are mistakes, others are nobody's business") {
  const NpyArray x = make_array("x", {2, 2, 1}, count_up(4)), y = make_array("y", {2, 2, 1}, count_up(4));
  for (const auto& [name, meant] : {std::pair{"x_vall", "x_val"}, {"X", "x"}, {"x_validation", "x_val"}, {"y_Valid", "y_val"}, {"xval", "x_val"}, {"weights", "weight"}, {"length", "lengths"}, {"lenghts_test", "lengths_test"}, {"x_tset", "x_test"}}) {
    CAPTURE(name);
    const std::string error = npz_error({x, y, make_array(name, {2}, count_up(2))}, make_expected(2, 1));
    CHECK(error == fmt::format("d.npz: expected arrays named x, y, lengths, weight (with _val, _test) or nothing near them, found \"{}\" (did you mean \"{}\"?)", name, meant));
  }
  for (const char* name : {"floor", "ids", "z", "x_max", "attention", "xy", "y_hat", "labels"}) {
    CAPTURE(name);
    CHECK(npz_error({x, y, make_array(name, {2}, count_up(2))}, make_expected(2, 1)) == "");
  }
}

TEST_CASE("ids with a BOS: one id in front of all samples and nowhere else") {
  const auto missing = [](const Ints& x, const Ints& val = {}) {
    std::vector<NpyArray> arrays{make_array("x", {2, 3}, x), make_array("y", {2, 3}, Ints{1, 1, 1, 1, 1, 1})};
    if (!val.empty()) arrays.insert(arrays.end(), {make_array("x_val", {1, 3}, val), make_array("y_val", {1, 3}, Ints{1, 1, 1})});
    return find_missing_bos(parse_npz(make_npz(arrays), "d.npz", make_expected_ids(3, 9), Budget{})).value_or("");
  };
  CHECK(missing({8, 0, 1, 8, 2, 2}, {8, 1, 1}) == "");
  CHECK(missing({0, 1, 1, 0, 2, 2}) == "");  // which id it is does not matter
  CHECK(missing({8, 0, 1, 7, 2, 2}) == "x: found 7 in front of sample 1, 8 in front of the first");
  CHECK(missing({8, 0, 1, 8, 2, 8}) == "x: found 8 in front and at token 2 of sample 1");
  CHECK(missing({8, 0, 1, 8, 2, 2}, {1, 8, 2}) == "x_val: found 1 in front of sample 0, 8 in front of the first");
}

TEST_CASE("every mistake in an archive is one line that names the file and the array") {
  const NpyArray x = make_array("x", {2, 2, 1}, count_up(4)), y = make_array("y", {2, 2, 1}, count_up(4));
  const Expected e = make_expected(2, 1);
  CHECK(npz_error({x, y}, e) == "");
  CHECK(npz_error({y}, e) == "d.npz: x: expected numbers [N, 2, 1] (tokens, input.dim), found no such array");
  CHECK(npz_error({x}, e) == "d.npz: y: expected floats [2, 2, k] or one class per token, integers [2, 2], found no such array");
  CHECK(npz_error({make_array("x", {4, 1}, count_up(4)), y}, e) == "d.npz: x: expected numbers [N, 2, 1] (tokens, input.dim), found float64 (4, 1)");
  CHECK(npz_error({make_array("x", {0, 2, 1}, count_up(0)), y}, e) == "d.npz: x: expected at least one sample, found float64 (0, 2, 1)");
  CHECK(npz_error({x, make_array("y", {1, 2, 1}, count_up(2))}, e) == "d.npz: y: expected floats [2, 2, k] or one class per token, integers [2, 2], found float64 (1, 2, 1)");
  CHECK(npz_error({x, make_array("y", {2}, Ints{0, 1})}, e) == "d.npz: y: expected floats [2, 2, k] or one class per token, integers [2, 2], found int64 (2,)");
  CHECK(npz_error({x, y}, make_expected(2, 1, true)) == "d.npz: y: expected floats [2, k] or one class per sample, integers [2], found float64 (2, 2, 1)");
  Expected two = e;
  two.outputs = 2;
  CHECK(npz_error({x, y}, two) == "d.npz: y: expected floats [2, 2, 2] or one class per token, integers [2, 2], found float64 (2, 2, 1)");
  CHECK(npz_error({x, make_array("y", {2, 2}, Ints{0, 1, 2, 0})}, two) == "d.npz: y: expected classes from 0 to 1 (or -100: ignored), found 2 at sample 1, token 0");
  CHECK(npz_error({x, make_array("y", {2, 2}, Ints{-100, -100, -100, -100})}, two) == "d.npz: y: expected a class that counts, found -100 (ignored) alone");
  CHECK(npz_error({x, make_array("y", {2}, Ints{0, -100})}, make_expected(2, 1, true)) == "d.npz: y: expected classes from 0 to 2147483647, found -100 at sample 1");
  for (const double bad : {static_cast<double>(NAN), HUGE_VAL}) {
    CHECK(npz_error({make_array("x", {2, 2, 1}, std::vector<double>{0, 0, 0, bad}), y}, e) == (std::isnan(bad) ? "d.npz: x: expected finite numbers, found nan at sample 1, token 1, entry 0"
                                                                                                             : "d.npz: x: expected finite numbers, found inf at sample 1, token 1, entry 0"));
  }
  CHECK(npz_error({x, make_array("y", {2, 2, 1}, std::vector<float>{0, std::numeric_limits<float>::quiet_NaN(), 0, 0})}, e) == "d.npz: y: expected finite numbers, found nan at sample 0, token 1, entry 0");
  CHECK(npz_error({x, make_array("y", {2, 2}, std::vector<double>{0, NAN, 0, 0})}, make_expected(2, 1, true)) == "d.npz: y: expected finite numbers, found nan at sample 0, entry 1");
  CHECK(npz_error({make_array("x", {1, 2}, Ints{0, 5}), make_array("y", {1, 2}, Ints{0, 0})}, make_expected_ids(2, 5)) == "d.npz: x: expected ids from 0 to 4, found 5 at sample 0, token 1");
  CHECK(npz_error({make_array("x", {1, 2}, count_up(2)), make_array("y", {1, 2}, Ints{0, 0})}, make_expected_ids(2, 5)) == "d.npz: x: expected integers [N, 2], the ids of 2 tokens, found float64 (1, 2)");
  CHECK(npz_error({x, y, make_array("lengths", {2}, Ints{1, 3})}, e) == "d.npz: lengths: expected lengths from 1 to 2, found 3 at sample 1");
  CHECK(npz_error({x, y, make_array("lengths", {2}, Ints{0, 1})}, e) == "d.npz: lengths: expected lengths from 1 to 2, found 0 at sample 0");
  CHECK(npz_error({x, y, make_array("lengths", {3}, Ints{1, 1, 1})}, e) == "d.npz: lengths: expected integers [2], found int64 (3,)");
  CHECK(npz_error({x, y, make_array("weight", {2}, std::vector<double>{1, -1})}, e) == "d.npz: weight: expected finite numbers that are not negative, found -1 at sample 1");
  CHECK(npz_error({x, y, make_array("weight", {2}, std::vector<double>{0, 0})}, e) == "d.npz: weight: expected a weight above 0, found zeros alone");
  CHECK(npz_error({x, y, make_array("y_val", {2, 2, 1}, count_up(4))}, e) == "d.npz: x_val: expected this array beside y_val, found none");
  CHECK(npz_error({x, y, make_array("x_val", {1, 2, 1}, count_up(2))}, e) == "d.npz: y_val: expected floats [1, 2, k] or one class per token, integers [1, 2], found no such array");
  CHECK(npz_error({x, y, make_array("x_val", {1, 2, 1}, count_up(2)), make_array("y_val", {1, 2}, Ints{0, 0})}, e) ==
        "d.npz: y_val: expected targets of the kind of y (float64 (2, 2, 1)), found int64 (1, 2)");
  CHECK(npz_error({x, x, y}, e) == "d.npz: x: expected one array of this name, found two");
  CHECK(npz_error({{"x", "|O", {1}, "abc"}, y}, e) == "d.npz: x: expected an array of numbers, found an array of Python objects");
  CHECK(npz_error({{"x", "<c16", {1}, std::string(16, ' ')}, y}, e) == "d.npz: x: expected bool, integers of 1 to 8 bytes or floats of 2 to 8, found \"<c16\"");
  CHECK(npz_error({{"x", "<f8", {1000000, 1000000, 1000000}, ""}, y}, e).starts_with("d.npz: x: expected "));
  CHECK(npz_error({{"x", "<f8", {999999999999999999, 999999999999999999, 4}, ""}, y}, e) == "d.npz: x: expected an array that fits into memory, found (999999999999999999, 999999999999999999, 4)");
  CHECK(npz_error({{"x", "<f8", {2, 2, 1}, std::string(31, ' ')}, y}, e) == "d.npz: x: expected 32 bytes of data, found 31");
  CHECK(npz_error({{"x", "<u8", {2, 2, 1}, std::string(32, '\xff')}, y}, e) == "d.npz: x: expected integers below 2^63, found a larger one");
  Expected predict = e;
  predict.targets = false;
  CHECK(npz_error({x}, predict) == "");
  CHECK(npz_error({x, make_array("y", {7}, count_up(7))}, predict) == "");
}

TEST_CASE("truncated archives of every length are refused") {
  const std::string whole = make_npz({make_array("x", {2, 2, 1}, count_up(4)), make_array("y", {2, 2, 1}, count_up(4))});
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(error_of([&] { (void)parse_npz(whole.substr(0, length), "d", make_expected(2, 1), Budget{}); }).starts_with("d"));
}

TEST_CASE("files are told by name, then by content") {
  const Folder folder;
  const std::string x = make_npy(make_array("x", {2, 2, 1}, count_up(4))), y = make_npy(make_array("y", {2, 2, 1}, count_up(4)));
  const Expected e = make_expected(2, 1);
  const Dataset split = read_dataset(folder.write("x.npy", x), folder.write("y.npy", y), e, Budget{});
  const std::string archive = make_npz({make_array("x", {2, 2, 1}, count_up(4)), make_array("y", {2, 2, 1}, count_up(4))});
  const Dataset whole = read_dataset(folder.write("d.npz", archive), std::nullopt, e, Budget{});
  CHECK((split.train.x == whole.train.x));
  CHECK((*split.train.y == *whole.train.y));
  CHECK((read_dataset(folder.write("d", archive), std::nullopt, e, Budget{}).train.x == whole.train.x));
  CHECK((read_dataset(folder.write("d.csv", "a,b,c,d\n0.5,1.5,0.5,1.5\n2.5,3.5,2.5,3.5\n"), std::nullopt, e, Budget{}).train.x == whole.train.x));
  CHECK(error_of([&] { (void)read_dataset(folder.file("x.npy"), std::nullopt, e, Budget{}); }).find("x.npy: expected --targets") != std::string::npos);
  CHECK(error_of([&] { (void)read_dataset(folder.file("d.npz"), folder.file("y.npy"), e, Budget{}); }).find("expected a .npy file with --targets") != std::string::npos);
  CHECK(error_of([&] { (void)read_dataset(folder.file("none.npz"), std::nullopt, e, Budget{}); }).find("No such file") != std::string::npos);
  CHECK(error_of([&] { (void)read_dataset(folder.write("bad.npy", x.substr(0, 140)), folder.file("y.npy"), e, Budget{}); }).find("bad.npy: x: expected 32 bytes of data") != std::string::npos);
  CHECK(error_of([&] { (void)read_dataset(folder.file("x.npy"), folder.write("worse.npy", "abc"), e, Budget{}); }).find("worse.npy: y: expected a NumPy array") != std::string::npos);
}

TEST_CASE("CSV: numbers, classes and ids; every mistake with its line") {
  const auto read = [](const std::string& text, const Expected& e) { return parse_csv(text, "d.csv", e, Budget{}); };
  const auto error = [&](const std::string& text, const Expected& e) { return error_of([&] { (void)read(text, e); }); };
  const Expected e = make_expected(2, 1), pooled = make_expected(2, 1, true);
  CHECK((*read("x00,x10,y0,y1\r\n1,2,0,1\r\n", e).train.y == Array{{1, 2}, Ints{0, 1}}));
  CHECK((*read("x00,x10,y0,y1\n1,2,0.,1\n", e).train.y == Array{{1, 2, 1}, std::vector<double>{0, 1}}));
  CHECK((*read("x00,x10,a,b,c,d\n1,2,0,1,2,3\n", e).train.y == Array{{1, 2, 2}, std::vector<double>{0, 1, 2, 3}}));
  CHECK((*read("x00,x10,label\n1e-3, \"2\" ,4\n-1,+2.5,0\n\n", pooled).train.y == Array{{2}, Ints{4, 0}}));
  CHECK((*read("x00,x10,u,v\n1,2,4,5\n", pooled).train.y == Array{{1, 2}, std::vector<double>{4, 5}}));
  CHECK((read("a,b,y0,y1\n3,4,0,0\n", make_expected_ids(2, 5)).train.x == Array{{1, 2}, Ints{3, 4}}));
  // Numbered columns must be numbered row by row; other names say nothing.
  const Expected wide = make_expected(2, 2, true);
  const std::string row = " in column 2 (columns are row-major: all numbers of a token, then the next token), found ";
  CHECK((read("x[0][0],x[0][1],x[1][0],x[1][1],y\n1,2,3,4,0\n", wide).train.x == Array{{1, 2, 2}, std::vector<double>{1, 2, 3, 4}}));
  CHECK(error("x[0][0],x[1][0],x[0][1],x[1][1],y\n1,2,3,4,0\n", wide) == "d.csv:1: expected \"x[0][1]\"" + row + "\"x[1][0]\"");
  CHECK(error("x1_1,x2_1,x1_2,x2_2,y\n1,2,3,4,0\n", wide) == "d.csv:1: expected \"x1_2\"" + row + "\"x2_1\"");
  CHECK(error("x00,x10,x01,x11,y\n1,2,3,4,0\n", wide) == "d.csv:1: expected \"x01\"" + row + "\"x10\"");
  CHECK(error("a,b,y1,y0\n1,2,3,4.5\n", e).find("d.csv:1: expected \"y0\" in column 3") == 0);
  CHECK(error("x1,x1,x0,x0,y\n1,2,3,4,0\n", wide) == "");
  CHECK(error("x1,b,x0,c,y\n1,2,3,4,0\n", wide) == "");
  CHECK(error("x9,x10,x11,x12,y\n1,2,3,4,0\n", wide) == "");
  CHECK(error("", e) == "d.csv:1: expected a header, found an empty line");
  CHECK(error("1,2,3,4\n", e) == "d.csv:1: expected a header that names the columns, found \"1,2,3,4\"");
  CHECK(error("a,b\n1,2\n", e) == "d.csv:1: expected 2 columns of x (2 tokens x 1 numbers), then y, found 2 columns");
  CHECK(error("x,y,y1\n1,2,3\n", e) == "d.csv:1: expected 2 columns of x (2 tokens x 1 numbers) before y, found 1");
  CHECK(error("a,b,y\n", pooled) == "d.csv:1: expected at least one row after the header, found none");
  CHECK(error("a,b,y\n1,2\n", pooled) == "d.csv:2: expected 3 columns, found 2");
  CHECK(error("a,b,y\n1,2,3,4\n", pooled) == "d.csv:2: expected 3 columns, found 4");
  CHECK(error("a,b,y\n1,2,3\n1,two,3\n", pooled) == "d.csv:3: expected a number in column 2, found \"two\"");
  CHECK(error("a,b,y\n1,,3\n", pooled) == "d.csv:2: expected a number in column 2, found \"\"");
  CHECK(error("a,b,y\n1,nan,3\n", pooled) == "d.csv: x: expected finite numbers, found nan at sample 0, token 1, entry 0");
  CHECK(error("a,b,y\n1,2,3\n\n1,2,3\n", pooled) == "d.csv:3: expected a row, found an empty line");
  CHECK(error("a,b,y0,y1,y2\n1,2,3,4,5.5\n", e) == "d.csv: y: expected a multiple of 2 columns (tokens) after x, found 3");
  CHECK(error("a,b,y0,y1\n1.5,2,3,4\n", make_expected_ids(2, 5)) == "d.csv:2: expected an id in column 1, found \"1.5\"");
  CHECK(error("a,b,y0,y1\n1,7,3,4\n", make_expected_ids(2, 5)) == "d.csv: x: expected ids from 0 to 4, found 7 at sample 0, token 1");
}

TEST_CASE("the validation part: the last share of a permutation by the seed") {
  const std::vector<std::uint64_t> order = permute(1000, 3);
  CHECK(std::set<std::uint64_t>(order.begin(), order.end()).size() == 1000);
  CHECK(order == permute(1000, 3));
  CHECK(order != permute(1000, 4));
  CHECK(permute(6, 0) == std::vector<std::uint64_t>{3, 4, 5, 1, 2, 0});  // the same on every machine, for ever
  Dataset d = parse_npz(make_npz({make_array("x", {20, 1, 1}, count_up(20)), make_array("y", {20}, Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}),
                                  make_array("lengths", {20}, Ints(20, 1)), make_array("weight", {20}, count_up(20))}),
                        "d", make_expected(1, 1, true), Budget{});
  split_validation(d, 0.1, 9);
  CHECK(d.train.size() == 18);
  CHECK(d.validation->size() == 2);
  const std::vector<std::uint64_t> expected = permute(20, 9);
  for (std::size_t k = 0; k < 20; ++k) {
    const Part& part = k < 18 ? d.train : *d.validation;
    const std::size_t at = k < 18 ? k : k - 18;
    CHECK(std::get<Ints>(part.y->values)[at] == static_cast<std::int64_t>(expected[k]));
    CHECK(std::get<std::vector<double>>(part.x.values)[at] == static_cast<double>(expected[k]) + 0.5);
    CHECK(part.weights[at] == static_cast<double>(expected[k]) + 0.5);
    CHECK(part.lengths[at] == 1);
  }
  split_validation(d, 0.5, 9);  // already split
  CHECK(d.train.size() == 18);
}

TEST_CASE("predictions: what is written is read") {
  const Folder folder;
  const std::map<std::string, Array> arrays = {{"y", {{2, 2, 1}, std::vector<float>{1, 2, 3, 4}}}, {"x", {{2, 2, 1}, count_up(4)}}};
  write_npz(folder.file("p.npz"), arrays);
  const std::string bytes = slurp(folder.file("p.npz"));
  write_npz(folder.file("p.npz"), arrays);
  CHECK(slurp(folder.file("p.npz")) == bytes);
  const Dataset d = read_dataset(folder.file("p.npz"), std::nullopt, make_expected(2, 1), Budget{});
  CHECK((*d.train.y == arrays.at("y")));
  CHECK(error_of([&] { write_npz("/dev/full", arrays); }) == "/dev/full: expected a file that can be written, found: No space left on device");
}
