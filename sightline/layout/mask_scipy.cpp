// Sparse matrices as scipy.sparse.save_npz writes them: csr, csc, bsr, coo and dia.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sightline/base/error.hpp"
#include "sightline/layout/mask_scipy.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

namespace {

using Kind = NpyNumbers::Kind;

/// The arrays of the archive, unpacked when first asked for.
class Arrays {
public:
  Arrays(NpzArchive& archive, Vertex vertices, const Budget& budget) : archive_(archive), most_(std::uint64_t{vertices} * vertices * 8 + (std::uint64_t{1} << 20)), budget_(budget) {}

  const NpyFile& file(const std::string& name) {
    if (const auto known = files_.find(name); known != files_.end()) return known->second;
    const std::vector<std::string>& names = archive_.names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw MaskError(0, fmt::format("an array \"{}\" (of a sparse matrix)", name), fmt::format("{}", fmt::join(names, ", ")));
    bytes_.push_back(std::make_unique<std::string>(archive_.unpack(static_cast<std::size_t>(found - names.begin()), most_, budget_)));
    return files_.emplace(name, parse_npy(*bytes_.back())).first->second;
  }

  NpyNumbers numbers(const std::string& name, std::size_t dimensions) {
    const NpyFile& here = file(name);
    if (here.shape.size() != dimensions) throw MaskError(0, fmt::format("{} of {} dimension{}", name, dimensions, dimensions == 1 ? "" : "s"), fmt::format("({})", fmt::join(here.shape, ", ")));
    NpyNumbers found(here);
    std::uint64_t count = 1;
    for (const std::uint64_t extent : here.shape) {
      if (extent > found.present()) throw MaskError(0, fmt::format("{} with all its numbers", name), "fewer");
      count *= extent;  // at most three extents of what fits into memory
      if (count > found.present()) throw MaskError(0, fmt::format("{} with all its numbers", name), "fewer");
    }
    found.check_size(count);
    return found;
  }

  [[nodiscard]] const Budget& budget() const { return budget_; }

private:
  NpzArchive& archive_;
  std::uint64_t most_;
  const Budget& budget_;
  std::vector<std::unique_ptr<std::string>> bytes_;
  std::map<std::string, NpyFile> files_;
};

/// Whole numbers from 0 on: offsets, rows, columns.
class Indices {
public:
  Indices(Arrays& arrays, const std::string& name) : name_(name), numbers_(arrays.numbers(name, 1)) {
    if (numbers_.kind() == Kind::floating || numbers_.kind() == Kind::boolean) throw MaskError(0, name + " of integers", arrays.file(name).descr);
  }
  [[nodiscard]] std::uint64_t size() const { return numbers_.present(); }
  /// Throws MaskError beyond `most`, and for negative numbers unless these are allowed.
  [[nodiscard]] std::int64_t at(std::uint64_t k, std::uint64_t most, bool may_be_negative = false) const {
    bool fits = true;
    const std::int64_t value = numbers_.integer(k, fits);
    const std::int64_t least = may_be_negative ? -static_cast<std::int64_t>(most) : 0;
    if (!fits || value < least || value > static_cast<std::int64_t>(most)) {
      throw MaskError(0, fmt::format("{} from {} to {}", name_, least, most), fits ? std::to_string(value) : "a larger number");
    }
    return value;
  }

private:
  std::string name_;
  NpyNumbers numbers_;
};

/// What is stored as colours: whole numbers are colours, with a fraction among them nonzero is read, as in a dense array.
class Colours {
public:
  Colours(Arrays& arrays, std::size_t dimensions) : numbers_(arrays.numbers("data", dimensions)), shape_(arrays.file("data").shape) {
    if (arrays.file("data").fortran && dimensions > 1) throw MaskError(0, "data in C order", "Fortran order");
    if (numbers_.kind() != Kind::floating) return;
    for (std::uint64_t k = 0; k < numbers_.present(); ++k) {
      if (k % (1U << 20) == 0) arrays.budget().poll();
      const double value = numbers_.number(k);
      if (std::isnan(value)) throw MaskError(0, "numbers", fmt::format("NaN at place {} of data", k));
      if (value < 0) {
        throw MaskError(0, "numbers of at least 0 (a mask that is added to scores says what is not read, which a sparse matrix leaves out)", fmt::format("{} at place {} of data", value, k));
      }
      whole_ = whole_ && value <= UINT32_MAX && value == std::floor(value);
    }
  }
  [[nodiscard]] const std::vector<std::uint64_t>& shape() const { return shape_; }
  /// 0: stored, and absent all the same.
  [[nodiscard]] std::uint32_t at(std::uint64_t k) const {
    if (numbers_.kind() == Kind::floating) {
      const double value = numbers_.number(k);
      return whole_ ? static_cast<std::uint32_t>(value) : value != 0 ? 1 : 0;
    }
    if (numbers_.kind() == Kind::boolean) return numbers_.bits(k) != 0 ? 1 : 0;
    bool fits = true;
    const std::int64_t value = numbers_.integer(k, fits);
    if (!fits || value < 0 || value > std::int64_t{UINT32_MAX}) {
      throw MaskError(0, "0 or a colour from 1 to 4294967295", fmt::format("{} at place {} of data", fits ? std::to_string(value) : "a larger number", k));
    }
    return static_cast<std::uint32_t>(value);
  }

private:
  NpyNumbers numbers_;
  std::vector<std::uint64_t> shape_;
  bool whole_ = true;
};

/// One row after the other; members may come in any order, each once.
class RowWriter {
public:
  RowWriter(Vertex vertices, const Budget& budget) : vertices_(vertices), budget_(budget), builder_(vertices, budget) {}

  void add(Vertex column, std::uint32_t colour) {
    if (colour != 0) row_.emplace_back(column, colour);
  }
  void end_row() {
    budget_.poll();
    if (!std::is_sorted(row_.begin(), row_.end())) std::sort(row_.begin(), row_.end());
    columns_.clear();
    colours_.clear();
    bool plain = true;
    for (const auto& [column, colour] : row_) {
      if (!columns_.empty() && columns_.back() == column) {
        throw MaskError(0, "every entry once (sum_duplicates() joins them)", fmt::format("row {}, column {} again", next_, column));
      }
      columns_.push_back(column);
      colours_.push_back(colour);
      plain = plain && colour == 1;
    }
    if (plain) colours_.clear();
    builder_.add_segment(next_++, builder_.add_row_once(columns_, colours_));
    row_.clear();
  }
  [[nodiscard]] Pattern build() {
    if (next_ != vertices_) throw InternalError("a mask with rows missing");
    return builder_.build();
  }

private:
  Vertex vertices_, next_ = 0;
  const Budget& budget_;
  PatternBuilder builder_;
  std::vector<std::pair<Vertex, std::uint32_t>> row_;
  std::vector<Vertex> columns_;
  std::vector<std::uint32_t> colours_;
};

/// indptr: where the entries of each of `count` rows (columns, rows of blocks) begin among `entries`.
std::vector<std::uint64_t> read_begins(Arrays& arrays, std::uint64_t count, std::uint64_t entries) {
  const Indices pointers(arrays, "indptr");
  if (pointers.size() != count + 1) throw MaskError(0, fmt::format("indptr with {} numbers", count + 1), std::to_string(pointers.size()));
  std::vector<std::uint64_t> begins;
  begins.reserve(count + 1);
  for (std::uint64_t k = 0; k <= count; ++k) {
    begins.push_back(static_cast<std::uint64_t>(pointers.at(k, entries)));
    if (k > 0 && begins[k] < begins[k - 1]) throw MaskError(0, "indptr that does not fall", fmt::format("{} behind {}", begins[k], begins[k - 1]));
  }
  if (begins.front() != 0 || begins.back() != entries) throw MaskError(0, fmt::format("indptr from 0 to {}", entries), fmt::format("{} to {}", begins.front(), begins.back()));
  return begins;
}

void require_size(const std::string& name, std::uint64_t size, std::uint64_t expected) {
  if (size != expected) throw MaskError(0, fmt::format("{} numbers in {}", expected, name), std::to_string(size));
}

Pattern read_csr(Arrays& arrays, Vertex n) {
  const Colours colours(arrays, 1);
  const Indices columns(arrays, "indices");
  require_size("indices", columns.size(), colours.shape()[0]);
  const std::vector<std::uint64_t> begins = read_begins(arrays, n, columns.size());
  RowWriter rows(n, arrays.budget());
  for (Vertex i = 0; i < n; ++i) {
    for (std::uint64_t k = begins[i]; k < begins[i + 1]; ++k) rows.add(static_cast<Vertex>(columns.at(k, n - 1)), colours.at(k));
    rows.end_row();
  }
  return rows.build();
}

Pattern read_bsr(Arrays& arrays, Vertex n) {
  const Colours colours(arrays, 3);
  const std::uint64_t blocks = colours.shape()[0], height = colours.shape()[1], width = colours.shape()[2];
  if (height == 0 || width == 0 || n % height != 0 || n % width != 0) throw MaskError(0, fmt::format("blocks that divide {} rows and columns", n), fmt::format("{} x {}", height, width));
  const Indices columns(arrays, "indices");
  require_size("indices", columns.size(), blocks);
  const std::vector<std::uint64_t> begins = read_begins(arrays, n / height, blocks);
  RowWriter rows(n, arrays.budget());
  for (Vertex i = 0; i < n; ++i) {
    for (std::uint64_t k = begins[i / height]; k < begins[i / height + 1]; ++k) {
      const auto first = static_cast<std::uint64_t>(columns.at(k, n / width - 1)) * width;
      for (std::uint64_t c = 0; c < width; ++c) rows.add(static_cast<Vertex>(first + c), colours.at((k * height + i % height) * width + c));
    }
    rows.end_row();
  }
  return rows.build();
}

/// Entries in any order: visit(add) calls add(row, column, place in data) for each of them, twice the same ones.
template <class Visit>
Pattern sort_by_rows(Arrays& arrays, Vertex n, const Colours& colours, const Visit& visit) {
  struct Entry {
    Vertex column;
    std::uint32_t colour;
  };
  std::vector<std::uint64_t> begins(std::size_t{n} + 1, 0);
  visit([&](Vertex row, Vertex, std::uint64_t) { ++begins[row + 1]; });
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  const Budget own = arrays.budget();  // a copy: what it books is given back with it
  own.ask(begins.back() * sizeof(Entry));
  std::vector<Entry> entries(begins.back());
  std::vector<std::uint64_t> next(begins.begin(), begins.end() - 1);
  visit([&](Vertex row, Vertex column, std::uint64_t k) { entries[next[row]++] = {column, colours.at(k)}; });
  RowWriter rows(n, arrays.budget());
  for (Vertex i = 0; i < n; ++i) {
    for (std::uint64_t k = begins[i]; k < begins[i + 1]; ++k) rows.add(entries[k].column, entries[k].colour);
    rows.end_row();
  }
  return rows.build();
}

Pattern read_csc(Arrays& arrays, Vertex n) {
  const Colours colours(arrays, 1);
  const Indices members(arrays, "indices");
  require_size("indices", members.size(), colours.shape()[0]);
  const std::vector<std::uint64_t> begins = read_begins(arrays, n, members.size());
  return sort_by_rows(arrays, n, colours, [&](const auto& add) {
    for (Vertex j = 0; j < n; ++j) {
      for (std::uint64_t k = begins[j]; k < begins[j + 1]; ++k) add(static_cast<Vertex>(members.at(k, n - 1)), j, k);
    }
  });
}

Pattern read_coo(Arrays& arrays, Vertex n) {
  const Colours colours(arrays, 1);
  const Indices rows(arrays, "row"), columns(arrays, "col");
  require_size("row", rows.size(), colours.shape()[0]);
  require_size("col", columns.size(), colours.shape()[0]);
  return sort_by_rows(arrays, n, colours, [&](const auto& add) {
    for (std::uint64_t k = 0; k < rows.size(); ++k) add(static_cast<Vertex>(rows.at(k, n - 1)), static_cast<Vertex>(columns.at(k, n - 1)), k);
  });
}

/// Diagonal k holds data[k][j] in column j, row j - offsets[k], as far as there are such rows and columns.
Pattern read_dia(Arrays& arrays, Vertex n) {
  const Colours colours(arrays, 2);
  const Indices offsets(arrays, "offsets");
  require_size("offsets", offsets.size(), colours.shape()[0]);
  const std::uint64_t length = colours.shape()[1];
  return sort_by_rows(arrays, n, colours, [&](const auto& add) {
    for (std::uint64_t k = 0; k < offsets.size(); ++k) {
      const std::int64_t offset = offsets.at(k, n, true);
      for (std::int64_t j = std::max<std::int64_t>(0, offset); j < std::min<std::int64_t>({static_cast<std::int64_t>(length), n, n + offset}); ++j) {
        add(static_cast<Vertex>(j - offset), static_cast<Vertex>(j), k * length + static_cast<std::uint64_t>(j));
      }
    }
  });
}

/// numpy's text scalar, bytes or unicode: "csr".
std::string read_format(const NpyFile& file) {
  const bool wide = file.descr.size() > 2 && file.descr[1] == 'U';
  if (!file.shape.empty() || file.descr.size() < 3 || (!wide && file.descr[1] != 'S') || file.data.size() > 64) throw MaskError(0, "format, a word", file.descr);
  std::string word;
  for (std::size_t k = 0; k < file.data.size(); k += wide ? 4 : 1) {
    const char c = file.descr[0] == '>' && wide ? file.data[std::min(k + 3, file.data.size() - 1)] : file.data[k];
    if (c != '\0') word += c;
  }
  return word;
}

constexpr std::uint64_t any_extent = std::uint64_t{1} << 62;

/// The first few extents of the matrix.
std::vector<std::int64_t> read_extents(Arrays& arrays) {
  const Indices shape(arrays, "shape");
  std::vector<std::int64_t> extents;
  for (std::uint64_t k = 0; k < std::min<std::uint64_t>(shape.size(), 3); ++k) extents.push_back(shape.at(k, any_extent));
  return extents;
}

}  // namespace

bool is_scipy_matrix(const NpzArchive& archive) {
  const std::vector<std::string>& names = archive.names();
  return std::ranges::all_of(std::vector<std::string>{"format", "shape", "data"}, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
}

std::optional<std::uint64_t> find_scipy_size(NpzArchive& archive, const Budget& budget) {
  Arrays arrays(archive, 0, budget);
  const std::vector<std::int64_t> extents = read_extents(arrays);
  return extents.size() == 2 ? std::optional(static_cast<std::uint64_t>(extents[0])) : std::nullopt;
}

Pattern read_scipy_matrix(NpzArchive& archive, Vertex vertices, const Budget& budget) {
  Arrays arrays(archive, vertices, budget);
  if (const std::vector<std::int64_t> extents = read_extents(arrays); extents != std::vector<std::int64_t>{vertices, vertices}) {
    throw MaskError(0, fmt::format("shape ({}, {}) (tokens and registers)", vertices, vertices), fmt::format("({})", fmt::join(extents, ", ")));
  }
  const std::string format = read_format(arrays.file("format"));
  const std::map<std::string, Pattern (*)(Arrays&, Vertex)> readers{{"csr", read_csr}, {"csc", read_csc}, {"bsr", read_bsr}, {"coo", read_coo}, {"dia", read_dia}};
  const auto reader = readers.find(format);
  if (reader == readers.end()) throw MaskError(0, "a sparse matrix as csr, csc, bsr, coo or dia", quote(format));
  return reader->second(arrays, vertices);
}

}  // namespace sightline::layout
