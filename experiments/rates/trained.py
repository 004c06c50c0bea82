#!/usr/bin/env python3
"""Trained heads against the predicted rate: sigma_k = k^-0.55 and k^-1, rank 2, 6 and full (64 terms).

    python3 experiments/rates/trained.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figure
from networks import Bench, how, options, table


def score(exponent, terms):
    return "+".join(f"{2 * k ** -exponent!r}*sin({2 * math.pi * k!r}*x)*sin({2 * math.pi * k!r}*y)" for k in range(1, terms + 1))


def slope(points):
    chosen = [(math.log(m), math.log(y)) for m, y in points if y > 0]
    return -np.polyfit(*zip(*chosen), 1)[0]


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "rates-trained")
    bench = Bench(arguments.command, arguments.work)
    quick = arguments.quick
    heads, steps, samples = ([1, 4], 40, 300) if quick else ([1, 2, 4, 8, 16], 400, 2048)
    cases = [(0.55, 6)] if quick else [(0.55, 64), (1.0, 64), (0.55, 6), (1.0, 2)]
    text = ["# Rates, by training", "", how("rates-trained", arguments), "",
            "The setting of Jiang and Li (B.2): 16 tokens uniform in [0,1], rho = sum of sigma_k phi_k phi_k over k <= r, phi_k = sqrt 2 sin(2 pi k x); \"full\" is 64 terms. Two heads are trained per head dimension m",
            f"(`rate --verify`: width 64, {steps} steps of 64 on {samples} sequences): one to be rho itself at two different tokens, one to be H_t = sum_s softmax_s(rho) x_s. Mean e^2 on 1000 fresh sequences.", ""]
    rows, curves, slopes = [], [], []
    for exponent, rank in cases:
        answer = bench.json("rate", f"expr:{score(exponent, rank)}", "--domain", "0,1", "--samples", 256, "--verify", "--heads", ",".join(map(str, heads)), "--steps", steps, "--train-samples", samples)
        found = answer["verified"]
        name = f"k^-{exponent:g}, r {'full' if rank == 64 else rank}"
        tail = lambda m: sum(k ** (-2 * exponent) for k in range(m + 1, rank + 1))
        for row in found["rows"]:
            assert abs(row["predicted"] - tail(row["heads"])) < 1e-6, (name, row, tail(row["heads"]))
        assert all(row["score"] > row["predicted"] - 4 * row["score_error"] for row in found["rows"]), (name, found["rows"])
        rows.append([name, "score predicted"] + [f"{row['predicted']:.3g}" for row in found["rows"]])
        rows.append(["", "score trained"] + [f"{row['score']:.3g} ± {row['score_error']:.1g}" for row in found["rows"]])
        rows.append(["", "H trained"] + [f"{row['attention']:.3g} ± {row['attention_error']:.1g}" for row in found["rows"]])
        if rank == 64 and not quick:
            pick = lambda key: slope([(row["heads"], row[key]) for row in found["rows"] if row["heads"] >= 2])
            slopes.append([f"k^-{exponent:g}", f"{pick('predicted'):.2f}", f"{pick('score'):.2f}", f"{pick('attention'):.2f}", f"{2 * exponent - 1:g}"])
            curves.append((f"k^-{exponent:g}: score predicted", [(m, tail(m)) for m in range(1, 17)], True))
            curves.append(("score trained", [(row["heads"], row["score"]) for row in found["rows"]], False))
            curves.append(("H trained", [(row["heads"], row["attention"]) for row in found["rows"]], False))
    text += table(["sigma_k", ""] + [f"m = {m}" for m in heads], rows)
    if slopes:
        text += ["", "Exponents of mean e^2 over m = 2..16, full rank (part (ii) of the question in [square-root](square-root.md)):", ""]
        text += table(["sigma_k", "score predicted", "score trained", "H trained", "printed for H: 2a - 1"], slopes)
        (arguments.out / "rates-trained.svg").write_text(figure.draw("Mean e^2 of trained heads (64 terms)", "head dimension m", "mean e^2", curves))
        text += ["", "![mean e^2 against m](rates-trained.svg)", "", "The tail is a floor for the score (no f can help), and no trained score lies below it. How far one lies above it is what f, a perceptron of width 64, has not learned of the sines in these steps:",
                 f"after {steps} steps that is most of it, also where the rank is 2, so this table confirms the floor and says nothing about the pace. Jiang and Li train until the loss stops decreasing."]
    (arguments.out / "rates-trained.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
