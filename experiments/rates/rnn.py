#!/usr/bin/env python3
"""The comparison of Jiang and Li with a linear RNN (section 6, Tables 2 and 3): H_t = sum over s <= t of rho(s) x(t - s), its order changed, its inputs mixed.

    python3 experiments/rates/rnn.py [COMMAND] [--quick] [--out docs/experiments]
"""
import argparse
import os
import pathlib
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads cost more than they bring
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from networks import Bench, how, options, show, table

LENGTH, UNITS = 32, 128


class LinearRnn:
    """h_t = W h_(t-1) + u x_t, y_t = c.h_t, trained by Adam with exact gradients through time; the fastest of a few scalings of W at the start is not looked for."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        size = 1 / np.sqrt(UNITS)
        self.parameters = [random.uniform(-size, size, (UNITS, UNITS)), random.uniform(-size, size, UNITS), random.uniform(-size, size, UNITS)]

    def run(self, x):
        w, u, c = self.parameters
        h = np.zeros((len(x), UNITS))
        states = [h]
        for t in range(LENGTH):
            h = h @ w.T + x[:, t, None] * u
            states.append(h)
        return states, np.stack([h @ c for h in states[1:]], 1)

    def fit(self, x, y, steps, seed, lr=1e-3, batch=64):
        random = np.random.default_rng(seed)
        first, second = [np.zeros_like(p) for p in self.parameters], [np.zeros_like(p) for p in self.parameters]
        for step in range(steps):
            rows = random.integers(0, len(x), batch)
            states, out = self.run(x[rows])
            w, u, c = self.parameters
            error = 2 * (out - y[rows]) / out.size
            gradient = [np.zeros_like(p) for p in self.parameters]
            back = np.zeros((batch, UNITS))
            for t in reversed(range(LENGTH)):
                back = back + error[:, t, None] * c
                gradient[2] += error[:, t] @ states[t + 1]
                gradient[0] += back.T @ states[t]
                gradient[1] += x[rows, t] @ back
                back = back @ w
            norm = np.sqrt(sum((g * g).sum() for g in gradient))
            rate = lr * 0.5 * (1 + np.cos(np.pi * step / steps))
            for k, g in enumerate(gradient):
                g = g / max(norm, 1)
                first[k] += 0.1 * (g - first[k])
                second[k] += 0.001 * (g * g - second[k])
                self.parameters[k] = self.parameters[k] - rate * first[k] / (1 - 0.9 ** (step + 1)) / (np.sqrt(second[k] / (1 - 0.999 ** (step + 1))) + 1e-8)
        return self


TRANSFORMER = {"tokens": LENGTH, "dim": 32, "input": {"embedding": "mlp", "dim": 1, "positions": "learned"}, "output": {"head": "linear", "dim": 1}, "block": {"residual": False},
               "mixer": {"heads": 1}, "feedforward": {"activation": "relu", "width": 128}, "layer": [{"repeat": 1}]}


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "rnn")
    bench = Bench(arguments.command, arguments.work)
    quick = arguments.quick
    seeds, steps, samples, tests = (1, 40, 300, 200) if quick else (1, 400, 8192, 1000)
    random = np.random.default_rng(0)
    x, x_test = random.uniform(0, 1, (samples, LENGTH)), random.uniform(0, 1, (tests, LENGTH))
    decay = np.exp(-np.arange(LENGTH, dtype=float))
    drawn = random.uniform(0, 1, LENGTH)
    theta = random.uniform(0, 1, 5)
    theta /= theta.sum()
    order = np.concatenate([np.arange(22, 32), np.arange(10, 22), np.arange(0, 10)])  # the first ten and the last ten change places

    def target(rho, inputs):
        matrix = np.array([[rho[t - s] if s <= t else 0 for s in range(LENGTH)] for t in range(LENGTH)])
        return inputs @ matrix.T

    def mix(inputs):
        padded = np.pad(inputs, ((0, 0), (0, 4)))
        return sum(theta[s] * padded[:, s:s + LENGTH] for s in range(5))

    shuffle = np.random.default_rng(7).permutation(LENGTH)
    cases = [("rho = exp(-s)", x, target(decay, x), x_test, target(decay, x_test), "1.02e-7", "2.18e-5"),
             ("order changed: first and last ten swapped", x[:, order], target(decay, x), x_test[:, order], target(decay, x_test), "3.57e-2", "2.51e-5"),
             ("inputs mixed by a filter of length 5", mix(x), target(decay, x), mix(x_test), target(decay, x_test), "1.58e-7", "2.39e-4"),
             ("rho(s) ~ U[0,1]", x, target(drawn, x), x_test, target(drawn, x_test), "5.58", "5.43e-4"),
             ("rho(s) ~ U[0,1], inputs permuted", x[:, shuffle], target(drawn, x), x_test[:, shuffle], target(drawn, x_test), "5.24", "5.36e-4")]
    rows = []
    for k, (name, a, y, a_test, y_test, rnn_printed, transformer_printed) in enumerate(cases if not quick else cases[:2]):
        middle, scale = y.mean(), y.std()
        data = bench.data(f"case-{k}", x=a[..., None], y=(y[..., None] - middle) / scale, x_test=a_test[..., None], y_test=(y_test[..., None] - middle) / scale)
        rnn = [float(((LinearRnn(seed).fit(a, y, steps, seed).run(a_test)[1] - y_test) ** 2).mean()) for seed in range(seeds)]
        transformer = [bench.evaluate(bench.train(TRANSFORMER, data, steps, seed), data)["loss"] * scale**2 for seed in range(seeds)]
        rows.append([name, f"{y_test.var():.3g}", show(rnn), rnn_printed, show(transformer), transformer_printed])
    text = ["# A linear RNN and attention on sums over the past", "", how("rnn", arguments), "",
            f"H_t = sum over s <= t of rho(s) x(t - s), length {LENGTH}, x uniform in [0,1] (Jiang and Li, section 6). RNN: {UNITS} linear units. Transformer: form (5) with learned position codes, width 32, one head of 32,",
            f"feedforward 128. {steps} steps of 64 on {samples} sequences, {seeds} seed{'s' if seeds > 1 else ''}; mean squared error on {tests} fresh ones, beside the figures printed in Tables 2 and 3.", ""]
    text += table(["task", "variance of H", "RNN", "printed", "transformer", "printed"], rows)
    (arguments.out / "rnn.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
