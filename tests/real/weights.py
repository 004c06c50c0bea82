#!/usr/bin/env python3
"""Puts the weights of small real models into Sightline checkpoints of the imported architectures: every parameter of the model
must be used, every tensor of the checkpoint filled, and `sightline predict` must give the model's last hidden states.

Needs torch, transformers (5.23) and a build with training. Biases of q, k, v and o are zero, other things that an architecture
file cannot express are switched off in the configs below (docs/huggingface.md lists them).

usage: weights.py SIGHTLINE [NAME ...]      exit code 1 when one differs"""
import dataclasses
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import measure
import numpy
import torch

DIM, HEADS, HIDDEN, IDS, TOKENS = 16, 2, 24, 20, 12
HEAD = DIM // HEADS


@dataclasses.dataclass
class Names:
    """Where a family keeps its weights; `{}` is the layer. Lists of norms: before (or after) attention, then feedforward."""
    layer: str
    attention: tuple  # q, k, v, o; or one fused matrix, o
    norms: tuple  # norm1, norm2; sandwich: norm1, norm1_after, norm2, norm2_after
    feedforward: dict  # ours -> theirs
    table: str
    final: str | None = "norm"
    input_norm: str | None = None
    positions: str | None = None
    rotary: str = "none"  # "halves": coordinates p and p + width/2 turn together; "pairs": as in Sightline
    fused: str = "blocks"  # "blocks": all of q, then k, then v; "heads": head by head
    keys: int = HEADS  # key heads of a fused matrix
    gain: float = 0  # added to the weights of norms
    query: float = 1  # scale that the library leaves out
    embedding: float = 1
    tolerance: float = 1e-5  # the library has float32 inside; where it has none 1e-14 is reached
    skipped: tuple = ()  # parameters that the hidden states do not depend on, or that are taken out


MLP = {"up": "mlp.fc1", "down": "mlp.fc2"}
GLU = {"gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
NEOX_MLP = {"up": "mlp.dense_h_to_4h", "down": "mlp.dense_4h_to_h"}
QKVO = tuple(f"self_attn.{k}_proj" for k in "qkvo")
LLAMA = Names("layers.{}.", QKVO, ("input_layernorm", "post_attention_layernorm"), GLU, "embed_tokens", rotary="halves")
BERT = Names("encoder.layer.{}.", ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
             ("attention.output.LayerNorm", "output.LayerNorm"), {"up": "intermediate.dense", "down": "output.dense"},
             "embeddings.word_embeddings", None, "embeddings.LayerNorm", "embeddings.position_embeddings", skipped=("pooler", "_global"))
OPT = Names("decoder.layers.{}.", QKVO[:3] + ("self_attn.out_proj",), ("self_attn_layer_norm", "final_layer_norm"),
            {"up": "fc1", "down": "fc2"}, "decoder.embed_tokens", "decoder.final_layer_norm", positions="decoder.embed_positions")
FALCON = Names("h.{}.", ("self_attention.query_key_value", "self_attention.dense"), ("input_layernorm", "input_layernorm"), NEOX_MLP,
               "word_embeddings", "ln_f", rotary="halves", keys=1)
SANDWICH = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
WITHOUT_QK_NORM = ("q_norm", "k_norm")
change = dataclasses.replace
BART = Names("layers.{}.", QKVO[:3] + ("self_attn.out_proj",), ("self_attn_layer_norm", "final_layer_norm"), {"up": "fc1", "down": "fc2"},
             "embed_tokens", None, "layernorm_embedding", "embed_positions")

SIZES = {"num_hidden_layers": 2, "hidden_size": DIM, "num_attention_heads": HEADS, "vocab_size": IDS, "pad_token_id": 0,
         "intermediate_size": HIDDEN, "max_position_embeddings": 64}
ONE_KEY_HEAD = {**SIZES, "num_key_value_heads": 1}
OWN_HEAD = {**SIZES, "num_key_value_heads": 2, "head_dim": HEAD}
GPT = {"n_layer": 2, "n_embd": DIM, "n_head": HEADS, "vocab_size": IDS, "n_positions": 32, "n_inner": HIDDEN, "activation_function": "gelu"}
TRANSLATOR = {"d_model": DIM, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "vocab_size": IDS,
              "encoder_ffn_dim": HIDDEN, "decoder_ffn_dim": HIDDEN, "max_position_embeddings": 32, "pad_token_id": 1, "scale_embedding": False}
FALCON_SIZES = {"model_type": "falcon", "num_hidden_layers": 2, "hidden_size": DIM, "num_attention_heads": HEADS, "vocab_size": IDS,
                "ffn_hidden_size": HIDDEN}
T5 = {"model_type": "t5", "num_layers": 2, "d_model": DIM, "num_heads": HEADS, "d_kv": HEAD, "d_ff": HIDDEN, "vocab_size": IDS,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20}
T5_NAMES = Names("encoder.block.{}.layer.", tuple(f"0.SelfAttention.{k}" for k in "qkvo"), ("0.layer_norm", "1.layer_norm"),
                 {"up": "1.DenseReluDense.wi", "down": "1.DenseReluDense.wo"}, "shared", "encoder.final_layer_norm", query=HEAD**0.5)

CASES = {
    "llama": ({"model_type": "llama", **ONE_KEY_HEAD, "mlp_bias": True}, LLAMA),
    "mistral": ({"model_type": "mistral", **ONE_KEY_HEAD, "sliding_window": 4}, LLAMA),
    "qwen2": ({"model_type": "qwen2", **ONE_KEY_HEAD, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}, LLAMA),
    "qwen3": ({"model_type": "qwen3", **OWN_HEAD}, change(LLAMA, skipped=WITHOUT_QK_NORM)),
    "smollm3": ({"model_type": "smollm3", **ONE_KEY_HEAD, "rope_theta": 1e4, "no_rope_layers": [1, 0], "use_sliding_window": True,
                 "sliding_window": 4}, LLAMA),
    "olmo2": ({"model_type": "olmo2", **SIZES}, change(LLAMA, norms=SANDWICH[1::2], skipped=WITHOUT_QK_NORM)),
    "gemma": ({"model_type": "gemma", **OWN_HEAD, "hidden_act": "silu"}, change(LLAMA, gain=1, embedding=DIM**0.5)),
    "gemma2": ({"model_type": "gemma2", **OWN_HEAD, "hidden_activation": "silu", "sliding_window": 3, "query_pre_attn_scalar": HEAD,
                "attn_logit_softcapping": None}, change(LLAMA, norms=SANDWICH, gain=1, embedding=DIM**0.5)),
    "gemma3": ({"model_type": "gemma3_text", **OWN_HEAD, "hidden_activation": "silu", "sliding_window": 3, "query_pre_attn_scalar": HEAD,
                "sliding_window_pattern": 2, "rope_theta": 1e4},
               change(LLAMA, norms=SANDWICH, gain=1, embedding=DIM**0.5, skipped=WITHOUT_QK_NORM)),
    "cohere2": ({"model_type": "cohere2", **SIZES, "sliding_window": 3, "sliding_window_pattern": 2},
                change(LLAMA, norms=("input_layernorm",) * 2, rotary="pairs")),
    "llama4": ({"model_type": "llama4_text", **OWN_HEAD, "intermediate_size_mlp": HIDDEN, "rope_theta": 1e4, "moe_layers": [],
                "no_rope_layers": [1, 0], "attention_chunk_size": 4, "use_qk_norm": False, "attn_temperature_tuning": False},
               change(LLAMA, rotary="pairs", feedforward={k: v.replace("mlp", "feed_forward") for k, v in GLU.items()})),
    "phi3": ({"model_type": "phi3", **SIZES, "sliding_window": 5},
             change(LLAMA, attention=("self_attn.qkv_proj", "self_attn.o_proj"), feedforward={"gate+up": "mlp.gate_up_proj", "down": "mlp.down_proj"})),
    "phi": ({"model_type": "phi", **SIZES, "partial_rotary_factor": 1.0, "hidden_act": "gelu"},
            change(LLAMA, attention=QKVO[:3] + ("self_attn.dense",), norms=("input_layernorm",) * 2, feedforward=MLP, final="final_layernorm")),
    "starcoder2": ({"model_type": "starcoder2", **ONE_KEY_HEAD, "sliding_window": 4, "hidden_act": "gelu"},
                   change(LLAMA, feedforward={"up": "mlp.c_fc", "down": "mlp.c_proj"})),
    "gpt2": ({"model_type": "gpt2", **GPT}, Names("h.{}.", ("attn.c_attn", "attn.c_proj"), ("ln_1", "ln_2"),
                                                  {"up": "mlp.c_fc", "down": "mlp.c_proj"}, "wte", "ln_f", positions="wpe")),
    "gptj": ({"model_type": "gptj", **GPT, "rotary_dim": HEAD},
             Names("h.{}.", tuple(f"attn.{k}_proj" for k in ("q", "k", "v", "out")), ("ln_1", "ln_1"), {"up": "mlp.fc_in", "down": "mlp.fc_out"},
                   "wte", "ln_f", rotary="pairs")),
    "gpt_neo": ({"model_type": "gpt_neo", "num_layers": 2, "hidden_size": DIM, "num_heads": HEADS, "vocab_size": IDS, "window_size": 4,
                 "max_position_embeddings": 32, "intermediate_size": HIDDEN, "attention_types": [[["global", "local"], 1]],
                 "activation_function": "gelu"},
                Names("h.{}.", tuple(f"attn.attention.{k}_proj" for k in ("q", "k", "v", "out")), ("ln_1", "ln_2"),
                      {"up": "mlp.c_fc", "down": "mlp.c_proj"}, "wte", "ln_f", positions="wpe", query=HEAD**0.5)),
    "gpt_neox": ({"model_type": "gpt_neox", **SIZES, "rotary_pct": 1.0},
                 change(LLAMA, attention=("attention.query_key_value", "attention.dense"), feedforward=NEOX_MLP, table="embed_in",
                        final="final_layer_norm", fused="heads")),
    "opt": ({"model_type": "opt", **SIZES, "ffn_dim": HIDDEN}, OPT),
    "opt-post": ({"model_type": "opt", **SIZES, "ffn_dim": HIDDEN, "do_layer_norm_before": False}, change(OPT, final=None)),
    "mpt": ({"model_type": "mpt", "n_layers": 2, "d_model": DIM, "n_heads": HEADS, "vocab_size": IDS, "max_seq_len": 32},
            Names("blocks.{}.", ("attn.Wqkv", "attn.out_proj"), ("norm_1", "norm_2"), {"up": "ffn.up_proj", "down": "ffn.down_proj"}, "wte", "norm_f")),
    "bloom": ({"model_type": "bloom", "n_layer": 2, "hidden_size": DIM, "n_head": HEADS, "vocab_size": IDS},
              change(FALCON, norms=("input_layernorm", "post_attention_layernorm"), input_norm="word_embeddings_layernorm", rotary="none",
                     fused="heads", tolerance=1e-3)),  # its GELU is the tanh form
    "falcon": (FALCON_SIZES, FALCON),
    "falcon-sequential": ({**FALCON_SIZES, "parallel_attn": False, "multi_query": False, "bias": True},
                          change(FALCON, norms=("input_layernorm", "post_attention_layernorm"), fused="heads")),
    "falcon-new": ({**FALCON_SIZES, "new_decoder_architecture": True, "num_kv_heads": 2}, change(FALCON, norms=("ln_attn", "ln_mlp"), fused="heads")),
    "bert": ({"model_type": "bert", **SIZES}, BERT),
    "bert-decoder": ({"model_type": "bert", **SIZES, "is_decoder": True}, BERT),
    "electra": ({"model_type": "electra", **SIZES, "embedding_size": DIM}, BERT),
    "roberta": ({"model_type": "roberta", **SIZES, "pad_token_id": 1}, BERT),
    "longformer": ({"model_type": "longformer", **SIZES, "pad_token_id": 1, "attention_window": [4, 6]}, BERT),
    "big_bird": ({"model_type": "big_bird", **SIZES, "hidden_act": "gelu", "block_size": 1, "num_random_blocks": 1}, BERT),
    "distilbert": ({"model_type": "distilbert", "n_layers": 2, "dim": DIM, "n_heads": HEADS, "hidden_dim": HIDDEN, "vocab_size": IDS,
                    "max_position_embeddings": 32, "pad_token_id": 0},
                   Names("transformer.layer.{}.", tuple(f"attention.{k}_lin" for k in ("q", "k", "v", "out")), ("sa_layer_norm", "output_layer_norm"),
                         {"up": "ffn.lin1", "down": "ffn.lin2"}, "embeddings.word_embeddings", None, "embeddings.LayerNorm",
                         "embeddings.position_embeddings")),
    "bart": ({"model_type": "bart", **TRANSLATOR}, BART),
    "plbart": ({"model_type": "plbart", **TRANSLATOR}, BART),
    "mbart": ({"model_type": "mbart", **TRANSLATOR}, change(BART, final="layer_norm")),
    "blenderbot": ({"model_type": "blenderbot", **TRANSLATOR}, change(BART, final="layer_norm", input_norm=None)),
    "marian": ({"model_type": "marian", **TRANSLATOR, "decoder_start_token_id": 0}, change(BART, input_norm=None)),
    "pegasus": ({"model_type": "pegasus", **TRANSLATOR}, change(BART, final="layer_norm", input_norm=None)),
    "roformer": ({"model_type": "roformer", **SIZES}, change(BERT, positions=None, rotary="pairs", skipped=("pooler", "embed_positions"))),
    "ibert": ({"model_type": "ibert", **SIZES, "pad_token_id": 1}, BERT),
    "splinter": ({"model_type": "splinter", **SIZES}, BERT),
    "gpt_neox_japanese": ({"model_type": "gpt_neox_japanese", **SIZES, "intermediate_multiple_size": 4},
                          change(LLAMA, attention=("attention.query_key_value", "attention.dense"), feedforward=NEOX_MLP, table="embed_in",
                                 final="final_layer_norm", fused="heads", skipped=("dense_bias",))),
    "jais2": ({"model_type": "jais2", **ONE_KEY_HEAD}, change(LLAMA, feedforward={k: GLU[k] for k in ("up", "down")})),
    "nanochat": ({"model_type": "nanochat", **ONE_KEY_HEAD}, change(LLAMA, norms=(), feedforward=MLP, final=None, rotary="back", skipped=WITHOUT_QK_NORM)),
    "ministral3": ({"model_type": "ministral3", **OWN_HEAD, "num_key_value_heads": 1, "sliding_window": 4,
                    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 64}}, LLAMA),
    "qwen2_vl": ({"model_type": "qwen2_vl", **ONE_KEY_HEAD, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1,
                  "rope_scaling": {"type": "mrope", "mrope_section": [2, 1, 1], "rope_theta": 1e4}}, LLAMA),
    "qwen3_vl": ({"model_type": "qwen3_vl_text", **OWN_HEAD, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}},
                 change(LLAMA, skipped=WITHOUT_QK_NORM)),
    "t5": (T5, T5_NAMES),
    "t5-gated": ({**T5, "feed_forward_proj": "gated-silu"},
                 change(T5_NAMES, feedforward={"gate": "1.DenseReluDense.wi_0", "up": "1.DenseReluDense.wi_1", "down": "1.DenseReluDense.wo"})),
}


class Translation:
    """Copies parameters of `model` under our names and remembers which were used."""

    def __init__(self, model, config, names):
        self.theirs = dict(model.named_parameters())
        self.model, self.config, self.names = model, config, names
        self.used, self.ours = set(), {}
        self.is_transposed = config["model_type"] == "gpt2"  # its linear maps have a row per input

    def take(self, name):
        self.used.add(name)
        weight = self.theirs[name].detach().clone()
        return weight.T if self.is_transposed and weight.dim() == 2 and name.startswith("h.") else weight

    def copy(self, ours, theirs):
        for leaf in ("weight", "bias"):
            if f"{theirs}.{leaf}" in self.theirs:
                self.ours[f"{ours}.{leaf}"] = self.take(f"{theirs}.{leaf}")

    def copy_norm(self, ours, theirs):
        self.copy(ours, theirs)
        self.ours[ours + ".weight"] += self.names.gain
        if ours + ".bias" not in self.ours and self.config["model_type"] in ("mpt", "cohere2"):  # LayerNorm without bias
            self.ours[ours + ".bias"] = torch.zeros(DIM)

    def split(self, matrix):
        """q, k, v of a fused matrix."""
        if self.names.fused == "heads":
            return matrix.view(HEADS, 3, HEAD, DIM).transpose(0, 1).reshape(3, DIM, DIM).unbind()
        keys = self.names.keys * HEAD
        return matrix.split([DIM, keys, keys])

    def copy_attention(self, layer, rotary):
        *inner, outer = [self.names.layer.format(layer) + name for name in self.names.attention]
        for name in (*inner, outer):
            if f"{name}.bias" in self.theirs:
                self.used.add(f"{name}.bias")
                self.theirs[f"{name}.bias"].data.zero_()
        parts = [self.take(f"{name}.weight") for name in inner]
        q, k, v = parts if len(parts) == 3 else self.split(parts[0])
        k, v = [part.view(-1, HEAD, DIM).repeat_interleave(DIM // len(part), 0).reshape(DIM, DIM) for part in (k, v)]
        if rotary and self.names.rotary == "back":  # the other way round: the second half comes first
            q, k = [part.view(HEADS, 2, HEAD // 2, DIM).flip(1).reshape(DIM, DIM) for part in (q, k)]
        if rotary and self.names.rotary in ("halves", "back"):
            q, k = [part.view(HEADS, 2, HEAD // 2, DIM).transpose(1, 2).reshape(DIM, DIM) for part in (q, k)]
        for ours, weight in zip("qkvo", (q * self.names.query, k, v, self.take(f"{outer}.weight"))):
            self.ours[f"layers.{layer}.mixer.{ours}.weight"] = weight

    def copy_all(self):
        names, last = self.names, 2
        rotary = self.config.get("no_rope_layers", [1] * last)
        for layer in range(last):
            theirs = names.layer.format(layer)
            self.copy_attention(layer, rotary[layer])
            for ours, norm in zip(("norm1", "norm2") if len(names.norms) == 2 else ("norm1", "norm1_after", "norm2", "norm2_after"), names.norms):
                self.copy_norm(f"layers.{layer}.{ours}", theirs + norm)
            for ours, name in names.feedforward.items():
                if ours == "gate+up":
                    for half, weight in zip(("gate", "up"), self.take(f"{theirs}{name}.weight").chunk(2)):
                        self.ours[f"layers.{layer}.feedforward.{half}.weight"] = weight
                else:
                    self.copy(f"layers.{layer}.feedforward.{ours}", theirs + name)
            self.copy_bias(layer)
        if names.final:
            self.copy_norm("output.norm", names.final)
        if names.input_norm:
            self.copy_norm("input.norm", names.input_norm)
        self.ours["input.embedding.weight"] = self.take(names.table + ".weight") * names.embedding
        if names.positions:
            first = {"opt": 2, "roberta": 2, "ibert": 2, "longformer": 2, "bart": 2, "mbart": 2, "plbart": 2}.get(self.config["model_type"], 0)
            self.ours["input.positions"] = self.take(names.positions + ".weight")[first : first + TOKENS]
        if "embeddings.token_type_embeddings.weight" in self.theirs:
            types = self.take("embeddings.token_type_embeddings.weight")[0]  # of the first kind, all tokens
            self.ours["input.positions" if names.positions else "input.embedding.weight"] += types
        self.ours["output.head.weight"], self.ours["output.head.bias"] = torch.eye(DIM), torch.zeros(DIM)
        self.used |= {name for name in self.theirs if any(part in name for part in names.skipped)}

    def copy_bias(self, layer):
        if self.config["model_type"] == "t5":  # one table for all layers; column 0 is for registers
            table = self.take("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
            self.ours[f"layers.{layer}.mixer.bias"] = torch.cat([torch.zeros(HEADS, 1), table.T], 1)
        if self.config["model_type"] == "big_bird":  # block 0 stands there once more for each random block
            self.ours[f"layers.{layer}.mixer.bias"] = torch.tensor([[0, math.log(1 + self.config["num_random_blocks"])]] * HEADS)


def read_header(path):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + size])


def write_tensors(path, metadata, tensors):
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        numbers = tensor.to(torch.float64).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


def compare(command, folder, config, names):
    """Largest difference of the hidden states; raises when parameters are left over on either side."""
    torch.set_default_dtype(torch.float64)
    (folder / "config.json").write_text(json.dumps(config))
    architecture, data = folder / "architecture.toml", folder / "data.npz"
    call(command, "import", folder / "config.json", "--tokens", TOKENS, "--save", architecture)
    width = HIDDEN if config["model_type"] not in ("mpt", "bloom", "gpt_neox_japanese") else 4 * DIM
    text = architecture.read_text()
    if "[feedforward]\n" not in text:
        text = text.replace("[norm]\n", "[feedforward]\n\n[norm]\n", 1)
    text = text.replace("[feedforward]\n", f"[feedforward]\nwidth = {width}\n", 1)
    text = text.replace('positions = "sinusoidal"', 'positions = "learned"')  # the library's table of sines has another order
    architecture.write_text(text + '\n[train]\ndtype = "float64"\nsteps = 1\n')
    ids = torch.randint(3, IDS - 1, (4, TOKENS), generator=torch.Generator().manual_seed(3))
    numpy.savez(data, x=ids.numpy(), y=numpy.zeros((4, TOKENS, DIM)))
    call(command, "train", architecture, "--data", data, "--out", folder / "run")
    header = read_header(folder / "run" / "best.safetensors")
    metadata = header.pop("__metadata__")

    model = measure.make_model(config)
    for name, weight in model.named_parameters():
        if name.endswith("dense_bias"):  # of an attention's output, like those that Translation sets to 0
            weight.data.zero_()
    for module in model.modules():
        if hasattr(module, "create_weight") and not names.positions:  # angles, which are no weights
            module.weight.data.copy_(module.create_weight())
        for name in names.skipped:
            if hasattr(module, name) and name in WITHOUT_QK_NORM:
                setattr(module, name, torch.nn.Identity())
    translation = Translation(model, config, names)
    translation.copy_all()
    ours = translation.ours
    rows = header["input.embedding.weight"]["shape"][0]  # ids, and one for a BOS
    ours["input.embedding.weight"] = torch.cat([ours["input.embedding.weight"], torch.zeros(rows, DIM)])[:rows]
    shapes = {name: list(tensor.shape) for name, tensor in ours.items()}
    wanted = {name: entry["shape"] for name, entry in header.items()}
    if shapes != wanted or set(translation.theirs) != translation.used:
        raise RuntimeError(f"parameters differ: {sorted(set(shapes) ^ set(wanted))} "
                           f"{[name for name in shapes if name in wanted and shapes[name] != wanted[name]]} "
                           f"{sorted(set(translation.theirs) - translation.used)}")
    write_tensors(folder / "real.safetensors", metadata, {name: ours[name] for name in wanted})
    call(command, "predict", folder / "real.safetensors", "--data", data, "--out", folder / "out.npz")
    with torch.no_grad():
        real = model(input_ids=ids).last_hidden_state.numpy()
    return numpy.abs(numpy.load(folder / "out.npz")["y"] - real).max()


def main():
    failed = 0
    for name in sys.argv[2:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                difference = compare(sys.argv[1], pathlib.Path(folder), *CASES[name])
                is_same = difference < CASES[name][1].tolerance
                print(f"{name:20} {difference:.1e} {'' if is_same else 'DIFFERENT'}", flush=True)
            except RuntimeError as error:
                is_same = False
                print(f"{name:20} {error}", flush=True)
            failed += not is_same
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
