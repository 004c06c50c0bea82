#include <fmt/format.h>

#include "sightline/design/candidate.hpp"
#include "sightline/design/take_away.hpp"

namespace sightline::design {

namespace {

using layout::PatternKind;
using layout::PatternSpec;

/// Joins "(a) op (b) op ..".
std::string join(const std::vector<std::string>& parts, const char* op) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "(" : fmt::format(" {} (", op)) + part + ")";
  return text;
}

/// Steps of at most `before` back and `after` ahead, in Z_size when `wrap`; `from` and `to` are expressions.
std::string write_window(const std::string& from, const std::string& to, std::int64_t before, std::int64_t after,
                         bool wrap, std::int64_t size) {
  if (wrap)
    return fmt::format("((({1}) - ({0})) % {4} <= {3}) | ((({0}) - ({1})) % {4} <= {2})", from, to, before, after,
                       size);
  return fmt::format("(({1}) - ({0}) >= -{2}) & (({1}) - ({0}) <= {3})", from, to, before, after);
}

/// A condition on q and k that holds for tensors and for single numbers. (`== False` and not `~`, which means something
/// else for numbers.)
std::optional<std::string> write_condition(const PatternSpec& spec, std::int64_t tokens) {
  if (spec.causal)
    return std::nullopt;
  const std::string both_tokens = "(q < N) & (k < N)";
  switch (spec.kind) {
  case PatternKind::full:
    return "(q >= 0) & (k >= 0)";
  case PatternKind::self:
    return both_tokens + " & (q == k)";
  case PatternKind::window:
    if (spec.dilation != 1 || !spec.global.empty())
      return std::nullopt;
    return fmt::format("{} & ({})", both_tokens,
                       write_window("q", "k", spec.radius.value_or(spec.before.value_or(0)),
                                    spec.radius.value_or(spec.after.value_or(0)), spec.wrap.value_or(false), tokens));
  case PatternKind::blocks:
    return fmt::format("{0} & (q // {1} == k // {1})", both_tokens, spec.size.value_or(1));
  case PatternKind::grid: {
    if (spec.shape.size() != 2 || spec.grid_window.size() != 2)
      return std::nullopt;
    const bool wrap = spec.wrap.value_or(false);
    const std::string width = std::to_string(spec.shape[1]);
    return fmt::format(
        "{} & ({}) & ({})", both_tokens,
        write_window("q // " + width, "k // " + width, spec.grid_window[0], spec.grid_window[0], wrap, spec.shape[0]),
        write_window("q % " + width, "k % " + width, spec.grid_window[1], spec.grid_window[1], wrap, spec.shape[1]));
  }
  case PatternKind::rows:
    // Of all rows only the two that closed forms use.
    if (spec == make_gather(static_cast<Point>(tokens)).pattern)
      return "((q == k) & (q < N)) | ((q == N) & (k < N))";
    if (spec == make_broadcast(static_cast<Point>(tokens)).pattern)
      return "(q == k) | (k == N)";
    return std::nullopt;
  case PatternKind::union_of:
  case PatternKind::intersection_of:
  case PatternKind::minus: {
    std::vector<std::string> parts;
    for (const PatternSpec& part : spec.of) {
      std::optional<std::string> condition = write_condition(part, tokens);
      if (!condition)
        return std::nullopt;
      parts.push_back(std::move(*condition));
    }
    if (spec.kind == PatternKind::union_of)
      return join(parts, "|");
    if (spec.kind == PatternKind::intersection_of)
      return join(parts, "&");
    const std::string first = parts.front();
    parts.erase(parts.begin());
    return fmt::format("({}) & (({}) == False)", first, join(parts, "|"));
  }
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<std::string> write_flex_formulas(const architecture::Architecture& architecture) {
  std::vector<std::string> conditions;
  std::string order, names;
  for (const architecture::LayerSpec& layer : architecture.layers) {
    std::optional<std::string> condition = write_condition(layer.mixer.pattern, architecture.tokens);
    if (!condition)
      return std::nullopt;
    order += fmt::format("{}[{}] * {}", order.empty() ? "" : " + ", conditions.size(), layer.repeat);
    names += fmt::format("{}pattern_{}", names.empty() ? "" : ", ", conditions.size());
    conditions.push_back(std::move(*condition));
  }
  std::string text = fmt::format(
      "# Masks for torch.nn.attention.flex_attention: mask_mods[layer], row = reader. Registers are the last "
      "positions.\n"
      "#   block_mask = create_block_mask(mask_mods[0], None, None, VERTICES, VERTICES, device=\"cpu\")\n"
      "#   flex_attention(query, key, value, block_mask=block_mask)\n"
      "N = {}  # tokens\nVERTICES = {}\n\n",
      architecture.tokens, architecture.tokens + static_cast<std::int64_t>(architecture.input.registers.size()));
  for (std::size_t k = 0; k < conditions.size(); ++k)
    text += fmt::format("\ndef pattern_{}(b, h, q, k):\n    return {}\n\n", k, conditions[k]);
  return text + fmt::format("\nPATTERNS = [{}]\nORDER = {}  # pattern of each mixing layer\nmask_mods = [PATTERNS[k] "
                            "for k in ORDER]\n",
                            names, order);
}

} // namespace sightline::design
