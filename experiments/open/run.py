#!/usr/bin/env python3
"""The open questions, on one task: heads, norms, depth, experts of equal active width, rank of projections.

    python3 experiments/open/run.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figure
from networks import Bench, how, options, show, table

TOKENS, DIM, WIDTH = 16, 4, 32


def look_ups(random, count):
    """Four soft look-ups, each by another coordinate: y_k = sum_j softmax_j(6 x_k(i) x_k(j)) x_(k+1)(j), k mod 4; then each output is looked up once more by the next."""
    x = random.uniform(-1, 1, (count, TOKENS, DIM))

    def once(keys, values):
        parts = []
        for k in range(DIM):
            score = 6 * keys[:, :, None, k] * keys[:, None, :, k]
            weight = np.exp(score - score.max(-1, keepdims=True))
            parts.append((weight / weight.sum(-1, keepdims=True) @ values[:, :, (k + 1) % DIM, None])[..., 0])
        return np.stack(parts, -1)

    first = once(x, x)
    return x, once(x, 2 * first)


def network(layers=2, heads=4, norm="none", feedforward=None, mixer=None):
    return {"tokens": TOKENS, "dim": WIDTH, "input": {"embedding": "mlp", "dim": DIM}, "output": {"head": "linear", "dim": DIM, **({"norm": {"kind": norm}} if norm != "none" else {})},
            "mixer": mixer or {"heads": heads}, "feedforward": feedforward or {"activation": "gelu", "width": 64}, "norm": {"kind": norm}, "layer": [{"repeat": layers}]}


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "open-questions")
    bench = Bench(arguments.command, arguments.work)
    quick = arguments.quick
    seeds, steps, samples, tests = (1, 20, 200, 100) if quick else (3, 800, 8192, 500)
    random = np.random.default_rng(0)
    x, y = look_ups(random, samples)
    x_test, y_test = look_ups(random, tests)
    scale = float(y.std())
    data = bench.data("task", x=x, y=y / scale, x_test=x_test, y_test=y_test / scale)
    size = float(np.sqrt(((y_test / scale) ** 2).mean()))
    questions = [
        ("Heads (heads times head width = 32)", [(str(h), network(heads=h)) for h in (1, 2, 4, 8, 16)]),
        ("Norm (in front of every branch and at the end)", [(n, network(norm=n)) for n in ("none", "layernorm", "rmsnorm")]),
        ("Depth", [(str(l), network(layers=l)) for l in (1, 2, 3, 4)]),
        ("Experts of width 64, one active per token", [(str(e), network(feedforward={"kind": "moe", "experts": e, "top_k": 1, "activation": "gelu", "width": 64}) if e > 1 else network()) for e in (1, 2, 4, 8)]),
        ("Rank of Linformer's projections (16 tokens)", [(str(r), network(mixer={"kind": "linformer", "rank": r, "heads": 4})) for r in (1, 2, 4, 8, 16)]),
    ]
    known, curves = {}, []
    text = ["# Open questions: heads, norms, depth, experts, projections", "", how("open-questions", arguments), "",
            f"One task: {TOKENS} tokens in [-1,1]^4, four soft look-ups, each by another coordinate (y_k = sum_j softmax_j(6 x_k(i) x_k(j)) x_(k+1)(j)), and their results looked up once more. Base: width {WIDTH}, 2 layers,",
            f"4 heads, feedforward 64, no norm, no positions; {steps} steps of 64 on {samples} sequences, {seeds} seed{'s' if seeds > 1 else ''}; relative L2 error on {tests} fresh sequences, mean ± deviation.",
            "Figures of one task and one training: they show what this task needs, and prove nothing beyond it."]
    for title, cases in questions:
        rows, points = [], []
        for name, net in cases[1:2] if quick else cases:
            key = repr(net)
            if key not in known:
                runs = [bench.train(net, data, steps, seed, lr=5e-3) for seed in range(seeds)]
                answer = bench.certify(net)
                errors = [bench.evaluate(run, data)["rmse"] / size for run in runs]
                known[key] = errors, [show(errors), answer["verdict"], (answer["expressed"] or answer["layout"])["name"] or "trivial"]
            rows.append([name] + known[key][1])
            if name.isdigit():
                points.append((int(name), float(np.mean(known[key][0])), min(known[key][0]), max(known[key][0])))
        if points:
            curves.append((title.split(" ")[0] if "Rank" not in title else "Linformer's rank", points, False))
        text += ["", f"## {title}", ""] + table(["", "relative L2 error", "certify", "symmetry"], rows)
    (arguments.out / "open-questions.svg").write_text(figure.draw("Relative L2 error against heads, depth, experts, rank", "how many", "relative L2 error", curves))
    text += ["", "![errors](open-questions.svg)"]
    if not quick:
        text += ["", "Four look-ups by four coordinates want several heads: one head has one pattern for all of them. One layer misses the second round of look-ups; beyond the two that the task has, depth gains a factor of two and more spread. Norms cost here: the",
                 "size of a token is part of what is looked up. Experts of the same active width change nothing beyond the deviations. Linformer's projections are tied to places and the target is not: no rank helps in these steps, the full one (16) no more than one,",
                 "although all of them are certified; what a network can express and what a training finds are two questions."]
    (arguments.out / "open-questions.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
