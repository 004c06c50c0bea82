#include "sightline/architecture/readers.hpp"

namespace sightline::architecture {
namespace {

void read_fraction(const View& view, std::string_view key, double& out) {
  read_number(view, key, out, Sign::not_negative);
  if (out > 1)
    fail_expected(*view.find(key), "a number from 0 to 1");
}

}  // namespace

void read_train(const View& view, Train& train) {
  require_table(view, "train",
                {"epochs", "steps", "batch", "optimiser", "lr", "schedule", "warmup", "weight_decay", "clip", "patience",
                 "label_smoothing", "dtype", "seed"});
  read_integer(view, "epochs", train.epochs, {1, largest_integer});
  read_integer(view, "steps", train.steps, {1, largest_integer});
  read_integer(view, "batch", train.batch, {1, largest_integer});
  read_choice(view, "optimiser", train.optimiser);
  read_number(view, "lr", train.lr, Sign::positive);
  read_choice(view, "schedule", train.schedule);
  read_fraction(view, "warmup", train.warmup);
  read_number(view, "weight_decay", train.weight_decay, Sign::not_negative);
  read_number(view, "clip", train.clip, Sign::positive);
  read_integer(view, "patience", train.patience, {1, largest_integer});
  read_fraction(view, "label_smoothing", train.label_smoothing);
  read_choice(view, "dtype", train.dtype);
  read_integer(view, "seed", train.seed, {0, std::numeric_limits<std::int64_t>::max()});
}

}  // namespace sightline::architecture
