#pragma once
#include <optional>
#include <string>
#include <thread>

namespace sightline::cli {

/// Ends the message of a fit that was stopped: "M.part holds what was done, ..", or "nothing written".
[[nodiscard]] std::string describe_checkpoint(const std::string& checkpoint);

/// Holds a time limit where one step of a training outlasts it: half a second behind the limit the process ends with exit code 3 while such a
/// call is under way (LongCall: nothing is being written then). Everything else asks its budget and ends by itself.
class Watch {
public:
  /// @param checkpoint  what a fit keeps, for the message; "" = nothing
  explicit Watch(std::optional<double> time_seconds, std::string checkpoint = "");

private:
  std::jthread thread_;
};

}  // namespace sightline::cli
