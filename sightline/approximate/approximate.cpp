#include "sightline/approximate/approximate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/approximate/mirror.hpp"
#include "sightline/approximate/rows.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/sha256.hpp"
#include "sightline/group/group.hpp"

namespace sightline::approximate {
namespace group_theory = sightline::group;
namespace {

constexpr std::uint64_t test_stream = 3;

/// The symmetry of a target with few tokens, in words.
std::string find_target_group(const target::Target& target, const Options& options, const Budget& budget) {
  std::vector<group_theory::Permutation> elements;
  for (const auto& images : target::find_symmetries(target, options.sampler, options.seed)) elements.push_back(group_theory::Permutation::from_images(images));
  const group_theory::Group group = group_theory::make_group(static_cast<group_theory::Point>(target.tokens()), std::move(elements), budget);
  const auto name = group_theory::find_name(group, budget);
  std::string generators;
  for (const auto& generator : group_theory::list_generators(group, 3)) if (!generator.is_identity()) generators += (generators.empty() ? ", e.g. " : ", ") + group_theory::to_cycles(generator);
  return fmt::format("{}, order {}{}", name.value_or("a group without a name"), group.order.value()->get_str(), generators);
}

bool fits(double bytes, const Budget& budget) {
  if (bytes > 1e15) return false;
  try {
    budget.ask(static_cast<std::uint64_t>(bytes));
  } catch (const BudgetExhausted&) {
    return false;
  }
  budget.give_back(static_cast<std::uint64_t>(bytes));
  return true;
}

/// One block of rows per thread.
constexpr double bytes_of_rows = 2 * 48e6;
constexpr double most_columns = 5e7;
/// From here on a fit to a target is made with mirror images (mirror.hpp): below, the whole matrix costs little.
constexpr double columns_at_once = 2000;

/// How a fit is made, and what it takes.
struct Plan {
  Sizes sizes;
  Mirroring mirroring;  ///< none for data, for few columns, and for fewer rows than mirror images need
  double rows = 0, bytes = 0;
};

/// `rows`: as asked for, 0: enough (four rows and more per column).
Plan plan_fit(std::size_t tokens, std::size_t dim, std::size_t degree, std::size_t outputs, bool drawn, std::size_t rows) {
  Plan plan;
  plan.sizes = count_sizes(tokens, dim, degree);
  const double columns = plan.sizes.independent, k = static_cast<double>(outputs);
  plan.rows = rows != 0 ? static_cast<double>(rows) : std::max(4000.0, (columns <= columns_at_once ? 10 : 4) * columns);
  if (drawn && columns > columns_at_once) {
    const Mirroring mirroring = plan_mirroring(tokens, dim, degree);
    const double images = static_cast<double>(mirroring.images), sequences = rows != 0 ? std::floor(static_cast<double>(rows) / images) : 4 * mirroring.widest;
    if (sequences >= 2 * mirroring.widest) {
      plan.mirroring = mirroring;
      plan.rows = sequences * images;
      plan.bytes = bytes_needed(mirroring.widest, k, static_cast<double>(lanes_for(mirroring.widest))) + bytes_of_rows + 8 * k * (plan.rows + 4 * columns);
      return plan;
    }
  }
  plan.bytes = bytes_needed(columns, k, std::max(3.0, static_cast<double>(lanes_for(columns)))) + bytes_of_rows;
  return plan;
}

/// The cross-validation of all degrees up to the one with these sizes.
double bytes_of_choice(const Sizes& sizes, std::size_t outputs) { return bytes_needed(sizes.independent, static_cast<double>(outputs), folds + 2) + bytes_of_rows; }

bool fits(const Plan& plan, const Budget& budget) { return plan.sizes.independent < most_columns && fits(plan.bytes, budget); }

void check_samples(const Samples& samples) {
  const auto look = [](const std::vector<double>& values, const char* name, std::size_t tokens, std::size_t width) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!std::isfinite(values[k])) throw InputError(fmt::format("{}: expected finite numbers, found {} at sample {}, token {}", name, std::isnan(values[k]) ? "nan" : "an infinity", k / (tokens * width), k / width % tokens));
    }
  };
  look(samples.x, "x", samples.tokens, samples.dim);
  look(samples.y, "y", samples.tokens, samples.width);
}

void check_scale(double scale) {
  if (!std::isfinite(scale)) throw InputError("the target: its values are so large that their squares overflow: expected values below 1e150");
}

struct Errors { double rms = 0, scale = 0, sup = 0, largest = 0, moved = 0; };

/// On fresh sequences (or the samples kept back), every token; and the model on moved tokens.
Errors test(const Sumformer& model, const target::Target* target, const Samples* samples, std::size_t from, const Options& options, const Budget& budget) {
  const std::size_t n = model.basis().tokens(), d = model.basis().dim(), k = model.outputs();
  const std::size_t count = samples != nullptr ? samples->count - from : options.test_sequences != 0 ? options.test_sequences : std::clamp<std::size_t>(20000 / n, 100, 20000);
  Errors errors;
  std::vector<double> x(drawn_together * n * d), y(drawn_together * n * k), fitted(drawn_together * n * k), moved(n * d), moved_y(n * k);
  std::mt19937_64 random = target::make_random(options.seed, test_stream + 1, 0);
  std::vector<std::size_t> s(n);
  for (std::size_t start = 0; start < count; start += drawn_together) {
    budget.poll_now();
    budget.report("test", static_cast<double>(start) / static_cast<double>(count));
    const std::size_t now = std::min(drawn_together, count - start);
    if (target != nullptr) {
      options.sampler.fill(options.seed, test_stream, start / drawn_together, x.size(), x.data());
      target->evaluate(now, x.data(), y.data());
    } else {
      std::copy_n(samples->x.begin() + static_cast<std::ptrdiff_t>((from + start) * n * d), now * n * d, x.begin());
      std::copy_n(samples->y.begin() + static_cast<std::ptrdiff_t>((from + start) * n * k), now * n * k, y.begin());
    }
    model.evaluate(now, x.data(), fitted.data());
    for (std::size_t e = 0; e < now * n * k; ++e) {
      const double difference = std::fabs(y[e] - fitted[e]);
      errors.rms += difference * difference;
      errors.scale += y[e] * y[e];
      if (!(difference <= errors.sup)) errors.sup = difference;
      errors.largest = std::max(errors.largest, std::fabs(y[e]));
    }
    if (start > 4 * drawn_together) continue;
    for (std::size_t i = 0; i < n; ++i) s[i] = i;
    for (std::size_t i = n; i > 1; --i) std::swap(s[i - 1], s[random() % i]);
    for (std::size_t i = 0; i < n; ++i) std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(i * d), d, moved.begin() + static_cast<std::ptrdiff_t>(s[i] * d));
    model.evaluate(1, moved.data(), moved_y.data());
    for (std::size_t i = 0; i < n; ++i) for (std::size_t e = 0; e < k; ++e) errors.moved = std::max(errors.moved, std::fabs(moved_y[s[i] * k + e] - fitted[i * k + e]));
  }
  const double entries = static_cast<double>(count * n * k);
  errors.rms = std::sqrt(errors.rms / entries);
  errors.scale = std::sqrt(errors.scale / entries);
  return errors;
}

/// Samples that do not commute with permutations, by what the fit leaves at each place.
void note_places(Result& result, const PlaceBias& bias) {
  const std::string why = fmt::format("What is fitted commutes with S_{}; these data do not, or their places have different laws", result.tokens);
  if (std::fabs(bias.mean) > 6 * bias.error && std::fabs(bias.mean) > 0.01 * bias.rms) {
    result.notes.push_back(fmt::format("what is left depends on the place of the token: {:.3g} +- {:.1g} on average at token {}, root mean square {:.3g} everywhere. {}", bias.mean, bias.error, bias.place, bias.rms, why));
  } else if (std::fabs(std::log(bias.factor)) > std::max(6 * bias.factor_error, 0.05)) {
    result.notes.push_back(fmt::format("what is left depends on the place of the token: at token {} it is {:.2g} times as large as at the others. {}", bias.size_place, bias.factor, why));
  }
}

/// What stands between the fit and the wanted error, with figures.
void explain_miss(Result& result, bool drawn, const Budget& budget) {
  const std::size_t n = result.tokens, d = result.dim;
  if (result.deviation && result.deviation->rms > 1e-9 * result.deviation->scale) {
    result.blame.push_back(fmt::format("symmetry: the target is not equivariant; every Sumformer misses it by at least {:.2g} of its size", result.deviation->rms / 2 / result.deviation->scale));
  }
  const double per_column = static_cast<double>(result.rows) / result.sizes.independent;
  if (result.relative_l2 > 3 * result.train && result.train > 0) {
    result.blame.push_back(fmt::format("data: {:.2g} on the fitted rows but {:.2g} on fresh ones, with {:.1f} rows per column: more rows ({} would give 10 per column)", result.train, result.relative_l2,
                                       per_column, static_cast<std::size_t>(10 * result.sizes.independent)));
  } else {
    result.blame.push_back(fmt::format("not the data: {:.2g} on the fitted rows, {:.2g} on fresh ones, {:.1f} rows per column, condition number {:.2g}", result.train, result.relative_l2, per_column, result.condition));
  }
  if (result.degrees.size() >= 2) {
    // Over two degrees where there are three: odd and even targets gain by every second one only.
    std::size_t end = result.degrees.size() - 1;
    if (end >= 3 && result.degrees[end - 1].error < result.degrees[end].error) --end;
    const DegreeError &last = result.degrees[end], &before = result.degrees[end - std::min<std::size_t>(end, 2)];
    const double factor = before.error / last.error, pace = std::log(factor) / static_cast<double>(last.degree - before.degree);
    if (pace > std::log(1.2) / 2 && last.error > result.wanted) {
      const double more = std::ceil(std::log(last.error / result.wanted) / pace);
      const double degree = static_cast<double>(last.degree) + more;
      std::string text = fmt::format("degree: the error falls by {:.2g} from degree {} to {}", factor, before.degree, last.degree);
      if (degree < 60) {
        const Sizes needed = count_sizes(n, d, static_cast<std::size_t>(degree));
        text += fmt::format("; at that pace degree {:.0f} would reach {:.2g}: {:.3g} columns, latent dimension {:.3g}", degree, result.wanted, needed.independent, needed.latent);
      } else {
        text += "; at that pace no degree below 60 reaches what is wanted: the target is not smooth";
      }
      result.blame.push_back(text);
    } else if (last.error > result.wanted) {
      result.blame.push_back(fmt::format("degree: the error does not fall from degree {} to {} ({:.2g} to {:.2g}): too few rows for the columns, or a target far from every polynomial", before.degree, last.degree, before.error, last.error));
    }
  } else if (result.train > result.wanted) {
    result.blame.push_back(fmt::format("latent dimension: {:.2g} is what degree {} can do on these rows; without --degree the degree is chosen", result.train, result.degree));
  }
  for (std::size_t degree = result.degree + 1; degree < 60; ++degree) {
    const Plan plan = plan_fit(n, d, degree, result.outputs, drawn, 0);
    if (!drawn && 2 * plan.sizes.independent > static_cast<double>(result.rows)) {
      result.blame.push_back(fmt::format("rows: {} of them allow degree {}, at two rows per column; degree {} has {:.3g} columns", result.rows, degree - 1, degree, plan.sizes.independent));
      break;
    }
    if (!fits(plan, budget)) {
      result.blame.push_back(fmt::format("memory: degree {} fits, degree {} does not ({:.3g} columns)", degree - 1, degree, plan.sizes.independent));
      break;
    }
    if (plan.sizes.independent > 1e5) break;
  }
}

}  // namespace

std::optional<std::string> state_limits(std::size_t tokens, std::size_t dim, std::size_t degree, std::size_t outputs, bool drawn, std::size_t rows, const Budget& budget) {
  const auto plan = [&](std::size_t trial) { return plan_fit(tokens, dim, trial, outputs, drawn, rows); };
  if (degree > tokens && tokens > 9) return fmt::format("degree {}: expected at most the number of tokens, {}, when there are more than 9", degree, tokens);
  const Plan wanted = plan(degree);
  if (fits(wanted, budget)) return std::nullopt;
  std::size_t possible = degree;
  while (possible > 0 && !fits(plan(possible), budget)) --possible;
  return fmt::format("degree {} needs {:.2g} coefficients (latent dimension {:.2g}) and {:.2g} GB: degree {} fits in memory", degree, wanted.sizes.independent * static_cast<double>(outputs), wanted.sizes.latent,
                     wanted.bytes / 1e9, possible);
}

namespace {

/// What is fitted: the options that change it, and the target by its values on the first sequences (or all of the samples).
std::string fingerprint_of(const target::Target* target, const Samples* samples, const Options& options) {
  std::vector<double> numbers;
  if (target != nullptr) {
    numbers.resize(drawn_together * target->tokens() * (target->dim() + target->width()));
    const std::size_t size = drawn_together * target->tokens() * target->dim();
    options.sampler.fill(options.seed, fit_stream, 0, size, numbers.data());
    target->evaluate(drawn_together, numbers.data(), numbers.data() + size);
  } else {
    numbers = samples->x;
    numbers.insert(numbers.end(), samples->y.begin(), samples->y.end());
  }
  const std::string digest = sha256({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)});
  return fmt::format("{} tokens {} dim {} outputs {} samples {} test {} law {} {} {} rows {} all {} degree {} columns {} seed {} values {}", target != nullptr ? target->name() : "data",
                     target != nullptr ? target->tokens() : samples->tokens, target != nullptr ? target->dim() : samples->dim, target != nullptr ? target->width() : samples->width,
                     samples != nullptr ? samples->count : 0, samples != nullptr ? samples->test : 0, static_cast<int>(options.sampler.law), options.sampler.low, options.sampler.high, options.rows,
                     options.all_tokens, options.degree.value_or(0), options.greatest_columns, options.seed, digest);
}

}  // namespace

System make_system(const Basis& basis, const target::Target* target, const Samples* samples, const Options& options, std::size_t rows) {
  System system;
  system.rows = rows;
  system.columns = basis.columns().size();
  system.outputs = target != nullptr ? target->width() : samples->width;
  system.block_rows = block_rows_for(rows, system.columns, basis.tokens(), options.all_tokens);
  const Source source(target, samples, options, basis.tokens(), basis.dim(), system.outputs);
  system.fill = [source, &basis, block_rows = system.block_rows, width = system.outputs](std::size_t block, std::size_t count, double* a, double* y, std::size_t leading) {
    thread_local std::vector<double> x, values;
    thread_local std::vector<std::uint32_t> own;
    thread_local RowSpace space;
    x.resize(chunk * basis.tokens() * basis.dim());
    values.resize(chunk * width);
    own.resize(chunk);
    for (std::size_t start = 0; start < count; start += chunk) {
      const std::size_t now = std::min(chunk, count - start);
      source.draw(block * block_rows + start, now, x.data(), own.data(), values.data());
      write_rows(basis, now, x.data(), own.data(), nullptr, a + start, leading, space);
      for (std::size_t e = 0; e < width; ++e) for (std::size_t r = 0; r < now; ++r) y[e * leading + start + r] = values[r * width + e];
    }
  };
  return system;
}

Result fit_polynomial(const target::Target* target, const Samples* samples, const Options& given, const Budget& budget) {
  Options options = given;
  Result result;
  result.tokens = target != nullptr ? target->tokens() : samples->tokens;
  result.dim = target != nullptr ? target->dim() : samples->dim;
  result.outputs = target != nullptr ? target->width() : samples->width;
  result.group = fmt::format("S_{}", result.tokens);
  result.wanted = options.error;
  result.target = target != nullptr ? target->name() : "";
  const std::size_t n = result.tokens, d = result.dim, k = result.outputs;
  if (target != nullptr && !target->is_equivariant()) {
    result.deviation = target::measure_deviation(*target, options.sampler, 32, options.seed);
    if (!std::isfinite(result.deviation->largest)) throw InputError("the target: expected finite numbers, found nan or an infinity");
    if (result.deviation->rms > 1e-9 * result.deviation->scale) {
      result.notes.push_back(fmt::format("the target is not S_{}-equivariant: F(sX) and sF(X) differ by up to {:.3g} (root mean square {:.3g} of {:.3g}); no Sumformer comes closer than {:.3g}, and "
                                         "what is fitted is the mean over all permutations",
                                         n, result.deviation->largest, result.deviation->rms, result.deviation->scale, result.deviation->rms / 2));
      if (n <= 7) {
        result.target_group = find_target_group(*target, options, budget);
        result.notes.push_back(fmt::format("the target's own symmetry, by trial: {}", *result.target_group));
      }
    }
  }
  // Rows at hand; the last tenth of given samples is kept for the test.
  std::size_t kept = 0, available = SIZE_MAX;
  if (samples != nullptr) {
    check_samples(*samples);
    if (samples->count - samples->test < 10) throw InputError(fmt::format("expected at least 10 samples, found {}", samples->count - samples->test));
    kept = samples->count - (samples->test != 0 ? samples->test : std::max<std::size_t>(samples->count / 10, 1));
    available = options.all_tokens ? kept * n : kept;
    if (options.rows > available) throw InputError(fmt::format("--samples {}: expected at most {}, the rows of the data", options.rows, available));
  }
  const auto plan = [&](std::size_t degree) { return plan_fit(n, d, degree, k, target != nullptr, samples != nullptr && options.rows == 0 ? available : options.rows); };
  std::optional<Checkpoint> kept_state;
  const auto open_checkpoint = [&](double bytes) {  // behind the statements about limits; it holds the sums twice more
    if (!options.checkpoint.empty() && !fits(3 * bytes, budget)) {
      result.notes.push_back("no checkpoint is kept: there is no memory for it");
      return static_cast<Checkpoint*>(nullptr);
    }
    if (!options.checkpoint.empty()) kept_state.emplace(options.checkpoint, fingerprint_of(target, samples, options), options.resume, options.checkpoint_seconds, budget);
    return kept_state ? &*kept_state : nullptr;
  };
  Checkpoint* checkpoint = nullptr;
  std::size_t degree = 0;
  if (options.degree) {
    degree = *options.degree;
    if (const auto limit = state_limits(n, d, degree, k, target != nullptr, options.rows, budget)) {
      const Plan beyond = plan(degree);  // what memory does not allow is a limit, what no machine could hold is a degree out of range
      if (beyond.sizes.independent < most_columns && !fits(beyond.bytes, budget)) throw BudgetExhausted(*limit);
      throw InputError(*limit);
    }
    const Plan wanted = plan(degree);
    if (wanted.rows < wanted.sizes.independent) {
      std::size_t possible = degree;
      while (possible > 0 && count_sizes(n, d, possible).independent * 2 > wanted.rows) --possible;
      throw InputError(fmt::format("degree {} has {} columns, more than the {:.0f} rows: expected at least {:.0f} rows (4 per column are better), or degree {}", degree, wanted.sizes.independent, wanted.rows,
                                   wanted.sizes.independent, possible));
    }
    checkpoint = open_checkpoint(wanted.bytes);
  } else {
    std::size_t greatest = 0;
    for (std::size_t trial = 1; trial <= 16; ++trial) {
      const Plan one = plan(trial);
      if (trial > n && n > 9) break;
      if (one.sizes.independent > static_cast<double>(options.greatest_columns) || !fits(bytes_of_choice(one.sizes, k), budget)) break;
      if (2 * one.sizes.independent > one.rows) break;
      greatest = trial;
    }
    if (greatest == 0) {
      const Plan least = plan(1);
      if (2 * least.sizes.independent > least.rows) throw InputError(fmt::format("degree 1 has {} columns, two rows for each are needed: found {:.0f} rows", least.sizes.independent, least.rows));
      if (least.sizes.independent > static_cast<double>(options.greatest_columns))
        throw InputError(fmt::format("degree 1 has {} columns, and the choice of a degree stops at {}: expected --degree", least.sizes.independent, options.greatest_columns));
      throw BudgetExhausted(fmt::format("degree 1 has {} columns, and the choice of a degree takes {:.2g} GB: too little memory", least.sizes.independent, bytes_of_choice(least.sizes, k) / 1e9));
    }
    const Basis basis(n, d, greatest, make_laws(target, samples, options, d, greatest));
    const auto rows = static_cast<std::size_t>(plan(greatest).rows);
    const System system = make_system(basis, target, samples, options, rows);
    const std::size_t parts = std::min(folds, system.blocks());
    checkpoint = open_checkpoint(bytes_of_choice(count_sizes(n, d, greatest), k));
    std::vector<std::size_t> sizes;
    for (std::size_t trial = 0; trial <= greatest; ++trial) sizes.push_back(basis.columns_up_to(trial));
    std::vector<double> errors = checkpoint != nullptr ? checkpoint->replaced() : std::vector<double>();  // .., scale
    if (errors.size() != sizes.size() + 1) {
      const Moments moments = collect(system, parts, budget, checkpoint);
      double squares = 0;
      for (double value : moments.squares) squares += value;
      errors = parts >= 2 ? cross_validate(system, moments, sizes, budget, checkpoint) : std::vector<double>(sizes.size(), 0.0);
      errors.push_back(std::sqrt(squares / static_cast<double>(rows * k)));
      if (checkpoint != nullptr) checkpoint->replace_passes(errors);
    }
    const double scale = errors.back();
    check_scale(scale);
    double best = INFINITY;
    for (std::size_t trial = 0; trial <= greatest; ++trial) {
      result.degrees.push_back({trial, static_cast<double>(sizes[trial]), scale > 0 ? errors[trial] / scale : 0});
      best = std::min(best, errors[trial]);
    }
    // The least degree that is as good as the best, or good to rounding.
    while (degree < greatest && !(errors[degree] <= 1.02 * best || errors[degree] <= 1e-12 * scale)) ++degree;
    degree = std::max<std::size_t>(degree, 1);
    options.rows = options.rows != 0 || samples != nullptr ? options.rows : rows;
  }
  result.degree = degree;
  const Plan chosen = plan(degree);
  result.sizes = chosen.sizes;
  result.images = chosen.mirroring.images;
  result.rows = static_cast<std::size_t>(chosen.rows);
  const Basis basis(n, d, degree, make_laws(target, samples, options, d, degree));
  const std::size_t columns = basis.columns().size();
  budget.ask(static_cast<std::uint64_t>(chosen.bytes));
  const Solution solution = [&] {
    if (result.images > 1) return solve_mirrored(basis, *target, options, chosen.mirroring, result.rows / result.images, budget, checkpoint);
    const System system = make_system(basis, target, samples, options, result.rows);
    return solve(system, collect(system, lanes_for(static_cast<double>(columns)), budget, checkpoint), columns, budget, checkpoint);
  }();
  result.resumed = checkpoint != nullptr ? checkpoint->blocks_resumed() : 0;
  budget.give_back(static_cast<std::uint64_t>(chosen.bytes));
  check_scale(solution.scale);
  result.condition = solution.condition;
  result.passes = solution.passes;
  result.train = solution.scale > 0 ? solution.residual / solution.scale : 0;
  result.dependent_count = solution.dependent.size();
  for (std::size_t column : solution.dependent) if (result.dependent.size() < 20) result.dependent.push_back(basis.name(basis.columns()[column]));
  if (result.dependent_count > 0) {
    result.notes.push_back(fmt::format("{} of {} columns depend on the others on these rows and were left out: their coefficients are 0, and outside the support of the data the fit is arbitrary", result.dependent_count, columns));
  }
  if (result.condition > 1e10) {
    result.notes.push_back(fmt::format("condition number {:.2g}: about {:.0f} digits of the coefficients are lost; the values are as good as the errors above where the data lie, and nowhere else", result.condition,
                                       std::log10(result.condition)));
  }
  if (static_cast<double>(result.rows) < 2 * result.sizes.independent) result.notes.push_back(fmt::format("only {:.2f} rows per column", static_cast<double>(result.rows) / result.sizes.independent));
  result.model.emplace(basis, solution.coefficients);
  const Errors errors = test(*result.model, target, samples, kept, options, budget);
  result.l2 = errors.rms;
  result.sup = errors.sup;
  result.relative_l2 = errors.scale > 0 ? errors.rms / errors.scale : errors.rms;
  result.relative_sup = errors.largest > 0 ? errors.sup / errors.largest : errors.sup;
  result.equivariance = errors.moved;
  if (samples != nullptr && n >= 2 && !(result.relative_l2 <= result.wanted)) {
    note_places(result, measure_place_bias(*samples, *result.model, budget));
  }
  if (!(result.relative_l2 <= result.wanted)) explain_miss(result, target != nullptr, budget);
  return result;
}

}  // namespace sightline::approximate
