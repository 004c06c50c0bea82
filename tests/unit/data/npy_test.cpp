// Arrays written and read again, and archives as numpy and zip tools see them.
#include <cmath>

#include "tests/unit/data/support.hpp"

using namespace sightline;

TEST_CASE("what is written is read: types, shapes, content at a multiple of 64 bytes") {
  const NpyArray array = make_array("a", {2, 3}, std::vector<double>{1, -2.5, 3e300, 0, -0.0, 6});
  const std::string bytes = make_npy(array);
  const NpyFile file = parse_npy(bytes);
  CHECK(file.descr == "<f8");
  CHECK(file.shape == std::vector<std::uint64_t>{2, 3});
  CHECK_FALSE(file.fortran);
  CHECK((bytes.size() - file.data.size()) % 64 == 0);
  const NpyNumbers numbers(file);
  numbers.check_size(6);
  CHECK(numbers.number(2) == 3e300);
  CHECK(std::signbit(numbers.number(4)));
  CHECK(parse_npy(make_npy(make_array("v", {3}, std::vector<float>{1, 2, 3}))).shape == std::vector<std::uint64_t>{3});
  CHECK(parse_npy(make_npy(make_text("t", "a\xc3\xa9"))).descr == "<U2");
  CHECK(parse_npy(make_npy(make_text("t", "x"))).shape.empty());
}

TEST_CASE("integers of every width and sign, in both byte orders, and half floats") {
  const auto value = [](const std::string& descr, const std::string& data) {
    const NpyFile file{descr, false, {1}, data};
    bool fits = true;
    const std::int64_t integer = NpyNumbers(file).integer(0, fits);
    CHECK(fits);
    CHECK(NpyNumbers(file).number(0) == static_cast<double>(integer));
    return integer;
  };
  CHECK(value("|i1", "\xfe") == -2);
  CHECK(value("|u1", "\xfe") == 254);
  CHECK(value("<i2", "\xfe\xff") == -2);
  CHECK(value(">i2", "\xff\xfe") == -2);
  CHECK(value(">u2", std::string("\x01\x00", 2)) == 256);
  CHECK(value("<i4", "\xfd\xff\xff\xff") == -3);
  CHECK(value(">i8", "\xff\xff\xff\xff\xff\xff\xff\x9c") == -100);
  CHECK(value("|b1", "\x01") == 1);
  bool fits = true;
  const std::string large(8, '\xff');
  (void)NpyNumbers(NpyFile{"<u8", false, {1}, large}).integer(0, fits);
  CHECK_FALSE(fits);
  const auto half = [](const std::string& data) { return NpyNumbers(NpyFile{">f2", false, {1}, data}).number(0); };
  CHECK(half(std::string("\x3c\x00", 2)) == 1);
  CHECK(half(std::string("\xc1\x00", 2)) == -2.5);
  CHECK(half(std::string("\x00\x01", 2)) == std::ldexp(1, -24));
  CHECK(std::isinf(half(std::string("\xfc\x00", 2))));
}

TEST_CASE("archives: every array comes back, a flipped bit is noticed") {
  const Budget budget;  // outlives the archives
  std::vector<double> many(5000);
  for (std::size_t k = 0; k < many.size(); ++k) many[k] = std::sin(static_cast<double>(k));
  const NpyArray one = make_array("one", {5000}, many), two = make_array("two", {2}, std::vector<std::int64_t>{7, -8});
  const std::string bytes = make_npz({one, two});
  CHECK(bytes == make_npz({one, two}));
  {
    NpzArchive archive(bytes);
    CHECK(archive.names() == std::vector<std::string>{"one", "two"});
    CHECK(archive.unpack(0, 1 << 20, budget) == make_npy(one));
    CHECK(archive.unpack(1, 1 << 20, budget) == make_npy(two));
    CHECK_THROWS_AS((void)archive.unpack(0, 1000, budget), NpyError);
  }
  std::string damaged = bytes;
  damaged[20000] = static_cast<char>(damaged[20000] ^ 4);
  NpzArchive archive(damaged);
  CHECK_THROWS_AS((void)archive.unpack(0, 1 << 20, budget), NpyError);
  CHECK_THROWS_AS(NpzArchive("no archive"), NpyError);
}

TEST_CASE("what an archive unpacks to is booked, and given back with it") {
  const Budget budget(std::nullopt, std::uint64_t{3} << 20);
  const std::string bytes = make_npz({make_array("a", {1u << 18}, std::vector<double>(1u << 18))});
  for (int round = 0; round < 5; ++round) {
    NpzArchive archive(bytes);
    CHECK_THROWS_AS((void)archive.unpack(0, std::uint64_t{1} << 40, budget), BudgetExhausted);
  }
  budget.ask(std::uint64_t{3} << 20);
}
