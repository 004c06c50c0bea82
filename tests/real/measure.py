#!/usr/bin/env python3
"""Measures what a real model depends on and writes a case of this folder. Needs torch and transformers (5.23 and 5.24 for the cases here).

The model has random weights, float64, eager attention, evaluation mode. Output i depends on input j when the gradient of a
random combination of output i with respect to the embedding of token j is not exactly zero. Zero-initialised biases and
tables are drawn at random too, so that nothing hides; several inputs, so that no zero is an accident.

usage: measure.py CONFIG.json TOKENS [--global 0,1] [--save CASE.json]"""
import argparse
import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
import transformers  # noqa: E402

INPUTS = 2
torch.set_num_threads(1)


def make_model(config):
    """The base model (of an encoder with a decoder the encoder, for nested files the text decoder) of a config given as a dict."""
    fields = dict(config)
    loaded = transformers.CONFIG_MAPPING[fields.pop("model_type")].from_dict(fields)
    loaded = getattr(loaded, "text_config", loaded)
    loaded._experts_implementation = "eager"  # the grouped kernels have no float64
    own = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel", "llama4_text": "Llama4TextModel", "gemma3_text": "Gemma3TextModel"}.get(loaded.model_type)
    loaded._attn_implementation = "eager"
    model = getattr(transformers, own)(loaded) if own else transformers.AutoModel.from_config(loaded, attn_implementation="eager")
    if loaded.is_encoder_decoder and not own:
        model = model.get_encoder()
    return randomise(model.to(torch.float64).eval())


def randomise(model, seed=0):
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            values = torch.randn(weight.shape, generator=draw, dtype=torch.float64)
            if weight.dim() == 1:
                gain = name.endswith("weight") and any(part in name.lower() for part in ("norm", "ln_"))
                weight.copy_(1 + 0.2 * values if gain else 0.3 * values)
            else:
                is_table = any(part in name for part in ("embed", "wte", "wpe"))
                weight.copy_(values if is_table else values / weight.shape[-1] ** 0.5)
    return model


def measure_reach(model, tokens, global_tokens=()):
    """Row i: the inputs that output i depends on. One copy of the sequence per output, so one backward pass finds them all."""
    width = model.get_input_embeddings().weight.shape[1]
    draw = torch.Generator().manual_seed(1)
    every = torch.arange(tokens)
    extra = {}
    if global_tokens:
        extra["global_attention_mask"] = torch.zeros(tokens, tokens, dtype=torch.long)
        extra["global_attention_mask"][:, list(global_tokens)] = 1
    depends = torch.zeros(tokens, tokens, dtype=torch.bool)
    for _ in range(INPUTS):
        x = torch.randn(1, tokens, width, generator=draw, dtype=torch.float64).repeat(tokens, 1, 1).requires_grad_(True)
        y = model(inputs_embeds=x.clone(), **extra).last_hidden_state
        mix = torch.randn(y.shape[-1], generator=draw, dtype=torch.float64)
        (gradient,) = torch.autograd.grad((y[every, every] @ mix).sum(), x)
        if not torch.isfinite(gradient).all():
            raise SystemExit("gradients are not finite: some row reads nothing")
        depends |= (gradient != 0).any(-1)
    return [[j for j in range(tokens) if depends[i, j]] for i in range(tokens)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("tokens", type=int)
    parser.add_argument("--global", dest="global_tokens", default="")
    parser.add_argument("--save", type=pathlib.Path)
    options = parser.parse_args()
    config = json.loads(options.config.read_text())
    global_tokens = [int(token) for token in options.global_tokens.split(",") if token]
    reach = measure_reach(make_model(config), options.tokens, global_tokens)
    case = {"name": (options.save or options.config).stem, "tokens": options.tokens, "config": config, "reach": reach,
            "extra": {"global": global_tokens} if global_tokens else {}}
    text = json.dumps(case, separators=(",", ":"))
    if options.save:
        options.save.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
