#include "sightline/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/base/words.hpp"
#include "sightline/data/file_bytes.hpp"
#include "sightline/data/validate.hpp"

namespace sightline::data {

namespace {

constexpr std::array<std::string_view, 4> array_names = {"x", "y", "lengths", "weight"};
constexpr std::array<std::string_view, 3> part_suffixes = {"", "_val", "_test"};

/// Position in the file of each number in row-major order, for files in Fortran order.
class FortranWalk {
public:
  explicit FortranWalk(const std::vector<std::uint64_t>& shape) : shape_(shape), at_(shape.size()), strides_(shape.size(), 1) {
    for (std::size_t k = 1; k < shape.size(); ++k) strides_[k] = strides_[k - 1] * shape[k - 1];
  }
  std::uint64_t next() {
    const std::uint64_t result = position_;
    for (std::size_t k = shape_.size(); k-- > 0;) {
      position_ += strides_[k];
      if (++at_[k] < shape_[k]) break;
      position_ -= strides_[k] * shape_[k];
      at_[k] = 0;
    }
    return result;
  }

private:
  const std::vector<std::uint64_t>& shape_;
  std::vector<std::uint64_t> at_, strides_;
  std::uint64_t position_ = 0;
};

template <class Number, class Load>
std::vector<Number> read_numbers(const NpyFile& file, const NpyNumbers& numbers, std::uint64_t count, bool plain, const Load& load) {
  std::vector<Number> values(count);
  if (plain && !file.fortran && numbers.is_native()) {
    if (count != 0) std::memcpy(values.data(), file.data.data(), count * sizeof(Number));
  } else if (!file.fortran) {
    for (std::uint64_t k = 0; k < count; ++k) values[k] = load(k);
  } else {
    FortranWalk walk(file.shape);
    for (std::uint64_t k = 0; k < count; ++k) values[k] = load(walk.next());
  }
  return values;
}

/// The whole array. `budget` books the result for good: the caller keeps it.
Array to_array(std::string_view bytes, const Budget& budget) {
  const NpyFile file = sightline::parse_npy(bytes);
  if (file.descr.find('O') != std::string::npos) throw NpyError("an array of numbers", "an array of Python objects");
  if (file.shape.size() > 8) throw NpyError("at most 3 axes", print_shape(file.shape));
  const NpyNumbers numbers(file);
  std::uint64_t count = 1;
  for (const std::uint64_t extent : file.shape)
    if (__builtin_mul_overflow(count, extent, &count)) throw NpyError("an array that fits into memory", print_shape(file.shape));
  numbers.check_size(count);  // from here on the shape is as large as the file says
  budget.ask(count * 8);
  Array array{file.shape, {}};
  if (numbers.kind() != NpyNumbers::Kind::floating) {
    bool fits = true;
    const bool plain = numbers.kind() == NpyNumbers::Kind::signed_integer && numbers.width() == 8;
    array.values = read_numbers<std::int64_t>(file, numbers, count, plain, [&](std::uint64_t k) { return numbers.integer(k, fits); });
    if (!fits) throw NpyError("integers below 2^63", "a larger one");
  } else if (numbers.width() == 8) {
    array.values = read_numbers<double>(file, numbers, count, true, [&](std::uint64_t k) { return numbers.number(k); });
  } else {
    array.values = read_numbers<float>(file, numbers, count, numbers.width() == 4,
                                       [&](std::uint64_t k) { return static_cast<float>(numbers.number(k)); });
  }
  return array;
}

[[noreturn]] void refuse(const std::string& where, const NpyError& error) {
  throw InputError(fmt::format("{}: expected {}, found {}", where, error.expected, error.found));
}

/// Arrays under other names are nobody's business here, but x_vall is a validation part that would go unused, and weights that count for nothing
/// are worse. Case and _valid, _validation are read as what they mean; names of two letters are too short to be near another.
void refuse_near_names(const std::vector<std::string>& names, const std::string& file) {
  const auto plain = [](std::string name) {
    for (char& letter : name) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
    for (const std::string_view word : {"validation", "valid"})
      if (const std::size_t at = name.find(word); at != std::string::npos) return name.replace(at, word.size(), "val");
    return name;
  };
  std::vector<std::string> known;
  for (const std::string_view suffix : part_suffixes)
    for (const std::string_view base : array_names) known.push_back(std::string(base) + std::string(suffix));
  constexpr std::size_t longest_compared = 64;
  for (const std::string& name : names) {
    if (name.size() > longest_compared || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string here = plain(name);
    const auto distance = [&](const std::string& there) { return compute_edit_distance(here, there); };
    const std::string& nearest = *std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
    const std::size_t least = distance(nearest), most = std::max(here.size(), nearest.size());
    if (least == 0 || (least == 1 && most > 3) || (least == 2 && most > 6 && nearest.size() > 5))
      throw InputError(fmt::format("{}: expected arrays named x, y, lengths, weight (with _val, _test) or nothing near them, found \"{}\" (did you mean \"{}\"?)", file, name, nearest));
  }
}

void take_rows(const Array& from, const std::vector<std::uint64_t>& rows, Array& to) {
  to.shape = from.shape;
  to.shape[0] = rows.size();
  const std::uint64_t width = from.shape[0] == 0 ? 0 : from.count() / from.shape[0];
  std::visit(
      [&](const auto& values) {
        std::decay_t<decltype(values)> out;
        out.reserve(rows.size() * width);
        for (const std::uint64_t row : rows)
          out.insert(out.end(), values.begin() + static_cast<std::ptrdiff_t>(row * width), values.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
        to.values = std::move(out);
      },
      from.values);
}

}  // namespace

Dataset parse_npz(std::string_view bytes, const std::string& file, const Expected& expected, const Budget& budget) {
  NamedArrays arrays;
  std::string where = file;
  try {
    NpzArchive archive(bytes);
    refuse_near_names(archive.names(), file);
    for (const std::string_view suffix : part_suffixes)
      for (const std::string_view base : array_names) {
        const std::string name = std::string(base) + std::string(suffix);
        const auto begin = archive.names().begin(), end = archive.names().end();
        const auto at = std::find(begin, end, name);
        if (at == end) continue;
        where = fmt::format("{}: {}", file, name);
        if (std::find(at + 1, end, name) != end) throw NpyError("one array of this name", "two");
        if (name[0] == 'y' && !expected.targets && suffix.empty()) continue;  // predict needs no targets, right or wrong
        const std::string array = archive.unpack(static_cast<std::size_t>(at - begin), std::uint64_t{1} << 46, budget);
        arrays.emplace(name, to_array(array, budget));
      }
  } catch (const NpyError& error) {
    refuse(where, error);
  }
  return validate(std::move(arrays), expected, [&](std::string_view name) { return fmt::format("{}: {}", file, name); });
}

Dataset parse_npy(std::string_view bytes, const std::optional<std::string_view>& targets, const std::string& file,
                  const std::string& targets_file, const Expected& expected, const Budget& budget) {
  NamedArrays arrays;
  try {
    arrays.emplace("x", to_array(bytes, budget));
  } catch (const NpyError& error) {
    refuse(file + ": x", error);
  }
  if (targets) {
    try {
      arrays.emplace("y", to_array(*targets, budget));
    } catch (const NpyError& error) {
      refuse(targets_file + ": y", error);
    }
  } else if (expected.targets) {
    throw InputError(fmt::format("{}: expected --targets with a .npy file of y beside it, found none", file));
  }
  return validate(std::move(arrays), expected,
                  [&](std::string_view name) { return fmt::format("{}: {}", name == "y" ? targets_file : file, name); });
}

Dataset read_dataset(const std::string& file, const std::optional<std::string>& targets, const Expected& expected, const Budget& budget) {
  const FileBytes held(file, budget);
  const std::string_view bytes = held.view();
  const std::string_view path = file;
  const bool npy = path.ends_with(".npy") || bytes.starts_with("\x93NUMPY");
  if (npy) {
    if (!targets) return parse_npy(bytes, std::nullopt, file, "", expected, budget);
    const FileBytes y(*targets, budget);
    return parse_npy(bytes, y.view(), file, *targets, expected, budget);
  }
  if (targets) throw InputError(fmt::format("{}: expected a .npy file with --targets, found another format, which holds its own targets", file));
  if (path.ends_with(".npz") || bytes.starts_with("PK\x03\x04")) return parse_npz(bytes, file, expected, budget);
  return parse_csv(bytes, file, expected, budget);
}

std::vector<std::uint64_t> permute(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  // By hand: what std::shuffle draws is up to each library. Rejection keeps every order equally likely.
  for (std::uint64_t k = count; k > 1; --k) {
    const std::uint64_t rejected = (0 - k) % k;
    std::uint64_t draw = random();
    while (draw < rejected) draw = random();
    std::swap(order[k - 1], order[draw % k]);
  }
  return order;
}

Part take(const Part& part, const std::vector<std::uint64_t>& rows) {
  Part out;
  take_rows(part.x, rows, out.x);
  if (part.y) take_rows(*part.y, rows, out.y.emplace());
  for (const std::uint64_t row : rows) {
    if (!part.lengths.empty()) out.lengths.push_back(part.lengths[row]);
    if (!part.weights.empty()) out.weights.push_back(part.weights[row]);
  }
  return out;
}

void split_validation(Dataset& dataset, double share, std::uint64_t seed) {
  const std::uint64_t count = dataset.train.size();
  if (dataset.validation || count < 2 || !(share > 0)) return;
  const auto wanted = static_cast<std::uint64_t>(std::llround(std::min(share, 1.0) * static_cast<double>(count)));
  const std::uint64_t held = std::clamp<std::uint64_t>(wanted, 1, count - 1);
  const std::vector<std::uint64_t> order = permute(count, seed);
  const auto middle = order.end() - static_cast<std::ptrdiff_t>(held);
  dataset.validation = take(dataset.train, {middle, order.end()});
  dataset.train = take(dataset.train, {order.begin(), middle});
}

bool has_classes(const Part& part) { return part.y && part.y->is_integer(); }

std::uint64_t count_outputs(const Dataset& dataset) {
  std::uint64_t most = 0;
  const auto look = [&](const Part& part) {
    if (!part.y) return;
    if (!part.y->is_integer()) most = std::max(most, part.y->shape.back());
    else
      for (const std::int64_t value : std::get<std::vector<std::int64_t>>(part.y->values)) most = std::max(most, static_cast<std::uint64_t>(std::max<std::int64_t>(value + 1, 0)));
  };
  look(dataset.train);
  if (dataset.validation) look(*dataset.validation);
  if (dataset.test) look(*dataset.test);
  return most;
}

std::uint64_t count_ids(const Dataset& dataset) {
  std::int64_t most = -1;
  const auto look = [&](const Part& part) {
    if (const auto* ids = std::get_if<std::vector<std::int64_t>>(&part.x.values))
      for (const std::int64_t id : *ids) most = std::max(most, id);
  };
  look(dataset.train);
  if (dataset.validation) look(*dataset.validation);
  if (dataset.test) look(*dataset.test);
  return static_cast<std::uint64_t>(most + 1);
}

}  // namespace sightline::data
