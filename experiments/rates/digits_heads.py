#!/usr/bin/env python3
"""Head size 1 to 32 on scikit-learn's digits (8 x 8 pixels as 16 patches), beside the singular values of the learned scores.

    python3 experiments/rates/digits_heads.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import json
import pathlib
import struct
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "experiments"), str(ROOT / "examples")]
import figure
import tasks
from networks import Bench, how, options, show, table

WIDTH, LAYERS = 32, 2


def load(quick):
    """Pictures and labels; the quick form draws ten smooth pictures with noise instead, so that it needs no scikit-learn."""
    if quick:
        random = np.random.default_rng(0)
        grid = np.linspace(0, 1, 8)
        waves = np.stack([np.cos(np.pi * a * grid)[:, None] * np.cos(np.pi * b * grid) for a in range(4) for b in range(4)])
        labels = np.arange(400) % 10
        return np.tensordot(random.normal(size=(10, 16)), waves, 1)[labels] + 0.3 * random.normal(size=(400, 8, 8)), labels
    tasks.need_sklearn()
    from sklearn.datasets import load_digits
    digits = load_digits()
    return digits.images / 16, digits.target


def cut_heads(weights, size):
    """The same weights with the rows of W_Q and W_K from `size` on set to 0, where their gradients vanish too: they stay 0, and the head has dimension `size` exactly.
    W_Q takes the factor that turns 1 / sqrt(32) into 1 / sqrt(size)."""
    raw = weights.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header, body = json.loads(raw[8:8 + length]), bytearray(raw[8 + length:])
    for layer in range(LAYERS):
        for name, factor in (("q", np.sqrt(WIDTH / size)), ("k", 1.0)):
            entry = header[f"layers.{layer}.mixer.{name}.weight"]
            begin, end = entry["data_offsets"]
            values = np.frombuffer(bytes(body[begin:end]), {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]).reshape(entry["shape"]) * factor
            values[size:] = 0
            body[begin:end] = values.astype({"F32": "<f4", "F64": "<f8"}[entry["dtype"]]).tobytes()
    out = weights.with_name(f"heads-{size}.safetensors")
    out.write_bytes(raw[:8 + length] + bytes(body))
    return out


def rank_of_head(weights):
    """Rows of W_Q that are not 0, layer by layer."""
    raw = weights.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    found = []
    for layer in range(LAYERS):
        entry = header[f"layers.{layer}.mixer.q.weight"]
        begin, end = entry["data_offsets"]
        values = np.frombuffer(raw[8 + length + begin:8 + length + end], {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]).reshape(entry["shape"])
        found.append(int((np.abs(values).max(1) > 0).sum()))
    return found


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "digits-heads")
    images, labels = load(arguments.quick)
    bench = Bench(arguments.command, arguments.work)
    seeds, steps, sizes = (1, 20, (2, 32)) if arguments.quick else (3, 800, (1, 2, 4, 8, 16, 32))
    x, labels = images.reshape(-1, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 16, 4), labels.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:len(x) * 7 // 10], order[len(x) * 7 // 10:]
    data = bench.data("digits", x=x[train], y=labels[train], x_test=x[test], y_test=labels[test])
    train_data = bench.data("digits-train", x=x[test], y=labels[test], x_test=x[train], y_test=labels[train])
    net = {"tokens": 16, "dim": WIDTH, "input": {"embedding": "linear", "dim": 4, "positions": "learned"}, "output": {"head": "linear", "dim": 10, "pool": "mean", "norm": {"kind": "layernorm"}},
           "mixer": {"heads": 1}, "feedforward": {"activation": "gelu", "width": 64}, "norm": {"kind": "layernorm"}, "layer": [{"repeat": LAYERS}]}
    rows, losses = [], {}
    starts = [bench.train(net, data, 1, seed, lr=1e-9) for seed in range(seeds)]
    for size in sizes:
        fitted, found = [], []
        for seed in range(seeds):
            weights = bench.train(net, data, steps, seed, start=cut_heads(starts[seed], size))
            assert rank_of_head(weights) == [size] * LAYERS, rank_of_head(weights)
            found.append(bench.evaluate(weights, data))
            fitted.append(bench.evaluate(weights, train_data))
        losses[size] = [one["loss"] for one in fitted]
        rows.append([size, show(losses[size]), show([one["loss"] for one in found]), show([100 * one["accuracy"] for one in found])])
    spectra = []
    for layer in range(LAYERS):
        attention = bench.predict(weights, data, layer)["attention"][:, 0].astype(np.float64)
        logits = np.log(np.maximum(attention, 1e-30))
        logits -= logits.mean(-1, keepdims=True)
        np.save(bench.work / "logits.npy", logits)
        answer = bench.json("rate", bench.work / "logits.npy")
        sigma = np.array(answer["sigma"])
        exponent = answer["exponent"]
        spectra.append([layer + 1, ", ".join(f"{s / sigma[0]:.2g}" for s in sigma[:6]), f"{exponent['value']:.2f} ({exponent['low']:.2f} to {exponent['high']:.2f})" if exponent else "none", answer["recommended"]])
    pictures = "scikit-learn's 1797 digits" if not arguments.quick else "400 drawn pictures (the quick form needs no scikit-learn)"
    text = ["# Head size on digits", "", how("digits-heads", arguments), "",
            f"{pictures}, 70 % to train, 30 % to test; 16 patches of 2 x 2 pixels, width {WIDTH}, {LAYERS} layers of softmax attention with ONE head, pre-layernorm, {steps} steps of 64, {seeds} seed{'s' if seeds > 1 else ''}, mean ± deviation. Only W_Q and W_K change:",
            "rows from m on are 0 from the start and stay 0 (their gradients vanish), so the head has dimension m and everything else is the same. Jiang and Li (5.1) vary the head size of ViT-B/16 on CIFAR-10 and",
            "find a training error of about m^-0.27.", ""]
    text += table(["m", "training loss", "test loss", "test accuracy, %"], rows)
    if not arguments.quick:
        points = [(m, float(np.mean(losses[m]))) for m in sizes]
        slope = -np.polyfit(*np.log(np.array(points)).T, 1)[0]
        best, worst = min(points, key=lambda p: p[1]), max(points, key=lambda p: p[1])
        deviation = max(float(np.std(losses[m], ddof=1)) for m in sizes)
        text += ["", f"Fitted exponent of the training loss over m = {sizes[0]}..{sizes[-1]}: {slope:.2f}; largest mean {worst[1]:.2g} at m = {worst[0]}, least {best[1]:.2g} at m = {best[0]}, deviations between seeds up to {deviation:.1g}.",
                 "The rows differ by a few deviations at most: one number per head is nearly enough for these digits, and they do not resolve an exponent.",
                 "", "![training loss](digits-heads.svg)"]
        (arguments.out / "digits-heads.svg").write_text(figure.draw("Digits: training loss against the head size", "head size m", "training loss", [("training loss", [(m, np.mean(losses[m]), min(losses[m]), max(losses[m])) for m in sizes], False)]))
    text += ["", "## The learned scores", "",
             f"The scores of the last training with m = {sizes[-1]}, as the paper measures them: the mean over the test pictures of the 16 x 16 matrix (here log attention, every row less its mean, which softmax does not see), its singular",
             "values by `sightline rate LOGITS.npy`; recommended: the head dimension that leaves 1 % of its norm.", ""]
    text += table(["layer", "sigma_k / sigma_1", "exponent (95 % interval)", "recommended m"], spectra)
    (arguments.out / "digits-heads.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
