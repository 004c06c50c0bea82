#!/usr/bin/env python3
"""How a polynomial Sumformer grows with the number of tokens and their width, and what a grid costs beside it. Nothing is trained.

    python3 experiments/sumformer/growth.py COMMAND [--quick] [--out docs/experiments]

Writes OUT/sumformer-growth.md and its figures. Times are of this machine; everything else is the same every time.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figure


def approximate(command, expression, *words):
    start = time.monotonic()
    run = subprocess.run([command, "approximate", f"expr:{expression}", "--json", *map(str, words)], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise SystemExit(run.stderr)
    return json.loads(run.stdout), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="docs/experiments")
    options = parser.parse_args()
    command, out = str(pathlib.Path(options.command).resolve()), pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    tokens = [2, 4, 8, 16] if options.quick else [2, 4, 8, 16, 32, 64, 128]
    text = ["# How a Sumformer grows", "", "`python3 experiments/sumformer/growth.py build/release/sightline" + (" --quick" if options.quick else "") + "`", "",
            "## Degree 4, an attention target", "", "Target attend(dot(x,y), y[0]), tokens uniform in [-1,1]^d. d' is the latent dimension for degree 4 (it stops growing at n = 4: power sums of degree min(D, n)); the last column is",
            "C(n+d,d)-1, what all equivariant polynomials without a limit of the degree need.", "",
            "| n | d | d' | columns | independent | relative L2 | seconds | C(n+d,d)-1 |", "|---|---|---|---|---|---|---|---|"]
    latent, cost = {}, {}
    for d in (1, 2, 3):
        for n in tokens:
            answer, seconds = approximate(command, "attend(dot(x,y),y[0])", "--tokens", n, "--dim", d, "--degree", 4)
            most = math.comb(n + d, d) - 1
            assert answer["latent"] == math.comb(min(n, 4) + d, d) - 1 and answer["equivariance"] == 0
            latent.setdefault(d, []).append((n, most))
            cost.setdefault(d, []).append((n, seconds))
            text.append(f"| {n} | {d} | {answer['latent']:.0f} | {answer['columns']:.0f} | {answer['independent']:.0f} | {answer['relative_l2']:.2e} | {seconds:.2f} | {most} |")
    (out / "sumformer-growth.svg").write_text(figure.draw("Latent dimension C(n+d,d)-1 for all degrees", "tokens n", "d'", [(f"d = {d}", points, False) for d, points in latent.items()]))
    (out / "sumformer-cost.svg").write_text(figure.draw("Seconds of a whole fit of degree 4 (fit and test)", "tokens n", "seconds", [(f"d = {d}", points, False) for d, points in cost.items()]))
    text += ["", "![latent dimension](sumformer-growth.svg) ![seconds](sumformer-cost.svg)", "", "## The sum of squares with latent dimension 2", "",
             "sum_j |x_j|^2 in d = 1: power sums of degree 1 and 2 (d' = 2) are enough, and one is not.", "", "| degree | d' | relative L2 |", "|---|---|---|"]
    for degree in (1, 2, 3):
        answer, _ = approximate(command, "sum(y^2)", "--tokens", 8, "--dim", 1, "--degree", degree)
        text.append(f"| {degree} | {answer['latent']:.0f} | {answer['relative_l2']:.2e} |")
    text += ["", "## Error against degree, and what the same error costs as a table", "", "Target attend(3*dot(x,y), y), n = 2, d = 1: the polynomial, the grid Sumformer (depth 2) and Theorem 1's deep network, whose tables are the same.", "",
             "| degree | columns | relative L2 |", "|---|---|---|"]
    curves = [("polynomial", [], False), ("grid, depth 2", [], False), ("Theorem 1, proved bound", [], True)]
    for degree in (1, 3, 5, 7, 9, 11) if options.quick else (1, 3, 5, 7, 9, 11, 13, 15):
        answer, _ = approximate(command, "attend(3*dot(x,y),y)", "--tokens", 2, "--dim", 1, "--degree", degree)
        curves[0][1].append((answer["independent"], answer["relative_l2"]))
        text.append(f"| {degree} | {answer['independent']:.0f} | {answer['relative_l2']:.2e} |")
    cells = "2,4,9,19,42" if options.quick else "2,4,9,19,42,94,211"
    grid, _ = approximate(command, "attend(3*dot(x,y),y)", "--tokens", 2, "--dim", 1, "--method", "grid", "--cells", cells)
    deep, _ = approximate(command, "attend(3*dot(x,y),y)", "--tokens", 2, "--dim", 1, "--method", "theorem1", "--cells", cells)
    scale = grid["l2"] / grid["relative_l2"]
    text += ["", "| cells per coordinate | token codes | grid: layers, numbers | Theorem 1: layers, parameters | proved L2 | measured L2 (grid, Theorem 1) |", "|---|---|---|---|---|---|"]
    for a, b in zip(grid["table"], deep["table"]):
        assert a["l2"] <= a["bound"] and b["l2"] <= b["bound"]
        curves[1][1].append((a["codes"], a["l2"] / scale))
        curves[2][1].append((b["codes"], b["bound"] / scale))
        text.append(f"| {a['cuts']} | {a['codes']} | {a['layers']}, {a['parameters']} | {b['layers']}, {b['parameters']} | {b['bound']:.3g} | {a['l2']:.3g}, {b['l2']:.3g} |")
    (out / "sumformer-cells.svg").write_text(figure.draw("Relative L2 error against columns or table entries", "columns, token codes", "relative L2", curves))
    text += ["", "![error against size](sumformer-cells.svg)"]
    (out / "sumformer-growth.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
