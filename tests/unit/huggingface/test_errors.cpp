// One line per wrong file: FILE: /key: expected ..., found ...
#include <doctest/doctest.h>

#include "dense_reach.hpp"
#include "sightline/base/error.hpp"

using namespace sightline;
using namespace sightline::huggingface;
using namespace sightline::huggingface::test;
using nlohmann::json;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Wrong {
  json config;
  std::string begins;  ///< how the message begins
  std::string holds;   ///< what it also says
  ImportOptions options = with_tokens(16);
};

}  // namespace

TEST_CASE("an unknown model type is named, with the nearest known one where it is no type of the library") {
  const std::string wanted = "config.json: /model_type: expected a type that is read here (sightline import --help lists them), found ";
  const std::string of_library = ", a type of the transformers library that is not read here";
  CHECK(find_error({{"model_type", "lama"}}) == wanted + "\"lama\" (did you mean \"llama\"?)");
  CHECK(find_error({{"model_type", "nonsense"}}) == wanted + "\"nonsense\"");
  CHECK(find_error({{"model_type", "perceiver"}}) == wanted + "\"perceiver\"" + of_library);
  CHECK(find_error({{"model_type", "olmo_hybrid"}}) == wanted + "\"olmo_hybrid\"" + of_library);
  CHECK(find_error({{"model_type", "beit"}}) == wanted + "\"beit\"" + of_library);  // two letters from bert
  CHECK(find_error({{"model_type", "llava"}, {"text_config", json::object()}}) == wanted + "\"llava\"" + of_library);
  CHECK(find_error({{"model_type", "llava"}, {"text_config", {{"model_type", "mamba"}}}}) == wanted + "\"llava\"" + of_library);
  CHECK(find_error({{"model_type", "llava"}, {"text_config", {{"model_type", 3}}}}) == wanted + "\"llava\"" + of_library);
  CHECK(find_error({{"model_type", "llava"}, {"text_config", {{"model_type", "llama"}}}}) ==
        wanted + "\"llava\"" + of_library + " (its text_config, \"llama\", may be imported on its own)");
  CHECK(contains(find_error({{"hidden_size", 4}}), "/model_type: expected the name of a model type, found nothing"));
  CHECK(contains(find_error({{"model_type", 3}}), "/model_type: expected a string, found 3"));
}

TEST_CASE("syntax errors say line and column") {
  CHECK_THROWS_WITH_AS((void)import_config("{\n  \"a\": ,\n}", "f.json", {}), doctest::Contains("f.json:2:8: expected JSON"), InputError);
  CHECK_THROWS_WITH_AS((void)import_config("[1]", "f.json", {}), doctest::Contains("expected a JSON object, found a list of 1"),
                       InputError);
  CHECK_THROWS_AS((void)import_config("", "f.json", {}), InputError);
  CHECK_THROWS_AS((void)import_config(std::string(100000, '['), "f.json", {}), InputError);
  CHECK_THROWS_AS((void)import_config("{\"model_type\": \"llama\", \"vocab_size\": 1e999}", "f.json", {}), InputError);
}

TEST_CASE("wrong types, ranges and contradictions are errors of one line") {
  ImportOptions global = with_tokens(16);
  global.global = {16};
  ImportOptions global_zero = with_tokens(16);
  global_zero.global = {0};
  ImportOptions mode = with_tokens(16);
  mode.mode = "test";
  ImportOptions bos = with_tokens(197);
  bos.bos = true;
  const std::vector<Wrong> cases = {
      {{{"model_type", "llama"}, {"num_hidden_layers", "3"}}, "/num_hidden_layers: expected an integer >= 1, found \"3\"", ""},
      {{{"model_type", "llama"}, {"num_hidden_layers", 3.5}}, "/num_hidden_layers: expected an integer >= 1, found 3.5", ""},
      {{{"model_type", "llama"}, {"num_hidden_layers", nullptr}}, "/num_hidden_layers: expected an integer >= 1, found null", ""},
      {{{"model_type", "llama"}, {"num_hidden_layers", true}}, "/num_hidden_layers:", "found true"},
      {{{"model_type", "llama"}, {"num_hidden_layers", 0}}, "/num_hidden_layers:", "found 0"},
      {{{"model_type", "llama"}, {"num_hidden_layers", 10000000}}, "/num_hidden_layers: expected at most 100000 layers", ""},
      {{{"model_type", "llama"}, {"hidden_size", 18446744073709551615ULL}}, "/hidden_size: expected an integer <=", ""},
      {{{"model_type", "llama"}, {"rms_norm_eps", "small"}}, "/rms_norm_eps: expected a number >= 0, found \"small\"", ""},
      {{{"model_type", "llama"}, {"hidden_act", "relu6"}}, "/hidden_act: expected an activation out of gelu", "\"relu6\""},
      {{{"model_type", "llama"}, {"rope_scaling", 3}}, "/rope_scaling: expected an object or null, found 3", ""},
      {{{"model_type", "llama"}, {"is_causal", false}}, "/is_causal: expected true", ""},
      {{{"model_type", "granite"}, {"attention_multiplier", 0}}, "/attention_multiplier: expected a number > 0", ""},
      {{{"model_type", "gemma2"}, {"use_bidirectional_attention", true}}, "/use_bidirectional_attention: expected false", ""},
      {{{"model_type", "mistral"}, {"sliding_window", 0}}, "/sliding_window: expected an integer >= 1, found 0", ""},
      {{{"model_type", "mistral"}, {"sliding_window", "4096"}}, "/sliding_window:", "found \"4096\""},
      {{{"model_type", "qwen2"}, {"num_hidden_layers", 2}, {"layer_types", {"full_attention"}}},
       "/layer_types: expected one entry for each of the 2 layers, found a list of 1", ""},
      {{{"model_type", "qwen2"}, {"num_hidden_layers", 1}, {"layer_types", {"chunked_attention"}}},
       "/layer_types/0: expected one of full_attention, sliding_attention, found \"chunked_attention\"", ""},
      {{{"model_type", "qwen2"}, {"num_hidden_layers", 1}, {"layer_types", {3}}}, "/layer_types/0: expected a string, found 3", ""},
      {{{"model_type", "qwen2"}, {"num_hidden_layers", 1}, {"use_sliding_window", true}, {"sliding_window", nullptr}, {"layer_types", {"sliding_attention"}}},
       "/sliding_window: expected a window, because layer 0 slides", ""},
      {{{"model_type", "mistral"}, {"num_hidden_layers", 2}, {"sliding_window", nullptr}, {"layer_types", {"full_attention", "sliding_attention"}}},
       "/sliding_window: expected a window, because layer 1 slides, found none", ""},
      {{{"model_type", "starcoder2"}, {"num_hidden_layers", 1}, {"layer_types", {"sliding_attention"}}},
       "/sliding_window: expected a window, because layer 0 slides, found nothing", ""},
      // The library makes the windows' mask for these whether a layer slides or not.
      {{{"model_type", "gemma2"}, {"num_hidden_layers", 1}, {"sliding_window", nullptr}, {"layer_types", {"full_attention"}}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "gemma3_text"}, {"sliding_window", nullptr}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "cohere2"}, {"sliding_window", nullptr}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "gpt_oss"}, {"sliding_window", nullptr}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "olmo3"}, {"sliding_window", nullptr}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "cwm"}, {"sliding_window", nullptr}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "vaultgemma"}, {"sliding_window", nullptr}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "ministral"}, {"sliding_window", nullptr}}, "/sliding_window: expected an integer >= 1, found null", ""},
      {{{"model_type", "llama4_text"}, {"attention_chunk_size", nullptr}}, "/attention_chunk_size: expected an integer >= 1, found null", ""},
      {{{"model_type", "qwen2_moe"}, {"num_hidden_layers", 1}, {"layer_types", {"sliding_attention"}}}, "/use_sliding_window: expected true, because layer_types has sliding layers", ""},
      {{{"model_type", "olmo"}, {"clip_qkv", 0.0}}, "/clip_qkv: expected a number > 0, or null", "found 0.0"},
      {{{"model_type", "olmoe"}, {"clip_qkv", -1}}, "/clip_qkv: expected a number >= 0, found -1", ""},
      {{{"model_type", "deepseek_v3"}, {"kv_lora_rank", 0}}, "/kv_lora_rank: expected an integer >= 1, found 0", ""},
      {{{"model_type", "deepseek_v3"}, {"v_head_dim", 0}}, "/v_head_dim: expected an integer >= 1, found 0", ""},
      {{{"model_type", "gptj"}, {"rotary_dim", 0}}, "/rotary_dim: expected an integer >= 1, found 0", ""},
      {{{"model_type", "gptj"}, {"rotary_dim", nullptr}}, "/rotary_dim: expected an integer >= 1, found null", ""},
      {{{"model_type", "deepseek_v3"}, {"qk_rope_head_dim", 3}}, "/qk_rope_head_dim: expected an even number (coordinates turn in pairs), found 3", ""},
      {{{"model_type", "qwen2_moe"}, {"use_sliding_window", true}, {"sliding_window", nullptr}, {"num_hidden_layers", 1}, {"layer_types", {"full_attention"}}},
       "/sliding_window: expected a window, because use_sliding_window is true, found none", ""},
      {{{"model_type", "codegen"}, {"rotary_dim", 3}}, "/rotary_dim: expected an even number", "found 3"},
      {{{"model_type", "gpt_neo"}, {"num_layers", 3}}, "/attention_types: expected one entry for each of the 3 layers", ""},
      {{{"model_type", "gpt_neo"}, {"num_layers", 3}, {"attention_types", {{{"global"}, 2}}}}, "/attention_types:", "found 2"},
      {{{"model_type", "gpt_neo"}, {"num_layers", 3}, {"attention_types", {{{"global"}, 1000000000000}}}}, "/attention_types:", "found"},
      {{{"model_type", "gpt_neo"}, {"num_layers", 1}, {"attention_types", {{{"loca"}, 1}}}},
       "/attention_types/0/0: expected \"global\" or \"local\", found \"loca\"", ""},
      {{{"model_type", "gpt_neo"}, {"num_layers", 1}, {"attention_types", {"global"}}}, "/attention_types/0: expected [[", ""},
      {{{"model_type", "longformer"}, {"attention_window", 7}}, "/attention_window: expected even widths", "found 7"},
      {{{"model_type", "longformer"}, {"attention_window", {4, 4}}}, "/attention_window:", "12 layers"},
      {{{"model_type", "longformer"}}, "--global: expected token indices 0 .. 15, found 16", "", global},
      {{{"model_type", "llama"}}, "--global: expected no such option (llama has no global tokens)", "", global_zero},
      {{{"model_type", "llama"}}, "--mode: expected eval or train, found \"test\"", "", mode},
      {{{"model_type", "vit"}}, "--bos: expected no such option (vit has no token ids)", "", bos},
      {{{"model_type", "bert"}}, "--tokens: expected at most 512 (the position table has 512 rows), found 513", "", with_tokens(513)},
      {{{"model_type", "roberta"}, {"max_position_embeddings", 514}}, "--tokens: expected at most 512 (the position table has 514 rows, 2 reserved",
       "found 513", with_tokens(513)},
      {{{"model_type", "gptj"}}, "--tokens: expected at most 2048", "", with_tokens(2049)},
      {{{"model_type", "llama"}}, "--tokens: expected a length of 1 ..", "found 0", with_tokens(0)},
      {{{"model_type", "bloom"}}, "--tokens: expected a length (bloom has no length in its config), found nothing", "", {}},
      {{{"model_type", "big_bird"}, {"attention_type", "sparse"}}, "/attention_type: expected \"block_sparse\" or", ""},
      {{{"model_type", "big_bird"}, {"block_size", 1}, {"num_random_blocks", 0}}, "/num_random_blocks: expected at least 1", "found 0"},
      {{{"model_type", "big_bird"}, {"block_size", 3}, {"num_random_blocks", 1}, {"max_position_embeddings", 22}},
       "/max_position_embeddings: expected at least 24", "", with_tokens(22)},
      // What the library cannot build either: values that say nothing about sight but shape the model.
      {{{"model_type", "llama"}, {"num_attention_heads", 3}}, "/num_attention_heads: expected a divisor of the width 4096, found 3", ""},
      {{{"model_type", "gpt2"}, {"n_head", 5}}, "/n_head: expected a divisor of the width 768, found 5", ""},
      {{{"model_type", "bert"}, {"num_attention_heads", 7}}, "/num_attention_heads: expected a divisor of the width 768", ""},
      {{{"model_type", "swin"}, {"num_heads", {3, 6, 12, 25}}}, "/num_heads/3: expected a divisor of the width 768", "", with_tokens(49)},
      {{{"model_type", "mistral"}, {"num_key_value_heads", 5}}, "/num_key_value_heads: expected a divisor of the 32 heads, found 5", ""},
      {{{"model_type", "mistral"}, {"num_key_value_heads", 0}}, "/num_key_value_heads: expected an integer >= 1, found 0", ""},
      {{{"model_type", "mistral"}, {"intermediate_size", "big"}}, "/intermediate_size: expected an integer >= 1, found \"big\"", ""},
      {{{"model_type", "gemma"}, {"head_dim", -1}}, "/head_dim: expected an integer >= 1, found -1", ""},
      {{{"model_type", "gemma2"}, {"attn_logit_softcapping", "50"}}, "/attn_logit_softcapping: expected a number >= 0", "\"50\""},
      {{{"model_type", "qwen3"}, {"attention_bias", 1}}, "/attention_bias: expected true or false, found 1", ""},
      {{{"model_type", "llama"}, {"tie_word_embeddings", nullptr}}, "/tie_word_embeddings: expected true or false, found null", ""},
      {{{"model_type", "llama"}, {"hidden_act", nullptr}}, "/hidden_act: expected a string, found null", ""},
      {{{"model_type", "bert"}, {"is_decoder", nullptr}}, "/is_decoder: expected true or false, found null", ""},
      {{{"model_type", "llama"}, {"num_hidden_layers", 2}, {"layer_types", {"full_attention"}}},
       "/layer_types: expected one entry for each of the 2 layers, found a list of 1", ""},
      {{{"model_type", "llama"}, {"per_layer_config", {{"0", {{"hidden_act", "relu"}}}}}}, "/per_layer_config: expected null", "found an object"},
      {{{"model_type", "qwen2"}, {"num_hidden_layers", 1}, {"sliding_window", 4}, {"layer_types", {"sliding_attention"}}},
       "/use_sliding_window: expected true, because layer_types has sliding layers, found nothing", ""},
      {{{"model_type", "smollm3"}, {"no_rope_layers", json::array()}}, "/no_rope_layers: expected one entry for each of the 36 layers", ""},
      {{{"model_type", "gpt_neo"}, {"num_layers", 2}, {"attention_layers", {"global"}}}, "/attention_layers: expected one entry for each", ""},
      {{{"model_type", "gpt_neo"}, {"num_layers", 1}, {"attention_layers", {"locale"}}}, "/attention_layers/0: expected \"global\" or", "locale"},
      {{{"model_type", "mixtral"}, {"num_local_experts", 2}, {"num_experts_per_tok", 3}}, "/num_experts_per_tok: expected at most the 2", ""},
      {{{"model_type", "gemma3"}, {"text_config", 3}}, "/text_config: expected an object, found 3", ""},
      {{{"model_type", "gemma3"}, {"text_config", {{"model_type", "llama"}}}}, "/text_config/model_type: expected \"gemma3_text\"", ""},
      {{{"model_type", "gemma3"}, {"text_config", {{"hidden_size", -1}}}}, "/text_config/hidden_size: expected an integer >= 1", ""},
      {{{"model_type", "swin"}}, "--tokens: expected 3136 or 784 or 196 or 49 (the grid of a stage), found 16", ""},
      {{{"model_type", "vit"}}, "--tokens: expected 197 (14 x 14 patches and the class token), found 16", ""},
      {{{"model_type", "siglip_vision_model"}}, "--tokens: expected 196 (14 x 14 patches), found 16", ""},
      {{{"model_type", "esm"}, {"pad_token_id", 1}}, "/vocab_size: expected the number of ids, found nothing", ""},
      {{{"model_type", "esm"}, {"vocab_size", 33}}, "/pad_token_id: expected an integer >= 0", "found nothing"},
      {{{"model_type", "albert"}, {"num_hidden_groups", 2}}, "/num_hidden_groups: expected 1 or 12", "found 2"},
      {{{"model_type", "codegen"}, {"n_head", 2}}, "/num_attention_heads: expected a multiple of 4, found 2", ""},
      {{{"model_type", "exaone4"}, {"sliding_window", nullptr}}, "/layer_types: expected one entry for each layer", "found nothing"},
      {{{"model_type", "mpnet"}, {"relative_attention_num_buckets", 8}}, "/relative_attention_num_buckets: expected an integer >= 32", ""},
      {{{"model_type", "t5"}, {"feed_forward_proj", "gated"}}, "/feed_forward_proj: expected an activation", ""},
      {{{"model_type", "t5"}, {"relative_attention_num_buckets", 3}}, "/relative_attention_num_buckets: expected an integer >= 4, found 3", ""},
      {{{"model_type", "t5"}, {"relative_attention_max_distance", 8}}, "/relative_attention_max_distance: expected an integer >= 9, found 8", ""},
      {{{"model_type", "t5"}, {"is_decoder", true}, {"relative_attention_max_distance", 16}}, "/relative_attention_max_distance: expected an integer >= 17", ""},
  };
  for (const Wrong& wrong : cases) {
    CAPTURE(wrong.config.dump());
    const std::string error = find_error(wrong.config, wrong.options);
    CHECK_MESSAGE(error.starts_with("config.json: " + wrong.begins), error);
    CHECK_MESSAGE(contains(error, wrong.holds), error);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("keys with line breaks cannot break the comments of a file") {
  const Import result =
      import_json({{"model_type", "llama"}, {"a\nb", 1}, {"_name_or_path", "x\ny"}}, with_tokens(4));
  CHECK(result.ignored == std::vector<std::string>{"a\\nb"});
  CHECK(result.architecture.name == "x\\ny");
  for (const std::string& line : result.architecture.comments) CHECK(line.find('\n') == std::string::npos);
}
