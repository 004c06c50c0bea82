// Facts that change the verdict though not the sight, per model type.
#include <doctest/doctest.h>

#include <algorithm>

#include "dense_reach.hpp"
#include "sightline/base/error.hpp"

using namespace sightline;
using namespace sightline::architecture;
using namespace sightline::huggingface;
using namespace sightline::huggingface::test;
using nlohmann::json;

namespace {

Architecture import_type(const std::string& type, json config = json::object(), std::int64_t tokens = 20) {
  config["model_type"] = type;
  add_required_keys(config);
  return import_json(config, with_tokens(tokens)).architecture;
}

struct Facts {
  std::string type;
  TargetClass target;
  bool bos;
  NormKind norm;
  NormPlace place;
  bool final_norm;
  bool embedding_norm;
  FeedforwardKind feedforward;
  Bias bias;
  Positions positions;
  RelativeScheme relative;
  Arrangement arrangement;
};

}  // namespace

TEST_CASE("defaults of every family of ids") {
  constexpr auto all = TargetClass::all;
  constexpr auto causal = TargetClass::causal;
  constexpr auto ln = NormKind::layernorm;
  constexpr auto rms = NormKind::rmsnorm;
  constexpr auto pre = NormPlace::pre;
  constexpr auto post = NormPlace::post;
  constexpr auto sandwich = NormPlace::sandwich;
  constexpr auto mlp = FeedforwardKind::mlp;
  constexpr auto glu = FeedforwardKind::glu;
  constexpr auto moe = FeedforwardKind::moe;
  constexpr auto learned = Positions::learned;
  constexpr auto none = Positions::none;
  constexpr auto absent = RelativeScheme::none;
  constexpr auto rotary = RelativeScheme::rotary;
  constexpr auto alibi = RelativeScheme::alibi;
  constexpr auto sequential = Arrangement::sequential;
  constexpr auto parallel = Arrangement::parallel;
  const std::vector<Facts> table = {
      {"bert", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"roberta", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"camembert", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"xlm-roberta", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"electra", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"distilbert", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"longformer", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"big_bird", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"modernbert", all, true, ln, pre, true, true, glu, Bias::no, none, rotary, sequential},
      {"t5", all, false, rms, pre, true, false, mlp, Bias::no, none, RelativeScheme::t5, sequential},
      {"gpt2", causal, false, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"gpt_neo", causal, false, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"gptj", causal, false, ln, pre, true, false, mlp, Bias::yes, none, rotary, parallel},
      {"gpt_neox", causal, false, ln, pre, true, false, mlp, Bias::yes, none, rotary, parallel},
      {"opt", causal, true, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"bloom", causal, false, ln, pre, true, true, mlp, Bias::yes, none, alibi, sequential},
      {"mpt", causal, false, ln, pre, true, false, mlp, Bias::no, none, alibi, sequential},
      {"falcon", causal, false, ln, pre, true, false, mlp, Bias::no, none, rotary, parallel},
      {"phi", causal, false, ln, pre, true, false, mlp, Bias::yes, none, rotary, parallel},
      {"starcoder2", causal, false, ln, pre, true, false, mlp, Bias::yes, none, rotary, sequential},
      {"llama", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"granite", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"mistral", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"mixtral", causal, true, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"phi3", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen2", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen3", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"gemma", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"gemma2", causal, true, rms, sandwich, true, false, glu, Bias::no, none, rotary, sequential},
      {"gemma3", causal, true, rms, sandwich, true, false, glu, Bias::no, none, rotary, sequential},
      {"gemma3_text", causal, true, rms, sandwich, true, false, glu, Bias::no, none, rotary, sequential},
      {"cohere", causal, true, ln, pre, true, false, glu, Bias::no, none, rotary, parallel},
      {"cohere2", causal, true, ln, pre, true, false, glu, Bias::no, none, rotary, parallel},
      {"smollm3", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"gpt_oss", causal, false, rms, pre, true, false, moe, Bias::yes, none, rotary, sequential},
      {"llama4", causal, true, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"llama4_text", causal, true, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"olmo", causal, false, ln, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"olmo2", causal, false, rms, NormPlace::after, true, false, glu, Bias::no, none, rotary, sequential},
      {"olmo3", causal, false, rms, NormPlace::after, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen3_moe", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"ernie", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"data2vec-text", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"bert-generation", all, false, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"rembert", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"albert", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"mpnet", all, true, ln, post, false, true, mlp, Bias::yes, learned, RelativeScheme::t5, sequential},
      {"nomic_bert", all, true, ln, post, false, true, glu, Bias::no, none, rotary, sequential},
      {"megatron-bert", all, true, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"roberta-prelayernorm", all, true, ln, pre, true, true, mlp, Bias::yes, learned, absent, sequential},
      {"xlm-roberta-xl", all, true, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"esm", all, true, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"eurobert", all, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"modernbert-decoder", causal, true, ln, pre, true, true, glu, Bias::no, none, rotary, sequential},
      {"mt5", all, false, rms, pre, true, false, glu, Bias::no, none, RelativeScheme::t5, sequential},
      {"umt5", all, false, rms, pre, true, false, glu, Bias::no, none, RelativeScheme::t5, sequential},
      {"gpt_bigcode", causal, false, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"openai-gpt", causal, false, ln, post, false, false, mlp, Bias::yes, learned, absent, sequential},
      {"biogpt", causal, true, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"xglm", causal, true, ln, pre, true, false, mlp, Bias::yes, Positions::sinusoidal, absent, sequential},
      {"clip_text_model", causal, true, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"codegen", causal, false, ln, pre, true, false, mlp, Bias::yes, none, rotary, parallel},
      {"nemotron", causal, false, ln, pre, true, false, mlp, Bias::no, none, rotary, sequential},
      {"persimmon", causal, false, ln, pre, true, false, mlp, Bias::yes, none, rotary, sequential},
      {"stablelm", causal, false, ln, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"arcee", causal, true, rms, pre, true, false, mlp, Bias::no, none, rotary, sequential},
      {"cwm", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"ernie4_5", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"exaone4", causal, false, rms, NormPlace::after, true, false, glu, Bias::no, none, rotary, sequential},
      {"glm", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"glm4", causal, false, rms, sandwich, true, false, glu, Bias::no, none, rotary, sequential},
      {"helium", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"hunyuan_v1_dense", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"ministral", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"seed_oss", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"vaultgemma", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"granitemoe", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"olmoe", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"phimoe", causal, false, ln, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"qwen2_moe", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"deepseek_v3", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},  // of its first layer
      {"bart", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"plbart", all, false, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"mbart", all, false, ln, pre, true, true, mlp, Bias::yes, learned, absent, sequential},
      {"blenderbot", all, false, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"marian", all, false, ln, post, false, false, mlp, Bias::yes, Positions::sinusoidal, absent, sequential},
      {"pegasus", all, false, ln, pre, true, false, mlp, Bias::yes, Positions::sinusoidal, absent, sequential},
      {"m2m_100", all, true, ln, pre, true, false, mlp, Bias::yes, Positions::sinusoidal, absent, sequential},
      {"roformer", all, true, ln, post, false, true, mlp, Bias::yes, none, rotary, sequential},
      {"ibert", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"splinter", all, true, ln, post, false, true, mlp, Bias::yes, learned, absent, sequential},
      {"gpt-sw3", causal, false, ln, pre, true, false, mlp, Bias::yes, learned, absent, sequential},
      {"ctrl", causal, false, ln, pre, true, false, mlp, Bias::yes, Positions::sinusoidal, absent, sequential},
      {"gpt_neox_japanese", causal, false, ln, pre, true, false, mlp, Bias::no, none, rotary, sequential},
      {"jais2", causal, false, ln, pre, true, false, mlp, Bias::yes, none, rotary, sequential},
      {"nanochat", causal, true, rms, pre, true, true, mlp, Bias::no, none, rotary, sequential},
      {"ministral3", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen2_vl", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen2_vl_text", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen2_5_vl", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen2_5_vl_text", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen3_vl", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"qwen3_vl_text", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"deepseek_v2", causal, true, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"dots1", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"flex_olmo", causal, false, rms, NormPlace::after, true, false, moe, Bias::no, none, rotary, sequential},
      {"granitemoeshared", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"hunyuan_v1_moe", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"minimax_m2", causal, false, rms, pre, true, false, moe, Bias::no, none, rotary, sequential},
      {"ernie4_5_moe", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},  // of their first layers
      {"exaone_moe", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"glm4_moe", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"sarvam_moe", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"sarvam_mla", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"exaone", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"internlm3", causal, true, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
      {"iquestcoder", causal, false, rms, pre, true, false, glu, Bias::no, none, rotary, sequential},
  };
  CHECK(table.size() + 9 == known_model_types().size());  // and vit, vit_msn, deit, dinov2 with and without registers, clip's, siglip's, swin, detr
  for (const Facts& facts : table) {
    CAPTURE(facts.type);
    const Architecture a = import_type(facts.type);
    CHECK(a.tokens == 20);
    CHECK(a.depth == Depth::listed);
    CHECK(a.target.target_class == facts.target);
    CHECK(a.target.symmetry_is_layout);
    CHECK(a.input.embedding == Embedding::table);
    CHECK(a.input.bos == facts.bos);
    CHECK(a.input.positions == facts.positions);
    CHECK(a.input.norm.has_value() == facts.embedding_norm);
    CHECK(a.output.head == Head::linear);
    CHECK_FALSE(a.output.dim.has_value());
    CHECK(a.output.norm.has_value() == facts.final_norm);
    if (a.output.norm) CHECK(a.output.norm->kind == facts.norm);
    CHECK(a.block.arrangement == facts.arrangement);
    CHECK(a.block.tied == (facts.type == "albert"));
    const LayerSpec& layer = a.layers.front();
    CHECK(layer.norm.kind == facts.norm);
    CHECK(layer.norm.place == facts.place);
    CHECK(layer.feedforward.kind == facts.feedforward);
    CHECK(layer.feedforward.bias == facts.bias);
    CHECK_FALSE(layer.feedforward.width.has_value());
    CHECK(layer.mixer.relative.scheme == facts.relative);
    CHECK(layer.mixer.sink == (facts.type == "gpt_oss"));
    CHECK(layer.mixer.kernel.name == "softmax");
  }
}

TEST_CASE("null for a key that says nothing about sight is no error") {
  for (const char* key : {"qk_layernorm", "use_qk_norm", "attention_bias", "partial_rotary_factor", "rotary_pct", "sliding_window", "layer_types"}) {
    CAPTURE(key);
    CHECK(import_type("llama", {{key, nullptr}}).mixer.relative.scheme == RelativeScheme::rotary);
  }
  // Each type has one of the two keys for the part that turns.
  CHECK(import_type("phi", {{"partial_rotary_factor", nullptr}, {"rotary_pct", 0}}).mixer.relative.scheme == RelativeScheme::rotary);
  CHECK(import_type("gpt_neox", {{"partial_rotary_factor", 0}, {"rotary_pct", 0.5}}).mixer.relative.scheme == RelativeScheme::rotary);
  CHECK(import_type("gpt_neox", {{"partial_rotary_factor", 0.5}, {"rotary_pct", 0}}).mixer.relative.scheme == RelativeScheme::none);
}

TEST_CASE("defaults of one type are not those of its sibling") {
  CHECK(import_json({{"model_type", "roberta"}}, with_tokens(8)).architecture.input.vocabulary == 50264);
  CHECK(import_json({{"model_type", "xlm-roberta"}}, with_tokens(8)).architecture.input.vocabulary == 30521);
  const Architecture olmo3 = import_type("olmo3");
  CHECK(olmo3.layers[0].mixer.pattern.kind == layout::PatternKind::window);
  CHECK(olmo3.layers[0].repeat == 3);
  CHECK(olmo3.layers[1].mixer.pattern.kind == layout::PatternKind::full);
  CHECK_FALSE(import_type("olmo").layers[0].norm.affine);
  CHECK_FALSE(import_type("olmo").output.norm->affine);
}

TEST_CASE("qwen3_moe: experts in the layers that neither the step nor mlp_only_layers leaves out") {
  const auto import_moe = [](nlohmann::json config) {
    config["model_type"] = "qwen3_moe";
    config["num_hidden_layers"] = 4;
    return import_json(config, with_tokens(8)).architecture;
  };
  const Architecture a = import_moe({{"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}, {"sliding_window", 3}});
  REQUIRE(a.layers.size() == 3);
  CHECK(a.layers[0].feedforward.kind == FeedforwardKind::glu);
  CHECK(a.layers[1].feedforward.kind == FeedforwardKind::moe);
  CHECK(a.layers[1].feedforward.experts == 128);
  CHECK(a.layers[2].repeat == 2);
  CHECK(a.layers[0].mixer.pattern.kind == layout::PatternKind::full);
  CHECK(import_moe({{"use_sliding_window", true}, {"sliding_window", 3}}).layers[0].mixer.pattern.kind == layout::PatternKind::window);
}

TEST_CASE("known model types are sorted and each can be imported") {
  const auto types = known_model_types();
  CHECK(std::is_sorted(types.begin(), types.end()));
}

TEST_CASE("null sizes and intervals are absent ones") {
  CHECK(import_json({{"model_type", "bloom"}, {"n_embed", nullptr}, {"hidden_size", 32}}, with_tokens(8)).architecture.dim == 32);
  CHECK(import_json({{"model_type", "falcon"}, {"n_embed", nullptr}}, with_tokens(8)).architecture.dim == 4544);
  const nlohmann::json types = {"sliding_attention", "full_attention"};
  for (const char* type : {"gemma3_text", "cohere2"}) {
    const nlohmann::json config = {{"model_type", type}, {"num_hidden_layers", 2}, {"sliding_window", 4}, {"layer_types", types}};
    nlohmann::json with_null = config;
    with_null["sliding_window_pattern"] = nullptr;
    CHECK(import_json(with_null, with_tokens(9)).architecture.layers == import_json(config, with_tokens(9)).architecture.layers);
  }
  nlohmann::json every_second = {{"model_type", "gemma3_text"}, {"num_hidden_layers", 2}, {"sliding_window", 4}, {"sliding_window_pattern", nullptr}, {"_sliding_window_pattern", 2}};
  CHECK(import_json(every_second, with_tokens(9)).architecture.layers.size() == 2);
  CHECK(import_json({{"model_type", "qwen2"}, {"num_hidden_layers", 2}, {"max_window_layers", nullptr}}, with_tokens(9)).architecture.layers.size() == 1);
  CHECK(import_json({{"model_type", "modernbert"}, {"num_hidden_layers", 2}, {"global_attn_every_n_layers", nullptr}}, with_tokens(9)).architecture.layers.size() == 2);
  CHECK(import_json({{"model_type", "smollm3"}, {"num_hidden_layers", 4}, {"no_rope_layer_interval", nullptr}}, with_tokens(9)).architecture.layers.size() == 2);
}

TEST_CASE("position tables: padding rows are lost, the default length is the table") {
  CHECK(import_json({{"model_type", "roberta"}, {"max_position_embeddings", 514}}).architecture.tokens == 512);
  CHECK(import_json({{"model_type", "roberta"}, {"max_position_embeddings", 514}}).architecture.input.vocabulary == 50264);
  CHECK(import_json({{"model_type", "longformer"}, {"max_position_embeddings", 4098}}).architecture.tokens == 4096);
  CHECK(import_json({{"model_type", "gpt2"}, {"n_positions", 64}}).architecture.tokens == 64);
  CHECK(import_json({{"model_type", "opt"}}).architecture.tokens == 2048);
  CHECK(import_json({{"model_type", "bert"}}).architecture.input.vocabulary == 30522);
  CHECK(import_json({{"model_type", "mpt"}, {"max_seq_len", 99}}).architecture.tokens == 99);
}

TEST_CASE("--bos overrides the habit") {
  ImportOptions options = with_tokens(8);
  options.bos = true;
  CHECK(import_json({{"model_type", "gpt2"}}, options).architecture.input.bos);
  options.bos = false;
  CHECK_FALSE(import_json({{"model_type", "llama"}}, options).architecture.input.bos);
}

TEST_CASE("switches of single types") {
  CHECK(import_type("opt", {{"do_layer_norm_before", false}}).norm.place == NormPlace::post);
  CHECK_FALSE(import_type("opt", {{"do_layer_norm_before", false}}).output.norm.has_value());
  CHECK_FALSE(import_type("opt", {{"_remove_final_layer_norm", true}}).output.norm.has_value());
  CHECK(import_type("opt", {{"word_embed_proj_dim", 512}}).output.dim == 512);
  CHECK_FALSE(import_type("opt", {{"word_embed_proj_dim", 768}}).output.dim.has_value());
  CHECK(import_type("opt", {{"enable_bias", false}}).feedforward.bias == Bias::no);
  CHECK(import_type("gpt_neox", {{"use_parallel_residual", false}}).block.arrangement == Arrangement::sequential);
  CHECK(import_type("falcon", {{"parallel_attn", false}}).block.arrangement == Arrangement::sequential);
  CHECK(import_type("falcon", {{"parallel_attn", nullptr}}).block.arrangement == Arrangement::sequential);
  CHECK(import_type("falcon", {{"parallel_attn", false}, {"new_decoder_architecture", true}}).block.arrangement == Arrangement::parallel);
  CHECK(import_type("falcon", {{"alibi", true}}).mixer.relative.scheme == RelativeScheme::alibi);
  CHECK(import_type("falcon", {{"bias", true}}).feedforward.bias == Bias::yes);
  CHECK(import_type("bloom", {{"apply_residual_connection_post_layernorm", true}}).norm.place == NormPlace::post);
  CHECK_FALSE(import_type("bloom", {{"apply_residual_connection_post_layernorm", true}}).output.norm.has_value());
  CHECK(import_type("mpt", {{"attn_config", {{"alibi", false}}}}).mixer.relative.scheme == RelativeScheme::alibi);
  CHECK(import_type("distilbert", {{"sinusoidal_pos_embds", true}}).input.positions == Positions::sinusoidal);
  CHECK(import_type("llama", {{"mlp_bias", true}}).feedforward.bias == Bias::yes);
  CHECK(import_type("phi", {{"rope_parameters", {{"partial_rotary_factor", 0}}}}).mixer.relative.scheme == RelativeScheme::none);
  CHECK(import_type("bert", {{"is_decoder", true}}).target.target_class == TargetClass::causal);
  CHECK(import_type("bert", {{"is_decoder", true}}).mixer.pattern.causal);
  CHECK(import_type("gemma3_text", {{"use_bidirectional_attention", true}}).target.target_class == TargetClass::all);
  CHECK(import_type("gemma", {{"hidden_act", "gelu"}}).feedforward.activation.name == "gelu");
  CHECK(import_type("t5", {{"feed_forward_proj", "gated-gelu"}}).feedforward.kind == FeedforwardKind::glu);
  CHECK(import_type("t5", {{"feed_forward_proj", "gated-silu"}}).feedforward.activation.name == "silu");
  CHECK(import_type("t5", {{"relative_attention_num_buckets", 8}}).mixer.relative.buckets == 8);
  CHECK_FALSE(import_type("t5", {{"is_decoder", true}}).mixer.relative.bidirectional);
  CHECK(import_type("t5", {{"n_positions", nullptr}}).tokens == 20);
  CHECK(import_type("t5", {{"dense_act_fn", "silu"}, {"is_gated_act", true}}).feedforward.kind == FeedforwardKind::glu);
  CHECK(import_type("t5", {{"dense_act_fn", "silu"}, {"is_gated_act", true}}).feedforward.activation.name == "silu");
  CHECK(import_type("big_bird", {{"is_decoder", true}, {"block_size", 2}, {"num_random_blocks", 1}}).target.target_class == TargetClass::all);
  CHECK(import_type("bert").norm.eps == doctest::Approx(1e-12));
  CHECK(import_type("llama", {{"rms_norm_eps", 1e-5}}).norm.eps == doctest::Approx(1e-5));
}

TEST_CASE("llama4: experts where listed or every step, dense elsewhere") {
  const auto kinds = [](const json& config) {
    std::vector<bool> mixture;
    for (const auto& layer : write_out(import_type("llama4_text", config)))
      mixture.push_back(layer.feedforward.kind == FeedforwardKind::moe);
    return mixture;
  };
  CHECK(kinds({{"num_hidden_layers", 4}}) == std::vector<bool>{true, true, true, true});
  CHECK(kinds({{"num_hidden_layers", 4}, {"interleave_moe_layer_step", 2}}) == std::vector<bool>{false, true, false, true});
  CHECK(kinds({{"num_hidden_layers", 4}, {"moe_layers", {0, 9}}}) == std::vector<bool>{true, false, false, false});
}

TEST_CASE("what is assumed is said, once per line") {
  const auto says = [](const Import& result, const std::string& part) {
    return std::any_of(result.assumptions.begin(), result.assumptions.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  const Import llama = import_json({{"model_type", "llama"}, {"foo", 1}, {"torch_dtype", "float16"}}, with_tokens(4096));
  CHECK(says(llama, "bos: token 0 is a special id"));
  CHECK(says(llama, "the number of layers is not in the file"));
  CHECK(says(llama, "length: 4096 tokens"));
  CHECK(llama.ignored == std::vector<std::string>{"foo"});
  CHECK(llama.architecture.assumptions == llama.assumptions);
  CHECK(says(import_json({{"model_type", "roberta"}}, with_tokens(8)), "vocab_size - 1"));
  CHECK(says(import_json({{"model_type", "llama4_text"}}, with_tokens(8192)), "query scale"));
  CHECK_FALSE(says(import_json({{"model_type", "llama4_text"}}, with_tokens(8191)), "query scale"));
  CHECK_FALSE(says(import_json({{"model_type", "llama4_text"}, {"attn_temperature_tuning", 0}}, with_tokens(8192)), "query scale"));
  CHECK(says(import_json({{"model_type", "big_bird"}}, with_tokens(512)), "full, because 512 tokens"));
  const json uneven = {{"model_type", "longformer"}, {"num_hidden_layers", 2}, {"attention_window", {6, 8}}};
  CHECK(says(import_json(uneven, with_tokens(16)), "6 does not divide 16"));
  CHECK_FALSE(says(import_json(uneven, with_tokens(24)), "does not divide"));
}

TEST_CASE("facts of single types that the table of defaults does not hold") {
  CHECK(import_type("albert").block.tied);
  CHECK_FALSE(import_type("albert", {{"num_hidden_layers", 3}, {"num_hidden_groups", 3}}).block.tied);
  CHECK_FALSE(import_type("albert", {{"num_hidden_layers", 1}}).block.tied);
  CHECK(import_type("stablelm", {{"use_parallel_residual", true}}).block.arrangement == Arrangement::parallel);
  // Positions of ESM: rotary ones keep the pad id among the ordinary ids.
  const Architecture rotary = import_type("esm", {{"position_embedding_type", "rotary"}, {"emb_layer_norm_before", true}});
  CHECK(rotary.input.positions == Positions::none);
  CHECK(rotary.mixer.relative.scheme == RelativeScheme::rotary);
  CHECK(*rotary.input.vocabulary == 33);
  CHECK(rotary.input.norm.has_value());
  CHECK(*import_type("esm").input.vocabulary == 32);
  // A window takes the positions from EXAONE's full layers.
  const Architecture exaone = import_type("exaone4", {{"num_hidden_layers", 4}, {"sliding_window", 4}});
  CHECK(exaone.layers.back().mixer.relative.scheme == RelativeScheme::none);
  const Architecture without = import_type(
      "exaone4", {{"num_hidden_layers", 2}, {"sliding_window", nullptr}, {"layer_types", {"full_attention", "full_attention"}}});
  CHECK(without.mixer.relative.scheme == RelativeScheme::rotary);
  // Mixtures start behind the dense layers.
  const Architecture deepseek = import_type("deepseek_v3", {{"num_hidden_layers", 4}, {"first_k_dense_replace", 1}});
  CHECK(deepseek.layers.front().repeat == 1);
  CHECK(deepseek.layers.back().feedforward.kind == FeedforwardKind::moe);
  CHECK(deepseek.layers.back().feedforward.experts == 256);
  CHECK(import_type("mpnet", {{"relative_attention_num_buckets", 64}}).mixer.relative.buckets == 32);
}

TEST_CASE("rotary parts: of the types that have one, and what is left when it holds no coordinate") {
  const auto scheme = [](const std::string& type, const json& config) { return import_type(type, config).layers.front().mixer.relative.scheme; };
  // Llama turns the whole head whatever the file says.
  CHECK(scheme("llama", {{"partial_rotary_factor", 0}}) == RelativeScheme::rotary);
  CHECK(scheme("llama", {{"partial_rotary_factor", 2}}) == RelativeScheme::rotary);
  CHECK_THROWS_AS(import_type("llama", {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}, {"partial_rotary_factor", 0}}}}), InputError);
  // A tenth of a head of 8 is no coordinate, an eighth is one.
  const json small = {{"hidden_size", 32}, {"num_attention_heads", 4}};
  for (const char* type : {"phi", "phi3", "gpt_neox", "stablelm", "persimmon", "nemotron", "glm4_moe"}) {
    CAPTURE(type);
    json config = small;
    config["rope_parameters"] = {{"partial_rotary_factor", 0.1}};
    CHECK(scheme(type, config) == RelativeScheme::none);
    config["rope_parameters"] = {{"partial_rotary_factor", 0.125}};
    CHECK(scheme(type, config) == RelativeScheme::rotary);
    config["rope_parameters"] = {{"partial_rotary_factor", 1.5}};
    CHECK_THROWS_AS(import_type(type, config), InputError);
  }
  // Heads of GLM are 128 wide unless the file says otherwise.
  json glm = small;
  glm["rope_parameters"] = {{"partial_rotary_factor", 0.1}};
  CHECK(scheme("glm", glm) == RelativeScheme::rotary);
  glm["head_dim"] = 8;
  CHECK(scheme("glm", glm) == RelativeScheme::none);
  CHECK(scheme("minimax_m2", {{"rotary_dim", 64}}) == RelativeScheme::rotary);
  CHECK(scheme("minimax_m2", {{"rotary_dim", 0}}) == RelativeScheme::none);
  CHECK_THROWS_AS(import_type("minimax_m2", {{"rotary_dim", 129}}), InputError);
  CHECK(scheme("gpt_neox_japanese", {{"rotary_pct", 0}}) == RelativeScheme::none);
}

TEST_CASE("the types added last: what the table of defaults does not hold") {
  const auto kinds = [](const std::string& type, const json& config) {
    std::string line;
    for (const LayerSpec& layer : write_out(import_type(type, config)))
      line += layer.feedforward.kind == FeedforwardKind::moe ? 'm' : layer.mixer.pattern.kind == layout::PatternKind::window ? 'w' : 'd';
    return line;
  };
  CHECK(kinds("deepseek_v2", {{"num_hidden_layers", 3}, {"first_k_dense_replace", 1}}) == "dmm");
  CHECK(kinds("glm4_moe", {{"num_hidden_layers", 3}}) == "dmm");
  CHECK(kinds("sarvam_moe", {{"num_hidden_layers", 3}}) == "dmm");
  CHECK(kinds("sarvam_mla", {{"num_hidden_layers", 3}}) == "dmm");
  // Older names count, and before the library's own.
  CHECK(kinds("exaone", {{"num_layers", 3}, {"num_hidden_layers", 5}}) == "ddd");
  CHECK(import_type("exaone", {{"layer_norm_epsilon", 0.25}, {"rms_norm_eps", 0.5}}).layers[0].norm.eps == 0.25);
  CHECK(import_type("exaone", {{"activation_function", "gelu"}}).layers[0].feedforward.activation.name == "gelu");
  for (const char* type : {"sarvam_moe", "sarvam_mla"}) CHECK(import_type(type, {{"num_experts", 16}, {"n_routed_experts", 32}}).layers.back().feedforward.experts == 16);
  CHECK(import_type("internlm3", {{"bias", true}, {"qkv_bias", true}}).layers[0].feedforward.bias == Bias::yes);
  CHECK_THROWS_AS(import_type("internlm3", {{"bias", true}}), InputError);
  CHECK_THROWS_AS(import_type("iquestcoder", {{"use_sliding_window", true}}), InputError);
  CHECK_THROWS_AS(import_type("iquestcoder", {{"clip_qkv", 1.0}}), InputError);
  CHECK(kinds("ernie4_5_moe", {{"num_hidden_layers", 6}, {"moe_layer_interval", 2}, {"moe_layer_end_index", 4}}) == "dmdmdd");
  CHECK(kinds("exaone_moe", {{"num_hidden_layers", 4}, {"mlp_layer_types", {"dense", "sparse", "dense", "dense"}}}) == "wmwd");
  CHECK(kinds("dots1", {{"num_hidden_layers", 3}, {"first_k_dense_replace", 3}, {"max_window_layers", 2}, {"sliding_window", 4}}) == "ddw");
  const Architecture exaone = import_type("exaone_moe", {{"num_hidden_layers", 4}});
  CHECK(exaone.layers.back().mixer.relative.scheme == RelativeScheme::none);
  const auto experts = write_out(import_type("hunyuan_v1_moe", {{"num_hidden_layers", 2}, {"num_experts", 4}, {"moe_topk", {1, 3}}}));
  CHECK(experts[0].feedforward.top_k == 1);
  CHECK(experts[1].feedforward.top_k == 3);
  CHECK_FALSE(import_type("nanochat").norm.affine);
  CHECK_FALSE(import_type("nanochat").input.norm->affine);
  CHECK(import_type("ctrl").feedforward.activation.name == "relu");
  CHECK(import_type("m2m_100").feedforward.activation.name == "relu");
  CHECK(*import_type("m2m_100").input.vocabulary == 128111);
  CHECK(import_type("splinter", {{"is_decoder", true}}).target.target_class == TargetClass::all);  // it does not look at the key
  CHECK(import_type("ibert", {{"is_decoder", true}}).target.target_class == TargetClass::all);
  CHECK(import_type("roformer", {{"is_decoder", true}}).target.target_class == TargetClass::causal);
  CHECK_THROWS_AS(import_type("roformer", {{"rotary_value", true}}), InputError);
  CHECK_THROWS_AS(import_type("roformer", {{"num_attention_heads", 256}}), InputError);  // heads of width 3
  CHECK_THROWS_AS(import_type("ibert", {{"quant_mode", true}}), InputError);
  CHECK_THROWS_AS(import_json({{"model_type", "deepseek_v2"}}, with_tokens(8)), InputError);
  CHECK_THROWS_AS(import_json({{"model_type", "hunyuan_v1_moe"}}, with_tokens(8)), InputError);
  CHECK_THROWS_AS(import_type("ministral3", {{"rope_parameters", {{"rope_theta", 10000}}}}), InputError);
  // Files of Qwen2-VL hold the decoder's keys beside the others, or in text_config.
  CHECK(import_type("qwen2_vl", {{"hidden_size", 1024}, {"num_attention_heads", 8}}).dim == 1024);
  CHECK(import_type("qwen2_vl", {{"text_config", {{"hidden_size", 1024}, {"num_attention_heads", 8}}}, {"hidden_size", 5}}).dim == 1024);
  CHECK(import_type("qwen3_vl", {{"hidden_size", 1024}}).dim == 4096);
  CHECK_THROWS_AS(import_type("qwen2_vl_text", {{"hidden_size", 1024}}), InputError);  // 8 angles for 64
  CHECK(import_type("qwen2_5_vl_text", {{"use_sliding_window", true}, {"max_window_layers", 2}, {"sliding_window", 4}}).layers.size() == 2);
}
