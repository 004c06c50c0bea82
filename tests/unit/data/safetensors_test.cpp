#include <cstring>

#include "sightline/data/safetensors.hpp"
#include "tests/unit/data/support.hpp"

using namespace sightline;
using namespace sightline::data;

namespace {

std::string with_header(const std::string& header, const std::string& numbers) {
  std::string out;
  for (int k = 0; k < 8; ++k) out += static_cast<char>(header.size() >> (8 * k) & 255U);
  return out + header + numbers;
}

std::string refused(const std::string& bytes) {
  return error_of([&] { (void)parse_safetensors(bytes, "w", Budget{}); });
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TensorFile make_example() {
  TensorFile content;
  content.tensors["layers.0.mixer.q.weight"] = {{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6.5F}};
  content.tensors["input.positions"] = {{1, 2}, std::vector<double>{1e-300, -2}};
  content.tensors["step"] = {{}, std::vector<std::int64_t>{-5}};
  content.tensors["nothing"] = {{0, 4}, std::vector<float>{}};
  content.metadata = {{"architecture", "{\"name\":\"a \\\"b\\\"\",\"tokens\":4}"}, {"sha256", "00ff"}};
  return content;
}

}  // namespace

TEST_CASE("what is written is read, and the same content gives the same bytes") {
  const TensorFile content = make_example();
  const std::string bytes = to_safetensors(content);
  CHECK(bytes == to_safetensors(content));
  CHECK((parse_safetensors(bytes, "w", Budget{}) == content));
  // Metadata first, names in order, wide numbers first, the numbers at a multiple of 8.
  const std::uint64_t length = static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
  CHECK(length % 8 == 0);
  const std::string header = bytes.substr(8, length);
  CHECK(header.starts_with("{\"__metadata__\":{\"architecture\":\"{\\\"name\\\":"));
  CHECK(contains(header, "\"input.positions\":{\"dtype\":\"F64\",\"shape\":[1,2],\"data_offsets\":[0,16]},\"layers.0.mixer.q.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[24,48]}"));
  CHECK(contains(header, "\"step\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[16,24]}"));
  double first = 0;
  std::memcpy(&first, bytes.data() + 8 + length, 8);
  CHECK(first == 1e-300);

  const Folder folder;
  write_safetensors(folder.file("w.safetensors"), content);
  CHECK((read_safetensors(folder.file("w.safetensors"), Budget{}) == content));
  CHECK(parse_safetensors(with_header("{}", ""), "w", Budget{}).tensors.empty());
  CHECK_THROWS_AS((void)to_safetensors({{{"a", {{3}, std::vector<float>{1}}}}, {}}), ArgumentError);
  CHECK(contains(error_of([&] { (void)read_safetensors(folder.file("missing"), Budget{}); }), "missing: expected a file that can be read, found: No such file"));
  CHECK(contains(error_of([&] { (void)read_safetensors(folder.path.string(), Budget{}); }), "found: a folder"));
}

TEST_CASE("hostile files: one line, nothing else") {
  CHECK(refused("") == "w: expected a safetensors file, found 0 bytes");
  CHECK(refused(std::string(8, '\xff')) == "w: expected a safetensors file with a header of at most 0 bytes, found a header of 18446744073709551615 bytes");
  CHECK(contains(refused(with_header("{}", "").substr(0, 9)), "found a header of 2 bytes"));
  CHECK(contains(refused(with_header("[1]", "")), "expected a safetensors file with a JSON header"));
  CHECK(contains(refused(with_header("{\"a\":", "")), "expected a JSON header"));
  CHECK(contains(refused(with_header("{\"a\":" + std::string(100000, '{'), "")), "expected a JSON header"));
  CHECK(contains(refused(with_header("{\"a\":" + std::string(100000, '['), "")), "expected a JSON header"));
  const std::string a = "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}", eight(8, '\0');
  CHECK(refused(with_header("{" + a + "}", eight)) == "");
  CHECK(contains(refused(with_header("{" + a + "," + a + "}", eight)), "found \"a\" twice"));
  CHECK(contains(refused(with_header("{" + a + "}", eight + "x")), "expected 8 bytes of numbers, found 9"));
  CHECK(contains(refused(with_header("{" + a + "}", eight.substr(1))), "expected 8 bytes of numbers, found 7"));
  const auto one = [&](const std::string& type, const std::string& shape, const std::string& offsets, const std::string& numbers) {
    return refused(with_header("{\"a\":{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}", numbers));
  };
  CHECK(one("\"F32\"", "[2]", "[0,8]", eight) == "");
  CHECK(contains(one("\"BF16\"", "[4]", "[0,8]", eight), "expected \"a\" as F32, F64 or I64, found \"BF16\""));
  CHECK(contains(one("3", "[4]", "[0,8]", eight), "found no text"));
  CHECK(contains(one("\"F32\"", "[-2]", "[0,8]", eight), "expected a shape"));
  CHECK(contains(one("\"F32\"", "[2.0]", "[0,8]", eight), "expected a shape"));
  CHECK(contains(one("\"F32\"", "2", "[0,8]", eight), "expected a shape"));
  CHECK(contains(one("\"F32\"", "[[2]]", "[0,8]", eight), "expected a JSON header"));
  CHECK(contains(one("\"F32\"", "[3]", "[0,8]", eight), "as many bytes as its shape (3,) says, found data_offsets 0 to 8"));
  CHECK(contains(one("\"F32\"", "[2]", "[8,0]", eight), "as many bytes"));
  CHECK(contains(one("\"F32\"", "[2]", "[0,8,9]", eight), "expected two data_offsets"));
  CHECK(contains(one("\"F32\"", "[2]", "[4,12]", eight), "expected \"a\" to begin at byte 0, found byte 4"));
  CHECK(contains(one("\"F32\"", "[4611686018427387904,4]", "[0,0]", ""), "as many bytes"));  // 2^62 * 4 * 4 = 0 modulo 2^64
  CHECK(one("\"F32\"", "[4611686018427387904,0,4611686018427387904]", "[0,0]", "") == "");
  CHECK(contains(refused(with_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", eight)), "expected dtype, shape and data_offsets"));
  CHECK(contains(refused(with_header("{\"__metadata__\":{\"k\":1}}", "")), "expected texts in __metadata__"));
  CHECK(contains(refused(with_header("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "")), "found \"k\" twice"));
  const std::string b = ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":";
  CHECK(contains(refused(with_header("{" + a + b + "[4,8]}}", eight)), "expected \"b\" to begin at byte 8, found byte 4"));
  CHECK(contains(refused(with_header("{" + a + b + "[12,16]}}", eight + eight)), "expected \"b\" to begin at byte 8, found byte 12"));
}

TEST_CASE("every prefix and many changed bytes are read or refused") {
  const std::string whole = to_safetensors(make_example());
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK(refused(whole.substr(0, length)) != "");
  std::mt19937_64 engine(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string changed = whole;
    changed[engine() % changed.size()] = static_cast<char>(engine());
    accepted += refused(changed).empty() ? 1 : 0;
  }
  CHECK(accepted > 100);  // numbers and metadata may be anything
}

TEST_CASE("a disk that is full leaves the old weights") {
  const std::string message = error_of([] { write_safetensors("/dev/full", make_example()); });
  CHECK(message == "/dev/full: expected a file that can be written, found: No space left on device");
}
