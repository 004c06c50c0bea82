#include "sightline/data/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sightline/base/error.hpp"

namespace sightline::data {

namespace {

constexpr std::int64_t ignored_class = -100;

/// Checks one part. Every message begins with the name of the array that is wrong.
class PartChecker {
public:
  PartChecker(NamedArrays& arrays, std::string suffix, const Expected& expected, const std::function<std::string(std::string_view)>& name)
      : arrays_(arrays), suffix_(std::move(suffix)), expected_(expected), name_(name) {}

  Part check() {
    Part part;
    Array* x = find("x");
    if (x == nullptr) wrong("x", describe_x(), "no such array");
    check_x_shape(*x);
    samples_ = x->shape[0];
    read_lengths(part);
    read_weights(part);
    part.x = std::move(*x);
    check_x_values(part.x, part.lengths);
    if (Array* y = find("y"); y != nullptr) {
      check_y_shape(*y);
      check_y_values(*y, part.lengths);
      part.y = std::move(*y);
    } else if (expected_.targets) {
      wrong("y", describe_y(), "no such array");
    }
    return part;
  }

private:
  Array* find(std::string_view base) {
    const auto at = arrays_.find(std::string(base) + suffix_);
    return at == arrays_.end() ? nullptr : &at->second;
  }
  [[noreturn]] void wrong(std::string_view base, std::string_view expected, std::string_view found) const {
    throw InputError(fmt::format("{}: expected {}, found {}", name_(std::string(base) + suffix_), expected, found));
  }
  static std::string describe(const Array& array) { return fmt::format("{} {}", name_of_type(array), print_shape(array.shape)); }
  [[nodiscard]] std::string describe_x() const {
    return expected_.ids ? fmt::format("integers [N, {}], the ids of {} tokens", expected_.tokens, expected_.tokens)
                         : fmt::format("numbers [N, {}, {}] (tokens, input.dim)", expected_.tokens, expected_.width);
  }
  [[nodiscard]] std::string describe_y() const {
    const std::string k = expected_.outputs ? std::to_string(*expected_.outputs) : "k";
    const std::string rows = samples_ == unknown ? "N" : std::to_string(samples_);
    return expected_.pooled ? fmt::format("floats [{}, {}] or one class per sample, integers [{}]", rows, k, rows)
                            : fmt::format("floats [{}, {}, {}] or one class per token, integers [{}, {}]", rows, expected_.tokens, k, rows,
                                          expected_.tokens);
  }

  void check_x_shape(const Array& x) const {
    const bool fits = expected_.ids ? x.is_integer() && x.shape.size() == 2 && x.shape[1] == expected_.tokens
                                    : x.shape.size() == 3 && x.shape[1] == expected_.tokens && x.shape[2] == expected_.width;
    if (!fits) wrong("x", describe_x(), describe(x));
    if (x.shape[0] == 0) wrong("x", "at least one sample", describe(x));
  }

  void read_lengths(Part& part) {
    const Array* lengths = find("lengths");
    if (lengths == nullptr) return;
    if (!lengths->is_integer() || lengths->shape != std::vector<std::uint64_t>{samples_})
      wrong("lengths", fmt::format("integers [{}]", samples_), describe(*lengths));
    part.lengths = std::get<std::vector<std::int64_t>>(lengths->values);
    for (std::size_t s = 0; s < part.lengths.size(); ++s)
      if (part.lengths[s] < 1 || static_cast<std::uint64_t>(part.lengths[s]) > expected_.tokens)
        wrong("lengths", fmt::format("lengths from 1 to {}", expected_.tokens), fmt::format("{} at sample {}", part.lengths[s], s));
  }

  void read_weights(Part& part) {
    const Array* weights = find("weight");
    if (weights == nullptr) return;
    if (weights->shape != std::vector<std::uint64_t>{samples_}) wrong("weight", fmt::format("numbers [{}]", samples_), describe(*weights));
    part.weights = to_doubles(*weights);
    bool any = false;
    for (std::size_t s = 0; s < part.weights.size(); ++s) {
      if (!std::isfinite(part.weights[s]) || part.weights[s] < 0)
        wrong("weight", "finite numbers that are not negative", fmt::format("{} at sample {}", part.weights[s], s));
      any = any || part.weights[s] > 0;
    }
    if (!any) wrong("weight", "a weight above 0", "zeros alone");
  }

  /// Tokens of sample s that are read.
  [[nodiscard]] std::uint64_t length(const std::vector<std::int64_t>& lengths, std::uint64_t s) const {
    return lengths.empty() ? expected_.tokens : static_cast<std::uint64_t>(lengths[s]);
  }

  /// Per token `width` floats: finite where they are read, `padding` beyond.
  template <class Number>
  void check_floats(std::string_view base, std::vector<Number>& values, std::uint64_t tokens, std::uint64_t width,
                    const std::vector<std::int64_t>& lengths) const {
    for (std::uint64_t s = 0; s < samples_; ++s) {
      Number* sample = values.data() + s * tokens * width;
      const std::uint64_t read = (tokens == 1 ? 1 : length(lengths, s)) * width;
      for (std::uint64_t k = 0; k < read; ++k) {
        if constexpr (std::is_floating_point_v<Number>)
          if (!std::isfinite(sample[k]))
            wrong(base, "finite numbers",
                  tokens == 1 ? fmt::format("{} at sample {}, entry {}", sample[k], s, k % width)
                              : fmt::format("{} at sample {}, token {}, entry {}", sample[k], s, k / width, k % width));
      }
      std::fill(sample + read, sample + tokens * width, Number{0});
    }
  }

  void check_x_values(Array& x, const std::vector<std::int64_t>& lengths) const {
    if (!expected_.ids) {
      // Integer features (pixels) are numbers like others.
      if (x.is_integer()) x.values = to_doubles(x);
      if (auto* floats = std::get_if<std::vector<float>>(&x.values)) check_floats("x", *floats, expected_.tokens, expected_.width, lengths);
      else check_floats("x", std::get<std::vector<double>>(x.values), expected_.tokens, expected_.width, lengths);
      return;
    }
    const std::uint64_t below = expected_.ids_below.value_or(std::uint64_t{1} << 31);
    check_integers("x", std::get<std::vector<std::int64_t>>(x.values), below, "ids", false, 0, lengths);
  }

  void check_integers(std::string_view base, std::vector<std::int64_t>& values, std::uint64_t below, std::string_view what, bool may_ignore,
                      std::int64_t padding, const std::vector<std::int64_t>& lengths) const {
    for (std::uint64_t s = 0; s < samples_; ++s) {
      std::int64_t* sample = values.data() + s * expected_.tokens;
      const std::uint64_t read = length(lengths, s);
      for (std::uint64_t i = 0; i < read; ++i) {
        if (may_ignore && sample[i] == ignored_class) continue;
        if (sample[i] < 0 || static_cast<std::uint64_t>(sample[i]) >= below)
          wrong(base, fmt::format("{} from 0 to {}{}", what, below - 1, may_ignore ? " (or -100: ignored)" : ""),
                fmt::format("{} at sample {}, token {}", sample[i], s, i));
      }
      std::fill(sample + read, sample + expected_.tokens, padding);
    }
  }

  void check_y_shape(const Array& y) const {
    const std::size_t axes = expected_.pooled ? (y.is_integer() ? 1 : 2) : (y.is_integer() ? 2 : 3);
    bool fits = y.shape.size() == axes && y.shape[0] == samples_ && (expected_.pooled || y.shape[1] == expected_.tokens);
    if (fits && !y.is_integer()) fits = y.shape.back() >= 1 && y.shape.back() == expected_.outputs.value_or(y.shape.back());
    if (!fits) wrong("y", describe_y(), describe(y));
  }

  void check_y_values(Array& y, const std::vector<std::int64_t>& lengths) const {
    if (auto* classes = std::get_if<std::vector<std::int64_t>>(&y.values)) {
      const std::uint64_t below = expected_.outputs.value_or(std::uint64_t{1} << 31);
      if (!expected_.pooled) {
        check_integers("y", *classes, below, "classes", true, ignored_class, lengths);
        if (std::all_of(classes->begin(), classes->end(), [](std::int64_t c) { return c == ignored_class; })) wrong("y", "a class that counts", "-100 (ignored) alone");
        return;
      }
      for (std::size_t s = 0; s < classes->size(); ++s)
        if ((*classes)[s] < 0 || static_cast<std::uint64_t>((*classes)[s]) >= below)
          wrong("y", fmt::format("classes from 0 to {}", below - 1), fmt::format("{} at sample {}", (*classes)[s], s));
      return;
    }
    const std::uint64_t tokens = expected_.pooled ? 1 : expected_.tokens;
    if (auto* floats = std::get_if<std::vector<float>>(&y.values)) check_floats("y", *floats, tokens, y.shape.back(), lengths);
    else check_floats("y", std::get<std::vector<double>>(y.values), tokens, y.shape.back(), lengths);
  }

  static constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();
  NamedArrays& arrays_;
  std::string suffix_;
  const Expected& expected_;
  const std::function<std::string(std::string_view)>& name_;
  std::uint64_t samples_ = unknown;
};

}  // namespace

Dataset validate(NamedArrays arrays, const Expected& expected, const std::function<std::string(std::string_view)>& name) {
  Dataset dataset;
  dataset.train = PartChecker(arrays, "", expected, name).check();
  for (const auto& [suffix, part] : {std::pair{"_val", &dataset.validation}, std::pair{"_test", &dataset.test}}) {
    const bool x = arrays.contains(std::string("x") + suffix), y = arrays.contains(std::string("y") + suffix);
    if (!x && y) throw InputError(fmt::format("{}: expected this array beside y{}, found none", name(std::string("x") + suffix), suffix));
    if (x) *part = PartChecker(arrays, suffix, expected, name).check();
  }
  for (const std::optional<Part>* part : {&dataset.validation, &dataset.test}) {
    if (!*part || !(*part)->y || !dataset.train.y) continue;
    const std::string array = part == &dataset.validation ? "y_val" : "y_test";
    const Array &here = *(*part)->y, &there = *dataset.train.y;
    if (here.is_integer() != there.is_integer() || (!here.is_integer() && here.shape.back() != there.shape.back()))
      throw InputError(fmt::format("{}: expected targets of the kind of y ({} {}), found {} {}", name(array), name_of_type(there),
                                   print_shape(there.shape), name_of_type(here), print_shape(here.shape)));
  }
  return dataset;
}

std::optional<std::string> find_missing_bos(const Dataset& dataset) {
  const auto ids_of = [](const Part& part) -> const std::vector<std::int64_t>& { return std::get<std::vector<std::int64_t>>(part.x.values); };
  const std::int64_t front = ids_of(dataset.train).front();
  for (const auto& [array, part] : {std::pair{"x", &dataset.train}, std::pair{"x_val", dataset.validation ? &*dataset.validation : nullptr},
                                    std::pair{"x_test", dataset.test ? &*dataset.test : nullptr}}) {
    if (part == nullptr) continue;
    const std::uint64_t tokens = part->x.shape[1];
    for (std::uint64_t s = 0; s < part->size(); ++s) {
      const std::int64_t* sample = ids_of(*part).data() + s * tokens;
      if (sample[0] != front) return fmt::format("{}: found {} in front of sample {}, {} in front of the first", array, sample[0], s, front);
      const std::int64_t* end = sample + (part->lengths.empty() ? tokens : static_cast<std::uint64_t>(part->lengths[s]));
      if (const auto again = std::find(sample + 1, end, front); again != end) return fmt::format("{}: found {} in front and at token {} of sample {}", array, front, again - sample, s);
    }
  }
  return std::nullopt;
}

}  // namespace sightline::data
