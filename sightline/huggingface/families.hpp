// One function per model family: config -> layers and the rest of an architecture. Facts: the table of the import's
// documentation, per model type; every default is the library's.
#pragma once

#include "sightline/huggingface/draft.hpp"

namespace sightline::huggingface {

// Full attention (encoders.cpp)
void import_bert(Draft& draft);        ///< bert; causal with is_decoder
void import_roberta(Draft& draft);     ///< the pad id is no ordinary id, pad + 1 rows are lost
void import_ibert(Draft& draft);
void import_roformer(Draft& draft);     ///< rotary
void import_splinter(Draft& draft);
void import_xlm_roberta(Draft& draft); ///< and camembert: roberta with another default vocabulary
void import_electra(Draft& draft);
void import_distilbert(Draft& draft);
void import_t5(Draft& draft);          ///< the encoder
void import_mt5(Draft& draft);
void import_umt5(Draft& draft);        ///< each layer with buckets of its own
void import_albert(Draft& draft);      ///< all layers share weights
void import_bert_generation(Draft& draft);
void import_rembert(Draft& draft);
void import_megatron_bert(Draft& draft);         ///< pre-norm, as the next two
void import_roberta_prelayernorm(Draft& draft);
void import_xlm_roberta_xl(Draft& draft);
void import_mpnet(Draft& draft);       ///< learned positions and buckets of distances
void import_esm(Draft& draft);
void import_eurobert(Draft& draft);
void import_nomic_bert(Draft& draft);

// Encoders beside a decoder (translators.cpp)
void import_bart(Draft& draft);
void import_blenderbot(Draft& draft);
void import_m2m_100(Draft& draft);
void import_marian(Draft& draft);
void import_mbart(Draft& draft);
void import_pegasus(Draft& draft);
void import_plbart(Draft& draft);

// Sparse attention (sparse_encoders.cpp)
void import_longformer(Draft& draft);  ///< windows of total width w, global tokens from --global
void import_big_bird(Draft& draft);    ///< blocks, or full attention on short inputs
void import_modernbert(Draft& draft);
void import_modernbert_decoder(Draft& draft);

// Images (vision.cpp)
void import_vit(Draft& draft);
void import_vit_msn(Draft& draft);
void import_deit(Draft& draft);
void import_dinov2(Draft& draft);
void import_dinov2_with_registers(Draft& draft);
void import_clip_vision(Draft& draft);
void import_siglip_vision(Draft& draft);
void import_swin(Draft& draft);        ///< one stage
void import_detr(Draft& draft);        ///< the encoder

// Decoders with LayerNorm and a plain feedforward (gpt.cpp)
void import_gpt2(Draft& draft);
void import_gpt_bigcode(Draft& draft);
void import_openai_gpt(Draft& draft);
void import_biogpt(Draft& draft);
void import_xglm(Draft& draft);
void import_clip_text(Draft& draft);
void import_ctrl(Draft& draft);
void import_gpt_neox_japanese(Draft& draft);
void import_codegen(Draft& draft);
void import_gpt_neo(Draft& draft);
void import_gptj(Draft& draft);
void import_gpt_neox(Draft& draft);
void import_opt(Draft& draft);
void import_bloom(Draft& draft);
void import_mpt(Draft& draft);
void import_falcon(Draft& draft);
void import_phi(Draft& draft);
void import_starcoder2(Draft& draft);

// Decoders with gated feedforwards (llama.cpp)
void import_llama(Draft& draft);
void import_granite(Draft& draft);
void import_mistral(Draft& draft);
void import_mixtral(Draft& draft);
void import_phi3(Draft& draft);
void import_qwen2(Draft& draft);       ///< and qwen3
void import_qwen2_vl(Draft& draft);    ///< and 2.5
void import_qwen3_vl(Draft& draft);
void import_qwen3_moe(Draft& draft);
void import_gemma(Draft& draft);
void import_gemma2(Draft& draft);
void import_gemma3(Draft& draft);
void import_cohere(Draft& draft);
void import_cohere2(Draft& draft);
void import_smollm3(Draft& draft);
void import_gpt_oss(Draft& draft);
void import_llama4(Draft& draft);
void import_olmo(Draft& draft);
void import_olmo2(Draft& draft);
void import_olmo3(Draft& draft);

// What keeps that block and changes a norm, a window or the feedforward (llama_kin.cpp)
void import_arcee(Draft& draft);
void import_ernie4_5(Draft& draft);
void import_exaone(Draft& draft);      ///< Llama itself under other names, as the next two
void import_internlm3(Draft& draft);
void import_iquestcoder(Draft& draft);
void import_glm(Draft& draft);
void import_glm4(Draft& draft);
void import_helium(Draft& draft);
void import_hunyuan_dense(Draft& draft);
void import_seed_oss(Draft& draft);
void import_nemotron(Draft& draft);
void import_persimmon(Draft& draft);
void import_stablelm(Draft& draft);
void import_jais2(Draft& draft);
void import_nanochat(Draft& draft);
void import_ministral3(Draft& draft);
void import_ministral(Draft& draft);
void import_cwm(Draft& draft);
void import_vaultgemma(Draft& draft);
void import_exaone4(Draft& draft);
void import_olmoe(Draft& draft);
void import_granitemoe(Draft& draft);
void import_phimoe(Draft& draft);
void import_qwen2_moe(Draft& draft);
void import_deepseek_v3(Draft& draft);
void import_sarvam_mla(Draft& draft);  ///< DeepSeek V3 itself

// The same with mixtures of experts (mixtures.cpp)
void import_deepseek_v2(Draft& draft);
void import_dots1(Draft& draft);
void import_ernie4_5_moe(Draft& draft);
void import_exaone_moe(Draft& draft);
void import_flex_olmo(Draft& draft);
void import_glm4_moe(Draft& draft);
void import_granitemoeshared(Draft& draft);
void import_hunyuan_moe(Draft& draft);
void import_minimax_m2(Draft& draft);
void import_sarvam_moe(Draft& draft);  ///< GLM-4 MoE itself, with heads that turn as a whole

}  // namespace sightline::huggingface
