// `compare`: networks of the same cost side by side on one target.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sightline/trials/contender.hpp"
#include "sightline/trials/samples.hpp"

namespace sightline::trials {

struct CompareOptions {
  double budget = 0;                                           ///< forward operations per sequence (count_operations)
  double tolerance = 0.05;                                     ///< every network lies within this share of the budget
  std::vector<Kind> kinds;                                     ///< empty: all
  std::int64_t layers = 2, radius = 0, rank = 0, features = 0; ///< as in Task
  bool positions = false;
  std::int64_t steps = 2000, batch = 64;
  double rate = 3e-3;
  std::int64_t seeds = 3;
  std::uint64_t seed = 0; ///< the first of them
  int threads = 1;
};

/// What certify says of an architecture, in one line.
struct CertifyWords {
  std::string verdict;                 ///< certified, impossible, unknown
  std::string symmetry;                ///< name or order of the group that it expresses
  std::optional<std::uint64_t> needed; ///< layers
  std::string line;                    ///< "certified for S_8 (2 of 2 layers)"
};
[[nodiscard]] CertifyWords certify_words(const std::string& toml, const std::string& name, const Budget& budget);

struct CompareRow {
  std::string name, sizes;
  double operations = 0;
  std::int64_t parameters = 0;
  std::vector<double> errors,
      fitted;                    ///< per seed: relative L2 error on the test, and on the last twentieth of the steps
  double mean = 0, spread = 0;   ///< of `errors`: mean and sample standard deviation
  double train_seconds = 0;      ///< of the processor, mean over the seeds
  double microseconds = 0;       ///< of the processor, forward per sequence in batches
  bool by_least_squares = false; ///< solved, not trained: one fit, below the budget
  CertifyWords certify;
};

struct Comparison {
  std::string target;
  std::int64_t tokens = 0, dim = 0, outputs = 0, count = 0, test = 0;
  CompareOptions options;
  std::vector<std::string> notes;
  std::vector<CompareRow> rows; ///< in the order of list_kinds(), the least-squares fit last
};

/// Sizes for all networks first (a budget that one cannot meet is an error before any work), then the same samples,
/// steps, batches and seeds for each. The least-squares fit of a polynomial Sumformer of the greatest degree that the
/// budget and the samples allow is shown beside them. Throws InputError, Interrupted.
[[nodiscard]] Comparison compare(const TaskData& data, const CompareOptions& options, const Budget& budget,
                                 const std::function<void(const std::string& stage, double share)>& show = {});

[[nodiscard]] std::string to_text(const Comparison& comparison);
[[nodiscard]] std::string to_json(const Comparison& comparison);
[[nodiscard]] std::string to_csv(const Comparison& comparison); ///< one row per network and seed
[[nodiscard]] std::string to_svg(const Comparison& comparison); ///< errors on a logarithmic axis, a point per seed

} // namespace sightline::trials
