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
#include <vector>

#include "checker/analysis.hpp"
#include "checker/check.hpp"
#include "checker/json.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/attention_kernel/activation.hpp"
#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/base/error.hpp"
#include "sightline/data/dataset.hpp"
#include "sightline/data/safetensors.hpp"
#include "sightline/falsify/proof.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/huggingface/import.hpp"
#include "sightline/layout/mask_file.hpp"
#include "sightline/target/expression.hpp"

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

/// A group of millions of points is bounded by the budget, as it is in every command.
void read_group(std::string_view text) {
  try {
    (void)group::parse_group(text, 12, Budget(0.5, 1u << 28));
  } catch (const BudgetExhausted&) {
  }
}

/// One text in every language of expressions: read, analysed and evaluated; each may refuse it for itself.
void read_expression(std::string_view bytes) {
  const std::string text(bytes);
  constexpr std::size_t dim = 2, tokens = 3;
  const auto attempt = [](const auto& use) {
    try {
      use(Budget(0.5, 1u << 28));
    } catch (const InputError&) {
    } catch (const BudgetExhausted&) {
    }
  };
  attempt([&](const Budget& budget) {
    attention_kernel::Kernel kernel;
    kernel.name.clear();
    kernel.text = text;
    (void)attention_kernel::compute_kernel_facts(kernel, dim, tokens, budget);
  });
  attempt([&](const Budget& budget) { (void)attention_kernel::compute_activation_facts({"", text}, budget); });
  attempt([&](const Budget& budget) {
    falsify::Options options;
    options.tokens = tokens;
    options.dim = dim;
    options.attempts = 2;
    const falsify::Result result = falsify::falsify(falsify::make_mixer("expr:" + text, true, dim), options, budget);
    // A proof of ours is one that the check accepts.
    if (!result.limit && !falsify::check_proof(falsify::to_proof(result), "fuzz.json", budget).accepted) std::abort();
  });
  attempt([&](const Budget&) {
    const target::Expression expression = target::parse(text, target::Role::sequence, dim);
    const std::vector<double> x = {0.5, -1, 2, 0, 1e3, -0.25};
    std::vector<double> out(tokens * expression.width());
    if (expression.width() <= 1000) target::evaluate(expression, tokens, 1, x.data(), out.data());
  });
  attempt([&](const Budget&) {
    const target::Expression expression = target::parse(text, target::Role::score, dim);
    const std::vector<double> x = {0.5, -1, 2, 0}, y = {1, 1, 0, -3};
    std::vector<double> out(2);
    target::evaluate_pairs(expression, 2, x.data(), y.data(), out.data());
  });
  (void)checker::analyse_kernel(text, dim);
  (void)checker::analyse_activation(text);
}

/// Proof files of falsify. Those about a library would load what the bytes name.
void read_proof(std::string_view text) {
  if (text.find("library") == std::string_view::npos) (void)falsify::check_proof(text, "fuzz.json", Budget(2, 1u << 28));
}

const std::map<std::string, Reader, std::less<>>& readers() {
  static const std::map<std::string, Reader, std::less<>> all = {
      {"toml", [](std::string_view text) { round_trip(text, "fuzz.toml"); }},
      {"json", [](std::string_view text) { round_trip(text, "fuzz.json"); }},
      {"config", [](std::string_view text) { (void)huggingface::import_config(text, "config.json", {}); }},
      {"npy", [](std::string_view bytes) { (void)layout::read_npy(bytes, vertices, Budget{}); }},
      {"npz", [](std::string_view bytes) { (void)layout::read_npz(bytes, vertices, Budget{}); }},
      {"sparse-npz", [](std::string_view bytes) { (void)layout::read_npz(bytes, vertices, Budget{}); }},
      {"mtx", [](std::string_view text) { (void)layout::read_matrix_market(text, vertices, Budget{}); }},
      {"edges", [](std::string_view text) { (void)layout::read_edge_list(text, vertices, Budget{}); }},
      {"certificate", [](std::string_view text) { (void)checker::check_certificate(text); }},
      {"safetensors", read_weights},
      {"data-npz", [](std::string_view bytes) { read_data([&](const data::Expected& e) { return data::parse_npz(bytes, "fuzz.npz", e, Budget{}); }); }},
      {"data-csv", [](std::string_view text) { read_data([&](const data::Expected& e) { return data::parse_csv(text, "fuzz.csv", e, Budget{}); }); }},
      {"expression", read_expression},
      {"proof", read_proof},
      {"group", read_group},
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
