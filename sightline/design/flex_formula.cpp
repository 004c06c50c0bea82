#include <fmt/format.h>

#include <algorithm>

#include "sightline/design/candidate.hpp"
#include "sightline/design/take_away.hpp"

namespace sightline::design {

namespace {

using layout::PatternKind;
using layout::PatternSpec;

constexpr std::size_t most_listed = 64; ///< offsets, edges or global tokens of one condition

/// Joins "(a) op (b) op ..".
std::string join(const std::vector<std::string>& parts, const char* op) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "(" : fmt::format(" {} (", op)) + part + ")";
  return text;
}

/// Steps of at most `before` back and `after` ahead, in Z_size when `wrap`, each `dilation` long; `from` and `to` are
/// expressions.
std::string write_window(const std::string& from, const std::string& to, std::int64_t before, std::int64_t after,
                         bool wrap, std::int64_t size, std::int64_t dilation = 1) {
  constexpr std::int64_t most = std::int64_t{1} << 60;
  before = std::min(before, most / dilation) * dilation;
  after = std::min(after, most / dilation) * dilation;
  const auto whole = [&](const std::string& step) {
    return dilation == 1 ? std::string() : fmt::format(" & (({}) % {} == 0)", step, dilation);
  };
  if (wrap) {
    const std::string ahead = fmt::format("(({}) - ({})) % {}", to, from, size),
                      back = fmt::format("(({}) - ({})) % {}", from, to, size);
    return fmt::format("(({} <= {}){}) | (({} <= {}){})", ahead, after, whole(ahead), back, before, whole(back));
  }
  const std::string step = fmt::format("({}) - ({})", to, from);
  return fmt::format("({0} >= -{1}) & ({0} <= {2}){3}", step, before, after, whole(step));
}

/// A condition on q and k that holds for tensors and for single numbers. (`== False` and not `~`, which means something
/// else for numbers.)
std::optional<std::string> write_condition(const PatternSpec& spec, std::int64_t tokens) {
  const std::string both_tokens = "(q < N) & (k < N)";
  if (spec.causal) { // arcs that touch a register stay
    PatternSpec whole = spec;
    whole.causal = false;
    const std::optional<std::string> condition = write_condition(whole, tokens);
    return condition ? std::optional(fmt::format("({}) & ((k <= q) | (k >= N) | (q >= N))", *condition)) : std::nullopt;
  }
  switch (spec.kind) {
  case PatternKind::full:
    return "(q >= 0) & (k >= 0)";
  case PatternKind::self:
    return both_tokens + " & (q == k)";
  case PatternKind::window: {
    const std::int64_t before = spec.radius.value_or(spec.before.value_or(0)),
                       after = spec.radius.value_or(spec.after.value_or(0));
    // Round the ring more than once: other tokens than the steps' own multiples.
    if (spec.wrap.value_or(false) && spec.dilation != 1 && std::max(before, after) > (tokens - 1) / spec.dilation)
      return std::nullopt;
    if (spec.global.size() > most_listed)
      return std::nullopt;
    std::string condition = write_window("q", "k", before, after, spec.wrap.value_or(false), tokens, spec.dilation);
    for (const std::int64_t g : spec.global)
      condition = fmt::format("({0}) | (q == {1}) | (k == {1})", condition, g);
    return fmt::format("{} & ({})", both_tokens, condition);
  }
  case PatternKind::butterfly:
    return fmt::format("{} & ((q == k) | ((q ^ {}) == k))", both_tokens, spec.distance.value_or(1));
  case PatternKind::fixed:
    if (spec.part != "summary")
      return std::nullopt;
    return fmt::format("{} & ((q == k) | (k % {} >= {}))", both_tokens, spec.stride.value_or(1),
                       spec.stride.value_or(1) - spec.summary.value_or(1));
  case PatternKind::circulant: {
    if (spec.offsets.size() > most_listed)
      return std::nullopt;
    std::vector<std::string> parts;
    for (const std::int64_t offset : spec.offsets)
      parts.push_back(fmt::format("(k - q - ({})) % N == 0", offset));
    return parts.empty() ? std::optional<std::string>("q != q") : both_tokens + " & (" + join(parts, "|") + ")";
  }
  case PatternKind::graph: {
    if (spec.edges.size() > most_listed)
      return std::nullopt;
    std::vector<std::string> parts{spec.loops ? "q == k" : "q != q"};
    for (const auto& [u, v] : spec.edges) {
      parts.push_back(fmt::format("(q == {}) & (k == {})", u, v));
      if (!spec.directed)
        parts.push_back(fmt::format("(q == {}) & (k == {})", v, u));
    }
    return both_tokens + " & (" + join(parts, "|") + ")";
  }
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
      "# Masks for torch.nn.attention.flex_attention (sightline design): mask_mods[layer], row = reader. Registers are the last "
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
