// A line on the terminal that says how far a training is.
#pragma once

#include "sightline/train/trainer.hpp"

namespace sightline::cli {

/// Draws `[####....] 37 %  epoch 3/8  loss 0.123  val 0.140  1 min 5 s left` over itself on standard error; nothing
/// when that is no terminal. At most ten times a second.
class ProgressBar {
public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  void show(const train::Progress& progress);
  void clear();

private:
  bool on_terminal_, drawn_ = false;
  double last_seconds_ = -1;
};

} // namespace sightline::cli
