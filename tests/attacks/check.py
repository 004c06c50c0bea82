#!/usr/bin/env python3
"""Attacks on the golden table with random networks (README.md here).

Every `impossible` case: networks of the family obey what makes the case impossible, to 1e-12 times the product of the layers' gains; a network
that does not is run again with 200 bits. Every `certified` case with at most 8 tokens: some network tells each hard pair apart.

usage: check.py SIGHTLINE [--networks K] [--quick] [--verbose] [CASE...]      exit code 1 when an attack succeeds"""
import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import warnings

import mpmath
import numpy as np

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent)]
from network import Long, Network, read, rows_of  # noqa: E402
from permutations import closure, orbit, parse_cycles  # noqa: E402

warnings.filterwarnings("ignore", category=RuntimeWarning)  # a network that overflows shows nothing, and counts as nothing
golden = here.parent / "golden"
KERNELS = ["softmax", "exp(-0.5*norm2(x-y))", "1/(1+norm2(x-y))", "(1+dot(x,y))^2+0.1", "1"]

# Why each impossible case is impossible: what its networks must obey.
IMPOSSIBLE = {
    **dict.fromkeys(["B08", "B13", "B19", "B26", "B50", "B58", "B59", "C08", "R07", "R13", "R22", "R28"], "unseen"),
    **dict.fromkeys(["B31", "B34", "B35"], "collision"),
    **dict.fromkeys(["D06", "R02", "R14", "R21", "R50", "R61"], "rank"),
    **dict.fromkeys(["D09", "D35"], "odd"),
    **dict.fromkeys(["R19", "R20", "R42", "R46", "R56", "R64", "R82"], "constant"),
    "D03": "translation", "R44": "bucket", "R87": "max",
}


class Case:
    def __init__(self, name, answer):
        self.name, self.answer = name, answer
        self.tree = read(golden / "cases" / f"{name}.toml")
        self.n, self.d = self.tree["tokens"], self.tree["dim"]
        self.ids = self.tree.get("input", {}).get("embedding") == "table"
        self.bos = self.tree.get("input", {}).get("bos", False)
        self.causal = self.tree.get("target", {}).get("class") == "causal"
        self.listed = self.tree["depth"] == "listed"
        self.given = sum(layer.get("repeat", 1) for layer in self.tree.get("layer", [{}]))
        self.registers = len(self.tree.get("input", {}).get("registers", []))
        self.vocabulary = min(self.tree.get("input", {}).get("vocabulary", self.n), 64)

    def pattern(self, layer):
        """All that the readers of one layer of the list read, heads together."""
        listed = [{**self.tree.get("mixer", {}), **one.get("mixer", {}), **({"pattern": one["pattern"]} if "pattern" in one else {})}
                  for one in self.tree.get("layer", [{}]) for _ in range(one.get("repeat", 1))]
        mixer = listed[layer % len(listed)]
        if mixer.get("kind") == "convolution":
            return [[(i + tap) % self.n for tap in mixer["taps"]] for i in range(self.n)]
        pattern = mixer.get("pattern", {"kind": "full"})
        heads = pattern["heads"] if pattern.get("kind") == "per_head" else [pattern]
        rows = [rows_of(head, self.n, self.registers) for head in heads]
        return [sorted(set().union(*(one[i] for one in rows))) for i in range(self.n + self.registers)]

    def view(self, root, length):
        """Tokens whose input can reach `root` in `length` layers (Definition 4)."""
        need = {root}
        for q in reversed(range(length)):
            rows = self.pattern(q)
            need |= {j for i in need for j in rows[i]}
        return need

    def draw(self, rng):
        """An input in general position: real tokens, or ids behind the BOS."""
        if not self.ids:
            raw = self.tree.get("input", {}).get("dim", self.d)
            x = rng.normal(size=(self.n, raw)) if self.tree.get("input", {}).get("positions") != "fixed" else rng.uniform(-0.2, 0.2, size=(self.n, raw))
            if self.tree.get("input", {}).get("domain") == "centred":
                x -= x.mean(axis=1, keepdims=True)
            return x
        x = rng.integers(0, self.vocabulary, size=self.n)
        if self.vocabulary >= self.n:
            x = rng.permutation(self.vocabulary)[:self.n]
        if self.bos:
            x[0] = -1
        return x


def move(x, tau):
    """[tau X]_{tau(i)} = X_i."""
    out = x.copy()
    out[list(tau)] = x
    return out


def other(case, rng, x, j):
    """x with another token j."""
    y = x.copy()
    if case.ids:
        y[j] = (x[j] + 1) % case.vocabulary
    else:
        y[j] = case.draw(rng)[j]
    return y


# --- impossible: what networks must obey -----------------------------------------------------------------------------------

def obeys(network, pairs, relation=lambda a, b: a - b):
    """All pairs (x, a), (y, b): largest violation over the gains; repeated with 200 bits where float64 is not enough."""
    worst = 0.0
    for (x, a), (y, b) in pairs:
        left, right = network.run(x, want=[a]), network.run(y, want=[b])
        difference = np.max(np.abs(relation(left[0], right[0])))
        error = difference / network.gain
        if not (error <= 1e-12 and difference <= 1e-9 * (1 + np.max(np.abs(left)))):  # the second keeps large gains from hiding something
            with mpmath.workprec(200):
                left, right = network.run(x, Long, [a]), network.run(y, Long, [b])
                error = max(abs(v) for v in relation(left[0], right[0])) / network.gain
                assert error <= mpmath.mpf(10) ** -45, f"outputs {a} and {b} differ by {mpmath.nstr(error, 5)} times the gain, with 200 bits"
            error = 0.0
        worst = max(worst, float(error))
    return worst


def impossible(case, kind, networks, note):
    rng = np.random.default_rng(sum(map(ord, case.name)))
    worst, tried, alive = 0.0, 0, 0.0
    for trial in range(networks):
        kernel = KERNELS[trial % len(KERNELS)] if not case.ids and case.tree.get("mixer", {}).get("kind", "attention") == "attention" and kind in (
            "unseen", "collision") else None
        depth = case.given if case.listed else int(rng.integers(1, 7))
        if kind == "constant":
            depth = int(rng.integers(1, 7))
        network = Network(case.tree, [trial, 5], depth, kernel)
        x = case.draw(rng)
        # A network that answers the same to everything would obey anything.
        alive = max(alive, np.max(np.abs(network.run(x, want=[case.n - 1]) - network.run(other(case, rng, x, case.n - 1), want=[case.n - 1]))))
        if kind == "unseen":
            choices = []
            for a in range(case.n - 1, -1, -1) if case.n < 100 else [case.n - 1]:
                wanted = range(1 if case.bos else 0, a + 1 if case.causal else case.n)
                missing = sorted(set(wanted) - case.view(a, depth))
                choices += [(a, j) for j in missing]
            assert choices, "no token is out of sight"
            pick = [choices[int(rng.integers(len(choices)))] for _ in range(1 if case.n > 100 else 4)]
            pairs = [((x, a), (other(case, rng, x, j), a)) for a, j in pick]
            # The target adds up one number of every token, so it moves with token j.
        elif kind == "collision":
            entry = next(e for e in json.loads((golden / "golden.json").read_text())["entries"] if e["id"] == case.name)["expect"]
            collision = entry.get("witness") or note
            a, b, tau = collision["a"], collision["b"], collision["tau"]
            y = move(x, tau)
            pairs = [((x, a), (y, b))]
            left, right = orbit_target(entry, collision, x, a), orbit_target(entry, collision, y, b)
            assert abs(left - right) > 1e-9, "the target does not differ on the witness"
        elif kind == "odd":
            pairs = [((x, a), (-x, a)) for a in range(case.n)]
            worst = max(worst, obeys(network, pairs, lambda p, q: p + q))
            tried += 1
            continue
        elif kind == "translation":
            c = rng.normal(size=(case.n, 1))
            pairs = [((x, a), (x + c, a)) for a in range(case.n)]
            for pair in pairs:
                shift = c[pair[0][1], 0]
                worst = max(worst, obeys(network, [pair], lambda p, q: p + shift - q))
            tried += 1
            continue
        elif kind == "constant":
            x[:] = rng.integers(0, case.vocabulary)
            pairs = [((x, 0), (x, i)) for i in range(1, case.n)]
        elif kind == "bucket":
            # Readers at 0: ordinary tokens 8 and 9 share a bucket. The target is any function of all tokens, one that orders them included.
            x[8], x[9] = 3, 4
            y = move(x, [*range(8), 9, 8])
            pairs = [((x, 0), (y, 0))]
        elif kind == "max":
            pairs = [((np.array([-1, 0, 0, 1]), 1), (np.array([-1, 0, 1, 1]), 1))]
        elif kind == "rank":
            worst = max(worst, rank(case, network, rng))
            tried += 1
            continue
        worst = max(worst, obeys(network, pairs))
        tried += 1
    assert alive > 1e-6, "the networks are constant: the attack shows nothing"
    return f"{kind}: {tried} networks, at most {worst:.0e} of the gain"


def orbit_target(entry, witness, x, i):
    """The target of 3.2: the sum over the orbit under the layout's group of one (linear) or two (bilinear) tokens."""
    generators = entry["intersection_group"]["generators"]
    start = (witness["a"], *witness["orbit_rep"][1:])
    value = 0.0
    for at, *rest in orbit(generators, start):
        if at == i:
            value += x[rest[0], 0] * (x[rest[1], 1] if len(rest) == 2 else 1.0)
    return value


def rank(case, network, rng):
    """Outputs of all tokens and many inputs lie in an affine space of dimension A < output.dim (15.2): the next singular value is none."""
    asked = case.tree["output"]["dim"]
    norm = case.tree["output"].get("norm") or case.tree.get("norm")
    dimension = case.d - 1 if norm["kind"] == "layernorm" else case.d
    outputs, gain = [], 1.0
    for _ in range(2 * asked + 4):
        outputs.append(network.run(case.draw(rng)))
        gain = max(gain, network.gain)
    outputs = np.concatenate(outputs)
    assert outputs.shape[1] == asked > dimension
    values = np.linalg.svd(outputs - outputs.mean(axis=0), compute_uv=False)
    error = values[dimension] / len(outputs) / gain
    assert error <= 1e-12, f"outputs span more than {dimension} dimensions: {values}"
    return float(error)


# --- certified: pairs that are hard to tell apart ------------------------------------------------------------------------------

MOMENTS = {  # docs/theory.md 3.11: equal moments up to the degree
    2: ([(1, 0), (-1, 0)], [(0, 1), (0, -1)]),
    3: ([(1, 0), (0, 1), (-1, -1)], [(-1, 0), (0, -1), (1, 1)]),
    4: ([(3, 4), (-3, -4), (4, -3), (-4, 3)], [(5, 0), (-5, 0), (0, 5), (0, -5)]),
    5: ([(0, 1), (4, 1), (8, 1), (16, 1), (17, 1)], [(1, 1), (2, 1), (10, 1), (14, 1), (18, 1)]),
    6: ([(3, 1), (-3, -1), (-1, 2), (1, -2), (-2, -3), (2, 3)], [(3, 2), (-3, -2), (-2, 1), (2, -1), (-1, -3), (1, 3)]),
}


def hard_pairs(case, depth, rng, cosets):
    """((x, a), (y, b), why): labelled tokens that the certified target tells apart."""
    pairs = []
    first = 1 if case.bos else 0
    if not case.causal:
        for a in range(first, case.n):
            if case.ids and case.vocabulary >= 2 and case.n - first >= 3:  # the same ids, other multiplicities
                x, y = case.draw(rng), case.draw(rng)
                rest = [i for i in range(first, case.n) if i != a]
                x[a] = y[a] = 0
                for k, i in enumerate(rest):
                    x[i], y[i] = int(k > 0), int(k == len(rest) - 1)
                if sorted(x) != sorted(y):
                    pairs.append(((x, a), (y, a), f"multiplicities, read at {a}"))
            j = first + (a - first + 1) % (case.n - first)
            if j != a:
                x = case.draw(rng)
                pairs.append(((x, a), (other(case, rng, x, j), a), f"token {j} changed, read at {a}"))
    last_rows = case.pattern(depth - 1)
    for a in range(case.n):
        for j in range(first, a if case.causal else case.n):
            if j != a and (j not in last_rows[a] or depth == 1) and j in case.view(a, depth):
                x = case.draw(rng)
                pairs.append(((x, a), (other(case, rng, x, j), a), f"token {j} changed, read at {a}"))
    if case.causal:
        for a in range(case.n):
            for u, v in itertools.combinations(range(first, a), 2):
                x = case.draw(rng)
                if case.ids:
                    x[u], x[v] = 0, 1
                tau = list(range(case.n))
                tau[u], tau[v] = v, u
                pairs.append(((x, a), (move(x, tau), a), f"tokens {u} and {v} exchanged, read at {a}"))
        return pairs
    generators = [parse_cycles(g, case.n) for g in case.answer["layout"]["generators"]]
    group = closure(generators, case.n)
    some = [tuple(v if i == u else u if i == v else i for i in range(case.n)) for u, v in itertools.combinations(range(first, case.n), 2)]
    shuffled = random.Random(3)
    for _ in range(cosets):
        rest = list(range(first, case.n))
        shuffled.shuffle(rest)
        some.append((*range(first), *rest))
    for tau in some:
        if tau in group or case.ids and case.vocabulary < case.n - first:
            continue
        x = case.draw(rng)
        for a in range(case.n):
            pairs.append(((x, a), (move(x, tau), tau[a]), f"moved by {tau}, read at {a}"))
    size = case.n - 1
    raw = case.tree.get("input", {}).get("dim", case.d)
    if not case.ids and size in MOMENTS and raw >= 2 and case.tree.get("input", {}).get("positions") != "fixed" and case.registers == 0:
        scale = max(abs(v) for side in MOMENTS[size] for point in side for v in point)
        for root in range(case.n):
            both = []
            for side in MOMENTS[size]:
                x = np.zeros((case.n, raw))
                x[root, :2] = (0.3, -0.7)
                x[[i for i in range(case.n) if i != root], :2] = np.array(side) / scale
                both.append(x - x.mean(axis=1, keepdims=True) if case.tree.get("input", {}).get("domain") == "centred" else x)
            pairs.append(((both[0], root), (both[1], root), f"equal moments, read at {root}"))
    return pairs


def certified(case, networks, cosets):
    needed = case.answer["layers"]["needed"]
    depth = case.given if case.listed else needed if needed is not None else 4
    rng = np.random.default_rng(sum(map(ord, case.name)))
    pairs = hard_pairs(case, max(depth, 1), rng, cosets)
    open_pairs = list(range(len(pairs)))
    made, smallest = 0, np.inf
    for trial in range(networks):
        if not open_pairs:
            break
        network = Network(case.tree, [trial, 11], max(depth, 1))
        made += 1
        values, still = {}, []

        def run(x):
            key = x.tobytes()
            if key not in values:
                values[key] = network.run(x)
            return values[key]

        for p in open_pairs:
            (x, a), (y, b), _ = pairs[p]
            distance = np.max(np.abs(run(x)[a] - run(y)[b]))
            if distance > 1e-6:
                smallest = min(smallest, distance)
            else:
                still.append(p)
        open_pairs = still
    long_ones = len(open_pairs)
    for p in open_pairs:
        (x, a), (y, b), why = pairs[p]
        with mpmath.workprec(200):
            for trial in range(6):
                network = Network(case.tree, [trial, 11], max(depth, 1))
                distance = max(abs(v) for v in network.run(x, Long, [a])[0] - network.run(y, Long, [b])[0])
                # Every operation is right to 2^-199; the gain carries errors to the output.
                if distance > mpmath.mpf(2) ** -180 * network.gain:
                    break
            else:
                raise AssertionError(f"not told apart: {why}, distance {mpmath.nstr(distance, 5)}")
    return f"{len(pairs)} hard pairs, {made} networks" + (f", {long_ones} told apart with 200 bits only" if long_ones else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sightline")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--networks", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="fewer cosets, and no case with thousands of tokens")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    expected = json.loads((golden / "expected.json").read_text())
    names = [name for name in sorted(expected) if not options.cases or name in options.cases]
    run = subprocess.run([options.sightline, "certify", "--json", *(str(golden / "cases" / f"{name}.toml") for name in names)],
                         capture_output=True, text=True, check=False)
    answers = {pathlib.Path(a["file"]).stem: a for a in map(json.loads, run.stdout.splitlines())}
    attacked = {"impossible": 0, "certified": 0}
    failed = 0
    for name in names:
        case = Case(name, answers[name])
        verdict = answers[name]["verdict"]
        if verdict == "unknown" or case.n > (100 if options.quick else 10000) or verdict == "certified" and case.n > 8:
            continue
        try:
            if verdict == "impossible":
                assert name in IMPOSSIBLE, "no attack is written for this impossible case"
                said = impossible(case, IMPOSSIBLE[name], 1 if case.n > 100 else options.networks, None)
            else:
                said = certified(case, max(8, options.networks), 4 if options.quick else 40)
            attacked[verdict] += 1
            if options.verbose:
                print(f"{name} {verdict}: {said}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"{name} {verdict}: ATTACK SUCCEEDS: {error}", flush=True)
    print(f"attacks: {attacked['impossible']} impossible and {attacked['certified']} certified cases attacked, {failed} attacks succeed")
    sys.exit(bool(failed))


main()
