#!/usr/bin/env python3
"""Trained heads against the predicted rate: sigma_k = k^-0.55 and k^-1, rank 2, 6 and infinite (512 terms).

    python3 experiments/rates/trained.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import math
import os
import pathlib
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads cost more than they bring
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figure
from networks import Bench, how, options, table


FULL = 512  # terms: "r infinite"
POINTS = 1700  # Gauss points that integrate products of 512 sines
FREQUENCY = 100  # the phase of sin(2 pi 16 x) runs over 100


def score(exponent, terms):
    return "+".join(f"{2 * k ** -exponent!r}*sin({2 * math.pi * k!r}*x)*sin({2 * math.pi * k!r}*y)" for k in range(1, terms + 1))


def slope(points):
    chosen = [(math.log(m), math.log(y)) for m, y in points if y > 0]
    return -np.polyfit(*zip(*chosen), 1)[0]


class KnownFeatures:
    """A head whose f is known: h = (phi_1(x), .., phi_r(x)), F the identity, values x. W_Q and W_K have m rows and are trained by Adam on the error of H, with exact
    gradients, on fresh sequences in every step; they start as the cut score, sqrt(sigma_k) on the diagonal."""

    def __init__(self, exponent, heads, terms):
        self.k = np.arange(1, terms + 1)
        self.sigma = self.k ** -float(exponent)
        start = np.zeros((heads, terms))
        start[range(heads), range(heads)] = np.sqrt(self.sigma[:heads])
        self.w = [start.copy(), start.copy()]

    def attend(self, score, x):
        weight = np.exp(score - score.max(-1, keepdims=True))
        weight /= weight.sum(-1, keepdims=True)
        return weight, weight @ x[..., None]

    def errors(self, x):
        """H of the head less H, its gradient at the score, and what the gradient goes on to."""
        features = np.sqrt(2) * np.sin(2 * np.pi * x[..., None] * self.k)
        query, key = features @ self.w[0].T, features @ self.w[1].T
        weight, out = self.attend(query @ key.transpose(0, 2, 1), x)
        wanted = self.attend((features * self.sigma) @ features.transpose(0, 2, 1), x)[1]
        return (out - wanted)[..., 0], weight, out[..., 0], features, query, key

    def train(self, steps, seed=0, rate=3e-3, batch=64):
        random = np.random.default_rng(seed)
        first, second = [np.zeros_like(w) for w in self.w], [np.zeros_like(w) for w in self.w]
        for step in range(steps):
            x = random.uniform(0, 1, (batch, 16))
            error, weight, out, features, query, key = self.errors(x)
            slope = 2 / error.size * error[..., None] * weight * (x[:, None, :] - out[..., None])
            flat = features.reshape(-1, features.shape[-1])
            gradient = [(slope @ key).reshape(len(flat), -1).T @ flat, (slope.transpose(0, 2, 1) @ query).reshape(len(flat), -1).T @ flat]
            now = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            for k, g in enumerate(gradient):
                first[k] += 0.1 * (g - first[k])
                second[k] += 0.001 * (g * g - second[k])
                self.w[k] -= now * first[k] / (1 - 0.9 ** (step + 1)) / (np.sqrt(second[k] / (1 - 0.999 ** (step + 1))) + 1e-12)
        return self

    def measure(self, count):
        """Means of |e| and e^2 with half widths of their 95 % intervals over sequences."""
        random, size, square = np.random.default_rng(1000), [], []
        for _ in range(count // 100):
            error = self.errors(random.uniform(0, 1, (100, 16)))[0]
            size.extend(np.abs(error).mean(1))
            square.extend((error**2).mean(1))
        return [(np.mean(v), 1.96 * np.std(v) / np.sqrt(len(v))) for v in (size, square)]


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "rates-trained")
    bench = Bench(arguments.command, arguments.work)
    quick = arguments.quick
    heads, steps, samples = ([1, 4], 40, 300) if quick else ([1, 2, 4, 8, 16], 2000, 4096)
    known_steps, known_tests = (20, 200) if quick else (2000, 2000)
    cases = [(0.55, 6)] if quick else [(0.55, FULL), (1.0, FULL), (0.55, 6), (1.0, 2)]
    text = ["# Rates, by training", "", how("rates-trained", arguments), "",
            "The setting of Jiang and Li (B.2): 16 tokens uniform in [0,1], rho = sum of sigma_k phi_k phi_k over k <= r, phi_k = sqrt 2 sin(2 pi k x); \"r infinite\" is 512 terms. Two heads are trained per head dimension m",
            f"(`rate --verify`: width 64, {steps} steps of 64 on {samples} sequences, learning rate 0.01): one to be rho itself at two different tokens, one to be H_t = sum_s softmax_s(rho) x_s. Mean e^2 on 1000 fresh sequences.",
            f"f has sines (`--frequency {FREQUENCY}`); with gelu in their place (rows \"gelu\", where r is infinite) it is the perceptron of the paper, as far as the paper says.", ""]
    rows, curves, slopes, shares = [], [], [], {}
    for exponent, rank in cases:
        full = rank == FULL
        tail = lambda m: sum(k ** (-2 * exponent) for k in range(m + 1, rank + 1))
        verify = ["rate", f"expr:{score(exponent, rank)}", "--domain", "0,1", "--samples", POINTS if full else 256, "--verify", "--heads", ",".join(map(str, heads)), "--steps", steps, "--train-samples", samples, "--lr", 1e-2]
        found = {"sines": bench.json(*verify, "--frequency", FREQUENCY)["verified"]["rows"]}
        if full:
            found["gelu"] = bench.json(*verify)["verified"]["rows"]
        name = f"k^-{exponent:g}, r {'infinite (512 terms)' if full else rank}"
        rows.append([name, "score predicted"] + [f"{row['predicted']:.3g}" for row in found["sines"]])
        for what, key in (("score", "score"), ("H", "attention")):
            for f, measured in found.items():
                rows.append(["", f"{what} trained" + (f", {f}" if full else "")] + [f"{row[key]:.3g} ± {row[f'{key}_error']:.1g}" for row in measured])
        for f, measured in found.items():
            for row in measured:
                assert abs(row["predicted"] - tail(row["heads"])) < 1e-6, (name, row, tail(row["heads"]))
                assert row["score"] > row["predicted"] - 4 * row["score_error"], (name, f, row)
            if tail(heads[-1]) > 0:
                shares.setdefault(f, []).extend(row["score"] / row["predicted"] for row in measured)
            if full and not quick:
                pick = lambda key: slope([(row["heads"], row[key]) for row in measured if row["heads"] >= 2])
                slopes.append([f"k^-{exponent:g}, 512 terms, {f}", f"{pick('predicted'):.2f}", f"{pick('score'):.2f}", f"{pick('attention'):.2f}", f"{2 * exponent - 1:g}"])
        if full and not quick:
            curves.append((f"k^-{exponent:g}: score predicted", [(m, tail(m)) for m in range(1, 17)], True))
            for f, measured in found.items():
                curves.append((f"score trained, {f}", [(row["heads"], row["score"]) for row in measured], False))
            curves.append(("H trained, sines", [(row["heads"], row["attention"]) for row in found["sines"]], False))
    text += table(["sigma_k", ""] + [f"m = {m}" for m in heads], rows)
    if slopes:
        text += ["", "Exponents of mean e^2 over m = 2..16, r infinite (512 terms; part (ii) of the question in [square-root](square-root.md)):", ""]
        text += table(["sigma_k, f", "score predicted", "score trained", "H trained", "printed for H: 2a - 1"], slopes)
        (arguments.out / "rates-trained.svg").write_text(figure.draw("Mean e^2 of trained heads (r infinite: 512 terms)", "head dimension m", "mean e^2", curves))
        sines, gelu = shares["sines"], shares["gelu"]
        text += ["", "![mean e^2 against m, r infinite (512 terms)](rates-trained.svg)", "",
                 f"The tail is a floor for the score (no f can help), and no trained score lies below it by more than four standard errors. With sines the trained scores lie at {min(sines):.2f} to {max(sines):.2f} times the floor for every m and",
                 f"both exponents: training finds the best score of rank m, and the predicted rate is the measured one. With gelu they lie at {min(gelu):.2f} to {max(gelu):.2f} times: that perceptron learns three or four sines in these steps, and from m = 4 on",
                 "it is f and not the rank that is missing (the second term of the theorem, not the first); more steps help: with rank 6 and m = 8 gelu leaves 0.27 after 2000 steps and 0.0032 after 8000. With ranks 2 and 6 nothing but f's error is left from m = r on,",
                 "as in the published figure. H is another matter: its softmax saturates ([rates.md](rates.md)), so with r infinite two numbers per head bring it to what f and F leave, which hardly falls with m: the exponents of H are those of a training, not of a rank."]
    text += ["", "## f known: only W_Q and W_K are trained", "",
             "The same H with 512 terms (\"r infinite\"), but f gives the functions phi_k themselves and F is the identity, so nothing but the rank of the score is missing. W_Q and W_K start as the cut score and are trained on the error of H"
             f" ({known_steps} steps of 64 fresh sequences, one seed); mean |e| and mean e^2 on {known_tests} fresh sequences, 95 % intervals over sequences.", ""]
    rows, fits, gains, falls = [], [], [], []
    for exponent, terms in [(0.55, 64)] if quick else [(0.55, FULL), (1.0, FULL)]:
        results = {}
        for stage in ("cut", "trained"):
            for m in heads:
                head = KnownFeatures(exponent, m, terms)
                results[stage, m] = (head.train(known_steps) if stage == "trained" else head).measure(known_tests)
        for which, name in enumerate(("mean abs e", "mean e^2")):
            for stage in ("cut", "trained"):
                rows.append([f"k^-{exponent:g}, {terms} terms", f"{name}, {stage}"] + [f"{results[stage, m][which][0]:.3g} ± {results[stage, m][which][1]:.1g}" for m in heads])
        pick = lambda stage, which: slope([(m, results[stage, m][which][0]) for m in heads if m >= 2]) if not quick else 0.0
        gains += [results["cut", m][0][0] / results["trained", m][0][0] for m in heads]
        falls.append(f"{pick('trained', 0):.2f}")
        fits.append([f"k^-{exponent:g}, {terms} terms"] + [f"{pick(stage, which):.2f}" for which in (0, 1) for stage in ("cut", "trained")] + [f"{exponent - 0.5:g}", f"{2 * exponent - 1:g}"])
    text += table(["sigma_k", ""] + [f"m = {m}" for m in heads], rows)
    if not quick:
        text += ["", "Exponents over m = 2..16:", ""]
        text += table(["sigma_k", "mean abs e: cut", "trained", "mean e^2: cut", "trained", "a - 1/2", "printed 2a - 1"], fits)
        text += ["", f"The best score of rank m for H is not the cut one: the trained one is {min(gains):.2g} to {max(gains):.2g} times nearer in the mean, and its error falls with other exponents than the rate (mean abs e: {' and '.join(falls)} against a - 1/2 = 0.05 and 0.5). Both bounds hold and neither is attained on this target; an upper bound that is not attained is not refuted."]
        if results["trained", 16][0][0] > results["trained", 8][0][0]:
            text += ["For k^-1 the head of m = 16 ends above that of m = 8, which it contains: its training is not over after these steps, and the exponents of that row are too small."]
    (arguments.out / "rates-trained.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
