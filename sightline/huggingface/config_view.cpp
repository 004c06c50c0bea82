#include "sightline/huggingface/config_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"

namespace sightline::huggingface {

namespace {

constexpr std::int64_t largest_integer = std::numeric_limits<std::int32_t>::max();  // what an architecture file takes

// Keys of the library's common base class, and keys of single types that change weights, training, decoding or labels
// but neither who reads whom nor what the rules ask about. Listing them as "ignored" would bury the ones that matter.
constexpr std::array harmless_keys = {
    "_attn_implementation", "_commit_hash", "_name_or_path", "add_cross_attention", "alibi_bias_max", "architectures",
    "attention_bias", "attn_implementation", "attn_logit_softcapping", "attn_scale", "auto_map",
    "beam_size", "cache_implementation", "chunk_size_feed_forward", "d_ff", "d_kv", "decoder_attention_heads", "decoder_bias",
    "decoder_ffn_dim", "decoder_layers", "deterministic_flash_attn", "dtype", "embedding_fraction",
    "encoder_ffn_dim", "encoder_stride", "expansion_ratio", "experts_per_token", "ffn_dim", "ffn_hidden_size",
    "final_logit_softcapping", "finetuning_task", "gradient_checkpointing", "head_dim", "hidden_dim", "id2label", "init_device",
    "init_std", "init_xavier_std", "inner_dim", "intermediate_size", "intermediate_size_mlp", "is_encoder_decoder",
    "label2id", "language", "logit_scale", "mlp_ratio", "multi_query", "n_ctx", "n_inner",
    "norm_type", "num_decoder_layers", "num_key_value_heads", "num_kv_heads", "num_labels", "onnx_export",
    "original_max_position_embeddings", "pad_token_id", "pretraining_tp", "problem_type", "pruned_heads", "qk_layernorm",
    "qkv_bias", "quantization_config", "query_pre_attn_scalar", "reorder_and_upcast_attn", "rescale_embeddings", "return_dict",
    "rope_local_base_freq", "rope_parameters", "rope_scaling", "rope_theta", "rotary_emb_base", "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights", "scale_decoder_outputs", "slow_but_exact", "sparse_pred_ignore_index", "sparse_prediction",
    "task_specific_params", "tf_legacy_loss", "tokenizer_class", "torch_dtype", "torchscript", "transformers_version",
    "tie_encoder_decoder", "type_vocab_size", "use_bfloat16", "use_cache", "use_mean_pooling", "use_qk_norm", "global_rope_theta",
    "local_rope_theta", "prefix", "sep_token_id", "skip_head", "drop_path_rate", "stage_names", "out_features", "out_indices",
    "use_bias_qkv", "initial_context_length", "swiglu_alpha", "swiglu_limit", "rope_interleaved", "return_dict_in_generate",
    "apply_layernorm", "attention_out_bias", "attention_softmax_in_fp32", "input_jitter_noise", "kv_lora_rank", "layerscale_value",
    "lm_head_bias", "moe_intermediate_size", "n_group", "n_shared_experts", "norm_topk_prob", "num_mtp_layers",
    "num_nextn_predict_layers", "projection_dim", "q_lora_rank", "qk_head_dim", "qk_nope_head_dim", "qk_rope_head_dim",
    "reshape_hidden_states", "rope_interleave", "routed_scaling_factor", "scale_attention_softmax_in_fp32", "scale_embedding",
    "shared_expert_intermediate_size", "task_type_vocab_size", "topk_group", "use_mask_token", "use_qkv_bias", "use_task_id",
    "v_head_dim", "vision_use_head", "dff", "moe_norm_min", "num_shared_experts", "topk_method", "question_token_id",
    "decoder_vocab_size", "share_encoder_decoder_embeddings", "encoder_no_repeat_ngram_size", "intermediate_multiple_size"};

constexpr std::array harmless_prefixes = {"summary_", "classifier_", "output_", "pooler_", "initializer_", "router_"};
constexpr std::array harmless_parts = {"dropout", "layerdrop", "drop_rate", "pdrop", "_token_id", "_token_index"};

bool is_harmless(std::string_view key) {
  return std::find(harmless_keys.begin(), harmless_keys.end(), key) != harmless_keys.end() ||
         std::any_of(harmless_prefixes.begin(), harmless_prefixes.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); }) ||
         std::any_of(harmless_parts.begin(), harmless_parts.end(),
                     [&](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

}  // namespace

std::string printable(const std::string& text) {
  const std::string quoted = print_json(nlohmann::json(text));
  return quoted.substr(1, quoted.size() - 2);
}

std::string describe(const nlohmann::json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

ConfigView::ConfigView(std::string file, std::string pointer, const nlohmann::json& object)
    : file_(std::move(file)), pointer_(std::move(pointer)), object_(&object) {}

bool ConfigView::has(std::string_view name) const { return object_->contains(name); }

bool ConfigView::is_null(std::string_view name) const {
  const nlohmann::json* found = value(name);
  return found != nullptr && found->is_null();
}

const nlohmann::json* ConfigView::value(std::string_view name) const {
  read_.emplace(name);
  const auto position = object_->find(name);
  return position == object_->end() ? nullptr : &*position;
}

const nlohmann::json* ConfigView::find(Names names, std::string_view& found) const {
  for (const std::string_view name : names) {
    if (!has(name)) continue;
    found = name;
    return value(name);
  }
  return nullptr;
}

void ConfigView::fail(std::string_view name, const std::string& expected) const {
  const auto position = object_->find(name);
  fail(name, expected, position == object_->end() ? "nothing" : describe(*position));
}

void ConfigView::fail(std::string_view name, const std::string& expected, const std::string& found) const {
  throw InputError(fmt::format("{}: {}/{}: expected {}, found {}", file_, pointer_, name, expected, found));
}

void ConfigView::fail_option(std::string_view option, const std::string& expected, const std::string& found) const {
  throw InputError(fmt::format("{}: {}: expected {}, found {}", file_, option, expected, found));
}

std::int64_t ConfigView::checked_integer(const nlohmann::json& value, const std::string& name, std::int64_t minimum) const {
  const auto expected = [&] {
    return minimum <= 0 ? std::string("an integer >= 0") : fmt::format("an integer >= {}", minimum);
  };
  if (!value.is_number_integer()) fail(name, expected(), describe(value));
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(largest_integer))
    fail(name, fmt::format("an integer <= {}", largest_integer), describe(value));
  const auto number = value.get<std::int64_t>();
  if (number < minimum) fail(name, expected(), describe(value));
  return number;
}

std::int64_t ConfigView::integer(Names names, std::int64_t fallback, std::int64_t minimum) const {
  std::string_view name;
  const nlohmann::json* found = find(names, name);
  return found == nullptr ? fallback : checked_integer(*found, std::string(name), minimum);
}

std::int64_t ConfigView::interval(Names names, std::int64_t fallback, std::int64_t minimum) const {
  std::optional<std::int64_t> chosen;
  for (const std::string_view name : names) {
    const nlohmann::json* found = value(name);
    if (found != nullptr && !found->is_null() && !chosen) chosen = checked_integer(*found, std::string(name), minimum);
  }
  return chosen.value_or(fallback);
}

std::optional<std::int64_t> ConfigView::optional_integer(Names names, std::optional<std::int64_t> fallback,
                                                         std::int64_t minimum) const {
  std::string_view name;
  const nlohmann::json* found = find(names, name);
  if (found == nullptr) return fallback;
  if (found->is_null()) return std::nullopt;
  return checked_integer(*found, std::string(name), minimum);
}

double ConfigView::number(Names names, double fallback) const {
  std::string_view name;
  const nlohmann::json* found = find(names, name);
  if (found == nullptr) return fallback;
  if (!found->is_number() || !std::isfinite(found->get<double>()) || found->get<double>() < 0) fail(name, "a number >= 0");
  return found->get<double>();
}

bool ConfigView::flag(Names names, bool fallback) const {
  std::string_view name;
  const nlohmann::json* found = find(names, name);
  if (found == nullptr) return fallback;
  if (!found->is_boolean()) fail(name, "true or false");
  return found->get<bool>();
}

bool ConfigView::flag_or_null(Names names, bool fallback) const {
  std::string_view name;
  const nlohmann::json* found = find(names, name);
  return found != nullptr && found->is_null() ? false : flag(names, fallback);
}

std::string ConfigView::text(Names names, std::string fallback) const {
  std::string_view name;
  const nlohmann::json* found = find(names, name);
  if (found == nullptr) return fallback;
  if (!found->is_string()) fail(name, "a string");
  return found->get<std::string>();
}

std::optional<std::vector<std::string>> ConfigView::texts(std::string_view name) const {
  const nlohmann::json* found = value(name);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_array()) fail(name, "a list of strings");
  std::vector<std::string> list;
  for (std::size_t k = 0; k < found->size(); ++k) {
    if (!(*found)[k].is_string()) fail(fmt::format("{}/{}", name, k), "a string", describe((*found)[k]));
    list.push_back((*found)[k].get<std::string>());
  }
  return list;
}

std::optional<std::vector<std::int64_t>> ConfigView::integers(std::string_view name, std::int64_t minimum) const {
  const nlohmann::json* found = value(name);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!found->is_array()) fail(name, "a list of integers");
  std::vector<std::int64_t> list;
  for (std::size_t k = 0; k < found->size(); ++k)
    list.push_back(checked_integer((*found)[k], fmt::format("{}/{}", name, k), minimum));
  return list;
}

std::pair<std::int64_t, std::int64_t> ConfigView::pair(std::string_view name, std::int64_t fallback) const {
  const nlohmann::json* found = value(name);
  if (found == nullptr) return {fallback, fallback};
  if (found->is_array()) {
    const auto list = *integers(name, 1);
    if (list.size() != 2) fail(name, "an integer or a pair [height, width]");
    return {list[0], list[1]};
  }
  const std::int64_t side = checked_integer(*found, std::string(name), 1);
  return {side, side};
}

std::vector<std::string> ConfigView::ignored_keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : object_->items())
    if (!read_.contains(key) && !is_harmless(key)) keys.push_back(printable(key));
  return keys;
}

}  // namespace sightline::huggingface
