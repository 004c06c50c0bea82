#!/usr/bin/env python3
"""Learned attention beside the true forces of an N-body system, on original and permuted sequences; the permuted task with the attention frozen.

    python3 experiments/gravity/run.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from networks import Bench, how, options, rank_correlation, show, table

BODIES, SOFT = 8, 0.1


def forces(x, mass):
    """Accelerations [N, n, 2] and the sizes of the single terms [N, i, j]."""
    difference = x[:, None, :, :] - x[:, :, None, :]  # j minus i
    term = mass[..., None, :, None] * difference / ((difference**2).sum(-1, keepdims=True) + SOFT) ** 1.5
    return term.sum(2), np.sqrt((term**2).sum(-1))


def network(dim_in, positions, width, heads):
    return {"tokens": BODIES, "dim": width, "input": {"embedding": "mlp", "dim": dim_in, **({"positions": "learned"} if positions else {})}, "output": {"head": "linear", "dim": 2},
            "mixer": {"heads": heads}, "feedforward": {"activation": "gelu", "width": 4 * width}, "layer": [{"repeat": 1}]}


def correlate(attention, size):
    """Mean rank correlation over readers and sequences, the own token left out; attention [N, heads, n, n], the heads averaged."""
    apart = ~np.eye(BODIES, dtype=bool)
    pick = lambda matrix: matrix[:, apart].reshape(len(matrix), BODIES, BODIES - 1)
    return float(rank_correlation(pick(attention.mean(1)), pick(size)).mean())


def heat(title, matrices):
    """Matrices side by side, each scaled to its largest entry."""
    cell, gap, top = 22, 40, 44
    size = BODIES * cell
    width = len(matrices) * (size + gap) + gap
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {size + top + 14}" font-family="sans-serif" font-size="11">', f'<rect width="{width}" height="{size + top + 14}" fill="white"/>',
           f'<text x="{gap}" y="16" font-size="13">{title}</text>']
    for k, (name, matrix) in enumerate(matrices):
        left = gap + k * (size + gap)
        out.append(f'<text x="{left}" y="{top - 8}">{name}</text>')
        for i in range(BODIES):
            for j in range(BODIES):
                shade = matrix[i][j] / matrix.max()
                colour = "#" + "".join(f"{round(255 - shade * (255 - c)):02x}" for c in (33, 102, 172))
                out.append(f'<rect x="{left + j * cell}" y="{top + i * cell}" width="{cell}" height="{cell}" fill="{colour}" stroke="#eee"/>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "gravity")
    bench = Bench(arguments.command, arguments.work)
    seeds, steps, samples, tests = (1, 40, 500, 200) if arguments.quick else (3, 2000, 8192, 500)
    width, heads = (16, 2) if arguments.quick else (32, 4)
    random = np.random.default_rng(0)
    draw = lambda count: random.uniform(-1, 1, (count, BODIES, 2))
    x, x_test = draw(samples), draw(tests)
    relative = lambda found, y: found["rmse"] / float(np.sqrt((y**2).mean()))

    # 1 Masses in the tokens, drawn anew: no position code, every order is as good as any other.
    mass, mass_test = random.uniform(0.2, 1, (samples, BODIES)), random.uniform(0.2, 1, (tests, BODIES))
    y, _ = forces(x, mass)
    y_test, size = forces(x_test, mass_test)
    scale = np.sqrt((y**2).mean())
    join = lambda places, masses: np.concatenate([places, masses[..., None]], -1)
    s = random.permutation(BODIES)
    free = bench.data("free", x=join(x, mass), y=y / scale, x_test=join(x_test, mass_test), y_test=y_test / scale)
    free_moved = bench.data("free-moved", x=join(x[:64], mass[:64]), y=y[:64] / scale, x_test=join(x_test, mass_test)[:, s], y_test=y_test[:, s] / scale)
    first = {"original": [], "permuted": [], "map": [], "map permuted": []}
    for seed in range(seeds):
        weights = bench.train(network(3, False, width, heads), free, steps, seed)
        first["original"].append(relative(bench.evaluate(weights, free), y_test / scale))
        first["permuted"].append(relative(bench.evaluate(weights, free_moved), y_test / scale))
        learned = bench.predict(weights, free, 0)["attention"]
        first["map"].append(correlate(learned, size))
        first["map permuted"].append(correlate(bench.predict(weights, free_moved, 0)["attention"], size[:, s][:, :, s]))
    pictures = [("true |force| of j on i", size[0] + 0 * np.eye(BODIES))] + [(f"attention, head {h + 1}", learned[0, h]) for h in range(heads)]

    # 2 Bodies with names: body t has mass 0.7^t and always stands at place t. Only the position code tells its mass.
    named = np.broadcast_to(0.7 ** np.arange(BODIES), (1, BODIES))
    y, _ = forces(x, np.repeat(named, samples, 0))
    y_test, size = forces(x_test, np.repeat(named, tests, 0))
    scale = np.sqrt((y**2).mean())
    original = bench.data("named", x=x, y=y / scale, x_test=x_test, y_test=y_test / scale)
    moved = bench.data("named-moved", x=x[:, s], y=y[:, s] / scale, x_test=x_test[:, s], y_test=y_test[:, s] / scale)
    second = {"original": [], "permuted, as it is": [], "permuted, first tokenwise layer retrained": [], "permuted, trained anew": []}
    maps = {name: [] for name in second}
    for seed in range(seeds):
        weights = bench.train(network(2, True, width, heads), original, steps, seed)
        retrained = bench.train(network(2, True, width, heads), moved, steps, seed, start=weights, only="input")
        anew = bench.train(network(2, True, width, heads), moved, steps, seed + 100)
        for name, which, data, sizes in (("original", weights, original, size), ("permuted, as it is", weights, moved, size[:, s][:, :, s]),
                                         ("permuted, first tokenwise layer retrained", retrained, moved, size[:, s][:, :, s]), ("permuted, trained anew", anew, moved, size[:, s][:, :, s])):
            second[name].append(relative(bench.evaluate(which, data), y_test / scale))
            maps[name].append(correlate(bench.predict(which, data, 0)["attention"], sizes))
    (arguments.out / "gravity.svg").write_text(heat("One sequence: the true forces and what the heads read", pictures))
    text = ["# Gravity: attention beside the true forces", "", how("gravity", arguments), "",
            f"{BODIES} bodies in [-1,1]^2, a_i = sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + {SOFT})^1.5; one layer of softmax attention, width {width}, {heads} heads, feedforward {4 * width}; {steps} steps of 64 on",
            f"{samples} sequences, {seeds} seed{'s' if seeds > 1 else ''}. Error: relative L2 on {tests} fresh sequences. Map: Spearman's rank correlation of the attention (mean of the heads) with the size of the force of j on i, over j != i,",
            "averaged over readers and sequences. Permuted: one fixed permutation of the places, of bodies and accelerations alike.", "",
            "## Masses in the tokens, no position code", ""]
    text += table(["", "error", "rank correlation of map and force"],
                  [["original", show(first["original"]), show(first["map"])], ["permuted", show(first["permuted"]), show(first["map permuted"])]])
    text += ["", "![forces and attention](gravity.svg)", "", "The network is equivariant (`certify`: S_8), so a permutation moves errors and maps and changes neither.", "",
             "## Masses by place, learned position codes", "", "Body t has mass 0.7^t and stands at place t; the tokens hold places in the plane only.", ""]
    text += table(["", "error", "rank correlation of map and force"], [[name, show(second[name]), show(maps[name])] for name in second])
    text += ["", f"Error {show(second['original'])} on the original sequences, {show(second['permuted, as it is'])} on permuted ones as it is, {show(second['permuted, first tokenwise layer retrained'])} once the first tokenwise layer "
             "has been retrained with the attention frozen.", "", "Retrained: everything but `input.*` (embedding and position codes) is frozen (`train --init-from W --only input`)."]
    (arguments.out / "gravity.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
