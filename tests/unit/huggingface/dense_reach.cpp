#include "dense_reach.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "sightline/base/error.hpp"

namespace sightline::huggingface::test {

namespace {

using layout::PatternKind;

// Which block a coordinate is in when boundaries stand at shift + k * size and the ends are cut.
std::int64_t block_of(std::int64_t x, std::int64_t size, std::int64_t shift) { return (x - shift + size) / size; }

bool reads_before_causal(const layout::PatternSpec& p, std::int64_t i, std::int64_t j, std::int64_t tokens) {
  switch (p.kind) {
    case PatternKind::full: return true;
    case PatternKind::window: {
      for (const std::int64_t g : p.global)
        if (g == i || g == j) return true;
      const std::int64_t before = p.radius ? *p.radius : p.before.value_or(0);
      const std::int64_t after = p.radius ? *p.radius : p.after.value_or(0);
      return j >= i - before && j <= i + after;
    }
    case PatternKind::blocks: return i / *p.size == j / *p.size;
    case PatternKind::grid: {
      if (p.shape.size() != 2 || p.shape[0] * p.shape[1] != tokens || p.grid_blocks.size() != 2)
        throw std::logic_error("not a grid of blocks");
      const std::int64_t width = p.shape[1];
      const std::int64_t rows = p.grid_shift.empty() ? 0 : p.grid_shift[0];
      const std::int64_t columns = p.grid_shift.empty() ? 0 : p.grid_shift[1];
      return block_of(i / width, p.grid_blocks[0], rows) == block_of(j / width, p.grid_blocks[0], rows) &&
             block_of(i % width, p.grid_blocks[1], columns) == block_of(j % width, p.grid_blocks[1], columns);
    }
    case PatternKind::bigbird: {
      if (p.variant != "huggingface" || p.mode != "eval") throw std::logic_error("random blocks are not expanded here");
      const std::int64_t last = (tokens + *p.block - 1) / *p.block - 1;
      const std::int64_t reader = i / *p.block;
      const std::int64_t read = j / *p.block;
      if (reader == 0 || reader == last || read == 0 || read == last || std::abs(reader - read) <= 1) return true;
      return false;
    }
    default: throw std::logic_error("an import does not write this kind");
  }
}

}  // namespace

bool reads(const layout::PatternSpec& pattern, std::int64_t i, std::int64_t j, std::int64_t tokens) {
  return reads_before_causal(pattern, i, j, tokens) && !(pattern.causal && j > i);
}

Matrix expand(const layout::PatternSpec& pattern, std::int64_t tokens) {
  const auto n = static_cast<std::size_t>(tokens);
  Matrix matrix(n, std::vector<bool>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      matrix[i][j] = reads(pattern, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), tokens);
  return matrix;
}

Matrix compute_reach(const architecture::Architecture& architecture) {
  const auto n = static_cast<std::size_t>(architecture.tokens);
  Matrix reach(n, std::vector<bool>(n));
  for (std::size_t i = 0; i < n; ++i) reach[i][i] = true;
  for (const architecture::LayerSpec& layer : write_out(architecture)) {
    const Matrix pattern = expand(layer.mixer.pattern, architecture.tokens);
    Matrix next = reach;  // the residual keeps what a token has
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (pattern[i][j])
          for (std::size_t k = 0; k < n; ++k)
            if (reach[j][k]) next[i][k] = true;
    reach = std::move(next);
  }
  return reach;
}

Import import_json(const nlohmann::json& config, const ImportOptions& options) {
  return import_config(config.dump(), "config.json", options);
}

std::string find_error(const nlohmann::json& config, const ImportOptions& options) {
  try {
    (void)import_json(config, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void add_required_keys(nlohmann::json& config) {
  const std::string type = config.at("model_type");
  nlohmann::json needed = nlohmann::json::object();
  if (type == "esm") needed = {{"vocab_size", 33}, {"pad_token_id", 1}};
  if (type == "deepseek_v2") needed = {{"num_experts_per_tok", 6}};
  if (type == "dots1") needed = {{"n_routed_experts", 8}, {"n_shared_experts", 1}, {"num_experts_per_tok", 2}};
  if (type == "hunyuan_v1_moe") needed = {{"head_dim", 128}};
  needed.update(config);
  config = needed;
}

ImportOptions with_tokens(std::int64_t tokens) {
  ImportOptions options;
  options.tokens = tokens;
  return options;
}

std::vector<architecture::LayerSpec> write_out(const architecture::Architecture& architecture) {
  std::vector<architecture::LayerSpec> layers;
  for (const auto& layer : architecture.layers)
    for (std::int64_t k = 0; k < layer.repeat; ++k) layers.push_back(layer);
  return layers;
}

std::string describe_pattern(const layout::PatternSpec& p) {
  const std::string causal = p.causal ? "causal " : "";
  switch (p.kind) {
    case PatternKind::full: return p.causal ? "causal" : "full";
    case PatternKind::blocks: return (p.causal ? "chunk " : "blocks ") + std::to_string(*p.size);
    case PatternKind::bigbird: return "bigbird " + p.mode + " " + std::to_string(p.seed);
    case PatternKind::window:
      if (p.radius) return causal + "window " + std::to_string(*p.radius);
      return "causal_window " + std::to_string(*p.before + 1) + (*p.after == 0 ? "" : " and after");
    default: return "other";
  }
}

nlohmann::json read_json(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(stream);
}

}  // namespace sightline::huggingface::test
