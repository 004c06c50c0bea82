// Every reader of the project behind one libFuzzer binary: sightline_fuzz --reader=NAME [libFuzzer options] CORPUS.
// A reader may refuse its input by its documented exceptions and in no other way.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "checker/check.hpp"
#include "checker/json.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/attention_kernel/activation.hpp"
#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/base/error.hpp"
#include "sightline/data/dataset.hpp"
#include "sightline/data/safetensors.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/huggingface/import.hpp"
#include "sightline/layout/mask_file.hpp"

namespace {

using namespace sightline;
using Reader = std::function<void(std::string_view)>;

constexpr layout::Vertex vertices = 8;

/// What was read is also written and read again: the same architecture must come back.
void round_trip(std::string_view text, const std::string& file) {
  const architecture::Architecture a = architecture::parse_architecture(text, file);
  const architecture::Architecture b = architecture::parse_architecture(architecture::to_canonical_json(a), "again.json");
  if (!architecture::same_architecture(a, b)) std::abort();
}

/// What was read is written again: the same tensors must come back.
void read_weights(std::string_view bytes) {
  const data::TensorFile content = data::parse_safetensors(bytes, "fuzz.safetensors", Budget{});
  // Compared as bytes: NaN is not equal to itself. Keys of the metadata that are no UTF-8 never parse.
  const std::string again = data::to_safetensors(content);
  if (data::to_safetensors(data::parse_safetensors(again, "again", Budget{})) != again) std::abort();
}

/// Every kind of architecture over the same bytes.
template <class Parse> void read_data(const Parse& parse) {
  for (unsigned kind = 0; kind < 4; ++kind) {
    data::Expected expected;
    expected.tokens = 3;
    expected.width = 2;
    expected.pooled = kind % 2 == 1;
    expected.ids = kind >= 2;
    expected.targets = kind != 3;
    if (expected.ids) expected.ids_below = 5;
    try {
      data::Dataset dataset = parse(expected);
      data::split_validation(dataset, 0.3, 1);
      (void)data::count_outputs(dataset);
    } catch (const InputError&) {
    }
  }
}

const std::map<std::string, Reader, std::less<>>& readers() {
  static const std::map<std::string, Reader, std::less<>> all = {
      {"toml", [](std::string_view text) { round_trip(text, "fuzz.toml"); }},
      {"json", [](std::string_view text) { round_trip(text, "fuzz.json"); }},
      {"config", [](std::string_view text) { (void)huggingface::import_config(text, "config.json", {}); }},
      {"npy", [](std::string_view bytes) { (void)layout::read_npy(bytes, vertices, Budget{}); }},
      {"npz", [](std::string_view bytes) { (void)layout::read_npz(bytes, vertices, Budget{}); }},
      {"mtx", [](std::string_view text) { (void)layout::read_matrix_market(text, vertices, Budget{}); }},
      {"edges", [](std::string_view text) { (void)layout::read_edge_list(text, vertices, Budget{}); }},
      {"certificate", [](std::string_view text) { (void)checker::check_certificate(text); }},
      {"safetensors", read_weights},
      {"data-npz", [](std::string_view bytes) { read_data([&](const data::Expected& e) { return data::parse_npz(bytes, "fuzz.npz", e, Budget{}); }); }},
      {"data-csv", [](std::string_view text) { read_data([&](const data::Expected& e) { return data::parse_csv(text, "fuzz.csv", e, Budget{}); }); }},
      {"group", [](std::string_view text) { (void)group::parse_group(text, 12, Budget{}); }},
  };
  return all;
}

const Reader* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view option = "--reader=";
  for (int k = 1; k < *count; ++k) {
    const std::string_view argument = (*arguments)[k];
    if (!argument.starts_with(option)) continue;
    const auto at = readers().find(argument.substr(option.size()));
    if (at != readers().end()) chosen = &at->second;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "--reader=NAME, one of:");
    for (const auto& [name, ignored] : readers()) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (*chosen)(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const InputError&) {
  } catch (const ArgumentError&) {
  } catch (const BudgetExhausted&) {
  } catch (const layout::MaskError&) {
  } catch (const checker::Malformed&) {
  }
  return 0;
}
