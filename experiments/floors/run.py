#!/usr/bin/env python3
"""The floors of the theory seen in training: six architectures that cannot, networks of growing size against the floor that
their certificate names, and the repaired architecture that goes through it.

    python3 experiments/floors/run.py [--quick] [--only CASE,..] [--docs]

Targets and samples come from `sightline target`, networks from `sightline train`; errors are the mean over fresh samples of the
squared distance |F^(X) - F(X)|^2, summed over tokens, as the certificates state them.
"""
import argparse
import fractions
import json
import math
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PETERSEN = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 5], [1, 6], [2, 7], [3, 8], [4, 9], [5, 7], [7, 9], [9, 6], [6, 8], [8, 5]]


def sums(tokens, pattern, layers, dim, norm="none", **more):
    """Embedded pairs of numbers, layers that sum over rows: the mixer with the fewest obstacles for an optimiser."""
    return {"tokens": tokens, "dim": dim, "input": {"embedding": "mlp", "dim": 2, **more}, "output": {"head": "linear", "dim": 1},
            "mixer": {"kind": "sum", "pattern": pattern}, "feedforward": {"activation": "gelu", "width": 4 * dim}, "norm": {"kind": norm},
            "layer": [{"repeat": layers}]}


def bare(width, **tables):
    """Pairs of numbers as they are: d = 2 is the width of the whole network."""
    return {"tokens": 4, "dim": 2, "feedforward": {"activation": "gelu", "width": width}, "layer": [{"repeat": 2}], **tables}


GRAPH = {"kind": "graph", "edges": PETERSEN}
LONGFORMER = {"kind": "window", "radius": 2, "global": [0]}
HUB = {"kind": "union", "of": [{"kind": "blocks", "size": 3}, {"kind": "rows", "rows": [[6]] * 6 + [[0, 1, 2, 3, 4, 5, 6]]}]}
NORM = {"kind": "layernorm", "eps": 1.0}  # the floor holds for every eps; a small one hides how long a token is from an optimiser

# title, networks of growing size, the repair, what the repair is, and the exact distance where it is more than the printed floor:
# the printed floor of a collision compares two tokens; all that a token cannot tell apart is the average over the isomorphisms of its
# view (theory 3.2). Petersen: half of E|F|^2 = 10 * 12/144. Longformer: x_6 is one of ten in the eyes of token 1, and so for 15.
CASES = {
    "petersen": ("Petersen graph, 2 layers", [sums(10, GRAPH, 2, d) for d in (8, 16, 32)], sums(10, GRAPH, 3, 16), "a third layer", fractions.Fraction(5, 12)),
    "longformer": ("Longformer with a global token, 2 layers", [sums(16, LONGFORMER, 2, d, "layernorm") for d in (4, 8, 16)],
                   sums(16, LONGFORMER, 3, 16, "layernorm"), "a third layer",
                   fractions.Fraction(3, 20)),
    "blocks": ("two blocks of three, no shift", [sums(6, {"kind": "blocks", "size": 3}, 2, d) for d in (2, 4, 8)], sums(6, HUB, 2, 8, registers=["hub"]),
               "a register that reads all and is read by all", None),
    "prenorm": ("pre-LayerNorm", [bare(w, norm=NORM) for w in (4, 16, 64)], bare(16, norm=NORM | {"kind": "rmsnorm"}), "RMSNorm", None),
    "odd": ("tanh without biases", [bare(w, feedforward={"activation": "tanh", "bias": False, "width": w}) for w in (4, 16, 64)],
            bare(16, feedforward={"activation": "tanh", "width": 16}), "biases", None),
    "causal": ("causal mask, all-to-all target", [sums(5, {"kind": "full", "causal": True}, 2, d) for d in (2, 4, 8)], sums(5, {"kind": "full"}, 2, 8),
               "no mask", None),
}
# How long each is trained, and how fast; the repaired Petersen and Longformer have the most to learn.
STEPS = {"petersen": 4000, "longformer": 1500, "blocks": 1000, "prenorm": 1000, "odd": 600, "causal": 1000}
REPAIR_STEPS = {"petersen": 2000, "longformer": 4000}
QUICK_STEPS = {"petersen": 60, "longformer": 60, "blocks": 300, "prenorm": 200, "odd": 150, "causal": 300}
RATE = {"longformer": 1e-2}


class Experiment:
    def __init__(self, arguments):
        self.arguments = arguments
        self.samples = 10_000 if arguments.quick else 200_000
        self.training = 10_000 if arguments.quick else 60_000
        self.queue, self.running, self.trained = [], [], []

    def sightline(self, *words):
        done = subprocess.run([self.arguments.command, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0 and words[0] != "certify":
            sys.exit(f"sightline {words[0]}: " + (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
        return done.stdout

    def prepare(self, name):
        """Architectures, data and trainings of one case; returns the floor."""
        _, networks, repaired, _, _ = CASES[name]
        folder = self.arguments.out / name
        folder.mkdir(parents=True, exist_ok=True)
        floors = set()
        for k, tree in enumerate(networks + [repaired]):
            path = folder / f"{k}.json"
            path.write_text(json.dumps(tree))
            answer = json.loads(self.sightline("certify", "--json", path))
            if k < len(networks):
                assert answer["verdict"] == "impossible", (name, k, answer["verdict"])
                floors.add((answer["floor"]["squared_error"], answer["floor"]["target"]))
            else:
                assert answer["verdict"] == "certified", (name, "repaired", answer["verdict"])
        assert len(floors) == 1, floors
        for part, count, seed in (("train", self.training, 1), ("test", self.samples, 2)):
            if not (folder / f"{part}.npz").exists():
                self.sightline("target", folder / "0.json", "--samples", count, "--seed", seed, "--out", folder / f"{part}.npz")
        steps = (QUICK_STEPS if self.arguments.quick else STEPS)[name]
        for k in [0, len(networks)] if self.arguments.quick else range(len(networks) + 1):
            repaired = k == len(networks) and not self.arguments.quick
            self.trained.append((name, k))
            if (folder / f"run-{k}.done").exists():
                continue
            shutil.rmtree(folder / f"run-{k}", ignore_errors=True)
            self.queue.append((name, k, REPAIR_STEPS.get(name, steps) if repaired else steps))
        return fractions.Fraction(floors.pop()[0])

    def train(self):
        """All trainings, `jobs` at a time with one thread each."""
        self.queue.sort(key=lambda job: -job[2] * (3 if job[0] in ("petersen", "longformer") else 1))  # long ones first
        while self.queue or self.running:
            while self.queue and len(self.running) < self.arguments.jobs:
                name, k, steps = self.queue.pop(0)
                folder = self.arguments.out / name
                words = [self.arguments.command, "train", folder / f"{k}.json", "--data", folder / "train.npz", "--out", folder / f"run-{k}", "--threads", 1,
                         "--train.steps", steps, "--train.batch", 128, "--train.lr", RATE.get(name, 5e-3), "--train.weight_decay", 0]
                log = open(folder / f"run-{k}.log", "w")
                self.running.append((subprocess.Popen([str(word) for word in words], stdout=log, stderr=subprocess.STDOUT), folder / f"run-{k}"))
            time.sleep(0.1)
            for process, folder in list(self.running):
                if process.poll() is None:
                    continue
                self.running.remove((process, folder))
                if process.returncode == 0:
                    pathlib.Path(f"{folder}.done").touch()
                else:
                    for other, _ in self.running:
                        other.terminate()
                    sys.exit(f"{folder}: {pathlib.Path(f'{folder}.log').read_text().strip().splitlines()[-1:]}")

    def measure(self, name, k):
        """Mean squared error on the fresh samples, and its standard error."""
        folder = self.arguments.out / name
        self.sightline("predict", folder / f"run-{k}", "--data", folder / "test.npz", "--out", folder / "p.npz", "--threads", 2)
        with np.load(folder / "p.npz") as predicted, np.load(folder / "test.npz") as samples:
            errors = ((predicted["y"].astype(float) - samples["y"]) ** 2).sum((1, 2))
        return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(len(errors)))


def judge(name, result, quick):
    """What the theory asks of the figures of one case; a list of complaints."""
    wrong = []
    for size, (error, deviation) in zip(result["sizes"], result["networks"]):
        for what in ("floor", "distance"):
            if error < result[what] - 3 * deviation:
                wrong.append(f"{name}: a network of size {size} has error {error:.5f}, below the {what} {result[what]:.5f}")
    if quick and name in ("petersen", "longformer"):
        return wrong  # too few steps to learn a product or a place
    best = min(error for error, _ in result["networks"])
    if not quick and best > 1.1 * result["distance"]:
        wrong.append(f"{name}: the best network has error {best:.5f}, more than 10 % above the distance {result['distance']:.5f}")
    error, deviation = result["repaired"]
    if error + 3 * deviation >= result["floor"]:
        wrong.append(f"{name}: repaired, the error {error:.5f} is not below the floor {result['floor']:.5f}")
    return wrong


def draw(results):
    """Errors as multiples of the exact distance, one line per case, logarithmic."""
    width, left, right, row, top = 790, 280, 30, 44, 54
    low, high = -4.0, 1.0
    height = top + row * len(results) + 46
    x = lambda ratio: left + (min(max(math.log10(max(ratio, 1e-9)), low), high) - low) / (high - low) * (width - left - right)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    base = top + row * len(results)
    for power in range(int(low), int(high) + 1):
        out.append(f'<line x1="{x(10 ** power):.1f}" y1="{top - 8}" x2="{x(10 ** power):.1f}" y2="{base}" stroke="#dddddd"/>')
        out.append(f'<text x="{x(10 ** power):.1f}" y="{base + 18}" text-anchor="middle" fill="#444444">{10 ** power:g}</text>')
    out.append(f'<line x1="{x(1):.1f}" y1="{top - 8}" x2="{x(1):.1f}" y2="{base}" stroke="#222222" stroke-width="1.5"/>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{base + 36}" text-anchor="middle" fill="#222222">squared error / exact distance (log scale)</text>')
    for k, (name, result) in enumerate(results.items()):
        y = top + row * k + row / 2
        out.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end" fill="#222222">{result["title"]}</text>')
        mark = x(result["floor"] / result["distance"])
        out.append(f'<line x1="{mark:.1f}" y1="{y - 13}" x2="{mark:.1f}" y2="{y + 13}" stroke="#c8553d" stroke-width="2.5"/>')
        for size, (error, _) in enumerate(result["networks"]):
            out.append(f'<circle cx="{x(error / result["distance"]):.1f}" cy="{y}" r="{3 + 1.5 * size}" fill="#1b6ca8" fill-opacity="0.55" stroke="#1b6ca8"/>')
        at = x(result["repaired"][0] / result["distance"])
        out.append(f'<path d="M{at:.1f} {y - 7}l7 7l-7 7l-7 -7z" fill="#588157"/>')
    legend = [("circle", "networks, larger = wider"), ("line", "floor of the certificate"), ("diamond", "repaired")]
    at = left
    for kind, words in legend:
        shape = {"circle": f'<circle cx="{at}" cy="22" r="5" fill="#1b6ca8" fill-opacity="0.55" stroke="#1b6ca8"/>',
                 "line": f'<line x1="{at}" y1="13" x2="{at}" y2="31" stroke="#c8553d" stroke-width="2.5"/>',
                 "diamond": f'<path d="M{at} 15l7 7l-7 7l-7 -7z" fill="#588157"/>'}[kind]
        out += [shape, f'<text x="{at + 12}" y="26" fill="#222222">{words}</text>']
        at += 175
    return "\n".join(out) + "\n</svg>\n"


def write_table(results):
    lines = ["| case | floor | exact distance | networks, growing | best / distance | repaired |", "|---|---|---|---|---|---|"]
    for result in results.values():
        networks = ", ".join(f"{error:.4f} ± {deviation:.4f}" for error, deviation in result["networks"])
        best = min(error for error, _ in result["networks"])
        error, deviation = result["repaired"]
        lines.append(f"| {result['title']} | {result['floor_text']} = {result['floor']:.4f} | {result['distance']:.4f} | {networks} | {best / result['distance']:.3f} | "
                     f"{result['repair']}: {error:.5f} ± {deviation:.5f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=str(ROOT / "build/release/sightline"), help="the sightline to drive")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/experiments/floors")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time, one thread each")
    parser.add_argument("--quick", action="store_true", help="the smallest network and the repair of each case, few steps, 10,000 samples")
    parser.add_argument("--resume", action="store_true", help="keep the data and the finished trainings of --out")
    parser.add_argument("--only", help="some of " + ", ".join(CASES))
    parser.add_argument("--docs", action="store_true", help="write the plot and the table into docs/")
    arguments = parser.parse_args()
    if not arguments.resume:
        shutil.rmtree(arguments.out, ignore_errors=True)
    start = time.time()
    names = arguments.only.split(",") if arguments.only else list(CASES)
    experiment = Experiment(arguments)
    floors = {name: experiment.prepare(name) for name in names}
    experiment.train()
    results, wrong = {}, []
    for name in names:
        title, networks, _, repair, distance = CASES[name]
        measured = {k: experiment.measure(name, k) for other, k in experiment.trained if other == name}
        sizes = [k for k in measured if k < len(networks)]
        results[name] = {"title": title, "repair": repair, "floor_text": str(floors[name]), "floor": float(floors[name]), "distance": float(distance or floors[name]),
                         "sizes": sizes, "networks": [measured[k] for k in sizes], "repaired": measured[len(networks)]}
        wrong += judge(name, results[name], arguments.quick)
    print(write_table(results))
    (arguments.out / "result.json").write_text(json.dumps(results, indent=1) + "\n")
    (arguments.out / "floors.svg").write_text(draw(results))
    if arguments.docs:
        shutil.copy(arguments.out / "floors.svg", ROOT / "docs/experiments/floors.svg")
        page = ROOT / "docs/experiments/floors.md"
        before, rest = page.read_text().split("<!-- table -->\n", 1)
        page.write_text(before + "<!-- table -->\n" + write_table(results) + "\n![Errors as multiples of the exact distance](floors.svg)\n<!-- end of table -->\n" + rest.split("<!-- end of table -->\n", 1)[1])
    print("\n".join(wrong) if wrong else f"every floor holds; every repair goes through ({time.time() - start:.0f} seconds)" if not arguments.quick else
          f"every floor holds ({time.time() - start:.0f} seconds)")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
