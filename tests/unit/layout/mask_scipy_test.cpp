// Sparse matrices as scipy.sparse.save_npz writes them, made here array by array.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include <fmt/format.h>

#include "dense_oracle.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/layout/mask_file.hpp"
#include "sightline/layout/mask_scipy.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

using Arrays = std::map<std::string, NpyArray>;

template <typename Number> std::string to_bytes(const std::vector<Number>& values) {
  std::string bytes(values.size() * sizeof(Number), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

NpyArray make_indices(const std::vector<std::int32_t>& values) { return {"", "<i4", {values.size()}, to_bytes(values)}; }

NpyArray make_data(std::vector<std::uint64_t> shape, const std::vector<std::int64_t>& values) { return {"", "<i8", std::move(shape), to_bytes(values)}; }

Arrays begin(const std::string& format, std::int64_t n) {
  return {{"format", {"", fmt::format("|S{}", format.size()), {}, format}}, {"shape", {"", "<i8", {2}, to_bytes(std::vector<std::int64_t>{n, n})}}};
}

std::string pack(const Arrays& arrays) {
  std::vector<NpyArray> list;
  for (auto [name, array] : arrays) {
    array.name = name;
    list.push_back(std::move(array));
  }
  return sightline::make_npz(list);
}

/// @param shuffled  entries of a row in any order, and zeros that are stored
Arrays make_rows(const oracle::Dense& mask, std::mt19937_64* shuffled, bool by_columns) {
  const std::size_t n = mask.size();
  std::vector<std::int32_t> begins{0}, members;
  std::vector<std::int64_t> data;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::size_t> order;
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint32_t colour = by_columns ? mask[j][i] : mask[i][j];
      if (colour != 0 || (shuffled != nullptr && draw_below(*shuffled, 5) == 0)) order.push_back(j);
    }
    if (shuffled != nullptr) std::shuffle(order.begin(), order.end(), *shuffled);
    for (const std::size_t j : order) {
      members.push_back(static_cast<std::int32_t>(j));
      data.push_back(by_columns ? mask[j][i] : mask[i][j]);
    }
    begins.push_back(static_cast<std::int32_t>(members.size()));
  }
  Arrays arrays = begin(by_columns ? "csc" : "csr", static_cast<std::int64_t>(n));
  arrays["indptr"] = make_indices(begins);
  arrays["indices"] = make_indices(members);
  arrays["data"] = make_data({data.size()}, data);
  return arrays;
}

Arrays make_blocks(const oracle::Dense& mask, std::size_t height, std::size_t width) {
  const std::size_t n = mask.size();
  std::vector<std::int32_t> begins{0}, members;
  std::vector<std::int64_t> data;
  for (std::size_t r = 0; r < n / height; ++r) {
    for (std::size_t c = 0; c < n / width; ++c) {
      std::vector<std::int64_t> block;
      bool empty = true;
      for (std::size_t i = r * height; i < (r + 1) * height; ++i) {
        for (std::size_t j = c * width; j < (c + 1) * width; ++j) {
          block.push_back(mask[i][j]);
          empty = empty && mask[i][j] == 0;
        }
      }
      if (empty) continue;
      members.push_back(static_cast<std::int32_t>(c));
      data.insert(data.end(), block.begin(), block.end());
    }
    begins.push_back(static_cast<std::int32_t>(members.size()));
  }
  Arrays arrays = begin("bsr", static_cast<std::int64_t>(n));
  arrays["indptr"] = make_indices(begins);
  arrays["indices"] = make_indices(members);
  arrays["data"] = make_data({members.size(), height, width}, data);
  return arrays;
}

Arrays make_entries(const oracle::Dense& mask, std::mt19937_64& engine) {
  std::vector<std::pair<std::int32_t, std::int32_t>> places;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    for (std::size_t j = 0; j < mask.size(); ++j) {
      if (mask[i][j] != 0) places.emplace_back(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
    }
  }
  std::shuffle(places.begin(), places.end(), engine);
  std::vector<std::int32_t> rows, columns;
  std::vector<std::int64_t> data;
  for (const auto& [i, j] : places) {
    rows.push_back(i);
    columns.push_back(j);
    data.push_back(mask[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
  }
  Arrays arrays = begin("coo", static_cast<std::int64_t>(mask.size()));
  arrays["row"] = make_indices(rows);
  arrays["col"] = make_indices(columns);
  arrays["data"] = make_data({data.size()}, data);
  return arrays;
}

/// Every diagonal, those outside of the matrix too; what does not lie in the matrix holds junk.
Arrays make_diagonals(const oracle::Dense& mask) {
  const auto n = static_cast<std::int64_t>(mask.size());
  std::vector<std::int32_t> offsets;
  std::vector<std::int64_t> data;
  for (std::int64_t offset = -n; offset <= n; ++offset) {
    offsets.push_back(static_cast<std::int32_t>(offset));
    for (std::int64_t j = 0; j < n; ++j) data.push_back(j - offset >= 0 && j - offset < n ? mask[static_cast<std::size_t>(j - offset)][static_cast<std::size_t>(j)] : 77);
  }
  Arrays arrays = begin("dia", n);
  arrays["offsets"] = make_indices(offsets);
  arrays["data"] = make_data({offsets.size(), static_cast<std::uint64_t>(n)}, data);
  return arrays;
}

std::string difference(const oracle::Dense& mask, const Arrays& arrays) {
  return oracle::compare(mask, oracle::expand(read_npz(pack(arrays), static_cast<Vertex>(mask.size()), Budget{})));
}

std::string error_of(const Arrays& arrays, Vertex n = 3) {
  try {
    (void)read_npz(pack(arrays), n, Budget{});
  } catch (const MaskError& error) {
    return fmt::format("expected {}, found {}", error.expected, error.found);
  }
  return "";
}

Arrays make_example() {
  Arrays arrays = begin("csr", 3);
  arrays["indptr"] = make_indices({0, 2, 3, 3});
  arrays["indices"] = make_indices({0, 2, 1});
  arrays["data"] = make_data({3}, {1, 2, 1});
  return arrays;
}

}  // namespace

TEST_CASE("sparse matrices of every format are the mask that they were made from") {
  std::mt19937_64 engine(11);
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = round < 10 ? 6 : 6 * (1 + draw_below(engine, 4));
    oracle::Dense mask(n, std::vector<std::uint32_t>(n, 0));
    for (auto& row : mask) {
      for (std::uint32_t& colour : row) colour = draw_below(engine, 3) == 0 ? static_cast<std::uint32_t>(draw_below(engine, 4)) : 0;
    }
    CHECK(difference(mask, make_rows(mask, nullptr, false)) == "");
    CHECK(difference(mask, make_rows(mask, &engine, false)) == "");
    CHECK(difference(mask, make_rows(mask, nullptr, true)) == "");
    CHECK(difference(mask, make_rows(mask, &engine, true)) == "");
    CHECK(difference(mask, make_blocks(mask, 2, 3)) == "");
    CHECK(difference(mask, make_blocks(mask, 1, 1)) == "");
    CHECK(difference(mask, make_entries(mask, engine)) == "");
    CHECK(difference(mask, make_diagonals(mask)) == "");
  }
}

TEST_CASE("sparse matrices: kinds of numbers, and how large they are") {
  Arrays arrays = make_example();
  const oracle::Dense coloured{{1, 0, 2}, {0, 1, 0}, {0, 0, 0}}, plain{{1, 0, 1}, {0, 1, 0}, {0, 0, 0}};
  CHECK(difference(coloured, arrays) == "");
  arrays["data"] = {"", "<f4", {3}, to_bytes(std::vector<float>{1, 2, 1})};
  CHECK(difference(coloured, arrays) == "");
  arrays["data"] = {"", "<f8", {3}, to_bytes(std::vector<double>{0.5, 2, 1})};
  CHECK(difference(plain, arrays) == "");
  arrays["data"] = {"", "|b1", {3}, std::string("\1\1\1", 3)};
  CHECK(difference(plain, arrays) == "");
  arrays["format"] = {"", "<U3", {}, std::string("c\0\0\0s\0\0\0r\0\0\0", 12)};
  CHECK(difference(plain, arrays) == "");
  const std::string bytes = pack(arrays);
  const Budget budget;
  NpzArchive archive(bytes);
  CHECK(is_scipy_matrix(archive));
  CHECK(find_scipy_size(archive, budget) == 3u);
}

TEST_CASE("sparse matrices: what is wrong is named") {
  const auto with = [](const std::string& name, NpyArray array) {
    Arrays arrays = make_example();
    arrays[name] = std::move(array);
    return error_of(arrays);
  };
  CHECK(error_of(make_example()) == "");
  CHECK(error_of(make_example(), 4) == "expected shape (4, 4) (tokens and registers), found (3, 3)");
  CHECK(with("format", {"", "|S3", {}, "lil"}) == "expected a sparse matrix as csr, csc, bsr, coo or dia, found \"lil\"");
  CHECK(with("format", make_indices({1})).starts_with("expected format, a word"));
  CHECK(with("indices", make_indices({0, 3, 1})) == "expected indices from 0 to 2, found 3");
  CHECK(with("indices", make_indices({0, -1, 1})) == "expected indices from 0 to 2, found -1");
  CHECK(with("indices", make_indices({0, 0, 1})) == "expected every entry once (sum_duplicates() joins them), found row 0, column 0 again");
  CHECK(with("indices", make_indices({0, 2})) == "expected 3 numbers in indices, found 2");
  CHECK(with("indptr", make_indices({0, 2, 3})) == "expected indptr with 4 numbers, found 3");
  CHECK(with("indptr", make_indices({0, 2, 1, 3})) == "expected indptr that does not fall, found 1 behind 2");
  CHECK(with("indptr", make_indices({0, 2, 2, 2})) == "expected indptr from 0 to 3, found 0 to 2");
  CHECK(with("data", make_data({3}, {1, -2, 1})) == "expected 0 or a colour from 1 to 4294967295, found -2 at place 1 of data");
  CHECK(with("data", {"", "<f8", {3}, to_bytes(std::vector<double>{0, -1e9, 0})}).find("at least 0 (a mask that is added to scores") != std::string::npos);
  CHECK(with("data", {"", "<f8", {3}, to_bytes(std::vector<double>{0, std::nan(""), 0})}) == "expected numbers, found NaN at place 1 of data");
  CHECK(with("data", {"", "<i8", {1000000}, std::string(24, '\0')}) == "expected data with all its numbers, found fewer");
  Arrays missing = make_example();
  missing.erase("indptr");
  CHECK(error_of(missing) == "expected an array \"indptr\" (of a sparse matrix), found data, format, indices, shape");
  Arrays blocks = make_example();
  blocks["format"] = {"", "|S3", {}, "bsr"};
  blocks["data"] = make_data({1, 2, 2}, {1, 1, 1, 1});
  CHECK(error_of(blocks) == "expected blocks that divide 3 rows and columns, found 2 x 2");
}

TEST_CASE("sparse matrices: a byte changed anywhere is read or refused") {
  std::mt19937_64 engine(5);
  oracle::Dense mask(6, std::vector<std::uint32_t>(6, 1));
  for (const Arrays& arrays : {make_rows(mask, nullptr, false), make_rows(mask, nullptr, true), make_blocks(mask, 2, 3), make_entries(mask, engine), make_diagonals(mask)}) {
    for (int round = 0; round < 1500; ++round) {
      Arrays changed = arrays;
      auto at = changed.begin();
      std::advance(at, draw_below(engine, changed.size()));
      if (at->second.bytes.empty()) continue;
      at->second.bytes[draw_below(engine, at->second.bytes.size())] = static_cast<char>(draw_below(engine, 256));
      (void)error_of(changed, 6);
    }
  }
}
