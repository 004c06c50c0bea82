// Bad input: every mistake is one exact line. bad/toml.txt and bad/json.txt hold the cases (`### the expected line`, then the
// text); what cannot stand in a text file is built here.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"

using namespace sightline::architecture;

namespace {

std::string error_of(const std::string& text, const std::string& file) {
  try {
    (void)parse_architecture(text, file);
  } catch (const sightline::InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<std::pair<std::string, std::string>> read_cases(const std::string& name) {
  std::istringstream in(read_file(std::string(SIGHTLINE_SOURCE_DIR "/tests/unit/architecture/bad/") + name));
  std::vector<std::pair<std::string, std::string>> cases;
  for (std::string line; std::getline(in, line);)
    if (line.rfind("### ", 0) == 0)
      cases.emplace_back(line.substr(4), "");
    else
      cases.back().second += line + "\n";
  return cases;
}

const std::string sizes = "tokens = 4\ndim = 3\n";

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("every mistake in TOML is one exact line") {
  const auto cases = read_cases("toml.txt");
  CHECK(cases.size() >= 200);
  for (const auto& [expected, text] : cases) {
    CAPTURE(text);
    CHECK(error_of(text, "a.toml") == expected);
  }
}

TEST_CASE("every mistake in JSON is one exact line") {
  const auto cases = read_cases("json.txt");
  CHECK(cases.size() >= 25);
  for (const auto& [expected, text] : cases) {
    CAPTURE(text);
    CHECK(error_of(text.substr(0, text.size() - 1), "a.json") == expected);
  }
}

TEST_CASE("bytes that are no text and endless nesting are one line too") {
  const std::vector<std::string> texts = {
      sizes + "name = \"\xff\xfe\"\n",
      sizes + "name = \"\xc3\"\n",
      sizes + std::string("name = \"a\0b\"\n", 13),
      std::string("\0\0\0", 3),
      "\xff\xfe",
      "{\"tokens\": 4, \"dim\": 3, \"name\": \"\xff\"}",
      "{\"\x01\": 4}",
      std::string("{\"tokens\": 4, \"dim\": 3, \"name\": \"\0\"}", 37),
      "{\"" + repeat("k", 100000) + "\": 4}",
      repeat("k", 100000) + " = 1\n",
      repeat("k", 100000) + " = 1\n" + repeat("k", 100000) + " = 1\n",
      repeat("{\"mixer\":", 100000),
      "{\"a\":" + repeat("[", 1000000),
      sizes + "name = " + repeat("[", 100000),
      sizes + "name = " + repeat("[", 150) + repeat("]", 150) + "\n",
      sizes + "name = " + repeat("{a=", 100000),
      sizes + repeat("a.", 1000000) + "a = 1\n",
      sizes + "[" + repeat("a . ", 1000000) + "a]\n",
      sizes + repeat("'a'.", 1000000) + "a = 1\n",
      sizes + "name = \"\"\"" + repeat("a.", 100),
      sizes + "[mixer]\nkernel = \"" + repeat("(", 100000) + "\"\n",
      sizes + "[mixer]\npattern = " + repeat("{ kind = \"union\", of = [", 60) + "{ kind = \"self\" }" + repeat("] }", 60) + "\n",
  };
  for (const std::string& text : texts) {
    const std::string line = error_of(text, text.front() == '{' ? "a.json" : "a.toml");
    CAPTURE(text.substr(0, 80));
    CAPTURE(line.substr(0, 300));
    CHECK(line.rfind(text.front() == '{' ? "a.json:" : "a.toml:", 0) == 0);
    CHECK(line.find("expected ") != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.size() < 1000);
  }
}

TEST_CASE("files that cannot be read are one line") {
  CHECK_THROWS_WITH_AS((void)read_architecture("no/such/file.toml"),
                       "no/such/file.toml: expected a file that can be read, found: No such file or directory",
                       sightline::InputError);
  CHECK_THROWS_WITH_AS((void)read_architecture("/"), "/: expected a file that can be read, found: Is a directory",
                       sightline::InputError);
}

TEST_CASE("cutting and changing a good file anywhere never does anything but read or refuse in one line") {
  const std::string toml = read_file(SIGHTLINE_SOURCE_DIR "/tests/golden/cases/R35.toml");
  const std::string json =
      R"json({"tokens":4,"dim":3,"layer":[{"pattern":{"kind":"window","radius":1}},{"mixer":{"kernel":"exp(dot(x,y))"},"repeat":2}]})json";
  for (const std::string& text : {toml, json}) {
    const std::string file = text.front() == '{' ? "a.json" : "a.toml";
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::vector<std::string> broken{text.substr(0, i), text.substr(0, i) + text.substr(i + 1)};
      for (const char c : {'"', '[', '}', '=', '\n', '\xff', '9', '.'})
        broken.push_back(text.substr(0, i) + c + text.substr(i + 1));
      for (const std::string& bad : broken) {
        const std::string line = error_of(bad, file);
        const bool one_line = line.find('\n') == std::string::npos;
        const bool located = line == "accepted" || line.rfind("a.", 0) == 0;  // the first brace gone: JSON is read as TOML
        if (!one_line || !located)
          FAIL_CHECK(line);
      }
    }
  }
}
