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
import figure
from networks import Bench, how, options, show, table

LENGTH, UNITS = 32, 128


class LinearRnn:
    """h_t = W h_(t-1) + u x_t + b, y_t = c.h_t + e, the start as PyTorch's, trained by Adam. What it computes is y_t = e + sum over s <= t of c.W^s (u x_(t-s) + b), so the exact gradients
    through time follow from those of the 2 * 32 numbers c.W^s u and c.W^s b."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        size = 1 / np.sqrt(UNITS)
        self.parameters = [random.uniform(-size, size, shape) for shape in ((UNITS, UNITS), UNITS, UNITS, UNITS, 1)]

    def responses(self):
        w, u, b, c, e = self.parameters
        states = np.empty((LENGTH, 2, UNITS))
        states[0] = u, b
        for s in range(1, LENGTH):
            states[s] = states[s - 1] @ w.T
        return states, states @ c

    def run(self, x):
        _, h = self.responses()
        return x @ causal(h[:, 0]).T + np.cumsum(h[:, 1]) + self.parameters[4]

    def fit(self, x, y, steps, seed, watch, lr=1e-3, batch=64):
        """watch(step, self) is called 50 times."""
        random = np.random.default_rng(seed)
        lag = np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH))
        first, second = [np.zeros_like(p) for p in self.parameters], [np.zeros_like(p) for p in self.parameters]
        for step in range(steps):
            rows = random.integers(0, len(x), batch)
            states, h = self.responses()
            w, _, _, c, e = self.parameters
            error = 2 * (x[rows] @ causal(h[:, 0]).T + np.cumsum(h[:, 1]) + e - y[rows]) / (batch * LENGTH)
            by_x = np.bincount(lag[lag >= 0], weights=(error.T @ x[rows])[lag >= 0], minlength=LENGTH)
            by_one = np.cumsum(error.sum(0)[::-1])[::-1]
            slope = np.stack([by_x, by_one], 1)  # of the loss, by c.W^s u and c.W^s b
            back = np.empty((LENGTH, 2, UNITS))
            back[-1] = slope[-1][:, None] * c
            for s in range(LENGTH - 2, -1, -1):
                back[s] = slope[s][:, None] * c + back[s + 1] @ w
            gradient = [back[1:].reshape(-1, UNITS).T @ states[:-1].reshape(-1, UNITS), back[0, 0], back[0, 1], np.tensordot(slope, states, ((0, 1), (0, 1))), np.array([error.sum()])]
            norm = np.sqrt(sum((g * g).sum() for g in gradient))
            rate = lr * 0.5 * (1 + np.cos(np.pi * step / steps))
            for k, g in enumerate(gradient):
                g = g / max(norm, 1)
                first[k] += 0.1 * (g - first[k])
                second[k] += 0.001 * (g * g - second[k])
                self.parameters[k] = self.parameters[k] - rate * first[k] / (1 - 0.9 ** (step + 1)) / (np.sqrt(second[k] / (1 - 0.999 ** (step + 1))) + 1e-8)
            if (step + 1) % max(steps // 50, 1) == 0:
                watch(step + 1, self)
        return self


def causal(response):
    """The matrix of a filter on the past: [t, t - s] = response[s]."""
    matrix = np.zeros((LENGTH, LENGTH))
    for s in range(LENGTH):
        matrix[np.arange(s, LENGTH), np.arange(LENGTH - s)] = response[s]
    return matrix


def floor(x, y, x_test, y_test):
    """The least mean squared error of any linear RNN of any width: the best filter on the past with a free constant at every place, by least squares."""
    centred, wanted = x - x.mean(0), y - y.mean(0)
    shifted = np.stack([np.pad(centred, ((0, 0), (s, 0)))[:, :LENGTH] for s in range(LENGTH)], -1).reshape(-1, LENGTH)
    best = np.linalg.lstsq(shifted, wanted.ravel(), rcond=None)[0]
    return float((((x_test - x.mean(0)) @ causal(best).T + y.mean(0) - y_test) ** 2).mean())


TRANSFORMER = {"tokens": LENGTH, "dim": 32, "input": {"embedding": "mlp", "dim": 1, "positions": "learned"}, "output": {"head": "linear", "dim": 1}, "block": {"residual": False},
               "mixer": {"heads": 1}, "feedforward": {"activation": "gelu", "width": 128}, "layer": [{"repeat": 1}]}


def main():
    arguments = options(argparse.ArgumentParser(description=__doc__), "rnn")
    bench = Bench(arguments.command, arguments.work)
    quick = arguments.quick
    seeds, steps, samples, tests = (1, 50, 500, 200) if quick else (2, 4000, 8192, 1000)
    random = np.random.default_rng(0)
    x, x_test = random.uniform(0, 1, (samples, LENGTH)), random.uniform(0, 1, (tests, LENGTH))
    decay = np.exp(-np.arange(LENGTH, dtype=float))
    drawn = random.uniform(0, 1, LENGTH)
    theta = random.uniform(0, 1, 5)
    theta /= theta.sum()
    order = np.concatenate([np.arange(22, 32), np.arange(10, 22), np.arange(0, 10)])  # the first ten and the last ten change places
    shuffle = np.random.default_rng(7).permutation(LENGTH)
    mixed = sum(theta[s] * np.eye(LENGTH, k=s) for s in range(5))  # (theta * x)[t] = sum over s < 5 of theta(s) x(t + s)
    plain = np.eye(LENGTH)
    # name, rho, what happens to the inputs that the network reads, what happens to those that H reads, figures printed
    cases = [("rho = exp(-s)", decay, plain, plain, "1.02e-7", "2.18e-5"), ("order changed: first and last ten swapped", decay, plain[order], plain, "3.57e-2", "2.51e-5"),
             ("H of mixed inputs, x(t) .. x(t+4) as printed", decay, plain, mixed, "1.58e-7", "2.39e-4"), ("H of mixed inputs, x(t) .. x(t-4)", decay, plain, mixed.T, "1.58e-7", "2.39e-4"),
             ("rho(s) ~ U[0,1]", drawn, plain, plain, "5.58", "5.43e-4"), ("rho(s) ~ U[0,1], inputs permuted", drawn, plain[shuffle], plain, "5.24", "5.36e-4")]
    rows, curves, found = [], [], {}
    for k, (name, rho, change, change_of_target, rnn_printed, transformer_printed) in enumerate(cases if not quick else cases[:2]):
        a, y, a_test, y_test = x @ change.T, x @ (causal(rho) @ change_of_target).T, x_test @ change.T, x_test @ (causal(rho) @ change_of_target).T
        middle, scale = y.mean(), y.std()
        data = bench.data(f"case-{k}", x=a[..., None], y=(y[..., None] - middle) / scale, x_test=a_test[..., None], y_test=(y_test[..., None] - middle) / scale)
        watched, rnn, transformer = [], [], []
        for seed in range(seeds):
            seen = []
            LinearRnn(seed).fit(a, y, steps, seed, lambda step, net: seen.append((step, float(((net.run(a_test) - y_test) ** 2).mean()))))
            watched.append(seen)
            rnn.append(seen[-1][1])
            weights = bench.train(TRANSFORMER, data, 3 * steps, seed, lr=1e-2, batch=16)
            transformer.append(bench.evaluate(weights, data)["loss"] * scale**2)
            print(f"{name}, seed {seed}: RNN {rnn[-1]:.3g}, transformer {transformer[-1]:.3g}", file=sys.stderr, flush=True)
        found[k] = (float(np.mean(rnn)), float(np.mean(transformer)), floor(a, y, a_test, y_test), float(y_test.var()))
        rows.append([name, f"{y_test.var():.3g}", f"{found[k][2]:.2g}", show(rnn), rnn_printed, show(transformer), transformer_printed])
        curves.append((("exp(-s)", "order changed", "mixed, t .. t+4", "mixed, t .. t-4", "U[0,1]", "U[0,1], permuted")[k], watched[0], False))
    text = ["# A linear RNN and attention on sums over the past", "", how("rnn", arguments), "",
            f"H_t = sum over s <= t of rho(s) x(t - s), length {LENGTH}, x uniform in [0,1] (Jiang and Li, section 6). RNN: {UNITS} linear units with biases, Adam 1e-3. Transformer: form (5) with learned position codes,",
            f"width 32, one head of 32, f and F perceptrons (128 wide, gelu), Adam 1e-2, {3 * steps} steps of 16. RNN: {steps} steps of 64. Both on {samples} sequences, cosine, gradients clipped to length 1, {seeds} seed{'s' if seeds > 1 else ''}; mean squared error on {tests} fresh",
            "sequences, beside the figures printed in Tables 2 and 3. Floor: the least error of ANY linear RNN, the best filter on the past with free constants, by least squares.",
            "The transformer's settings were chosen among about ten by these errors, with one seed; relu, batches of 64 and 4000 steps missed the printed figures by up to 46 times. The RNN's were the first tried.",
            "Mixed rows: the networks read x and must mix. Where they read the mixed inputs instead, the transformer has 0.029 and 0.008.", ""]
    text += table(["task", "variance of H", "floor of linear RNNs", "RNN", "printed", "transformer", "printed"], rows)
    if not quick:
        (arguments.out / "rnn.svg").write_text(figure.draw("The linear RNN in training (one seed)", "step", "mean squared error, fresh sequences", curves))
        text += explain(found) + ["", "![the RNN in training](rnn.svg)"]
    (arguments.out / "rnn.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


def explain(found):
    """The differences from the printed figures, in words; found[case] = (RNN, transformer, floor of linear RNNs, variance of H)."""
    times = lambda a, b: f"{a / b:.1f}" if a > b else f"1/{b / a:.1f}"
    variance = found[4][3]
    return ["", "## Beside the printed figures", "",
            f"- Transformer: {times(found[0][1], 2.18e-5)}, {times(found[1][1], 2.51e-5)}, {times(found[4][1], 5.43e-4)} and {times(found[5][1], 5.36e-4)} times the printed errors without and with a changed order, for exp(-s) and the drawn rho: the same order of magnitude,",
            "  and as printed a changed order of the inputs does it no harm.",
            f"- RNN, exp(-s): {times(found[0][0], 1.02e-7)} times the printed error. The target is one state with decay 1/e, which a linear RNN holds exactly; what is left is how long one trains, and the printed figure is passed on the way (plot).",
            f"- RNN, order changed: {times(found[1][0], 3.57e-2)} times the printed 3.57e-2. Under the reading here (inputs swapped, outputs kept) no linear RNN of any width is below {found[1][2]:.2g}: the printed figure is, by a third, so another scaling or another reading was",
            "  run there. Its point stands: the RNN cannot, the transformer can.",
            f"- Mixing: with (theta * x)[t] = sum theta(s) x(t + s) as printed, H at t hangs on four inputs to come, and no linear RNN is below {found[2][2]:.2g}: the printed 1.58e-7 cannot be had from the printed formula. With theta on the past the RNN",
            f"  reaches {found[3][0]:.2g}, so this is what must have been run. The printed 2.39e-4 of the transformer is {2.39e-4 / found[3][1]:.0f} times ours: a matter of training.",
            f"- **Table 3's RNN (5.58, permuted 5.24) has learned nothing.** Those figures are the variance of H ({variance:.3g} here): a constant has that error. A linear RNN of 32 units holds every filter of length 32 (a shift register), and trained with clipped gradients",
            f"  it reaches {found[4][0]:.2g}, {round(variance / found[4][0], -2):.0f} times below. That an RNN cannot learn a drawn rho is wrong; that the permuted inputs stop it is right: floor {found[5][2]:.2g}, reached {found[5][0]:.2g}."]


if __name__ == "__main__":
    main()
