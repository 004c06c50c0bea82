#include "sightline/data/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/base/words.hpp"
#include "sightline/data/file_bytes.hpp"

namespace sightline::data {

namespace {

constexpr std::uint64_t largest_header = 100'000'000;  // as the reference implementation has it
constexpr const char* type_names[] = {"F32", "F64", "I64"};
constexpr std::uint64_t type_widths[] = {4, 8, 8};

/// Builds the header and refuses what would make it ambiguous or deep: nlohmann's own parser lets the last of two names win.
class HeaderSax : public nlohmann::json_sax<nlohmann::json> {
public:
  nlohmann::json result;
  std::string problem;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_object(std::size_t) override {
    if (open_.size() >= 2 || (!open_.empty() && open_.back()->is_array())) return refuse("objects in objects");
    if (!add(nlohmann::json::object())) return false;
    open_.push_back(last_);
    return true;
  }
  bool start_array(std::size_t) override {
    if (open_.empty() || open_.size() == 3 || open_.back()->is_array()) return refuse("a list where none belongs");
    if (!add(nlohmann::json::array())) return false;
    open_.push_back(last_);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back()->contains(name)) return refuse(fmt::format("{} twice", quote_bytes(name)));
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    if (problem.empty()) problem = fmt::format("something else at byte {} of it", position);
    return false;
  }

private:
  bool refuse(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool add(nlohmann::json value) {
    if (open_.empty()) {
      result = std::move(value);
      last_ = &result;
    } else if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      last_ = &open_.back()->back();
    } else {
      last_ = &((*open_.back())[key_] = std::move(value));
    }
    return true;
  }
  std::vector<nlohmann::json*> open_;
  nlohmann::json* last_ = nullptr;
  std::string key_;
};

struct Entry {
  const std::string* name;
  std::size_t type;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin, end;
};

class HeaderChecker {
public:
  explicit HeaderChecker(const std::string& file) : file_(file) {}

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw InputError(fmt::format("{}: expected {}, found {}", file_, expected, found));
  }

  Entry read(const std::string& name, const nlohmann::json& value) const {
    const std::string shown = quote_bytes(name);
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
      fail(fmt::format("dtype, shape and data_offsets of {}", shown), "other keys");
    const nlohmann::json &type = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    const auto* known = std::find_if(std::begin(type_names), std::end(type_names), [&](const char* t) { return type.is_string() && type.get_ref<const std::string&>() == t; });
    if (known == std::end(type_names))
      fail(fmt::format("{} as F32, F64 or I64", shown), type.is_string() ? quote_bytes(type.get_ref<const std::string&>()) : "no text");
    if (!shape.is_array() || !is_list_of_sizes(shape)) fail(fmt::format("a shape of {}", shown), "something else");
    if (!is_list_of_sizes(offsets) || offsets.size() != 2) fail(fmt::format("two data_offsets of {}", shown), "something else");
    Entry entry{&name, static_cast<std::size_t>(known - std::begin(type_names)), shape.get<std::vector<std::uint64_t>>(),
                offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
    std::uint64_t size = type_widths[entry.type];
    bool large = false, empty = false;
    for (const std::uint64_t extent : entry.shape) {
      empty = empty || extent == 0;
      large = __builtin_mul_overflow(size, extent, &size) || large;
    }
    if (empty) size = 0;
    if ((large && !empty) || entry.begin > entry.end || entry.end - entry.begin != size)
      fail(fmt::format("{} to take as many bytes as its shape {} says", shown, print_shape(entry.shape)),
           fmt::format("data_offsets {} to {}", entry.begin, entry.end));
    return entry;
  }

private:
  static bool is_list_of_sizes(const nlohmann::json& list) {
    return list.is_array() && list.size() <= 32 && std::all_of(list.begin(), list.end(), [](const nlohmann::json& x) { return x.is_number_unsigned(); });
  }
  const std::string& file_;
};

template <class Number> std::vector<Number> copy_numbers(std::string_view bytes) {
  std::vector<Number> values(bytes.size() / sizeof(Number));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void append_text(std::string& out, const std::string& text) {
  out += print_json(nlohmann::json(text));
}

}  // namespace

std::string to_safetensors(const TensorFile& content) {
  std::vector<const std::pair<const std::string, Array>*> order;
  for (const auto& entry : content.tensors) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return type_widths[a->second.values.index()] > type_widths[b->second.values.index()]; });
  std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> places;
  std::uint64_t size = 0;
  for (const auto* entry : order) {
    const Array& array = entry->second;
    const std::uint64_t count = std::visit([](const auto& values) { return std::uint64_t{values.size()}; }, array.values);
    if (entry->first == "__metadata__" || count != array.count()) throw ArgumentError(fmt::format("to_safetensors: {} does not fit its shape", entry->first));
    const std::uint64_t begin = size;
    size += count * type_widths[array.values.index()];
    places[entry->first] = {begin, size};
  }
  std::string header = "{";
  if (!content.metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : content.metadata) {
      if (header.back() != '{') header += ',';
      append_text(header, key);
      header += ':';
      append_text(header, value);
    }
    header += '}';
  }
  for (const auto& [name, array] : content.tensors) {
    if (header.size() > 1) header += ',';
    append_text(header, name);
    const auto [begin, end] = places[name];
    header += fmt::format(":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", type_names[array.values.index()], fmt::join(array.shape, ","), begin, end);
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string out;
  out.reserve(8 + header.size() + size);
  for (int k = 0; k < 8; ++k) out += static_cast<char>(header.size() >> (8 * k) & 255U);
  out += header;
  for (const auto* entry : order) {
    std::visit([&](const auto& values) { out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])); }, entry->second.values);
  }
  return out;
}

TensorFile parse_safetensors(std::string_view bytes, const std::string& file, const Budget& budget) {
  const HeaderChecker checker(file);
  if (bytes.size() < 8) checker.fail("a safetensors file", fmt::format("{} bytes", bytes.size()));
  std::uint64_t length = 0;
  for (std::size_t k = 8; k-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[k]);
  if (length > largest_header || length > bytes.size() - 8) {
    checker.fail(fmt::format("a safetensors file with a header of at most {} bytes", std::min<std::uint64_t>(largest_header, bytes.size() - 8)),
                 fmt::format("a header of {} bytes", length));
  }
  const std::string_view text = bytes.substr(8, length), numbers = bytes.substr(8 + length);
  budget.ask(8 * length);  // the parsed header
  struct Booking {
    const Budget& budget;
    std::uint64_t bytes;
    ~Booking() { budget.give_back(bytes); }
  } const booking{budget, 8 * length};
  HeaderSax sax;
  if (!text.starts_with('{')) checker.fail("a safetensors file with a JSON header", quote_bytes(text));
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &sax)) checker.fail("a JSON header", sax.problem);
  TensorFile out;
  std::vector<Entry> entries;
  for (const auto& [name, value] : sax.result.items()) {
    if (name != "__metadata__") {
      entries.push_back(checker.read(name, value));
      entries.back().name = &sax.result.find(name).key();
      continue;
    }
    if (!value.is_object()) checker.fail("texts in __metadata__", "something else");
    for (const auto& [key, word] : value.items()) {
      if (!word.is_string()) checker.fail("texts in __metadata__", fmt::format("something else under {}", quote_bytes(key)));
      out.metadata[key] = word.get<std::string>();
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) checker.fail(fmt::format("{} to begin at byte {}", quote_bytes(*entry.name), at), fmt::format("byte {}", entry.begin));
    at = entry.end;
  }
  if (at != numbers.size()) checker.fail(fmt::format("{} bytes of numbers", at), fmt::format("{}", numbers.size()));
  budget.ask(at);
  for (Entry& entry : entries) {
    const std::string_view mine = numbers.substr(entry.begin, entry.end - entry.begin);
    Array& array = out.tensors[*entry.name];
    array.shape = std::move(entry.shape);
    if (entry.type == 0) array.values = copy_numbers<float>(mine);
    else if (entry.type == 1) array.values = copy_numbers<double>(mine);
    else array.values = copy_numbers<std::int64_t>(mine);
  }
  return out;
}

TensorFile read_safetensors(const std::string& file, const Budget& budget) {
  const FileBytes bytes(file, budget);
  return parse_safetensors(bytes.view(), file, budget);
}

void write_safetensors(const std::string& file, const TensorFile& content) { write_file_atomically(file, to_safetensors(content)); }

}  // namespace sightline::data
