#!/usr/bin/env python3
"""The patterns of the independent model against what `sightline pattern` draws: those of the cases, and random ones of every kind.

    python3 tests/reference/check_patterns.py SIGHTLINE
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

import cases
import model

MARKS = {".": 0, "#": 1}


def draw_random(rng):
    n = rng.randrange(5, 15)
    kind = rng.choice(["window", "ring", "blocks", "shifted_blocks", "strided", "fixed", "grid", "circulant", "graph", "rows", "matrix", "butterfly", "union"])
    spec = {"kind": kind, "causal": rng.random() < 0.3}
    if kind == "window":
        spec |= {"before": rng.randrange(4), "after": rng.randrange(4), "dilation": rng.randrange(1, 4), "global": rng.sample(range(n), rng.randrange(3))}
        if spec["before"] + spec["after"] == 0 or rng.random() < 0.3:
            spec["wrap"] = True
    elif kind == "ring":
        spec["radius"] = rng.randrange(1, 4)
    elif kind == "blocks":
        spec["size"] = rng.randrange(1, n)
    elif kind == "shifted_blocks":
        spec["size"] = rng.randrange(2, n)
        spec |= {"shift": rng.randrange(1, spec["size"]), "wrap": rng.random() < 0.5}
    elif kind in ("strided", "fixed"):
        spec |= {"stride": rng.randrange(2, n), "part": rng.choice(["merged", "local", "summary"])}
        if kind == "strided":
            spec["variant"] = rng.choice(["paper", "code"])
        else:
            spec["summary"] = rng.randrange(1, spec["stride"])
    elif kind == "grid":
        shape = [rng.randrange(2, 5), rng.randrange(2, 5)]
        n = shape[0] * shape[1]
        spec |= {"shape": shape, "wrap": rng.random() < 0.5}
        choice = rng.randrange(4)
        if choice == 0:
            spec["window"] = [rng.randrange(2), rng.randrange(2)]
        elif choice == 1:
            spec[rng.choice(["rows", "columns"])] = True
        else:
            spec["blocks"] = [rng.randrange(1, shape[0] + 1), rng.randrange(1, shape[1] + 1)]
            if choice == 3:
                spec["shift"] = [rng.randrange(spec["blocks"][0]), rng.randrange(spec["blocks"][1])]
    elif kind == "circulant":
        spec["offsets"] = rng.sample(range(n), rng.randrange(1, 4))
    elif kind == "graph":
        edges = {tuple(rng.sample(range(n), 2)) for _ in range(rng.randrange(n))}
        spec |= {"edges": [list(e) for e in edges if (e[1], e[0]) not in edges or e[0] < e[1]], "directed": rng.random() < 0.5, "loops": rng.random() < 0.5}
    elif kind == "rows":
        spec["rows"] = [rng.sample(range(n), rng.randrange(n)) for _ in range(n)]
    elif kind == "matrix":
        spec["matrix"] = [[rng.choice([0, 0, 1, 2, 3]) for _ in range(n)] for _ in range(n)]
    elif kind == "butterfly":
        n, spec["distance"] = 8, rng.choice([1, 2, 4])
    else:
        spec["kind"] = rng.choice(["union", "intersection", "minus"])
        spec["of"] = [{"kind": "ring", "radius": rng.randrange(1, 3)}, {"kind": "blocks", "size": rng.randrange(1, n)}, {"kind": "circulant", "offsets": [rng.randrange(n)]}]
    return n, spec


def drawings(command, path):
    """The matrices that the command draws, one per different head pattern."""
    text = subprocess.run([command, "pattern", path], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()[1:]]
    size = next(int(words[0]) for words in rows if "vertices," in words)
    cells = [[int(c) if c.isdigit() else MARKS[c] for c in words[1]] for words in rows if len(words) == 2 and words[0].isdigit() and len(words[1]) == size]
    return [np.array(cells[k:k + size]) for k in range(0, len(cells), size)]


def main(command):
    rng = random.Random(11)
    trees = {name: tree for name, (tree, _) in cases.all_cases().items() if "pattern" in tree["mixer"]}
    for k in range(150):
        n, spec = draw_random(rng)
        trees[f"random-{k}"] = {"tokens": n, "dim": 2, "mixer": {"pattern": spec}}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name, tree in trees.items():
            path = pathlib.Path(folder) / "a.json"
            path.write_text(json.dumps(tree))
            spec = tree["mixer"]["pattern"]
            registers = len(tree.get("input", {}).get("registers", []))
            heads = spec["heads"] if spec["kind"] == "per_head" else [spec]
            ours = [model.expand(head, tree["tokens"], registers) for head in heads]
            if tree["mixer"].get("kind") == "max":  # colours weigh nothing: docs/theory.md 16.32
                ours = [matrix != 0 for matrix in ours]
            found = drawings(command, str(path))
            if len(found) != len(ours) or any(not np.array_equal(a.astype(int), b) for a, b in zip(ours, found)):
                wrong.append(f"{name}: {json.dumps(spec)}\n{ours[0].astype(int)}\n{found[0] if found else None}")
    print("\n".join(wrong[:5]) if wrong else f"{len(trees)} patterns are what the command draws")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
