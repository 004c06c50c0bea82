#!/usr/bin/env python3
"""`sightline predict` against the independent model, over every kind of the format (cases.py).

    python3 tests/reference/check_models.py SIGHTLINE [--all] [--dtype float32|float64] [NAME...]

Each case is trained for two steps, its weights are then replaced by random ones (so that no bias, sink or gain stays at its
start), and predictions must agree to 1e-5 (float32) and 1e-11 (float64) of the largest. Without --all: every twelfth case.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import cases
import model

TOLERANCE = {"float32": 1e-5, "float64": 1e-11}
SAMPLES = 5


def make_data(tree, options, rng):
    n = tree["tokens"]
    data = {}
    if tree["input"]["embedding"] == "table":
        data["x"] = rng.integers(0, tree["input"]["vocabulary"], (SAMPLES, n))
        if tree["input"].get("bos"):
            data["x"][:, 0] = tree["input"]["vocabulary"]
    else:
        data["x"] = rng.normal(size=(SAMPLES, n, tree["input"]["dim"]))
    outputs = tree["output"]["dim"]
    shape = (SAMPLES,) if options.get("pooled") else (SAMPLES, n)
    data["y"] = rng.integers(0, outputs, shape) if options.get("classes") else rng.normal(size=(*shape, outputs))
    if options.get("lengths"):
        data["lengths"] = np.array([n, 1, n - 1, 2, n])
        for sample, length in enumerate(data["lengths"]):  # what nobody reads may be anything
            data["x"][sample, length:] = -9 if data["x"].dtype == np.int64 else np.nan
    return data


def randomise(tensors, keep, rng):
    result = {}
    for name, tensor in tensors.items():
        if tensor.dtype == np.int64 or any(name.endswith(end) for end in keep):
            result[name] = tensor
            continue
        fan = tensor.shape[-1] if tensor.ndim > 1 else 1
        values = rng.normal(size=tensor.shape) * (0.9 / np.sqrt(fan) if tensor.ndim > 1 else 0.5)
        if "norm" in name and name.endswith(".weight"):
            values = 1 + 0.5 * values
        result[name] = values.astype(tensor.dtype)
    return result


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(part) for part in command[1:4])}: exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")


def largest_difference(expected, found, lengths):
    if lengths is not None and expected.ndim == 3:
        for sample, length in enumerate(lengths):
            expected[sample, length:] = found[sample, length:] = 0
    return model.compare(expected, found) if np.isfinite(found).all() and expected.shape == found.shape else np.inf


def check(command, name, tree, options, dtype, folder, rng):
    """The differences, by what was compared."""
    folder = pathlib.Path(folder)
    (folder / "a.json").write_text(json.dumps(tree))
    data = make_data(tree, options, rng)
    np.savez(folder / "d.npz", **data)
    run([command, "train", folder / "a.json", "--data", folder / "d.npz", "--out", folder / "run", "--train.steps", 2, "--train.batch", SAMPLES,
         "--train.dtype", dtype, "--train.seed", 3, "--threads", 1])
    tensors, metadata = model.read_safetensors(folder / "run/last.safetensors")
    keep = (".E", ".F") if name.startswith("linformer-generic") else ()
    model.write_safetensors(folder / "w.safetensors", randomise(tensors, keep, rng), metadata)
    ours = model.Model(folder / "w.safetensors")
    lengths = data.get("lengths")
    expected = ours.predict(data["x"], lengths, tree["output"]["dim"])
    found = {}
    for exact in (False, True) if options.get("exact") else (False,):
        extra = ["--exact"] if exact else []
        if options.get("attention"):
            extra += ["--attention", 0]
        run([command, "predict", folder / "w.safetensors", "--data", folder / "d.npz", "--out", folder / "p.npz", "--threads", 1, *extra])
        with np.load(folder / "p.npz") as written:
            found["y exact" if exact else "y"] = largest_difference(expected.copy(), written["y"].astype(float), lengths)
            if options.get("attention"):
                size = written["attention"].shape[-1]
                found["attention"] = model.compare(ours.attention[0][..., :size, :size], written["attention"])
    if name.startswith("linformer-generic"):
        column = ours.weights["layers.0.mixer.F"].mean(1)
        found["generic projection"] = 0 if (column != 0).all() and len(set(column)) == len(column) else np.inf
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true", help="every case in both precisions")
    parser.add_argument("--dtype", choices=list(TOLERANCE))
    arguments = parser.parse_intermixed_args()  # names may follow --all
    chosen, wrong, worst = [], [], dict.fromkeys(TOLERANCE, 0.0)
    for position, (name, (tree, options)) in enumerate(cases.all_cases().items()):
        if arguments.names and name not in arguments.names:
            continue
        dtypes = [arguments.dtype] if arguments.dtype else list(TOLERANCE) if arguments.all else ["float64" if position % 2 else "float32"]
        if arguments.all or arguments.names or position % 15 == 0:
            chosen += [(name, tree, options, dtype) for dtype in dtypes]
    for name, tree, options, dtype in chosen:
        rng = np.random.default_rng(sum(map(ord, name)))
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = check(arguments.command, name, tree, options, dtype, folder, rng)
            except (RuntimeError, KeyError) as error:
                wrong.append(f"{name} {dtype}: {error}")
                print(wrong[-1], flush=True)
                continue
        for what, difference in found.items():
            worst[dtype] = max(worst[dtype], difference)
            if not difference <= TOLERANCE[dtype]:
                wrong.append(f"{name} {dtype}: {what} differs by {difference:.2e}")
                print(wrong[-1], flush=True)
    print(f"{len(chosen)} models, {len(wrong)} disagreements; largest difference " + ", ".join(f"{dtype} {value:.1e}" for dtype, value in worst.items()))
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
