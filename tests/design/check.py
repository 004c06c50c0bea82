#!/usr/bin/env python3
"""Random networks on every layout that `design` offers are equivariant under exactly the group asked for, at exactly the layers it needs.

For one input X of different tokens and every permutation tau of the tokens (all n! of them, in one batch) F(tau X) is compared with tau F(X):
they agree for the elements of the group, to 1e-9, and differ by more than 1e-6 for every other permutation (the best of a few networks). With one layer
fewer the collisions F(tau X)_b = F(X)_a, b = tau(a), must leave the group or a token must be out of sight: checked by numbers too.

usage: check.py SIGHTLINE [--all]      exit code 1 when a layout fails"""
import itertools
import json
import math
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from permutations import closure, parse_cycles  # noqa: E402

QUICK = ["C_5", "D_5", "trivial(3)", "trivial(4)", "S_4", "gens[(0 3)(1 2)]", "S_3 x S_2", "C_2*C_2", "A_4", "gens[(0 1 2)(3 4 5)]", "regular(S_3)", "C_6", "trivial(2) wr C_3", "S_2 wr C_3", "C_3 wr trivial(2)", "grid(2,3)"]
SLOW = ["C_7", "D_7", "D_6", "S_5", "S_2 x S_4", "S_2 wr S_3", "S_3 wr S_2", "hypercube(3)", "gens[(0 1 2 3)(4 5 6 7),(0 4 2 6)(1 7 3 5)]",
        "gens[(0 1 2 3 4 5 6),(1 2 4)(3 6 5)]", "trivial(5)", "gens[(0 1)(2 3 4)]", "gens[(0 1 2 3)(4 5)]", "C_3 x C_4", "D_4 x C_3", "B_3",
        "C_8", "D_8", "trivial(7)", "grid(2,4)", "grid(1,7)", "S_2 wr C_4", "C_4 wr S_2", "trivial(2) wr C_4", "trivial(4) wr S_2", "S_2 wr D_4", "D_4 wr S_2", "trivial(2) wr D_4",
        "C_4 wr trivial(2)", "S_2 wr trivial(4)", "C_3 wr S_2", "regular(C_2*C_2*C_2)"]
WIDTH, HIDDEN = 6, 12


def colours_of(pattern, n, registers):
    """Per head a matrix of colours, 0 for absent."""
    v, kind = n + registers, pattern["kind"]
    out = np.zeros((v, v), dtype=int)
    if kind == "per_head":
        return [colours_of(head, n, registers)[0] for head in pattern["heads"]]
    if kind == "full":
        out[:] = 1
    elif kind == "rows":
        for i, row in enumerate(pattern["rows"]):
            out[i, row] = 1
    elif kind == "matrix":
        out[:] = pattern["matrix"]
    elif kind == "window":
        before, after = (pattern.get("radius", pattern.get(side, 0)) for side in ("before", "after"))
        for i in range(n):
            for k in range(-before, after + 1):
                j = i + k * pattern.get("dilation", 1)
                if pattern.get("wrap", False) or 0 <= j < n:
                    out[i, j % n] = 1
        for g in pattern.get("global", []):
            out[g, :n] = out[:n, g] = 1
    elif kind == "self":
        out[range(n), range(n)] = 1
    elif kind == "blocks":
        for i in range(n):
            out[i, :n] = np.arange(n) // pattern["size"] == i // pattern["size"]
    elif kind == "grid":
        (rows, columns), wide = pattern["shape"], pattern["window"]
        for i in range(n):
            for j in range(n):
                apart = [abs(i // columns - j // columns), abs(i % columns - j % columns)]
                if pattern.get("wrap", False):
                    apart = [min(d, side - d) for d, side in zip(apart, (rows, columns))]
                out[i, j] = apart[0] <= wide[0] and apart[1] <= wide[1]
    elif kind == "butterfly":
        for i in range(n):
            out[i, [i, i ^ pattern["distance"]]] = 1
    elif kind == "fixed" and pattern.get("part") == "summary":
        out[:n, :n] = (np.arange(n) % pattern["stride"] >= pattern["stride"] - pattern["summary"])[None] | np.eye(n, dtype=bool)
    elif kind in ("union", "intersection", "minus"):
        parts = [colours_of(part, n, registers)[0] > 0 for part in pattern["of"]]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole | part if kind == "union" else whole & part if kind == "intersection" else whole & ~part
        out[:] = whole
    elif kind == "circulant":
        for i in range(n):
            out[i, [(i + k) % n for k in pattern["offsets"]]] = 1
    elif kind == "graph":
        for i in range(n):
            out[i, i] = int(pattern.get("loops", True))
        for a, b in pattern["edges"]:
            out[a, b] = 1
            if not pattern.get("directed", False):
                out[b, a] = 1
    else:
        raise ValueError(kind)
    if pattern.get("causal", False):
        out[:n, :n] = np.tril(out[:n, :n])
    return [out]


class Network:
    def __init__(self, tree, layers, seed):
        self.n, self.draw = tree["tokens"], np.random.default_rng(seed)
        registers = tree.get("input", {}).get("registers", [])
        registers = registers if isinstance(registers, list) else []
        self.registers = np.repeat(self.draw.normal(size=(1, WIDTH)), len(registers), axis=0)
        listed = []
        for layer in tree["layer"]:
            pattern = layer.get("mixer", {}).get("pattern") or layer.get("pattern") or tree.get("mixer", {}).get("pattern") or {"kind": "full"}
            heads = colours_of(pattern, self.n, len(registers))
            if tree.get("mixer", {}).get("relative") == "learned":  # a weight per distance
                away = self.n + np.arange(self.n)[None] - np.arange(self.n)[:, None]
                heads = [np.where(head > 0, away, 0) for head in heads]
            listed += [heads] * layer.get("repeat", 1)
        self.layers = []
        for q in range(layers):
            heads = []
            for colours in listed[q % len(listed)]:
                bias = self.draw.normal(size=colours.max() + 1) * 1.5
                bias[0] = -np.inf
                heads.append((bias[colours], *(self.draw.normal(size=(WIDTH, WIDTH)) / math.sqrt(WIDTH) for _ in range(3))))
            self.layers.append((heads, *self.tokenwise()))
        self.first = self.tokenwise()

    def tokenwise(self):
        return self.draw.normal(size=(HIDDEN, WIDTH)) / math.sqrt(WIDTH) * 1.5, self.draw.normal(size=HIDDEN), self.draw.normal(size=(WIDTH, HIDDEN)) / math.sqrt(HIDDEN)

    def run(self, x):
        """[batch, n, WIDTH] -> the same."""
        x = np.concatenate([x, np.broadcast_to(self.registers, (len(x), *self.registers.shape))], axis=1)
        up, bias, down = self.first
        x = x + np.tanh(x @ up.T + bias) @ down.T
        for heads, up, bias, down in self.layers:
            mixed = 0
            for mask, q, k, v in heads:
                score = (x @ q.T) @ np.swapaxes(x @ k.T, 1, 2) / math.sqrt(WIDTH) + mask
                top = score.max(axis=2, keepdims=True)
                score = np.exp(score - np.where(np.isfinite(top), top, 0))
                total = score.sum(axis=2, keepdims=True)
                mixed = mixed + score @ (x @ v.T) / np.where(total == 0, 1, total)
            x = x + mixed
            x = x + np.tanh(x @ up.T + bias) @ down.T
        return x[:, :self.n]


def collisions(tree, layers, permutations, seeds):
    """[permutation, token]: the largest of the networks' differences |F(tau X)_tau(a) - F(X)_a|, and the least change that token j makes at token a."""
    n = tree["tokens"]
    best, sight = np.zeros((len(permutations), n)), np.zeros((n, n))
    for seed in seeds:
        network, x = Network(tree, layers, seed), np.random.default_rng(seed + 100).normal(size=(n, WIDTH))
        out = network.run(x[None])[0]
        moved = np.empty((len(permutations), n, WIDTH))
        rows = np.arange(len(permutations))[:, None]
        moved[rows, permutations] = x[None]
        for begin in range(0, len(permutations), 5040):
            some = permutations[begin:begin + 5040]
            there = network.run(moved[begin:begin + 5040])[np.arange(len(some))[:, None], some]
            best[begin:begin + 5040] = np.maximum(best[begin:begin + 5040], np.abs(there - out[None]).max(axis=2))
        changed = np.repeat(x[None], n, axis=0)
        changed[np.arange(n), np.arange(n)] += 1.0
        sight = np.maximum(sight, np.abs(network.run(changed) - out[None]).max(axis=2))
    return best, sight


def check(command, text):
    run = subprocess.run([command, "design", "--json", "--symmetry", text], capture_output=True, text=True, check=True)
    design = json.loads(run.stdout)
    n = design["group"]["tokens"]
    group = closure([parse_cycles(g, n) for g in design["group"]["generators"]], n)
    assert len(group) == int(design["group"]["order"])
    permutations = np.array(list(itertools.permutations(range(n))))
    inside = np.array([tuple(tau) in group for tau in permutations.tolist()])
    for point in design["front"]:
        tree, what = point["architecture"], f"{text}: {point['description']}, {point['layers']} layers"
        best, sight = collisions(tree, point["layers"], permutations, range(3))
        if sight.min() <= 1e-7 or not inside.all() and best[~inside].min() <= 1e-6:  # a network whose signal dies out on long ways: more of them
            best, sight = collisions(tree, point["layers"], permutations, range(16))
        assert best[inside].max() < 1e-9, f"{what}: not equivariant under the group, {best[inside].max():.1e}"
        # Every single token tells the two apart, not only the whole output: that is what approximation asks (Theorem E).
        assert inside.all() or best[~inside].min() > 1e-6, f"{what}: a permutation outside the group is not told apart, {best[~inside].min():.1e}"
        assert sight.min() > 1e-7, f"{what}: a token is out of sight"
        if point["layers"] > 1:
            best, sight = collisions(tree, point["layers"] - 1, permutations, range(3))
            assert sight.min() == 0 or not inside.all() and best[~inside].min() < 1e-9, f"{what}: one layer fewer would do"
    return len(design["front"])


def main():
    groups = QUICK + (SLOW if "--all" in sys.argv[2:] else [])
    points = failed = 0
    for text in groups:
        try:
            points += check(sys.argv[1], text)
        except AssertionError as error:
            failed += 1
            print(error, flush=True)
    print(f"design: {points} layouts for {len(groups)} groups, {failed} groups fail")
    sys.exit(bool(failed))


main()
