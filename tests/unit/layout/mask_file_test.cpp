#include <doctest/doctest.h>

#include <unistd.h>
#include <zip.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "dense_oracle.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/mask_file.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

const std::vector<std::vector<int>> mask{{1, 0, 2}, {0, 3, 3}, {1, 1, 0}};

oracle::Dense to_dense(bool coloured) {
  oracle::Dense dense(3, std::vector<std::uint32_t>(3));
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) dense[i][j] = coloured ? static_cast<std::uint32_t>(mask[i][j]) : mask[i][j] != 0;
  }
  return dense;
}

std::string make_header(int version, const std::string& dictionary) {
  std::string text = dictionary;
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string out = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (std::size_t k = 0; k < prefix - 8; ++k) out += static_cast<char>(text.size() >> (8 * k) & 255u);
  return out + text;
}

std::string describe(const std::string& descr, bool fortran, int extent = 3) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}, {}), }}", descr, fortran ? "True" : "False", extent, extent);
}

template <typename Number> std::string make_npy(const std::string& descr, bool fortran, int version = 1, bool swap = false) {
  std::string out = make_header(version, describe(descr, fortran));
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      const auto value = static_cast<Number>(fortran ? mask[b][a] : mask[a][b]);
      char bytes[sizeof(Number)];
      std::memcpy(bytes, &value, sizeof(Number));
      if (swap) std::reverse(bytes, bytes + sizeof(Number));
      out.append(bytes, sizeof(Number));
    }
  }
  return out;
}

template <typename Read> std::string error_of(Read read) {
  try {
    (void)read();
  } catch (const MaskError& error) {
    return fmt::format("{}: expected {}, found {}", error.line, error.expected, error.found);
  }
  return "";
}

std::string npy_error(const std::string& bytes, Vertex n = 3) {
  return error_of([&] { return read_npy(bytes, n, Budget{}); });
}

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / fmt::format("sightline_mask_test_{}", ::getpid())) { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
  std::filesystem::path path;
};

std::string make_npz(const Folder& folder, const std::vector<std::pair<std::string, std::string>>& arrays) {
  const std::string file = (folder.path / "made.npz").string();
  std::filesystem::remove(file);
  zip_t* archive = zip_open(file.c_str(), ZIP_CREATE, nullptr);
  REQUIRE(archive != nullptr);
  for (const auto& [name, bytes] : arrays) {
    zip_file_add(archive, name.c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
  }
  REQUIRE(zip_close(archive) == 0);
  return file;
}

PatternSpec make_spec(const std::string& path, const std::string& format = "") {
  PatternSpec spec;
  spec.kind = PatternKind::file;
  spec.where = "/mixer/pattern";
  spec.path = path;
  spec.format = format;
  return spec;
}

std::string file_error(const PatternSpec& spec, Vertex n = 3) {
  try {
    (void)make_patterns(spec, {n, 0, 1}, Budget{});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("NumPy arrays of every width, order and version") {
  const auto check = [](const std::string& bytes, bool coloured) {
    CHECK(oracle::compare(to_dense(coloured), oracle::expand(read_npy(bytes, 3, Budget{}))) == "");
  };
  for (const bool fortran : {false, true}) {
    for (const int version : {1, 2, 3}) check(make_npy<std::int64_t>("<i8", fortran, version), true);
    check(make_npy<std::int8_t>("|i1", fortran), true);
    check(make_npy<std::uint8_t>("|u1", fortran), true);
    check(make_npy<std::int16_t>("<i2", fortran), true);
    check(make_npy<std::uint16_t>(">u2", fortran, 1, true), true);
    check(make_npy<std::int32_t>("<i4", fortran), true);
    check(make_npy<std::uint32_t>("<u4", fortran), true);
    check(make_npy<std::uint64_t>(">u8", fortran, 1, true), true);
    check(make_npy<float>("<f4", fortran), true);
    check(make_npy<float>(">f4", fortran, 1, true), true);
    check(make_npy<double>("<f8", fortran), true);
    check(make_npy<bool>("|b1", fortran), false);
  }
}

TEST_CASE("float masks: additive when all values are 0 or hugely negative, else without negative ones") {
  const auto bytes = [](const std::vector<float>& values) {
    std::string out = make_header(1, describe("<f4", false, 2));
    for (const float value : values) out.append(reinterpret_cast<const char*>(&value), 4);
    return out;
  };
  const auto make = [&](const std::vector<float>& values) { return oracle::expand(read_npy(bytes(values), 2, Budget{})); };
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(make({0, -infinity, -1e9f, 0}) == oracle::Dense{{1, 0}, {0, 1}});
  CHECK(make({0, -1e4f, 0, 0}) == oracle::Dense{{1, 0}, {1, 1}});
  const std::string wanted = "0: expected an additive mask (0 attends, -1e4 and below does not, nothing else) or numbers of at least 0, found ";
  const std::string advice = " (write -inf or false for what is not read)";
  CHECK(npy_error(bytes({0, -1e3f, 0, 0.5f}), 2) == wanted + "-1000 in row 0, column 1" + advice);
  CHECK(npy_error(bytes({0, -100, -100, 0}), 2) == wanted + "-100 in row 0, column 1" + advice);
  CHECK(npy_error(bytes({0, -1, 0, 0}), 2) == wanted + "-1 in row 0, column 1" + advice);
  CHECK(npy_error(bytes({-infinity, 0, -1, 0}), 2) == wanted + "-1 in row 1, column 0" + advice);
  CHECK(npy_error(bytes({0, 1, -1e9f, 1}), 2) == wanted + "-1000000000 in row 1, column 0" + advice);
  CHECK(npy_error(bytes({-1e9f, 0, 1, 0}), 2).find("found -1000000000 in row 0, column 0") != std::string::npos);
  CHECK(make({0, 2, 1, 2}) == oracle::Dense{{0, 2}, {1, 2}});
  CHECK(make({0, 2, 0.5f, 2}) == oracle::Dense{{0, 1}, {1, 1}});
  CHECK(make({0, infinity, 1, 2}) == oracle::Dense{{0, 1}, {1, 1}});
  CHECK(make({1, 0, 1, 1}) == oracle::Dense{{1, 0}, {1, 1}});
  CHECK(make({0, 0, 0, 0}) == oracle::Dense{{1, 1}, {1, 1}});
  CHECK_THROWS_AS((void)make({0, 0, std::numeric_limits<float>::quiet_NaN(), 0}), MaskError);
  // Half precision: 0, inf, 1, the smallest number above 0; then 0, -inf, 0, 0.
  const std::string half = make_header(1, describe("<f2", false, 2)), zero("\x00\x00", 2);
  CHECK(oracle::expand(read_npy(half + zero + std::string("\x00\x7c\x00\x3c\x01\x00", 6), 2, Budget{})) == oracle::Dense{{0, 1}, {1, 1}});
  CHECK(oracle::expand(read_npy(half + zero + std::string("\x00\xfc", 2) + zero + zero, 2, Budget{})) == oracle::Dense{{1, 0}, {1, 1}});
}

TEST_CASE("broken NumPy arrays are refused before anything is allocated for them") {
  CHECK(npy_error("PK\x03\x04 no array") == "0: expected a NumPy array (\\x93NUMPY), found \"PK\\x03\\x04 n\"");
  CHECK(npy_error("") == "0: expected a NumPy array (\\x93NUMPY), found \"\"");
  CHECK(npy_error("\x93NUMPY\x01") == "0: expected a NumPy header, found 7 bytes");
  CHECK(npy_error(std::string("\x93NUMPY\x01\x00\xff\xff{", 11)) == "0: expected a header of 65535 bytes, found 1 bytes in the file");
  CHECK(npy_error(std::string("\x93NUMPY\x09\x00\x00\x00", 10)) == "0: expected format version 1, 2 or 3, found 9.0");
  std::string truncated = make_npy<std::int64_t>("<i8", false);
  truncated.pop_back();
  CHECK(npy_error(truncated) == "0: expected 72 bytes of data, found 71");
  CHECK(npy_error(make_npy<std::int64_t>("<i8", false), 4) == "0: expected shape (4, 4) (tokens and registers), found (3, 3)");
  CHECK(npy_error(make_header(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1073741824, 1073741824), }"), 1u << 30) ==
        "0: expected 9223372036854775808 bytes of data, found 0");
  CHECK(npy_error(make_header(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (3, 3), }")) ==
        "0: expected bool, integers of 1 to 8 bytes or floats of 2 to 8, found \"<c8\"");
  CHECK(npy_error(make_header(1, "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (3, 3), }")) ==
        "0: expected an array of bool, integers or floats, found a structured array");
  CHECK(npy_error(make_header(1, "{'descr': '<i8', 'shape': (3, 3), }")) == "0: expected the keys descr, fortran_order and shape, found fewer");
  CHECK(npy_error(make_header(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3, ")).substr(0, 26) == "0: expected a NumPy header");
  CHECK(npy_error(make_header(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999, 3), }")).substr(0, 26) ==
        "0: expected a NumPy header");
  const std::string negative = make_header(1, describe("|i1", false, 1)) + '\xff';
  CHECK(npy_error(negative, 1) == "0: expected 0 or a colour from 1 to 4294967295, found a negative number in row 0, column 0");
  const std::string large = make_header(1, describe("<u8", false, 1)) + std::string("\0\0\0\0\1\0\0\0", 8);
  CHECK(npy_error(large, 1) == "0: expected 0 or a colour from 1 to 4294967295, found 4294967296 in row 0, column 0");
}

TEST_CASE("every prefix and every changed byte of an array is read or refused") {
  const std::string whole = make_npy<std::int16_t>("<i2", false);
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK(npy_error(whole.substr(0, length)) != "");
  std::mt19937_64 engine(31);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = whole;
    changed[draw_below(engine, changed.size())] = static_cast<char>(draw_below(engine, 256));
    (void)npy_error(changed);
  }
}

TEST_CASE("masks of a batch and of all heads: extents of 1 before rows and columns") {
  const std::string plain = make_npy<std::int32_t>("<i4", false);
  const auto reshape = [&](const std::string& shape) { return make_header(1, fmt::format("{{'descr': '<i4', 'fortran_order': False, 'shape': {}, }}", shape)) + plain.substr(plain.size() - 36); };
  for (const std::string shape : {"(1, 3, 3)", "(1, 1, 3, 3)"}) CHECK(oracle::compare(to_dense(true), oracle::expand(read_npy(reshape(shape), 3, Budget{}))) == "");
  CHECK(npy_error(reshape("(2, 3, 3)")) == "0: expected shape (3, 3) (tokens and registers; heads are patterns of their own: per_head), found (2, 3, 3)");
  CHECK(npy_error(reshape("(3, 1, 3)")) == "0: expected shape (3, 3) (tokens and registers), found (3, 1, 3)");
  CHECK(npy_error(reshape("(9,)")) == "0: expected an array of rows and columns, found shape (9)");
}

TEST_CASE("archives: the only array, or the one named mask") {
  const Folder folder;
  const std::string array = make_npy<std::int32_t>("<i4", false);
  const auto check = [&](const std::vector<std::pair<std::string, std::string>>& arrays) {
    const auto patterns = make_patterns(make_spec(make_npz(folder, arrays)), {3, 0, 1}, Budget{});
    CHECK(oracle::compare(to_dense(true), oracle::expand(patterns.front())) == "");
  };
  check({{"anything.npy", array}});
  check({{"other.npy", "junk"}, {"mask.npy", array}});
  CHECK(file_error(make_spec(make_npz(folder, {{"a.npy", array}, {"b.npy", array}}))).find("expected one array, one named mask, or a sparse matrix of SciPy (save_npz), found 2 others") != std::string::npos);
  // Much promised by little: two megabytes of zeros behind a small header, for a mask of three tokens.
  CHECK(file_error(make_spec(make_npz(folder, {{"a.npy", array + std::string(3u << 20, '\0')}}))).find("expected a mask of 3 x 3, found a larger array") != std::string::npos);
  CHECK(file_error(make_spec(folder.write("bad.npz", "no archive"))).find("expected a .npz archive") != std::string::npos);
  CHECK(file_error(make_spec(folder.write("bad.npz", array))).find("expected a .npz archive") != std::string::npos);
}

TEST_CASE("MatrixMarket: pattern, integer and real, general and symmetric") {
  const auto read = [](const std::string& text) { return oracle::expand(read_matrix_market(text, 3, Budget{})); };
  CHECK(read("%%MatrixMarket matrix coordinate integer general\n% a comment\n\n3 3 6\n1 1 1\n1 3 2\n2 2 3\n2 3 3\n3 1 1\n3 2 1\n") == to_dense(true));
  CHECK(read("%%MatrixMarket matrix coordinate pattern general\r\n3 3 6\r\n3 2\r\n1 1\r\n1 3\r\n2 2\r\n2 3\r\n3 1\r\n") == to_dense(false));
  CHECK(read("%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 -2.5e-3\n2 2 0.0\n3 3 1\n") == oracle::Dense{{1, 0, 0}, {0, 0, 0}, {0, 0, 1}});
  CHECK(read("%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n1 1 4\n3 1 5") == oracle::Dense{{4, 0, 5}, {0, 0, 0}, {5, 0, 0}});
  CHECK(read("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 0\n") == oracle::Dense(3, std::vector<std::uint32_t>(3)));
}

TEST_CASE("broken MatrixMarket files are named by line") {
  const auto error = [](const std::string& text) { return error_of([&] { return read_matrix_market(text, 3, Budget{}); }); };
  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  CHECK(error("") == "1: expected %%MatrixMarket matrix coordinate ..., found \"\"");
  CHECK(error("0 1\n") == "1: expected %%MatrixMarket matrix coordinate ..., found \"0 1\"");
  CHECK(error("%%MatrixMarket matrix array real general\n") == "1: expected a matrix in coordinate form, found \"matrix array\"");
  CHECK(error("%%MatrixMarket matrix coordinate complex general\n") == "1: expected pattern, integer or real, found \"complex\"");
  CHECK(error("%%MatrixMarket matrix coordinate real hermitian\n") == "1: expected general or symmetric, found \"hermitian\"");
  CHECK(error(head) == "1: expected a line: rows columns entries, found the end of the file");
  CHECK(error(head + "3 4 1\n1 1\n") == "2: expected 3 rows and columns (tokens and registers), found 3 x 4");
  CHECK(error(head + "3 3 2\n1 1\n") == "3: expected 2 entries, found 1");
  CHECK(error(head + "3 3 9000000000000000000\n1 1\n") == "3: expected 9000000000000000000 entries, found 1");
  CHECK(error(head + "3 3 1\n1 1\n2 2\n") == "4: expected 1 entries, found more of them");
  CHECK(error(head + "3 3 1\n0 1\n") == "3: expected a row and a column from 1 to 3, found \"0 1\"");
  CHECK(error(head + "3 3 1\n1 4\n") == "3: expected a row and a column from 1 to 3, found \"1 4\"");
  CHECK(error(head + "3 3 1\n1 1 1\n") == "3: expected a row and a column only (pattern), found \"1 1 1\"");
  CHECK(error(head + "3 3 2\n1 1\n1 1\n") == "4: expected every entry once, found the entry of line 3 again");
  CHECK(error("%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 -1\n") == "3: expected 0 or a colour from 1 to 4294967295, found \"-1\"");
  CHECK(error("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 nan\n") == "3: expected a number, found \"nan\"");
  CHECK(error("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n1 2\n") == "4: expected every entry once, found the entry of line 3 again");
}

TEST_CASE("edge lists: u reads v, comments and blank lines aside") {
  const auto read = [](const std::string& text) { return oracle::expand(read_edge_list(text, 3, Budget{})); };
  CHECK(read("# u v\n0 1 # and more\n\n\t2  0\r\n1 1") == oracle::Dense{{0, 1, 0}, {0, 1, 0}, {1, 0, 0}});
  CHECK(read("") == oracle::Dense(3, std::vector<std::uint32_t>(3)));
  const auto error = [](const std::string& text) { return error_of([&] { return read_edge_list(text, 3, Budget{}); }); };
  CHECK(error("0 1\n0\n") == "2: expected two indices u v, found \"0\"");
  CHECK(error("0 1 2\n") == "1: expected two indices u v, found \"0 1 2\"");
  CHECK(error("0 3\n") == "1: expected indices from 0 to 2, found \"0 3\"");
  CHECK(error("0 -1\n") == "1: expected two indices u v, found \"0 -1\"");
  CHECK(error("0 1\n\n0 1\n") == "3: expected every entry once, found the entry of line 1 again");
  CHECK(error("\x93NUMPY\x01 \n") == "1: expected two indices u v, found \"\\x93NUMPY\\x01 \"");
}

TEST_CASE("files are read by their format, their name, or their first bytes") {
  const Folder folder;
  const std::string array = make_npy<std::int32_t>("<i4", true);
  const auto check = [&](const PatternSpec& spec, bool coloured) {
    CHECK(oracle::compare(to_dense(coloured), oracle::expand(make_patterns(spec, {3, 0, 1}, Budget{}).front())) == "");
  };
  check(make_spec(folder.write("mask.npy", array)), true);
  check(make_spec(folder.write("mask.dat", array)), true);
  check(make_spec(folder.write("mask.txt", array), "npy"), true);
  const std::string edges = "0 0\n0 2\n1 1\n1 2\n2 0\n2 1\n";
  check(make_spec(folder.write("mask.txt", edges)), false);
  check(make_spec(folder.write("mask.txt", "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n2 2\n2 3\n3 1\n3 2\n")), false);
  const std::string wrong = folder.write("wrong.npy", edges);
  CHECK(file_error(make_spec(wrong)) == "/mixer/pattern/path: " + wrong + ": expected a NumPy array (\\x93NUMPY), found \"0 0\\x0a0 \"");
  const std::string text = folder.write("edges.txt", "0 0\n0 x\n");
  CHECK(file_error(make_spec(text)) == "/mixer/pattern/path: " + text + ":2: expected two indices u v, found \"0 x\"");
  const std::string missing = (folder.path / "missing.npy").string();
  CHECK(file_error(make_spec(missing)) == "/mixer/pattern/path: expected a readable file " + missing + ", found No such file or directory");
  CHECK(file_error(make_spec(folder.path.string())) == "/mixer/pattern/path: expected a readable file " + folder.path.string() + ", found a folder");
  // Registers count as vertices.
  CHECK(make_patterns(make_spec(folder.write("mask.npy", array)), {2, 1, 1}, Budget{}).front().reads(0, 2));
}
