#!/usr/bin/env python3
"""compare as users run it: budgets kept, the same numbers twice, what certify says, files, errors."""
import csv
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
from common import check, command, finish, numpy, refused, run, work

KINDS = ["full", "window", "linformer", "performer", "register", "mlp-sumformer", "polynomial"]


def operations(kind, words, n, d, k, layers):
    """The documented count, from the sizes that are printed."""
    size = {}
    for part in words.replace(" (degree", ", degree").replace(")", "").split(", "):
        *name, value = part.split(" ")
        size["features" if value == "features" else name[0] if name else "second"] = int(name[0] if value == "features" else value)
    def linear(a, b):
        return 2 * a * b
    if kind in ("mlp-sumformer", "polynomial"):
        latent = size["latent"]
        if kind == "polynomial":
            first, second, phi = size["psi"], size["second"], latent
        else:
            w = size["phi"]
            first = second = size["psi"]
            phi = linear(d, w) + w + linear(w, w) + w + linear(w, latent)
        psi = linear(d, first) + 2 * first + linear(first, second) + second + linear(second, k)
        return n * (phi + latent + psi) + linear(latent, first)
    w, h = size["width"], size["feedforward"]
    pair = 4 * w + 3
    mixing = {"full": n * n * pair, "window": n * min(n, 2 * size.get("radius", 0) + 1) * pair, "register": 2 * n * pair,
              "linformer": 4 * n * size.get("rank", 0) * w + n * size.get("rank", 0) * pair,
              "performer": n * (2 * (2 * size.get("features", 0) * w + 2 * w + size.get("features", 0)) + 4 * size.get("features", 0) * w + 3 * size.get("features", 0))}[kind]
    vertices = n + (kind == "register")
    layer = mixing + vertices * (4 * linear(w, w) + w + 2 * linear(w, h) + h + w)
    return n * (linear(d, 4 * w) + 4 * w + linear(4 * w, w)) + layers * layer + n * linear(w, k)


words = ["compare", "expr:norm2(x) + sum(y[0]*y[1])", "--tokens", 6, "--dim", 2, "--budget", 60000, "--steps", 40, "--samples", 400, "--test", 300, "--seed", 5]
first = json.loads(run(*words, "--json", "--csv", "c.csv", "--plot", "c.svg")[0])
rows = {row["network"]: row for row in first["rows"]}
check(list(rows) == KINDS + ["least-squares"], f"networks: {list(rows)}")
for kind in KINDS:
    row = rows[kind]
    check(abs(row["operations"] / 60000 - 1) <= 0.05, f"{kind}: {row['operations']} operations for a budget of 60000")
    check(row["operations"] == operations(kind, row["sizes"], 6, 2, 1, 2), f"{kind}: {row['operations']} operations, not {operations(kind, row['sizes'], 6, 2, 1, 2)}: {row['sizes']}")
    check(len(set(row["errors"])) == 3 and abs(row["mean"] - numpy.mean(row["errors"])) < 1e-12 and abs(row["spread"] - numpy.std(row["errors"], ddof=1)) < 1e-12, f"{kind}: {row}")
    check(row["certify"]["verdict"] == "certified" and row["microseconds"] > 0 and row["parameters"] > 0, f"{kind}: {row}")
check(rows["full"]["certify"]["symmetry"] == "S_6" and rows["register"]["certify"]["symmetry"] == "S_6", f"full: {rows['full']['certify']}")
check(rows["window"]["certify"]["symmetry"] == "B_3", f"window: {rows['window']['certify']}")  # all but the opposite token: an octahedron
check(rows["least-squares"]["errors"][0] < 1e-9 and not rows["least-squares"]["trained"], f"a polynomial target, solved: {rows['least-squares']}")
table = list(csv.DictReader((work / "c.csv").open()))
check(len(table) == 3 * 7 + 1 and float(table[0]["relative_l2"]) == rows["full"]["errors"][0], f"csv: {table[:2]}")
check((work / "c.svg").read_text().count("<circle") == 22, "the plot has a point per seed")
again = json.loads(run(*words, "--json", "--only", "performer,polynomial", "--seeds", 1)[0])
check([row["errors"][0] for row in again["rows"]] == [rows["performer"]["errors"][0], rows["polynomial"]["errors"][0], rows["least-squares"]["errors"][0]], "the same seed, the same numbers")
text = run(*words, "--only", "full", "--seeds", 2)[0]
check("certified for S_6, 1 of 2 layers needed" in text and "60000 operations" in text, text)

# Data of a file; positions; a window too narrow.
random = numpy.random.default_rng(0)
x = random.uniform(-1, 1, (60, 5, 2))
numpy.savez(work / "d.npz", x=x, y=numpy.cumsum(x[:, :, :1], 1))
row = json.loads(run("compare", "data:d.npz", "--budget", 30000, "--only", "full", "--positions", "learned", "--steps", 5, "--seeds", 1, "--json")[0])["rows"][0]
check(row["certify"] == {"verdict": "certified", "symmetry": "trivial", "needed": 1} or row["certify"]["symmetry"] in ("1", "trivial", "S_1", "C_1"), f"positions: {row['certify']}")
row = json.loads(run("compare", "expr:sum(y)", "--tokens", 12, "--budget", 90000, "--only", "window", "--radius", 1, "--steps", 5, "--seeds", 1, "--json")[0])["rows"][0]
check(row["certify"]["verdict"] == "impossible" and row["certify"]["needed"] == 6, f"a narrow window: {row['certify']}")
check("not S_4-equivariant" in run("compare", "expr:i*x", "--tokens", 4, "--budget", 30000, "--only", "mlp-sumformer", "--steps", 5, "--seeds", 1)[0], "a target without symmetry is told")

refused("needs at least", "compare", "expr:sum(y)", "--budget", 100)
refused("--only: expected some of full, window", "compare", "expr:sum(y)", "--budget", 50000, "--only", "mamba")
refused("expected --tokens 5", "compare", "data:d.npz", "--budget", 30000, "--tokens", 4)
refused("expected finite numbers", "compare", "expr:log(x)", "--budget", 30000)
refused("--domain: expected LO < HI", "compare", "expr:sum(y)", "--budget", 30000, "--domain", "1,0")
refused("character", "compare", "expr:sum(", "--budget", 30000)
refused("--budget", "compare", "expr:sum(y)")
# Nothing of a comparison is kept, and the message does not say so.
process = subprocess.Popen([command, "compare", "expr:sum(y)", "--budget", "50000", "--steps", "100000"], cwd=work, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
time.sleep(5)
process.send_signal(signal.SIGINT)
error = process.communicate(timeout=60)[1]
check(process.returncode == 130 and error == "sightline: interrupted, nothing written\n", f"Ctrl-C: exit {process.returncode}, {error!r}")
finish()
