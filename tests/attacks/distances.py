#!/usr/bin/env python3
"""The exact distances of collisions (docs/theory.md 16.12) against the definition: all permutations of few tokens, one by one.

Iso_m(a, b) is counted from visible rows (theory 2.4) over all of S_n; the target is the orbit sum that the floor names; its distance from the
functions with F_b(tau X) = F_a(X) is the loss of averaging coefficients, here as a least-squares problem in exact rationals. Petersen's graph
has the known ratio 1/2.

usage: distances.py SIGHTLINE"""
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

tests = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(tests))
from permutations import closure, parse_cycles  # noqa: E402

golden = tests / "golden" / "cases"


def latest(rows, m, a, n):
    """t_a(j): the last time at which output a still reads j."""
    t = {a: m}
    changed = True
    while changed:
        changed = False
        for i in list(t):
            for q in range(1, t[i] + 1):
                for j in rows[q - 1][i]:
                    if t.get(j, -1) < q - 1:
                        t[j] = q - 1
                        changed = True
    return t


def isomorphisms(rows, m, n):
    found = {}
    for a in range(n):
        t = latest(rows, m, a, n)
        assert len(t) == n
        for tau in itertools.permutations(range(n)):
            if all(sorted(tau[k] for k in rows[q - 1][j]) == sorted(rows[q - 1][tau[j]]) for j in range(n) for q in range(1, t[j] + 1)):
                found.setdefault(a, []).append(tau)
    return found


def distance(rows, m, n, group, orbit_of):
    """Squared distance and size of the target, in units of the variance of one monomial."""
    orbit = {tuple(g[v] for v in orbit_of) for g in group}
    maps = isomorphisms(rows, m, n)
    # Unknown f: one number per (token, monomial), f[a, p] = f[tau a, tau p]: classes by union-find, least squares = class means.
    keys = [(a, *p) for a in range(n) for p in itertools.product(range(n), repeat=len(orbit_of) - 1)]
    parent = {key: key for key in keys}

    def root(key):
        while parent[key] != key:
            key = parent[key]
        return key

    for a, taus in maps.items():
        for tau in taus:
            for key in keys:
                if key[0] == a:
                    parent[root(key)] = root(tuple(tau[v] for v in key))
    classes = {}
    for key in keys:
        classes.setdefault(root(key), []).append(int(key in orbit))
    lost = sum(Fraction(sum(values)) - Fraction(sum(values) ** 2, len(values)) for values in classes.values())
    return lost, len(orbit)


def main():
    rng, checked = random.Random(4), 0
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for k in range(400):
            n = rng.randint(3, 5)
            rows = [sorted({i} | {j for j in range(n) if rng.random() < 0.6}) if rng.random() < 0.9 else [j for j in range(n) if j != i] for i in range(n)]
            depth = rng.randint(1, 2)
            tree = {"tokens": n, "dim": 4, "depth": "listed", "layer": [{"pattern": {"kind": "rows", "rows": rows}, "repeat": depth}]}
            path = pathlib.Path(folder) / f"{k}.json"
            path.write_text(json.dumps(tree))
            cases.append((path, n, [rows] * depth))
        # Token-transitive lists: where one token tells nothing, targets are bilinear.
        circulants = {n: [o for size in range(1, n) for o in itertools.combinations(range(n), size) if o != (0,)] for n in (4, 5, 6)}
        lists = [(5, [range(5), o]) for o in ((1, 4), (0, 1, 4), (2, 3), (0, 2, 3))] + [(7, [range(7), o]) for o in ((1, 2, 4), (0, 1, 2, 4))]
        for _ in range(120):
            n = rng.choice([4, 5, 5, 5, 6])
            lists.append((n, [range(n)] * rng.randint(0, 1) + [rng.choice(circulants[n]) for _ in range(rng.randint(1, 2))]))
        for k, (n, chosen) in enumerate(lists):
            listed = [[sorted({(i + s) % n for s in offsets}) for i in range(n)] for offsets in chosen]
            path = pathlib.Path(folder) / f"transitive{k}.json"
            path.write_text(json.dumps({"tokens": n, "dim": 4, "depth": "listed", "layer": [{"pattern": {"kind": "rows", "rows": rows}} for rows in listed]}))
            cases.append((path, n, listed))
        run = subprocess.run([sys.argv[1], "certify", "--json", *(str(path) for path, _, _ in cases)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        kinds = {2: 0, 3: 0}
        for (path, n, rows), line in zip(cases, run.stdout.splitlines()):
            answer = json.loads(line)
            floor = answer["floor"]
            if not floor or "collision" not in floor["rule"]:
                continue
            orbit = tuple(map(int, re.search(r"orbit of \(([\d,]+)\)", floor["target"])[1].split(",")))
            group = closure([parse_cycles(g, n) for g in answer["layout"]["generators"]], n)
            lost, size = distance(rows, len(rows), n, group, orbit)
            unit = Fraction(1, 12) if len(orbit) == 2 else Fraction(1, 144)
            found = floor["distance"]
            assert Fraction(found["squared_error"]) == lost * unit, (path.read_text(), found, lost * unit)
            assert Fraction(found["norm"]) == size * unit and found["exact"]
            assert Fraction(floor["squared_error"]) <= Fraction(found["squared_error"]) <= Fraction(found["norm"])
            checked += 1
            kinds[len(orbit)] += 1
    petersen = json.loads(subprocess.run([sys.argv[1], "certify", "--json", str(golden / "B31.toml")], capture_output=True, text=True, check=True).stdout)["floor"]
    assert 2 * Fraction(petersen["distance"]["squared_error"]) == Fraction(petersen["distance"]["norm"]), petersen
    assert kinds[2] >= 20 and kinds[3] >= 8, kinds
    print(f"distances: {checked} by all permutations ({kinds[2]} linear, {kinds[3]} bilinear targets), Petersen 1/2")


main()
