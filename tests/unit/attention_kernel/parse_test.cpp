#include <doctest/doctest.h>

#include <random>
#include <string>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/expression.hpp"
#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/base/error.hpp"

using namespace sightline;
using namespace sightline::attention_kernel;

namespace {

std::string error_of(const std::string& text, Role role = Role::kernel, std::size_t dim = 3) {
  try {
    (void)parse_expression(text, role, dim);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string printed(const std::string& text, Role role = Role::kernel) { return print_expression(parse_expression(text, role, 3)); }

// A random tree of the wanted type, as the parser could have made it.
Expression grow(std::mt19937_64& random, bool vector, int depth) {
  auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  if (depth == 0 || pick(6) == 0) {
    if (!vector) {
      mpq_class value(pick(1000), 1);
      for (int k = pick(4); k > 0; --k) value /= 10;
      return make_number(value);
    }
    if (pick(3) != 0) return make_variable(pick(2) == 0 ? 'x' : 'y');
    return make_vector({mpq_class(pick(7) - 3), mpq_class(pick(7) - 3) / 7, mpq_class(pick(9)) / 8});
  }
  const Op binary[] = {Op::add, Op::subtract, Op::multiply, Op::divide};
  const Op unary[] = {Op::negate, Op::exp, Op::log, Op::sqrt, Op::cosh, Op::sinh, Op::cos, Op::sin, Op::tanh, Op::sigmoid, Op::softplus, Op::relu, Op::elu, Op::abs};
  switch (pick(vector ? 3 : 4)) {
    case 0: {
      const bool left = vector && pick(2) == 0;
      return make_node(binary[pick(4)], {grow(random, left, depth - 1), grow(random, vector && (!left || pick(2) == 0), depth - 1)});
    }
    case 1: return make_node(unary[pick(14)], {grow(random, vector, depth - 1)});
    case 2: return make_node(Op::power, {grow(random, vector, depth - 1), grow(random, false, depth - 1)});
    default:
      if (pick(2) == 0) return make_node(Op::dot, {grow(random, true, depth - 1), grow(random, true, depth - 1)});
      return make_node(pick(2) == 0 ? Op::norm2 : Op::norm, {grow(random, true, depth - 1)});
  }
}

}  // namespace

TEST_CASE("numbers are exact rationals") {
  CHECK(parse_expression("0.1", Role::kernel, 0)->value == mpq_class(1, 10));
  CHECK(parse_expression("1e-6", Role::kernel, 0)->value == mpq_class(1, 1000000));
  CHECK(parse_expression("12.50E1", Role::kernel, 0)->value == 125);
  CHECK(parse_expression(".5", Role::kernel, 0)->value == mpq_class(1, 2));
  CHECK(parse_expression("3.", Role::kernel, 0)->value == 3);
}

TEST_CASE("a power is right-associative, binds tighter than a minus before it and takes a signed exponent") {
  CHECK(equal(parse_expression("-t^2", Role::activation, 0), parse_expression("-(t^2)", Role::activation, 0)));
  CHECK(equal(parse_expression("2^3^2", Role::kernel, 0), parse_expression("2^(3^2)", Role::kernel, 0)));
  CHECK(equal(parse_expression("(1+norm2(x-y))^-0.5*2", Role::kernel, 3), parse_expression("((1+norm2(x-y))^(-0.5))*2", Role::kernel, 3)));
  CHECK(equal(parse_expression("1-2-3", Role::kernel, 0), parse_expression("(1-2)-3", Role::kernel, 0)));
  CHECK(equal(parse_expression("1/2*3", Role::kernel, 0), parse_expression("(1/2)*3", Role::kernel, 0)));
}

TEST_CASE("printing keeps only the brackets that are needed") {
  CHECK(printed("exp( -0.5 * norm2( x - y ) )") == "exp(-0.5*norm2(x-y))");
  CHECK(printed("((1))+((dot(x,y)))") == "1+dot(x,y)");
  CHECK(printed("1-(2-3)") == "1-(2-3)");
  CHECK(printed("(-2)^2") == "(-2)^2");
  CHECK(printed("dot([1,-2,+1/3],x)") == "dot([1,-2,1/3],x)");
  CHECK(printed("1e-300") == "1e-300");
  CHECK(printed("1e30+0.00125") == "1e30+0.00125");
}

TEST_CASE("printed trees parse back to the same tree") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    const Expression tree = grow(random, false, 6);
    const std::string text = print_expression(tree);
    CAPTURE(text);
    const Expression again = parse_expression(text, Role::kernel, 3);
    REQUIRE(equal(tree, again));
    REQUIRE(print_expression(again) == text);
  }
}

TEST_CASE("errors say where, what was expected and what was found") {
  CHECK(error_of("epx(dot(x,y))") == "character 1: expected a number, x, y, a vector, a function or \"(\", found \"epx\" (did you mean \"exp\"?)");
  CHECK(error_of("exp(dto(x,y))").find("(did you mean \"dot\"?)") != std::string::npos);
  CHECK(error_of("1+simgoid(dot(x,y))").find("character 3: ") == 0);
  CHECK(error_of("1+simgoid(dot(x,y))").find("(did you mean \"sigmoid\"?)") != std::string::npos);
  CHECK(error_of("exp(dot(x,y)") == "character 13: expected \")\", found the end");
  CHECK(error_of("dot(x)") == "character 6: expected \",\", found \")\"");
  CHECK(error_of("exp(x)") == "character 1: expected a scalar, found a vector (use dot, norm2 or norm)");
  CHECK(error_of("dot(x,1)") == "character 7: expected a vector for dot, found a scalar");
  CHECK(error_of("norm2(2)") == "character 7: expected a vector for norm2, found a scalar");
  CHECK(error_of("2 dot(x,y)") == "character 3: expected an operator or the end, found \"dot\"");
  CHECK(error_of("dot([1,2],x)") == "character 5: expected a vector with 3 entries, found 2");
  CHECK(error_of("dot([1,2,x],x)") == "character 10: expected a number, found \"x\"");
  CHECK(error_of("dot(x,y)^x") == "character 10: expected a scalar exponent, found a vector");
  CHECK(error_of("x.y") == "character 2: expected an operator or the end, found \".\"");
  CHECK(error_of("") == "character 1: expected a number, x, y, a vector, a function or \"(\", found the end");
  CHECK(error_of("t").find("a kernel is a function of x and y") != std::string::npos);
  CHECK(error_of("x", Role::activation).find("an activation is a function of t") != std::string::npos);
  CHECK(error_of("[1]", Role::activation) == "character 1: expected a number, t, a function or \"(\", found \"[\"");
  CHECK(error_of("1e999").find("a decimal exponent of at most 400") != std::string::npos);
  CHECK(error_of("\x80") == "character 1: expected a number, x, y, a vector, a function or \"(\", found the byte 0x80");
}

TEST_CASE("depth and length are limited") {
  CHECK(error_of(std::string(5000, '(')).find("nested") != std::string::npos);
  CHECK(error_of(std::string(5000, '-') + "1").find("nested") != std::string::npos);
  std::string tower = "2";
  for (int k = 0; k < 5000; ++k) tower += "^2";
  CHECK(error_of(tower).find("nested") != std::string::npos);
  std::string chain = "1";
  for (int k = 0; k < 5000; ++k) chain += "+1";
  CHECK(error_of(chain).find("operations in one chain") != std::string::npos);
  CHECK(error_of(std::string(70000, '1')).find("characters") != std::string::npos);
}

TEST_CASE("random bytes and broken expressions give a tree or an InputError") {
  std::mt19937_64 random(11);
  const std::string alphabet = "xyt+-*/^()[],.0123456789e \tdotnrmexplsqhcigaubk\x01\xff";
  const std::string seed = "(1+norm2(x-y))^-0.5*exp(dot([1,-2,1],x+y)/3e-2)+dot(elu(x)+1,elu(y)+1)";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    if (round % 2 == 0) {
      for (std::size_t k = random() % 30; k > 0; --k) text += alphabet[random() % alphabet.size()];
    } else {
      text = seed;
      for (int k = 0; k < 3; ++k) text[random() % text.size()] = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0) text.erase(random() % text.size(), random() % 9);
    }
    for (const Role role : {Role::kernel, Role::activation}) {
      try {
        const Expression tree = parse_expression(text, role, 3);
        REQUIRE(equal(tree, parse_expression(print_expression(tree), role, 3)));
      } catch (const InputError& error) {
        REQUIRE(std::string(error.what()).find("character ") == 0);
      }
    }
  }
}

TEST_CASE("every named kernel is an expression that prints and parses back") {
  for (const std::string& name : kernel_names()) {
    Kernel kernel;
    kernel.name = name;
    kernel.gamma = mpq_class(1, 3);
    kernel.features = {{1, 0, 2}, {0, 3, 1}, {0, mpq_class(-1, 2), 1}};
    kernel.weight = {1, -2, 1};
    kernel.temperature = 3;
    const Expression tree = to_expression(kernel, 3);
    CHECK(equal(tree, parse_expression(print_expression(tree), Role::kernel, 3)));
  }
}
