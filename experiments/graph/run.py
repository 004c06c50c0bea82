#!/usr/bin/env python3
"""Graph tasks of Jiang and Li (B.1) by one layer of attention, and tasks from purely graph-like to purely temporal.

    python3 experiments/graph/run.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figure
from networks import Bench, how, options, show, table


def network(tokens, dim, outputs, positions, mixer=None, width=32):
    return {"tokens": tokens, "dim": width, "input": {"embedding": "mlp", "dim": dim, **({"positions": "learned"} if positions else {})}, "output": {"head": "linear", "dim": outputs},
            "mixer": mixer or {"heads": 1}, "feedforward": {"activation": "gelu", "width": 4 * width}, "layer": [{"repeat": 1}]}


def nearest(random, count):
    """x(t) = (u_t, v_t), six points each; y = the v that is nearest to u_t."""
    u, v = random.uniform(-1, 1, (2, count, 6, 2))
    closest = ((u[:, :, None] - v[:, None]) ** 2).sum(-1).argmin(-1)
    return np.concatenate([u, v], -1), np.take_along_axis(v, closest[..., None], 1)


def centre(random, count):
    """Tokens (place, mass, marker): a marker stands before each segment of at least two bodies, ten tokens in all; there the norm of the segment's centre
    of gravity is asked, elsewhere the token's own norm."""
    x, y = np.zeros((count, 10, 4)), np.zeros((count, 10, 1))
    cuts = [(10,), (3, 7), (4, 6), (5, 5), (6, 4), (7, 3), (3, 3, 4), (3, 4, 3), (4, 3, 3)]  # lengths with the marker
    for s in range(count):
        at = 0
        for length in cuts[random.integers(len(cuts))]:
            place, mass = random.uniform(-1, 1, (length - 1, 2)), random.uniform(0.2, 1, length - 1)
            x[s, at, 3] = 1
            x[s, at + 1:at + length, :2], x[s, at + 1:at + length, 2] = place, mass
            y[s, at, 0] = np.linalg.norm((mass[:, None] * place).sum(0) / mass.sum())
            y[s, at + 1:at + length, 0] = np.linalg.norm(place, axis=1)
            at += length
    return x, y


def selection(random, count):
    """Eight tokens (v in R^2, three places as sums of unit vectors): the mean of the three v that are named."""
    v = random.uniform(-1, 1, (count, 8, 2))
    chosen = np.argsort(random.uniform(size=(count, 8, 8)), -1)[..., :3]
    named = np.zeros((count, 8, 8))
    np.put_along_axis(named, chosen, 1, -1)
    return np.concatenate([v, named], -1), named @ v / 3


def blend(random, count, share):
    """(1 - share) of the nearest other token's place, share of a sum over the past: sum_s exp(-s/2) x(t-s), eight tokens in R^2. Both parts have variance 1."""
    x = random.uniform(-1, 1, (count, 8, 2))
    distance = ((x[:, :, None] - x[:, None]) ** 2).sum(-1) + 99 * np.eye(8)
    graph = np.take_along_axis(x, distance.argmin(-1)[..., None], 1)
    matrix = np.array([[np.exp(-(t - s) / 2) if s <= t else 0 for s in range(8)] for t in range(8)])
    past = matrix @ x
    return x, (1 - share) * graph / np.sqrt(1 / 3) + share * past / np.sqrt((matrix**2).sum(1).mean() / 3)


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "graph")
    bench = Bench(arguments.command, arguments.work)
    quick = arguments.quick
    seeds, steps, samples, tests = (1, 30, 300, 200) if quick else (3, 2000, 8192, 1000)

    def data(name, make, seed):
        random = np.random.default_rng(seed)
        x, y = make(random, samples)
        x_test, y_test = make(random, tests)
        return bench.data(name, x=x, y=y, x_test=x_test, y_test=y_test), float(np.sqrt((y_test**2).mean())), x.shape, y.shape

    def errors(net, path, scale):
        return [bench.evaluate(bench.train(net, path, steps, seed, lr=1e-2), path)["rmse"] / scale for seed in range(seeds)]

    rows = []
    for name, make, heads in (("nearest point: 6 points u, 6 points v", nearest, 1), ("centre of gravity of the segment", centre, 1), ("mean of three that are named", selection, 1))[:1 if quick else 3]:
        path, scale, x, y = data(name.split(" ")[0], make, 0)
        rows.append([name] + [show(errors(network(x[1], x[2], y[2], positions), path, scale)) for positions in (False, True)])
    text = ["# Graph tasks by one layer of attention", "", how("graph", arguments), "",
            "The three tasks of Jiang and Li (B.1; no figures are printed there). One layer of softmax attention, one head, width 32, feedforward 128, residuals; "
            f"{steps} steps of 64 on {samples} sequences, {seeds} seed{'s' if seeds > 1 else ''}; relative L2 error on {tests} fresh sequences.", ""]
    text += table(["task", "without positions", "learned positions"], rows)
    text += ["", "Without positions the layer is equivariant: the nearest point needs no more; a named place cannot be found. Of the centre of gravity only the markers, one token in four or so, ask for their segment: the others hide it in the mean.", "",
             "## From graph-like to temporal", "", "y = (1 - c) (the nearest other token's place) + c (sum over the past, exp(-s/2) x(t - s)), both scaled to variance 1; 8 tokens in the plane.", ""]
    shares = (0.0, 1.0) if quick else (0.0, 0.25, 0.5, 0.75, 1.0)
    kinds = [("attention, no positions", False, {"heads": 1}), ("attention, learned positions", True, {"heads": 1}), ("convolution", False, {"kind": "convolution", "taps": list(range(8))})]
    found = {name: {} for name, _, _ in kinds}
    for share in shares:
        path, scale, x, y = data(f"blend-{share}", lambda random, count: blend(random, count, share), 1)
        for name, positions, mixer in kinds[2:] if quick else kinds:
            found[name][share] = errors(network(8, 2, 2, positions, mixer), path, scale)
    found = {name: value for name, value in found.items() if value}
    text += table(["network"] + [f"c = {share:g}" for share in shares], [[name] + [show(value[share]) for share in shares] for name, value in found.items()])
    (arguments.out / "graph.svg").write_text(figure.draw("One layer: from graph-like to temporal", "share c of the temporal part", "relative L2 error",
                                                         [(name, [(share, np.mean(value[share]), min(value[share]), max(value[share])) for share in shares], False) for name, value in found.items()], log_x=False))
    text += ["", "![errors](graph.svg)", "", "The convolution is cyclic (it reads round the ring), with one trained number per tap."] + ([] if quick else ["", "Attention with position codes is never worse than the others: at c = 0 the codes are of no use, at c = 1 they are all of it, and a convolution round the ring misses the ends of the sum."])
    (arguments.out / "graph.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
