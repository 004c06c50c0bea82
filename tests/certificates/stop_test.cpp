// A check that its caller stops: soon, wherever it is, and without a trace.
#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>

#include "checker/check.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "support.hpp"

namespace {

struct Stop : std::runtime_error {
  Stop() : std::runtime_error("stop") {}
};

const char* const cases[] = {
    "tokens = 6000\ndim = 4\n[mixer]\npattern = { kind = \"window\", radius = 64 }\n[[layer]]\nrepeat = 4\n",
    "tokens = 1200\ndim = 4\n[mixer]\npattern = { kind = \"random\", degree = 5, seed = 1 }\n[[layer]]\nrepeat = 4\n",
    "tokens = 4096\ndim = 4\n[mixer]\npattern = { kind = \"window\", radius = 16, global = [0, 9] }\n[[layer]]\nrepeat = 4\n",
    "tokens = 10\ndim = 4\n[input]\nembedding = \"table\"\nvocabulary = 3\n[mixer]\npattern = { kind = \"window\", radius = 1 }\n[[layer]]\nrepeat = 2\n",
};

}  // namespace

TEST_CASE("a check can be stopped at any time, and goes through afterwards") {
  for (const char* text : cases) {
    const std::string certificate = sightline::certificate::print_canonical(certificates::make_from_text(text, "a.toml"));
    using Clock = std::chrono::steady_clock;
    std::size_t calls = 0;
    Clock::duration longest{};
    Clock::time_point last = Clock::now();
    const auto count = [&] {
      ++calls;
      const Clock::time_point now = Clock::now();
      longest = std::max(longest, now - last);
      last = now;
    };
    REQUIRE(checker::check_certificate(certificate, count).confirmed);
    CAPTURE(std::string(text));
    REQUIRE(calls > 20);
    // Half a second on a machine that is busy with other tests; a few milliseconds else.
    CHECK(longest < std::chrono::milliseconds(500));
    for (std::size_t k = 1; k <= 3; ++k) {
      const std::size_t end = 1 + calls * (k - 1) / 3;
      std::size_t met = 0;
      const auto stop = [&] {
        if (++met == end) throw Stop();
      };
      CHECK_THROWS_AS((void)checker::check_certificate(certificate, stop), Stop);
      CHECK(met == end);
    }
    // Whoever checks without a word is not asked.
    CHECK(checker::check_certificate(certificate).confirmed);
  }
}
