#include "sightline/huggingface/import.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sightline/base/error.hpp"
#include "sightline/base/words.hpp"
#include "sightline/huggingface/families.hpp"
#include "sightline/huggingface/library_types.hpp"

namespace sightline::huggingface {

namespace {

struct Family {
  std::string_view model_type;
  void (*import)(Draft&);
  Front front;
  /// Where the decoder of a multimodal file stands.
  enum class Place { top, text_config, either } place = Place::top;
  [[nodiscard]] bool is_nested(const nlohmann::json* text_config) const {
    return place == Place::text_config || (place == Place::either && text_config != nullptr && !text_config->is_null());
  }
};

// Sorted by name. `front`: what the tokenizers do, which no key of the config proves.
constexpr std::array families = {
    Family{"albert", import_albert, Front::special_id},
    Family{"arcee", import_arcee, Front::special_id},
    Family{"bart", import_bart, Front::special_id},
    Family{"bert", import_bert, Front::special_id},
    Family{"bert-generation", import_bert_generation, Front::nothing},
    Family{"big_bird", import_big_bird, Front::special_id},
    Family{"biogpt", import_biogpt, Front::special_id},
    Family{"blenderbot", import_blenderbot, Front::nothing},
    Family{"bloom", import_bloom, Front::nothing},
    Family{"camembert", import_xlm_roberta, Front::special_id},
    Family{"clip_text_model", import_clip_text, Front::special_id},
    Family{"clip_vision_model", import_clip_vision, Front::no_ids},
    Family{"codegen", import_codegen, Front::nothing},
    Family{"cohere", import_cohere, Front::special_id},
    Family{"cohere2", import_cohere2, Front::special_id},
    Family{"ctrl", import_ctrl, Front::nothing},
    Family{"cwm", import_cwm, Front::special_id},
    Family{"data2vec-text", import_xlm_roberta, Front::special_id},
    Family{"deepseek_v2", import_deepseek_v2, Front::special_id},
    Family{"deepseek_v3", import_deepseek_v3, Front::special_id},
    Family{"deit", import_deit, Front::no_ids},
    Family{"detr", import_detr, Front::no_ids},
    Family{"dinov2", import_dinov2, Front::no_ids},
    Family{"dinov2_with_registers", import_dinov2_with_registers, Front::no_ids},
    Family{"distilbert", import_distilbert, Front::special_id},
    Family{"dots1", import_dots1, Front::nothing},
    Family{"electra", import_electra, Front::special_id},
    Family{"ernie", import_bert, Front::special_id},
    Family{"ernie4_5", import_ernie4_5, Front::nothing},
    Family{"ernie4_5_moe", import_ernie4_5_moe, Front::nothing},
    Family{"esm", import_esm, Front::special_id},
    Family{"eurobert", import_eurobert, Front::special_id},
    Family{"exaone", import_exaone, Front::nothing},
    Family{"exaone4", import_exaone4, Front::nothing},
    Family{"exaone_moe", import_exaone_moe, Front::nothing},
    Family{"falcon", import_falcon, Front::nothing},
    Family{"flex_olmo", import_flex_olmo, Front::nothing},
    Family{"gemma", import_gemma, Front::special_id},
    Family{"gemma2", import_gemma2, Front::special_id},
    Family{"gemma3", import_gemma3, Front::special_id, Family::Place::text_config},
    Family{"gemma3_text", import_gemma3, Front::special_id},
    Family{"glm", import_glm, Front::nothing},
    Family{"glm4", import_glm4, Front::nothing},
    Family{"glm4_moe", import_glm4_moe, Front::nothing},
    Family{"gpt-sw3", import_gpt2, Front::nothing},
    Family{"gpt2", import_gpt2, Front::nothing},
    Family{"gpt_bigcode", import_gpt_bigcode, Front::nothing},
    Family{"gpt_neo", import_gpt_neo, Front::nothing},
    Family{"gpt_neox", import_gpt_neox, Front::nothing},
    Family{"gpt_neox_japanese", import_gpt_neox_japanese, Front::nothing},
    Family{"gpt_oss", import_gpt_oss, Front::nothing},
    Family{"gptj", import_gptj, Front::nothing},
    Family{"granite", import_granite, Front::nothing},
    Family{"granitemoe", import_granitemoe, Front::nothing},
    Family{"granitemoeshared", import_granitemoeshared, Front::nothing},
    Family{"helium", import_helium, Front::nothing},
    Family{"hunyuan_v1_dense", import_hunyuan_dense, Front::nothing},
    Family{"hunyuan_v1_moe", import_hunyuan_moe, Front::nothing},
    Family{"ibert", import_ibert, Front::special_id},
    Family{"internlm3", import_internlm3, Front::special_id},
    Family{"iquestcoder", import_iquestcoder, Front::nothing},
    Family{"jais2", import_jais2, Front::nothing},
    Family{"llama", import_llama, Front::special_id},
    Family{"llama4", import_llama4, Front::special_id, Family::Place::text_config},
    Family{"llama4_text", import_llama4, Front::special_id},
    Family{"longformer", import_longformer, Front::special_id},
    Family{"m2m_100", import_m2m_100, Front::special_id},
    Family{"marian", import_marian, Front::nothing},
    Family{"mbart", import_mbart, Front::nothing},
    Family{"megatron-bert", import_megatron_bert, Front::special_id},
    Family{"minimax_m2", import_minimax_m2, Front::nothing},
    Family{"ministral", import_ministral, Front::special_id},
    Family{"ministral3", import_ministral3, Front::special_id},
    Family{"mistral", import_mistral, Front::special_id},
    Family{"mixtral", import_mixtral, Front::special_id},
    Family{"modernbert", import_modernbert, Front::special_id},
    Family{"modernbert-decoder", import_modernbert_decoder, Front::special_id},
    Family{"mpnet", import_mpnet, Front::special_id},
    Family{"mpt", import_mpt, Front::nothing},
    Family{"mt5", import_mt5, Front::nothing},
    Family{"nanochat", import_nanochat, Front::special_id},
    Family{"nemotron", import_nemotron, Front::nothing},
    Family{"nomic_bert", import_nomic_bert, Front::special_id},
    Family{"olmo", import_olmo, Front::nothing},
    Family{"olmo2", import_olmo2, Front::nothing},
    Family{"olmo3", import_olmo3, Front::nothing},
    Family{"olmoe", import_olmoe, Front::nothing},
    Family{"openai-gpt", import_openai_gpt, Front::nothing},
    Family{"opt", import_opt, Front::special_id},
    Family{"pegasus", import_pegasus, Front::nothing},
    Family{"persimmon", import_persimmon, Front::nothing},
    Family{"phi", import_phi, Front::nothing},
    Family{"phi3", import_phi3, Front::nothing},
    Family{"phimoe", import_phimoe, Front::nothing},
    Family{"plbart", import_plbart, Front::nothing},
    Family{"qwen2", import_qwen2, Front::nothing},
    Family{"qwen2_5_vl", import_qwen2_vl, Front::nothing, Family::Place::either},
    Family{"qwen2_5_vl_text", import_qwen2_vl, Front::nothing},
    Family{"qwen2_moe", import_qwen2_moe, Front::nothing},
    Family{"qwen2_vl", import_qwen2_vl, Front::nothing, Family::Place::either},
    Family{"qwen2_vl_text", import_qwen2_vl, Front::nothing},
    Family{"qwen3", import_qwen2, Front::nothing},
    Family{"qwen3_moe", import_qwen3_moe, Front::nothing},
    Family{"qwen3_vl", import_qwen3_vl, Front::nothing, Family::Place::text_config},
    Family{"qwen3_vl_text", import_qwen3_vl, Front::nothing},
    Family{"rembert", import_rembert, Front::special_id},
    Family{"roberta", import_roberta, Front::special_id},
    Family{"roberta-prelayernorm", import_roberta_prelayernorm, Front::special_id},
    Family{"roformer", import_roformer, Front::special_id},
    Family{"sarvam_mla", import_sarvam_mla, Front::nothing},
    Family{"sarvam_moe", import_sarvam_moe, Front::nothing},
    Family{"seed_oss", import_seed_oss, Front::nothing},
    Family{"siglip_vision_model", import_siglip_vision, Front::no_ids},
    Family{"smollm3", import_smollm3, Front::nothing},
    Family{"splinter", import_splinter, Front::special_id},
    Family{"stablelm", import_stablelm, Front::nothing},
    Family{"starcoder2", import_starcoder2, Front::nothing},
    Family{"swin", import_swin, Front::no_ids},
    Family{"t5", import_t5, Front::nothing},
    Family{"umt5", import_umt5, Front::nothing},
    Family{"vaultgemma", import_vaultgemma, Front::special_id},
    Family{"vit", import_vit, Front::no_ids},
    Family{"vit_msn", import_vit_msn, Front::no_ids},
    Family{"xglm", import_xglm, Front::special_id},
    Family{"xlm-roberta", import_xlm_roberta, Front::special_id},
    Family{"xlm-roberta-xl", import_xlm_roberta_xl, Front::special_id},
};

const Family* find_type(std::string_view type) {
  const auto* family = std::find_if(families.begin(), families.end(), [&](const Family& f) { return f.model_type == type; });
  return family == families.end() ? nullptr : family;
}

const Family& find_family(const ConfigView& config, const nlohmann::json& object) {
  const std::string type = config.text({"model_type"}, "");
  if (type.empty()) config.fail("model_type", "the name of a model type");
  if (const Family* family = find_type(type)) return *family;

  // A type of the library is spelt as it is meant, however near a type that is read here may be.
  constexpr std::size_t farthest_suggestion = 2;
  constexpr std::size_t longest_compared = 40;
  const auto distance = [&](const Family& f) { return compute_edit_distance(type, f.model_type); };
  std::string hint;
  const auto inner = object.find("text_config");
  const bool has_inner_type = inner != object.end() && inner->is_object() && inner->contains("model_type") && (*inner)["model_type"].is_string();
  if (is_library_type(type)) {
    hint = ", a type of the transformers library that is not read here";
  } else if (type.size() <= longest_compared) {
    const auto* nearest = std::min_element(families.begin(), families.end(),
                                           [&](const Family& a, const Family& b) { return distance(a) < distance(b); });
    if (distance(*nearest) <= farthest_suggestion) hint = fmt::format(" (did you mean \"{}\"?)", nearest->model_type);
  }
  if (has_inner_type) {
    if (const Family* family = find_type((*inner)["model_type"].get_ref<const std::string&>()))
      hint += fmt::format(" (its text_config, \"{}\", may be imported on its own)", family->model_type);
  }
  config.fail("model_type", "a type that is read here (sightline import --help lists them)", fmt::format("\"{}\"{}", printable(type), hint));
}

nlohmann::json parse(std::string_view text, const std::string& file) {
  try {
    nlohmann::json object = nlohmann::json::parse(text);
    if (!object.is_object()) throw InputError(fmt::format("{}:1:1: expected a JSON object, found {}", file, describe(object)));
    return object;
  } catch (const nlohmann::json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(text.size(), error.byte == 0 ? 0 : error.byte - 1));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    std::string what = error.what();
    if (const std::size_t cut = what.find("syntax error"); cut != std::string::npos) what = what.substr(cut);
    throw InputError(fmt::format("{}:{}:{}: expected JSON, found a {}", file, line, before.size() - line_start + 1, printable(what)));
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}:1:1: expected JSON, found {}", file, printable(error.what())));
  }
}

// Token 0 as an id of its own, and what is assumed about it.
void set_front(Draft& draft, std::string_view type) {
  if (draft.front == Front::no_ids) {
    if (draft.options.bos) draft.config.fail_option("--bos", fmt::format("no such option ({} has no token ids)", type), "it");
    return;
  }
  const bool special = draft.options.bos.value_or(draft.front == Front::special_id);
  draft.architecture.input.bos = special;
  const std::string_view reason = draft.options.bos ? "as asked" : "a habit of its tokenizer, not proved by the config";
  draft.assume(special ? fmt::format("bos: token 0 is a special id that occurs nowhere else ({})", reason)
                       : fmt::format("bos: no special id in front ({})", reason));
  draft.assume(fmt::format("vocabulary: {} ordinary ids; other special ids are counted among them",
                           *draft.architecture.input.vocabulary));
}

void merge_layers(Draft& draft) {
  auto& architecture = draft.architecture;
  for (LayerSpec& layer : draft.layers) {
    if (!architecture.layers.empty()) {
      LayerSpec& last = architecture.layers.back();
      layer.repeat = last.repeat;
      if (layer == last) {
        ++last.repeat;
        continue;
      }
      layer.repeat = 1;
    }
    architecture.layers.push_back(layer);
  }
  for (std::size_t k = 0; k < architecture.layers.size(); ++k)
    architecture.layers[k].mixer.pattern.where = fmt::format("/layer/{}/mixer/pattern", k);
  // Written back, the first layer's settings become the defaults and later layers say what differs.
  architecture.mixer = architecture.layers.front().mixer;
  architecture.feedforward = architecture.layers.front().feedforward;
  architecture.norm = architecture.layers.front().norm;
}

}  // namespace

std::vector<std::string> known_model_types() {
  std::vector<std::string> types;
  for (const Family& family : families) types.emplace_back(family.model_type);
  return types;
}

Import import_config(std::string_view json_text, const std::string& file, const ImportOptions& options) {
  const nlohmann::json object = parse(json_text, file);
  const ConfigView outer(file, "", object);
  const Family& family = find_family(outer, object);
  if (options.mode != "eval" && options.mode != "train")
    outer.fail_option("--mode", "eval or train", fmt::format("\"{}\"", printable(options.mode)));
  if (!options.global.empty() && family.model_type != "longformer")
    outer.fail_option("--global", fmt::format("no such option ({} has no global tokens)", family.model_type), "it");

  const nlohmann::json empty = nlohmann::json::object();
  const nlohmann::json* text_config = family.place == Family::Place::top ? nullptr : outer.value("text_config");
  const bool is_nested = family.is_nested(text_config);
  const nlohmann::json* inner = is_nested ? text_config : &object;
  if (inner == nullptr || inner->is_null()) inner = &empty;
  if (!inner->is_object()) outer.fail("text_config", "an object");
  const ConfigView config(file, is_nested ? "/text_config" : "", *inner);
  if (is_nested) {
    const std::string expected = fmt::format("{}_text", family.model_type);
    if (config.text({"model_type"}, expected) != expected) config.fail("model_type", fmt::format("\"{}\"", expected));
    (void)outer.value("vision_config");
  }
  (void)config.value("model_type");

  Draft draft{config, options, family.front, {}, {}, {}, {}};
  draft.architecture.file = file;
  draft.architecture.name = family.model_type;
  const nlohmann::json* name = config.value("_name_or_path");
  if (name != nullptr && name->is_string() && *name != "") draft.architecture.name = printable(name->get<std::string>());
  if (family.place == Family::Place::either) (void)config.value("vision_config");
  if (family.place != Family::Place::top) draft.assume("the text decoder (text_config) is imported; image tokens are not modelled");
  family.import(draft);
  check_rotary(draft);
  check_unused_values(draft);
  set_front(draft, family.model_type);
  merge_layers(draft);
  if (config.flag({"tie_word_embeddings"}, false)) draft.assume("head: tied to the table in the model, taken as free");
  draft.assume("widths of feedforwards, attention biases, grouped heads, dropout and rotary angles are not modelled");

  Import result{std::move(draft.architecture), std::move(draft.assumptions), config.ignored_keys()};
  if (is_nested)
    for (std::string& key : outer.ignored_keys()) result.ignored.push_back(std::move(key));
  result.architecture.comments = result.assumptions;
  result.architecture.assumptions = result.assumptions;
  return result;
}

}  // namespace sightline::huggingface
