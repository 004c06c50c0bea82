// The writers: what canonical JSON and TOML look like, numbers, warnings, places, and files written whole or not at all.
#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "sightline/architecture/number_text.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"

using namespace sightline::architecture;
using sightline::write_file_atomically;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for one test, removed afterwards.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "sightline-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
  [[nodiscard]] long entries() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
};

void put(const std::string& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

std::string npy(const std::string& descr, bool fortran, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (" + shape + "), }";
  header.resize(118, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
}

template <class T> std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

std::string read_error_of(const std::string& text, const std::string& file) {
  try {
    (void)parse_architecture(text, file);
  } catch (const sightline::InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("canonical JSON is sorted, without spaces, with every default") {
  CHECK(to_canonical_json(parse_architecture("tokens = 2\ndim = 1\n", "a.toml")) ==
        R"({"block":{"arrangement":"sequential","residual":true,"tied":false},"depth":"listed","dim":1,)"
        R"("feedforward":{"activation":"relu","bias":true,"expert":"mlp","experts":1,"kind":"mlp","spectral_norm_at_most":null,)"
        R"("spectral_norm_equals":null,"top_k":1,"width":null},"input":{"bos":false,"dim":1,"domain":"all","embedding":"none",)"
        R"("norm":null,"positions":"none","registers":[],"vocabulary":null},"layer":[{"feedforward":{"activation":"relu",)"
        R"("bias":true,"expert":"mlp","experts":1,"kind":"mlp","spectral_norm_at_most":null,"spectral_norm_equals":null,)"
        R"("top_k":1,"width":null},"mixer":{"activation":"relu","eps":0.0,"heads":1,"kernel":"softmax","kind":"attention",)"
        R"("normalised":true,"pattern":{"causal":false,"kind":"full"},"projections":"trained","query_key":"free","rank":null,)"
        R"("relative":"none","sink":false,"taps":[],"top_k":null,"value":"free"},"norm":{"affine":true,"eps":1e-05,)"
        R"("kind":"none","place":"pre"},"repeat":1}],"mixer":{"activation":"relu","eps":0.0,"heads":1,"kernel":"softmax",)"
        R"("kind":"attention","normalised":true,"pattern":{"causal":false,"kind":"full"},"projections":"trained",)"
        R"("query_key":"free","rank":null,"relative":"none","sink":false,"taps":[],"top_k":null,"value":"free"},"name":"",)"
        R"("norm":{"affine":true,"eps":1e-05,"kind":"none","place":"pre"},"output":{"dim":null,"head":"none","norm":null,)"
        R"("pool":"none"},"target":{"box":1.0,"class":"all","symmetry":"layout"},"tokens":2})");
}

TEST_CASE("TOML holds only what differs, with comments on top and equal layers as one") {
  const std::string text = R"(name = "a \"b\"\n\u0001"
tokens = 8
dim = 4

[mixer]
kernel = "gaussian"
heads = 2
relative = "t5"
pattern = { kind = "window", before = 2, after = 0 }

[[layer]]

[[layer]]
pattern = { kind = "full" }
mixer = { relative = "rotary" }
repeat = 3

[[layer]]
mixer = { kind = "linformer", rank = 3 }
feedforward = { kind = "moe", experts = 4 }
)";
  Architecture a = parse_architecture(text, "a.toml");
  CHECK(to_toml(a) == text);
  CHECK(a.layer_count() == 5);
  a.comments = {"first", "second\nthird\r\x01"};
  CHECK(to_toml(a).rfind("# first\n# second\n# third  \n\nname", 0) == 0);
  CHECK(same_architecture(a, parse_architecture(to_toml(a), "a.toml")));
  a.layers = {a.layers[0], a.layers[0], a.layers[1]};
  CHECK(to_toml(a).find("[[layer]]\nrepeat = 2\n") != std::string::npos);
}

TEST_CASE("null in JSON takes a default away, which TOML says by writing layers out") {
  const Architecture a = parse_architecture(
      R"({"tokens":4,"dim":2,"mixer":{"top_k":2,"heads":3},"layer":[{},{"mixer":{"top_k":null}}]})", "a.json");
  CHECK(a.layers[0].mixer.top_k == 2);
  CHECK(!a.layers[1].mixer.top_k);
  CHECK(same_architecture(a, parse_architecture(to_canonical_json(a), "a.json")));
  CHECK(parse_architecture(to_toml(a), "a.toml").layers == a.layers);
}

TEST_CASE("keys merge over the defaults; pattern and kernel tables are replaced whole") {
  const Architecture a = parse_architecture(R"(tokens = 4
dim = 2
[mixer]
heads = 2
kernel = { name = "gaussian", gamma = 0.5 }
pattern = { kind = "window", radius = 1, global = [0] }
[norm]
kind = "rmsnorm"
place = "post"
[[layer]]
pattern = { kind = "window", radius = 2 }
mixer = { kernel = { name = "gaussian" } }
norm = { eps = 0.5 }
)", "a.toml");
  REQUIRE(a.layers.size() == 1);
  const LayerSpec& layer = a.layers[0];
  CHECK(layer.mixer.heads == 2);
  CHECK(layer.mixer.pattern.global.empty());
  CHECK(layer.mixer.kernel.gamma == 1);
  CHECK(a.mixer.kernel.gamma == mpq_class(1, 2));
  CHECK(layer.norm == Norm{NormKind::rmsnorm, NormPlace::post, 0.5, true});
}

TEST_CASE("per_head sets the number of heads") {
  const Architecture a = parse_architecture(R"(tokens = 4
dim = 2
[[layer]]
pattern = { kind = "per_head", heads = [{ kind = "full" }, { kind = "self" }, { kind = "self" }] }
[[layer]]
)", "a.toml");
  CHECK(a.layers[0].mixer.heads == 3);
  CHECK(a.layers[1].mixer.heads == 1);
  CHECK(a.mixer.heads == 1);
}

TEST_CASE("tokens up to 2^31 - 1 cost nothing") {
  const Architecture a = parse_architecture(
      "tokens = 2147483647\ndim = 2147483647\n[mixer]\npattern = { kind = \"window\", radius = 2147483647, wrap = true }\n[[layer]]\nrepeat = "
      "2147483647\n[[layer]]\nrepeat = 2147483647\n", "a.toml");
  CHECK(a.layer_count() == 4294967294U);
  CHECK(read_error_of("tokens = 2147483647\ndim = 1\n[input]\nregisters = [\"a\"]\n", "a.toml") ==
        "a.toml:1:10: expected at most 2147483647 tokens and registers, found 2147483648");
}

TEST_CASE("empty rows are a warning, counted after `causal`") {
  const Architecture a = parse_architecture(R"(tokens = 4
dim = 2
[[layer]]
pattern = { kind = "rows", rows = [[0], [], [], [3]] }
[[layer]]
pattern = { kind = "rows", causal = true, rows = [[1, 2], [2, 3], [2], []] }
[[layer]]
pattern = { kind = "union", of = [{ kind = "rows", rows = [[0], [], [], [3]] }, { kind = "self" }] }
)", "a.toml");
  CHECK(a.warnings == std::vector<std::string>{"a.toml:4:11: the rows of 1-2 are empty: their update is zero",
                                               "a.toml:6:11: the rows of 0-1, 3 are empty: their update is zero"});
}

TEST_CASE("places of patterns serve later errors") {
  const Architecture toml = parse_architecture("tokens = 4\ndim = 2\n[[layer]]\npattern = { kind = \"full\" }\n", "d/a.toml");
  CHECK(toml.layers[0].mixer.pattern.where == "4:11");
  CHECK(locate(toml, toml.layers[0].mixer.pattern) == "d/a.toml:4:11");
  CHECK(complete_message(toml, "4:11: expected a, found b") == "d/a.toml:4:11: expected a, found b");
  CHECK(complete_message(toml, "4:11/block: expected a, found b") == "d/a.toml:4:11: block: expected a, found b");
  CHECK(complete_message(toml, ": expected a, found b") == "d/a.toml: expected a, found b");
  const Architecture json = parse_architecture(R"({"tokens":4,"dim":2,"layer":[{"pattern":{"kind":"full"}}]})", "a.json");
  CHECK(locate(json, json.layers[0].mixer.pattern) == "a.json: /layer/0/pattern");
  CHECK(complete_message(json, "/layer/0/pattern/block: expected a") == "a.json: /layer/0/pattern/block: expected a");
  CHECK(locate(json, json.mixer.pattern) == "a.json");
}

TEST_CASE("kinds of files are told by content and name") {
  CHECK(detect_kind(R"( {"model_type": "bert"})", "config.json") == FileKind::huggingface_config);
  CHECK(detect_kind("\xEF\xBB\xBF{\"a\": {\"model_type\": \"x\"}}", "a.toml") == FileKind::json);
  CHECK(detect_kind(R"({"a": [1, {"b": 2}], "model_type": "bert", broken)", "a.json") == FileKind::huggingface_config);
  CHECK(detect_kind(R"({"model_type": 3})", "a.json") == FileKind::huggingface_config);
  CHECK(detect_kind(R"({"architectures": ["BertModel"], "hidden_size": 8})", "a.json") == FileKind::huggingface_config);
  CHECK(detect_kind(R"({"mixer": {"architectures": 1}})", "a.json") == FileKind::json);
  CHECK(detect_kind("[input]\n", "a.toml") == FileKind::toml);
  CHECK(detect_kind("", "a.toml") == FileKind::toml);
  CHECK(detect_kind("", "a.json") == FileKind::json);
  CHECK(parse_architecture("\xEF\xBB\xBFtokens = 4\r\ndim = 2\r\n", "a.toml").tokens == 4);
  CHECK(parse_architecture("\xEF\xBB\xBF{\"tokens\":4,\"dim\":2}", "a.json").tokens == 4);
}

TEST_CASE("numbers are the shortest decimals that read back, and rationals are what was written") {
  CHECK(print_number(1) == "1.0");
  CHECK(print_number(0.1) == "0.1");
  CHECK(print_number(1e-5) == "1e-05");
  CHECK(print_number(1e300) == "1e+300");
  CHECK(print_number(1e15) == "1e+15");
  CHECK(print_number(-1000000000000000.125) == "-1.0000000000000001e+15");
  CHECK(print_number(999999999999999) == "999999999999999.0");
  CHECK(to_rational(0.1) == mpq_class(1, 10));
  CHECK(to_rational(-2.5e-3) == mpq_class(-1, 400));
  CHECK(to_rational(1e20) == mpq_class("100000000000000000000"));
  CHECK(!to_double(mpq_class(1, 3)));
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    static_assert(sizeof(value) == sizeof(bits));
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value))
      continue;
    CHECK(std::strtod(print_number(value).c_str(), nullptr) == value);
    CHECK(to_double(to_rational(value)) == value);
  }
}

TEST_CASE("a table of positions comes from an .npy file of any number type and order") {
  const Folder folder;
  const std::string text = "tokens = 2\ndim = 3\n[input]\npositions = \"fixed\"\nfile = \"t.npy\"\n";
  const std::string file = folder.file("a.toml");
  const std::vector<std::vector<double>> expected{{1, 2, 3}, {4, 5, 6}};
  const auto reads = [&](const std::string& bytes) {
    put(folder.file("t.npy"), bytes);
    return read_error_of(text, file) == "accepted" && parse_architecture(text, file).input.table == expected;
  };
  CHECK(reads(npy("<f8", false, "2, 3", bytes_of<double>({1, 2, 3, 4, 5, 6}))));
  CHECK(reads(npy("<f4", true, "2, 3", bytes_of<float>({1, 4, 2, 5, 3, 6}))));
  CHECK(reads(npy("<i8", false, "2, 3", bytes_of<std::int64_t>({1, 2, 3, 4, 5, 6}))));
  CHECK(reads(npy("|u1", false, "2, 3", "\1\2\3\4\5\6")));
  CHECK(reads(npy(">i2", false, "2, 3", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12))));
  const Architecture a = parse_architecture(text, file);
  CHECK(to_toml(a).find("file = \"t.npy\"") != std::string::npos);
  CHECK(same_architecture(a, parse_architecture(to_toml(a), file)));
  CHECK(same_architecture(a, parse_architecture(to_canonical_json(a), file)));
  const auto refuses = [&](const std::string& bytes, const std::string& why) {
    put(folder.file("t.npy"), bytes);
    const std::string error = read_error_of(text, file);
    CAPTURE(error);
    CHECK(error.rfind(file + ":5:8: expected ", 0) == 0);
    CHECK(error.find(why) != std::string::npos);
  };
  refuses("", "in another format");
  refuses("\x93NUMPY\x01", "in another format");
  refuses(npy("<f8", false, "2, 3", bytes_of<double>({1, 2, 3, 4, 5})), "found 5 numbers");
  refuses(npy("<f8", false, "3, 2", bytes_of<double>({1, 2, 3, 4, 5, 6})), "of shape (3, 2)");
  refuses(npy("<f8", false, "6,", bytes_of<double>({1, 2, 3, 4, 5, 6})), "of shape (6)");
  refuses(npy("<c8", false, "2, 3", std::string(48, '\0')), "of type '<c8'");
  refuses(npy("<f8", false, "2, x", ""), "cannot be read");
  refuses(npy("<f8", false, "2, 3", bytes_of<double>({1, 2, 3, 4, 5, NAN})), "expected finite numbers");
  refuses(std::string("\x93NUMPY\x01\x00\xff\xff", 10) + "{}", "cannot be read");
}

TEST_CASE("pattern files keep their path relative to the file that names them") {
  const std::string text = "tokens = 2\ndim = 3\n[mixer]\npattern = { kind = \"file\", path = \"masks/m.npy\" }\n";
  for (const std::string file : {"a.toml", "d/a.toml", "/x/y/a.toml", "../a.toml"}) {
    CAPTURE(file);
    const Architecture a = parse_architecture(text, file);
    CHECK(a.mixer.pattern.path == (fs::path(file).parent_path() / "masks/m.npy").string());
    CHECK(to_canonical_json(a).find("\"path\":\"masks/m.npy\"") != std::string::npos);
    CHECK(same_architecture(a, parse_architecture(to_canonical_json(a), file)));
    CHECK(same_architecture(a, parse_architecture(to_toml(a), file)));
  }
  for (const std::string path : {"/m.npy", "../m.npy", "../../m.npy"}) {
    const Architecture a = parse_architecture(
        "tokens = 2\ndim = 3\n[mixer]\npattern = { kind = \"file\", path = \"" + path + "\" }\n", "d/a.toml");
    CHECK(same_architecture(a, parse_architecture(to_canonical_json(a), "d/a.toml")));
  }
}

TEST_CASE("files are written whole or not at all") {
  const Folder folder;
  const std::string file = folder.file("a.txt");
  write_file_atomically(file, "one");
  CHECK(read_file(file) == "one");
  ::chmod(file.c_str(), 0640);
  write_file_atomically(file, std::string("tw\0o", 4));
  CHECK(read_file(file) == std::string("tw\0o", 4));
  struct stat status {};
  ::stat(file.c_str(), &status);
  CHECK((status.st_mode & 0777) == 0640);
  fs::create_symlink("a.txt", folder.file("link"));
  write_file_atomically(folder.file("link"), "three");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(read_file(file) == "three");
  CHECK(folder.entries() == 2);
  CHECK_NOTHROW(write_file_atomically("/dev/null", "x"));
}

TEST_CASE("what cannot be written is one line and leaves nothing behind") {
  const Folder folder;
  const auto error_of_writing = [](const std::string& file, const std::string& bytes) -> std::string {
    try {
      write_file_atomically(file, bytes);
    } catch (const sightline::InputError& error) {
      return error.what();
    }
    return "written";
  };
  const std::string nowhere = folder.file("no/such/file");
  CHECK(error_of_writing(nowhere, "x") == nowhere + ": expected a file that can be written, found: No such file or directory");
  CHECK(error_of_writing(folder.path.string(), "x") ==
        folder.path.string() + ": expected a file that can be written, found: Is a directory");
  CHECK(error_of_writing("/dev/full", "x") == "/dev/full: expected a file that can be written, found: No space left on device");
  CHECK(error_of_writing("", "x").find("expected a file that can be written") != std::string::npos);

  const std::string file = folder.file("a.txt");
  write_file_atomically(file, "old");
  // A limit on file sizes stands in for a full disk: the write stops in the middle.
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, old_limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of_writing(file, std::string(100000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(error == file + ": expected a file that can be written, found: File too large");
  CHECK(read_file(file) == "old");
  CHECK(folder.entries() == 1);

  if (::geteuid() != 0) {  // for root no folder is read-only
    ::chmod(folder.path.c_str(), 0555);
    CHECK(error_of_writing(folder.file("b.txt"), "x").find("Permission denied") != std::string::npos);
    ::chmod(folder.path.c_str(), 0755);
  }
}
