// What is timed on our side, each in a child process.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "child.hpp"
#include "layouts.hpp"

namespace bench {

/// What a child reports: seconds of the call alone, and its answer.
struct Measured {
  Outcome outcome;
  double seconds = 0;
  std::string answer;

  [[nodiscard]] bool finished() const { return outcome.end == Outcome::End::finished; }
};

/// Least of the times that a few calls of `measure` return, as long as they are short. The clock of the process is too coarse
/// for calls below a millisecond: these are averaged over a millisecond each time.
template <class Measure>
double least_time(Measure&& measure) {
  constexpr double coarse = 1e-3;
  double best = measure();
  const int together = best < coarse ? static_cast<int>(coarse / std::max(best, 1e-7)) + 1 : 1;
  if (together > 1) best = coarse;  // the first call pays for page faults
  double total = best;
  for (int k = 1; k < 7 && total < 0.5; ++k) {
    double sum = 0;
    for (int call = 0; call < together; ++call) sum += measure();
    total += sum;
    best = std::min(best, sum / together);
  }
  return best;
}

/// Text of a child that was written by to_text.
[[nodiscard]] std::string to_text(double seconds, const std::string& answer);
[[nodiscard]] Measured read_measured(Outcome outcome);

/// Least time over a few calls (one when a call takes long) of the group of the layout; the answer is the order: decimal
/// up to a million digits, else factored. "does not fit" when make() gives nothing.
[[nodiscard]] Measured measure_group(double limit, const std::function<std::optional<Layout>()>& make);
/// Group, connected, exact m and unseen, one after another, by calls into the library.
[[nodiscard]] Measured measure_answers(double limit, const std::function<std::optional<Layout>()>& make);
/// "Connected" alone.
[[nodiscard]] Measured measure_connected(double limit, const std::function<std::optional<Layout>()>& make);
/// Building the pattern; the answer is its memory in bytes.
[[nodiscard]] Measured measure_pattern(double limit, const Family& family);

}  // namespace bench
