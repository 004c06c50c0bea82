#pragma once
#include <optional>
#include <thread>

namespace sightline::cli {

/// Holds a time limit where one step of a training outlasts it: half a second behind the limit the process ends with exit code 3 while such a
/// call is under way (LongCall: nothing is being written then). Everything else asks its budget and ends by itself.
class Watch {
public:
  explicit Watch(std::optional<double> time_seconds);

private:
  std::jthread thread_;
};

}  // namespace sightline::cli
