#include "cli/train/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

namespace sightline::cli {

ProgressBar::ProgressBar() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressBar::show(const train::Progress& progress) {
  if (!on_terminal_)
    return;
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (last_seconds_ >= 0 && now - last_seconds_ < 0.1 && progress.step < progress.steps)
    return;
  last_seconds_ = now;
  const double share = static_cast<double>(progress.step) / static_cast<double>(progress.steps);
  const int width = 24, filled = static_cast<int>(share * width);
  std::string line =
      fmt::format("[{}{}] {:3.0f} %  epoch {}/{}  loss {:.4g}", std::string(static_cast<std::size_t>(filled), '#'),
                  std::string(static_cast<std::size_t>(width - filled), '.'), 100 * share, progress.epoch,
                  progress.epochs, progress.loss);
  if (progress.validation_loss)
    line += fmt::format("  val {:.4g}", *progress.validation_loss);
  fmt::print(stderr, "\r\033[K{}  {} left", line, train::print_duration(progress.seconds_left));
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_)
    fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

} // namespace sightline::cli
