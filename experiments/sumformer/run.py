#!/usr/bin/env python3
"""Trained Sumformers: the latent dimension, and attention of the same cost beside them, on the sum of squares and on a softmax.

    python3 experiments/sumformer/run.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figure
from networks import Bench, how, options, show, table

TARGETS = [("sum of squares", "expr:sum(norm2(y))", 4), ("softmax of dot products", "expr:attend(3*dot(x,y),y)", 2)]
TOKENS = 8


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "sumformer")
    bench = Bench(arguments.command, arguments.work)
    quick = arguments.quick
    latents, seeds, steps, samples = ((2, 8), 1, 60, 500) if quick else ((1, 2, 4, 8, 16), 3, 800, 4096)
    text = ["# Sumformers and attention, trained", "", how("sumformer", arguments), "",
            f"{TOKENS} tokens, uniform in [-1,1]^d; relative L2 errors on 2000 fresh sequences; {steps} steps of 64 on {samples} sequences, {seeds} seed{'s' if seeds > 1 else ''}, mean ± deviation.", "",
            "## The latent dimension", "", "S(X)_i = psi(x_i, sum_j phi(x_j)), phi and psi perceptrons with two hidden layers of 48 (`approximate --method mlp --latent L --width 48`).", ""]
    rows, curves = [], []
    for name, target, dim in TARGETS:
        found = {}
        for latent in latents:
            found[latent] = [bench.json("approximate", target, "--method", "mlp", "--tokens", TOKENS, "--dim", dim, "--latent", latent, "--width", 48, "--steps", steps,
                                        "--samples", samples, "--seed", seed)["relative_l2"] for seed in range(seeds)]
        rows.append([f"{name}, d = {dim}"] + [show(found[latent]) for latent in latents])
        curves.append((name, [(latent, sum(found[latent]) / seeds, min(found[latent]), max(found[latent])) for latent in latents], False))
    text += table(["target"] + [f"latent {latent}" for latent in latents], rows)
    (arguments.out / "sumformer-latent.svg").write_text(figure.draw("Relative L2 error of a trained Sumformer", "latent dimension", "relative L2 error", curves))
    text += ["", "![error against the latent dimension](sumformer-latent.svg)", "",
             "One number, the sum of |x_j|^2, is all that the first target needs; a continuous phi with latent dimension 1 exists, and training finds it. The softmax needs sum_j exp(3 x_i.x_j) x_j as a",
             "function of x_i: the more numbers describe the other tokens, the less psi has to decode from them (44, the power sums up to degree 8, determine them all); beyond 8 the training is what remains."]
    budget = 150000
    text += ["", "## Attention of the same cost", "", f"`sightline compare TARGET --tokens {TOKENS} --dim D --budget {budget} --steps {steps} --samples {samples} --seeds {seeds}` (docs/compare.md says what counts):"]
    for k, (name, target, dim) in enumerate(TARGETS):
        plot = arguments.out / f"sumformer-compare-{k + 1}.svg"
        answer = bench.json("compare", target, "--tokens", TOKENS, "--dim", dim, "--budget", budget, "--steps", steps, "--samples", samples, "--seeds", seeds, "--plot", plot)
        assert all(abs(row["operations"] / budget - 1) <= 0.05 for row in answer["rows"] if row["trained"])
        text += ["", f"### {name}: `{target}`, d = {dim}", ""]
        text += table(["network", "relative L2 error", "operations", "parameters", "certify"],
                      [[row["network"], show(row["errors"]), f"{row['operations']:.0f}", row["parameters"], f"{row['certify']['verdict']}, {row['certify']['symmetry']}"] for row in answer["rows"]])
        text += ["", f"![errors]({plot.name})"]
    text += ["", "The least-squares fit is solved, not trained, and costs less than the budget: where the target is a polynomial it is exact. Every network here is certified for every function with its",
             "symmetry; what differs is what 150,000 operations and this training make of it."]
    (arguments.out / "sumformer.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
