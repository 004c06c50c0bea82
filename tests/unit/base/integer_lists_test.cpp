#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "sightline/base/integer_lists.hpp"

using sightline::IntegerLists;

namespace {

std::string to_string(IntegerLists lists) {
  const auto text = std::move(lists).take();
  return {text.begin(), text.end()};
}

}  // namespace

TEST_CASE("nested lists are the text of JSON") {
  IntegerLists lists;
  lists.open();
  CHECK(to_string([] { IntegerLists empty; empty.open(); empty.close(); return empty; }()) == "[]");
  lists.add_list({1, -2});
  lists.open();
  lists.close();
  lists.add(7);
  lists.add_list({});
  lists.open();
  lists.add_list({3});
  lists.add(std::numeric_limits<std::int64_t>::min());
  lists.close();
  lists.close();
  CHECK(to_string(lists) == "[[1,-2],[],7,[],[[3],-9223372036854775808]]");
}

TEST_CASE("long lists grow") {
  IntegerLists lists;
  std::string expected = "[";
  lists.open();
  for (std::int64_t k = 0; k < 5000; ++k) {
    lists.add(k * k * k * k * k);
    expected += (k == 0 ? "" : ",") + std::to_string(k * k * k * k * k);
  }
  lists.close();
  CHECK(to_string(lists) == expected + "]");
}
