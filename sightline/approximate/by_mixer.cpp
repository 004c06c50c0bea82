#include "sightline/approximate/by_mixer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/approximate/mlp_sumformer.hpp"
#include "sightline/mixer/mixer.hpp"

namespace sightline::approximate {
namespace {

constexpr std::size_t sequences_at_once = 64;

/// Values [batch][reads][width] to [batch][readers][width] by attention with queries and keys 0.
void attend_evenly(const attention_kernel::Kernel& kernel, std::size_t count, std::size_t readers, std::size_t reads, std::size_t width, const std::vector<double>& value, std::vector<double>& out) {
  const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const auto plan = mixer::make_full_plan(size(readers), size(reads));
  mixer::AttentionRule rule;
  rule.kernel = kernel;
  mixer::Shape shape;
  shape.batch = size(count);
  shape.readers = size(readers);
  shape.reads = size(reads);
  shape.width = 1;
  shape.value_width = size(width);
  const std::vector<double> zero(count * std::max(readers, reads), 0.0);
  mixer::AttentionInputs<double> in;
  in.query = {zero.data(), size(readers), 0, 1};
  in.key = {zero.data(), size(reads), 0, 1};
  in.value = {value.data(), size(reads * width), 0, size(width)};
  out.assign(count * readers * width, 0.0);
  mixer::AttentionOutputs<double> result;
  result.out = {out.data(), size(readers * width), 0, size(width)};
  mixer::attend<double>(*plan, rule, shape, in, result, mixer::Execution{});
}

attention_kernel::Kernel make_kernel(SumBy by) {
  attention_kernel::Kernel kernel;
  if (by == SumBy::performer) {
    kernel.name = "performer";
    kernel.features = {{1}};
  }
  return kernel;
}

/// The mixer's output at every token, [count][n][latent].
void mix(SumBy by, std::size_t count, std::size_t tokens, std::size_t width, const std::vector<double>& phi, std::vector<double>& out) {
  if (by == SumBy::performer) {
    attend_evenly(make_kernel(by), count, tokens, tokens, width, phi, out);
    return;
  }
  std::vector<double> middle;
  if (by == SumBy::reg) {
    attend_evenly(make_kernel(by), count, 1, tokens, width, phi, middle);
  } else {
    const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    const auto plan = mixer::make_full_plan(1, size(tokens), true);
    const std::vector<double> f(tokens, 1 / static_cast<double>(tokens));
    mixer::Shape shape;
    shape.batch = size(count);
    shape.readers = 1;
    shape.reads = size(tokens);
    shape.width = shape.value_width = size(width);
    middle.assign(count * width, 0.0);
    mixer::AggregateInputs<double> in;
    in.value = {phi.data(), size(tokens * width), 0, size(width)};
    in.weight = f.data();
    mixer::aggregate<double>(*plan, mixer::Aggregation::sum, shape, in, {middle.data(), size(width), 0, size(width)}, mixer::Execution{});
  }
  attend_evenly(make_kernel(SumBy::reg), count, tokens, 1, width, middle, out);
}

}  // namespace

std::optional<SumBy> parse_sum_by(std::string_view word) {
  if (word == "linformer") return SumBy::linformer;
  if (word == "performer") return SumBy::performer;
  if (word == "register") return SumBy::reg;
  return std::nullopt;
}

void evaluate_by(const Sumformer& model, SumBy by, std::size_t count, const double* x, double* out) {
  const std::size_t n = model.basis().tokens(), d = model.basis().dim(), latent = model.basis().latent();
  std::vector<double> phi(sequences_at_once * n * latent), sums;
  for (std::size_t start = 0; start < count; start += sequences_at_once) {
    const std::size_t now = std::min(sequences_at_once, count - start);
    phi.resize(now * n * latent);
    model.phi(now, x + start * n * d, phi.data());
    mix(by, now, n, latent, phi, sums);
    for (double& value : sums) value *= static_cast<double>(n);
    model.evaluate_with(now, x + start * n * d, sums.data(), true, out + start * n * model.outputs());
  }
}

std::string to_architecture(const Sumformer& model, SumBy by) {
  const std::size_t n = model.basis().tokens(), d = model.basis().dim(), dim = d + model.basis().latent();
  const char* name = by == SumBy::linformer ? "linformer" : by == SumBy::performer ? "performer" : "register";
  std::string text = fmt::format("{}name = \"sumformer-{}\"\ntokens = {}\ndim = {}\n[input]\nembedding = \"mlp\"\ndim = {}\n", architecture_comment, name, n, dim, d);
  if (by == SumBy::reg) text += "registers = [\"sum\"]\n";
  text += fmt::format("[output]\nhead = \"linear\"\ndim = {}\n[feedforward]\nactivation = \"gelu\"\n", model.outputs());
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  if (by == SumBy::linformer) {
    text += fmt::format("[mixer]\nkind = \"linformer\"\nrank = 1\nprojections = {{ blocks = [[{}]] }}\n", all);
  } else if (by == SumBy::performer) {
    std::string feature = "1";
    for (std::size_t k = 1; k < dim; ++k) feature += ", 0";
    text += fmt::format("[mixer]\nkernel = {{ name = \"performer\", features = [[{}]] }}\n", feature);
  } else {
    std::string gather, broadcast;
    for (std::size_t i = 0; i < n; ++i) {
      gather += fmt::format("[{}], ", i);
      broadcast += fmt::format("[{}], ", n);
    }
    text += fmt::format("[[layer]]\npattern = {{ kind = \"rows\", rows = [{}[{}]] }}\n[[layer]]\npattern = {{ kind = \"rows\", rows = [{}[{}]] }}\n", gather, all, broadcast, n);
  }
  return text;
}

}  // namespace sightline::approximate
