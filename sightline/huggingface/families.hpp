// One function per model family: config -> layers and the rest of an architecture. Facts: the table of the import's
// documentation, per model type; every default is the library's.
#pragma once

#include "sightline/huggingface/draft.hpp"

namespace sightline::huggingface {

// Full attention (encoders.cpp)
void import_bert(Draft& draft);        ///< bert; causal with is_decoder
void import_roberta(Draft& draft);     ///< the pad id is no ordinary id, pad + 1 rows are lost
void import_xlm_roberta(Draft& draft); ///< and camembert: roberta with another default vocabulary
void import_electra(Draft& draft);
void import_distilbert(Draft& draft);
void import_t5(Draft& draft);          ///< the encoder

// Sparse attention (sparse_encoders.cpp)
void import_longformer(Draft& draft);  ///< windows of total width w, global tokens from --global
void import_big_bird(Draft& draft);    ///< blocks, or full attention on short inputs
void import_modernbert(Draft& draft);

// Images (vision.cpp)
void import_vit(Draft& draft);
void import_swin(Draft& draft);        ///< one stage
void import_detr(Draft& draft);        ///< the encoder

// Decoders with LayerNorm and a plain feedforward (gpt.cpp)
void import_gpt2(Draft& draft);
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

}  // namespace sightline::huggingface
