// JSON, exact numbers and digests of the checker against nlohmann, GMP and published values.
#include <doctest/doctest.h>
#include <gmpxx.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "checker/exact.hpp"
#include "checker/json.hpp"
#include "sightline/base/sha256.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/group/order.hpp"

namespace {

nlohmann::json make_json(std::mt19937_64& random, int depth) {
  const auto draw = [&](std::uint64_t bound) { return random() % bound; };
  const auto make_string = [&] {
    static const std::string pieces[] = {"a", "\"", "\\", "/", "\n", "\b", "\f", "\r", "\t", std::string(1, '\0'), "\x1f", "\x7f", "\xC3\xA9", "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "u00"};
    std::string text;
    for (std::uint64_t k = draw(5); k-- > 0;) text += pieces[draw(std::size(pieces))];
    return text;
  };
  switch (draw(depth > 0 ? 8 : 6)) {
    case 0: return nullptr;
    case 1: return draw(2) == 0;
    case 2: return draw(2) == 0 ? static_cast<std::int64_t>(random()) : static_cast<std::int64_t>(draw(1000000));
    case 3: return static_cast<std::int64_t>(draw(20)) - 10;
    case 4: return std::ldexp(static_cast<double>(draw(1000)) - 500, static_cast<int>(draw(120)) - 60);
    case 5: return make_string();
    case 6: {
      nlohmann::json list = nlohmann::json::array();
      for (std::uint64_t k = draw(5); k-- > 0;) list.push_back(make_json(random, depth - 1));
      return list;
    }
    default: {
      nlohmann::json object = nlohmann::json::object();
      for (std::uint64_t k = draw(5); k-- > 0;) object[make_string()] = make_json(random, depth - 1);
      return object;
    }
  }
}

bool reads(const std::string& text) {
  try {
    return checker::print(checker::parse(text)) == text.substr(0, text.size() - (text.back() == '\n' ? 1 : 0));
  } catch (const checker::Malformed&) {
    return false;
  }
}

checker::Natural to_natural(const mpz_class& value) { return checker::Natural::from_decimal(value.get_str()); }
checker::Rational to_rational(const mpq_class& value) {
  return {to_natural(abs(value.get_num())), to_natural(value.get_den()), value < 0};
}

}  // namespace

TEST_CASE("JSON is read and written as nlohmann writes it") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const std::string text = sightline::certificate::print_canonical(make_json(random, 4));
    INFO(text);
    const checker::Json value = checker::parse(text);
    REQUIRE(checker::print(value) == text);
    REQUIRE(value == checker::parse(text + "\n"));
  }
}

TEST_CASE("real numbers have the fewest digits, laid out as nlohmann does") {
  std::mt19937_64 random(2);
  int other_digits = 0, compared = 0;
  for (int round = 0; round < 200000; ++round) {
    double value = std::bit_cast<double>(random());
    if (round % 2 == 0) value = static_cast<double>(random() % 100000) * std::pow(10, static_cast<int>(random() % 40) - 20);
    if (!std::isfinite(value)) continue;
    ++compared;
    const std::string text = checker::print(checker::Json(value)), theirs = nlohmann::json(value).dump();
    REQUIRE(std::strtod(text.c_str(), nullptr) == value);
    REQUIRE(checker::parse(text).number() == value);
    REQUIRE(sightline::certificate::print_canonical(value) == text);
    if (text == theirs) continue;
    // nlohmann misses the nearest or the shortest digits in rare cases; the place of the point is the same.
    ++other_digits;
    REQUIRE(text.size() <= theirs.size());
    REQUIRE((text.find('e') == std::string::npos) == (theirs.find('e') == std::string::npos));
  }
  CHECK(100 * other_digits < compared);
  for (const char* text : {"0.0", "-0.0", "1e-05", "0.0001", "0.001", "100000.0", "123456789012345.0", "1e+15", "1.5e+300", "5e-324", "0.1"}) {
    CHECK(checker::print(checker::parse(text)) == text);
    CHECK(nlohmann::json::parse(text).dump() == text);
  }
}

TEST_CASE("one way to write every value") {
  for (const char* text : {"", " 1", "1 ", "1\n\n", "01", "-0", "+1", "1.", ".5", "1.00", "1e5", "1E+20", "1.0e-05", "nan", "inf", "-", "9223372036854775808", "1e999",
                           "[1, 2]", "[1,]", "[1", "[", "{", "{\"a\":1,}", "{\"a\" :1}", "{\"b\":1,\"a\":2}", "{\"a\":1,\"a\":1}", "{1:2}", "{\"a\"}", "\"", "\"\\/\"",
                           "\"\\u0041\"", "\"\\u001F\"", "\"\\u000a\"", "\"\\u00\"", "\"\\u0\"", "\"\\u00-1\"", "\"\n\"", "\"\x80\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"",
                           "\"\xF4\x90\x80\x80\"", "\"\xE2\x82\"", "\"\xF8\x88\x80\x80\x80\"", "tru", "nulll", "[]]", "\xEF\xBB\xBF" "1"}) {
    INFO(text);
    CHECK_FALSE(reads(text));
  }
  for (const char* text : {"1", "-1", "9223372036854775807", "-9223372036854775808", "[]", "{}", "[[],{}]", "{\"a\":{\"b\":[1]},\"c\":null}", "\"\\u001f\"", "\"\xC2\x80\"", "true\n"})
    CHECK(reads(text));
  CHECK(reads(std::string(64, '[') + std::string(64, ']')));
  CHECK_FALSE(reads(std::string(66, '[') + std::string(66, ']')));
  CHECK_FALSE(reads(std::string(1000000, '[')));
  CHECK_THROWS_WITH_AS((void)checker::parse("[1,x]"), doctest::Contains("byte 3"), checker::Malformed);
  std::mt19937_64 random(3);
  for (int round = 0; round < 100000; ++round) {
    std::string text = make_json(random, 3).dump();
    text[random() % text.size()] = static_cast<char>(random());
    bool valid = true;
    try {
      valid = sightline::certificate::print_canonical(nlohmann::json::parse(text)) == text;
    } catch (const std::exception&) {
      valid = false;
    }
    INFO(text);
    if (text.back() != '\n') REQUIRE(reads(text) == valid);
  }
}

TEST_CASE("tables of integers are kept flat and look as any list") {
  for (const char* table : {"[]", "[1,-2,3]", "[[]]", "[[1,2],[3],[]]", "[[[0,5,1,1,0,0],[7,9,1,1,0,1]],[[1]],[]]", "[9223372036854775807,-9223372036854775808]",
                            "[[1],2]", "[1,[2]]", "[[1],[[2]]]", "[1.5]", "[[1],[2.0]]", "[null]", "[[\"a\"]]", "[{\"lists\":[1]}]", "1", "{\"lists\":[[2]]}"}) {
    INFO(table);
    const std::string text = std::string("{\"lists\":") + table + ",\"other\":" + table + "}";
    const checker::Json value = checker::parse(text);
    CHECK(checker::print(value) == text);
    CHECK(value["lists"] == value["other"]);
    CHECK(value["other"] == value["lists"]);
    CHECK(value["lists"].is_array() == value["other"].is_array());
    const checker::Json again = checker::parse(text);
    CHECK(again["lists"] == value["lists"]);
    if (value["other"].is_array()) CHECK(value["lists"].array() == value["other"].array());
    CHECK(checker::print(value) == text);
  }
  const checker::Json value = checker::parse("{\"lists\":[[[1,2],[]],[]],\"other\":[[[1,2],[]],[]],\"segments\":[[1],2]}");
  CHECK(*value["lists"].numbers() == std::vector<std::int64_t>{5, 5, 4, 1, 2, 0, 0});
  CHECK(*value["other"].numbers() == *value["lists"].numbers());
  CHECK_THROWS_AS((void)value["segments"].numbers(), checker::Malformed);
  for (const char* text : {"{\"lists\":[01]}", "{\"lists\":[-0]}", "{\"lists\":[+1]}", "{\"lists\":[1,]}", "{\"lists\":[1 ]}", "{\"lists\":[[1],]}", "{\"lists\":[1}", "{\"lists\":[9223372036854775808]}"}) {
    INFO(text);
    CHECK_FALSE(reads(text));
  }
  CHECK_FALSE(reads("{\"lists\":" + std::string(66, '[') + std::string(66, ']') + "}"));
}

TEST_CASE("generators read in place look as any list of strings") {
  for (const char* list : {"[]", "[\"\"]", "[\"(0 1)\",\"(2 3)(4 5)\"]", "[\"a\\\\\"]", "[\"\\n\",\"b\"]", "[\"\xC3\xA9\"]", "[\"a\",1]", "[[\"a\"]]", "[1,2]", "\"a\"", "[{\"generators\":[\"a\"]}]"}) {
    INFO(list);
    const std::string text = std::string("{\"generators\":") + list + ",\"other\":" + list + "}";
    const checker::Json value = checker::parse(text, checker::Strings::in_place), copied = checker::parse(text);
    CHECK(value == copied);
    CHECK(copied == value);
    CHECK(value["generators"] == value["other"]);
    CHECK(value["generators"].is_array() == value["other"].is_array());
    CHECK(checker::print(value) == text);
    if (value["other"].is_array()) CHECK(value["generators"].array() == value["other"].array());
    CHECK(checker::print(value) == text);
  }
  const std::string two = "{\"generators\":[\"(0 1)\",\"(2 3)\"]}", other = "{\"generators\":[\"(0 1)\",\"(2 4)\"]}";
  const checker::Json value = checker::parse(two, checker::Strings::in_place);
  CHECK(value["generators"].texts() != nullptr);
  CHECK(value == checker::parse(two, checker::Strings::in_place));
  CHECK_FALSE(value == checker::parse(other, checker::Strings::in_place));
  CHECK_FALSE(value == checker::parse(other));
  for (const char* text : {"{\"generators\":[\"a\",]}", "{\"generators\":[\"a\"", "{\"generators\":[\"a", "{\"generators\":[\"a\" ]}", "{\"generators\":[\"\t\"]}", "{\"generators\":[\"\xFF\"]}", "{\"generators\":[\"\\u0041\"]}"}) {
    INFO(text);
    CHECK_THROWS_AS((void)checker::parse(text, checker::Strings::in_place), checker::Malformed);
  }
}

TEST_CASE("accessors name what they expected") {
  const checker::Json value = checker::parse("{\"a\":[1,2.5,\"x\",true,-1]}");
  CHECK(value["a"].size() == 5);
  CHECK(value["a"][0].natural(1) == 1);
  CHECK(value["a"][1].number() == 2.5);
  CHECK(value["a"][2].is("x"));
  CHECK(value["a"][3].boolean());
  CHECK(value.find("b") == nullptr);
  CHECK_THROWS_AS((void)value["b"], checker::Malformed);
  CHECK_THROWS_AS((void)value["a"][5], checker::Malformed);
  CHECK_THROWS_AS((void)value["a"][4].natural(), checker::Malformed);
  CHECK_THROWS_AS((void)value["a"][0].natural(0), checker::Malformed);
  CHECK_THROWS_AS((void)value["a"][0].string(), checker::Malformed);
  CHECK_THROWS_AS((void)value["a"][1].integer(), checker::Malformed);
  CHECK_THROWS_AS((void)value[0], checker::Malformed);
}

TEST_CASE("natural numbers and rationals against GMP") {
  gmp_randclass random(gmp_randinit_default);
  random.seed(4);
  for (int round = 0; round < 4000; ++round) {
    const unsigned long bits = round % 200 + 1;
    mpz_class a = random.get_z_bits(bits * 3), b = random.get_z_bits(bits);
    if (round % 5 == 0) a = (a >> (bits / 2)) << (bits / 2);
    for (int limb = 0; round % 7 == 0 && limb < 1 + round % 10; ++limb) {  // of which digits of quotients are guessed wrongly
      constexpr unsigned long limbs[] = {0, 0xffffffff, 0x80000000, 1, 0xfffffffe, 0x7fffffff};
      const auto append = [&](mpz_class& number) { number = (limb == 0 ? mpz_class(0) : mpz_class(number << 32)) + limbs[mpz_class(random.get_z_range(6)).get_ui()]; };
      append(a);
      if (limb < 1 + round % 4) append(b);
    }
    const checker::Natural x = to_natural(a), y = to_natural(b);
    REQUIRE(x.decimal() == a.get_str());
    REQUIRE(x.bits() == (a == 0 ? 0 : mpz_sizeinbase(a.get_mpz_t(), 2)));
    REQUIRE((x + y).decimal() == mpz_class(a + b).get_str());
    REQUIRE((x * y).decimal() == mpz_class(a * b).get_str());
    REQUIRE((x < y) == (a < b));
    REQUIRE(x.to_double() == doctest::Approx(a.get_d()).epsilon(1e-14));
    if (a >= b) REQUIRE((x - y).decimal() == mpz_class(a - b).get_str());
    if (a < b) CHECK_THROWS_AS((void)(x - y), std::domain_error);
    REQUIRE(gcd(x, y).decimal() == mpz_class(gcd(a, b)).get_str());
    if (b == 0) continue;
    REQUIRE((x / y).decimal() == mpz_class(a / b).get_str());
    REQUIRE((x % y).decimal() == mpz_class(a % b).get_str());
    mpq_class p(mpz_class(random.get_z_bits(40)), mpz_class(random.get_z_bits(20) + 1)), q(mpz_class(random.get_z_bits(40)), mpz_class(random.get_z_bits(20) + 1));
    p.canonicalize(), q.canonicalize();
    if (round & 1) p = -p;
    if (round & 2) q = -q;
    if (round % 50 == 0) q = p;
    const checker::Rational r = to_rational(p), s = to_rational(q);
    REQUIRE(r.text() == p.get_str());
    REQUIRE((r + s).text() == mpq_class(p + q).get_str());
    REQUIRE((r - s).text() == mpq_class(p - q).get_str());
    REQUIRE((r * s).text() == mpq_class(p * q).get_str());
    REQUIRE((r < s) == (p < q));
    REQUIRE((r == s) == (p == q));
    if (q != 0) REQUIRE((r / s).text() == mpq_class(p / q).get_str());
  }
  CHECK(checker::Rational(std::numeric_limits<std::int64_t>::min()).text() == "-9223372036854775808");
  CHECK(checker::power(3, 300).decimal() == [] { mpz_class p; mpz_ui_pow_ui(p.get_mpz_t(), 3, 300); return p.get_str(); }());
  CHECK(checker::power(0, 0) == checker::Natural(1));
  CHECK_THROWS_AS(checker::Rational(1) / checker::Rational(0), std::domain_error);
  for (const char* text : {"", "01", "-1", "1 ", "0x1"}) CHECK_THROWS_AS((void)checker::Natural::from_decimal(text), std::domain_error);
}

TEST_CASE("orders") {
  checker::Order order;
  CHECK(order.factored() == "1");
  CHECK(order.decimal() == "1");
  order.multiply_factorial(1, 7);
  order.multiply(12);
  CHECK(order.factored() == "12");
  order.multiply_factorial(64, 16384);
  order.multiply_factorial(5);
  CHECK(order.factored() == "64!^16384 * 5! * 12");
  CHECK(order.decimal() == "");
  CHECK(order.log10() == doctest::Approx(16384 * 89.10341689733 + 2.07918124605 + 1.07918124605).epsilon(1e-9));
  checker::Order small;
  small.multiply_factorial(20, 3);
  small.multiply_factorial(449);
  mpz_class expected, part;
  mpz_fac_ui(part.get_mpz_t(), 20);
  expected = part * part * part;
  mpz_fac_ui(part.get_mpz_t(), 449);
  CHECK(small.decimal() == (mpz_class(expected * part).get_str().size() <= 1000 ? mpz_class(expected * part).get_str() : ""));
  checker::Order longest, beyond;
  longest.multiply(checker::Natural::from_decimal(std::string(1000, '9')));
  beyond.multiply(checker::Natural::from_decimal("1" + std::string(1000, '0')));
  CHECK(longest.decimal() == std::string(1000, '9'));
  CHECK(beyond.decimal() == "");
  CHECK(longest.log10() == doctest::Approx(1000).epsilon(1e-12));
}

TEST_CASE("orders are taken apart into factorials as the library does it, and compared as numbers") {
  std::mt19937 random(5);
  int taken_apart = 0;
  for (int k = 0; k < 300; ++k) {
    checker::Order mine, whole;
    sightline::group::Order theirs;
    const auto multiply = [&](std::uint32_t value) {
      mine.multiply(value);
      theirs.multiply(mpz_class(value));
    };
    for (std::uint32_t part = 1 + random() % 3; part > 0; --part) {
      const std::uint32_t last = 1 + random() % 1500, factor = 1 + random() % 6, first = 1 + random() % (random() % 2 == 0 ? 1 : last);
      for (std::uint32_t x = first; x <= last; ++x) multiply(x * factor);
    }
    if (random() % 3 == 0) {
      mine.multiply_factorial(7, 3);
      theirs.multiply_factorial(7, 3);
    }
    REQUIRE(mine.factored() == theirs.factored());
    REQUIRE(mine.log10() == doctest::Approx(theirs.log10()).epsilon(1e-12));
    if (mine.decimal().empty() && mine.factored().find("! *") != std::string::npos) ++taken_apart;
    // The same number from what was printed.
    std::istringstream text(mine.factored());
    for (std::string word; text >> word;) {
      if (word == "*") continue;
      const std::size_t mark = word.find('!'), hat = word.find('^');
      if (mark == std::string::npos) whole.multiply(checker::Natural::from_decimal(word));
      else whole.multiply_factorial(std::stoull(word), hat == std::string::npos ? 1 : std::stoull(word.substr(hat + 1)));
    }
    REQUIRE(checker::same_order(mine, whole));
    whole.multiply(2 + random() % 5);
    REQUIRE_FALSE(checker::same_order(mine, whole));
  }
  CHECK(taken_apart > 50);
  checker::Order product, factorial;
  for (std::uint64_t x = 2; x <= 131072; ++x) product.multiply(x);
  factorial.multiply_factorial(131072);
  CHECK(product.factored() == "131072!");
  CHECK(checker::same_order(product, factorial));
  product.raise(2);
  factorial.raise(2);
  CHECK(checker::same_order(product, factorial));
}

TEST_CASE("SHA-256 in both places") {
  CHECK(checker::sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(checker::sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(checker::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(checker::sha256(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (std::size_t length = 0; length < 200; ++length) CHECK(checker::sha256(std::string(length, 'x')) == sightline::sha256(std::string(length, 'x')));
}
