"""What the experiments that train share: data from arrays, networks from trees, runs of the command, tables."""
import json
import math
import pathlib
import shutil
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Bench:
    """Trainings by the command, in a folder that is thrown away."""

    def __init__(self, command, work):
        self.command, self.work = str(pathlib.Path(command).resolve()), pathlib.Path(work)
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.runs = 0

    def call(self, *words, allow=(0,)):
        done = subprocess.run([self.command, *map(str, words)], capture_output=True, text=True)
        if done.returncode not in allow:
            sys.exit(f"sightline {words[0]}: " + (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
        return done.stdout

    def json(self, *words):
        return json.loads(self.call(*words, "--json", allow=(0, 1)))

    def data(self, name, **arrays):
        path = self.work / f"{name}.npz"
        np.savez(path, **{key: value.astype(np.float32) if value.dtype == np.float64 else value for key, value in arrays.items()})
        return path

    def train(self, network, data, steps, seed=0, lr=3e-3, batch=64, start=None, only=None):
        """The folder of a finished training of a tree (an architecture as JSON)."""
        self.runs += 1
        path = self.work / f"{self.runs}.json"
        path.write_text(json.dumps(network))
        folder = self.work / f"run-{self.runs}"
        words = ["train", path, "--data", data, "--out", folder, "--threads", 1, "--validation", 0, "--checkpoint-seconds", 1e6, "--train.steps", steps,
                 "--train.batch", batch, "--train.lr", lr, "--train.weight_decay", 0, "--train.seed", seed]
        if start:
            words += ["--init-from", start]
        if only:
            words += ["--only", only]
        self.call(*words)
        return folder / "last.safetensors"

    def evaluate(self, weights, data, split="test"):
        return json.loads(self.call("evaluate", weights, "--data", data, "--split", split, "--threads", 1, "--batch", 512))

    def predict(self, weights, data, attention=None):
        out = self.work / "p.npz"
        words = [] if attention is None else ["--attention", attention]
        self.call("predict", weights, "--data", data, "--split", "test", "--out", out, "--threads", 1, "--batch", 512, *words)
        with np.load(out) as arrays:
            return {name: arrays[name] for name in arrays}

    def certify(self, network):
        path = self.work / "certify.json"
        path.write_text(json.dumps(network))
        return json.loads(self.call("certify", "--json", path))


def mean_and_spread(values):
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def show(values, digits=3):
    mean, spread = mean_and_spread(values)
    return f"{mean:.{digits}g}" + (f" ± {spread:.1g}" if len(values) > 1 else "")


def table(head, rows):
    return ["| " + " | ".join(map(str, head)) + " |", "|---" * len(head) + "|"] + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def ranks(values):
    """Ranks along the last axis (no ties expected)."""
    order = np.argsort(values, axis=-1)
    result = np.empty_like(order)
    np.put_along_axis(result, order, np.broadcast_to(np.arange(values.shape[-1]), order.shape).copy(), axis=-1)
    return result.astype(float)


def rank_correlation(a, b):
    """Spearman's, along the last axis."""
    ra, rb = ranks(a), ranks(b)
    ra, rb = ra - ra.mean(-1, keepdims=True), rb - rb.mean(-1, keepdims=True)
    return (ra * rb).sum(-1) / np.sqrt((ra * ra).sum(-1) * (rb * rb).sum(-1))


def options(parser, name):
    parser.add_argument("command", nargs="?", default=str(ROOT / "build/release/sightline"))
    parser.add_argument("--quick", action="store_true", help="the form that CI runs: few steps, nothing to conclude from")
    parser.add_argument("--out", default=str(ROOT / "docs/experiments"), type=pathlib.Path)
    parser.add_argument("--work", default=str(ROOT / f"build/experiments/{name}"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    return arguments


def how(name, arguments):
    return f"`./do experiment {name}" + (" --quick`" if arguments.quick else "`")
