#!/usr/bin/env python3
"""`sightline target`: the best predictor that obeys the obstruction comes close to the floor on the samples, and never below it.

Every case states the best predictor (or its error) independently of the command, from theory.md 3 and 15.
usage: check.py COMMAND"""
import ast
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile
from fractions import Fraction

root = pathlib.Path(__file__).resolve().parent.parent.parent
command = pathlib.Path(sys.argv[1]).resolve()
faults = []


def read_npz(path):
    """name -> (shape, flat list), with nothing but the standard library."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            data = archive.read(name)
            assert data[:8] == b"\x93NUMPY\x01\x00"
            size = struct.unpack("<H", data[8:10])[0]
            assert (10 + size) % 64 == 0
            header = ast.literal_eval(data[10:10 + size].decode())
            body = data[10 + size:]
            if header["descr"].startswith("<U"):
                values = body.decode("utf-32-le")
            else:
                letter = {"<f8": "d", "<i8": "q"}[header["descr"]]
                values = struct.unpack(f"<{len(body) // 8}{letter}", body)
                assert len(values) == math.prod(header["shape"])
            arrays[name.removesuffix(".npy")] = (header["shape"], values)
    return arrays


def split(array):
    """Samples as nested lists."""
    shape, values = array
    if len(shape) == 1:
        return list(values)
    step = math.prod(shape[1:])
    return [split((shape[1:], values[k * step:(k + 1) * step])) for k in range(shape[0])]


def eigenvalues(matrix):
    """Of a symmetric matrix, by Jacobi rotations."""
    a = [row[:] for row in matrix]
    size = len(a)
    for _ in range(60):
        for p in range(size):
            for q in range(p + 1, size):
                if abs(a[p][q]) < 1e-14:
                    continue
                theta = 0.5 * math.atan2(2 * a[p][q], a[q][q] - a[p][p])
                c, s = math.cos(theta), math.sin(theta)
                for k in range(size):
                    a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
                for k in range(size):
                    a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
    return sorted(a[k][k] for k in range(size))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def beyond_affine(ys, rank):
    """Sum over tokens of the variance that no affine space of that dimension holds."""
    total = 0
    for token in range(len(ys[0])):
        rows = [y[token] for y in ys]
        middle = [mean(column) for column in zip(*rows)]
        covariance = [[mean((r[p] - middle[p]) * (r[q] - middle[q]) for r in rows) for q in range(len(middle))] for p in range(len(middle))]
        total += sum(eigenvalues(covariance)[:len(middle) - rank])
    return total


def unseen_error(seen, middle):
    """The best guess for a sum of independent terms adds the middle of those that are not seen."""
    def error(xs, ys, answer):
        value = lambda token: token[0] if isinstance(token, list) else (1 if token < 2 else -1)
        return mean(sum((y[i][0] - sum(value(x[j]) if j in seen(i) else middle for j in range(len(x)))) ** 2 for i in range(len(x))) for x, y in zip(xs, ys))
    return error


def collision_error(xs, ys, answer):
    """F^(X)_a = F^(tau X)_b for every network: the best common value leaves half the squared difference (theory 3.2)."""
    a, b = answer["witness"]["collision"]["a"], answer["witness"]["collision"]["b"]
    n = len(xs[0])
    tau = list(range(n))
    for p, q in answer["witness"]["collision"]["tau_moves"]:
        tau[p] = q
    # F(X)_i is a sum of some X[0][v], or of some X[0][u] X[1][v]: which ones, is read off the samples by correlation.
    linear = [(lambda x, v=v: x[v][0]) for v in range(n)]
    bilinear = [(lambda x, u=u, v=v: x[u][0] * x[v][1]) for u in range(n) for v in range(n) if u != v]
    for terms, size in ((linear, 1 / 12), (bilinear, 1 / 144)):
        rows = {i: [term for term in terms if mean(y[i][0] * term(x) for x, y in zip(xs, ys)) > size / 2] for i in (a, b)}
        if all(abs(y[i][0] - sum(term(x) for term in row)) < 1e-9 for i, row in rows.items() for x, y in zip(xs, ys)):
            break
    else:
        raise AssertionError("the target is no sum of entries or of products of two")
    half = 0.5 if a != b else 0.25
    total = 0
    for x in xs:
        moved = [None] * n
        for i in range(n):
            moved[tau[i]] = x[i]
        total += half * (sum(term(x) for term in rows[a]) - sum(term(moved) for term in rows[b])) ** 2
    return total / len(xs)


def first(ys):
    return [[token[0] for token in y] for y in ys]


PETERSEN = "[[0,1],[1,2],[2,3],[3,4],[4,0],[0,5],[1,6],[2,7],[3,8],[4,9],[5,7],[7,9],[9,6],[6,8],[8,5]]"
# name, architecture, error of the best predictor on samples (x, y, answer), how far the sample may lie from the floor, relatively
CASES = [
    ("unseen", 'tokens = 6\ndim = 3\n[mixer]\npattern = { kind = "blocks", size = 3 }\n', unseen_error(lambda i: range(i // 3 * 3, i // 3 * 3 + 3), 0.5), 0.08),
    ("unseen, causal", 'tokens = 5\ndim = 2\n[target]\nclass = "causal"\n[mixer]\npattern = { kind = "window", before = 1 }\n[[layer]]\nrepeat = 2\n',
     lambda xs, ys, answer: mean(sum((y[i][0] - sum(x[j][0] if j >= i - 2 else 0.5 for j in range(i + 1))) ** 2 for i in range(5)) for x, y in zip(xs, ys)), 0.08),
    ("blind", 'tokens = 4\ndim = 3\n[mixer]\nkind = "bias"\nactivation = "1"\n', unseen_error(lambda i: [i], 0.5), 0.08),
    # Odd networks: (F^(X) + F^(-X)) / 2 = 0, and the target is 1 on both.
    ("odd", 'tokens = 4\ndim = 3\n[feedforward]\nactivation = "tanh"\nbias = false\n', lambda xs, ys, answer: mean(sum(v * v for v in y) for y in first(ys)), 1e-9),
    # The component along (1,..,1) passes unseen: its best guess is its middle, 0.
    ("pre-LayerNorm", 'tokens = 4\ndim = 3\n[norm]\nkind = "layernorm"\n', lambda xs, ys, answer: mean(sum(sum(t) ** 2 / 3 for t in x) for x in xs), 0.08),
    ("pre-LayerNorm, head", 'tokens = 4\ndim = 3\n[norm]\nkind = "layernorm"\n[output]\nhead = "linear"\nnorm = { kind = "layernorm" }\n',
     lambda xs, ys, answer: mean(sum((v - 0) ** 2 for v in y) for y in first(ys)), 0.08),
    ("output rank", 'tokens = 3\ndim = 4\n[norm]\nkind = "rmsnorm"\n[input]\nembedding = "linear"\ndim = 6\n[output]\nhead = "linear"\ndim = 6\nnorm = { kind = "rmsnorm" }\n',
     lambda xs, ys, answer: beyond_affine(ys, 4), 0.08),
    ("output rank, ids", 'tokens = 3\ndim = 3\n[norm]\nkind = "rmsnorm"\n[input]\nembedding = "table"\nvocabulary = 6\npositions = "learned"\n[output]\nhead = "linear"\ndim = 5\nnorm = { kind = "rmsnorm" }\n',
     lambda xs, ys, answer: beyond_affine(ys, 3), 0.08),
    # One of six directions is lost, whichever: of its square the rest of the token says what is usual on a ball of its own (theory 16.80).
    ("input rank, causal", 'tokens = 3\ndim = 5\ndepth = "unbounded"\n[target]\nclass = "causal"\n[input]\nembedding = "linear"\ndim = 6\n[mixer]\npattern = { kind = "full", causal = true }\n',
     lambda xs, ys, answer: mean(sum((t[5] ** 2 - (1 - sum(v * v for v in t[:5])) / 3) ** 2 for t in x) for x in xs), 0.1),
    ("collision", f'tokens = 10\ndim = 3\n[mixer]\npattern = {{ kind = "graph", edges = {PETERSEN} }}\n[[layer]]\nrepeat = 2\n', collision_error, 0.08),
    ("collision, ring", 'tokens = 7\ndim = 2\ndepth = "unbounded"\n[target]\nsymmetry = "C_7"\n[mixer]\npattern = { kind = "ring", radius = 1 }\n', collision_error, 0.08),
    ("unseen ids", 'tokens = 5\ndim = 8\n[input]\nembedding = "table"\nvocabulary = 4\npositions = "learned"\n[mixer]\npattern = { kind = "blocks", size = 2 }\n',
     unseen_error(lambda i: [j for j in range(5) if j // 2 == i // 2], 0), 0.08),
    # Constant prefixes: on the V sequences of one id all tokens share one value; token i > 0 is fitted elsewhere.
    ("constant prefixes", 'tokens = 3\ndim = 8\n[target]\nclass = "causal"\n[input]\nembedding = "table"\nvocabulary = 2\n[mixer]\nrelative = "rotary"\npattern = { kind = "full", causal = true }\n',
     lambda xs, ys, answer: constant_prefix_error(xs, ys), 0.08),
    ("collision, ids", 'tokens = 3\ndim = 8\ndepth = "listed"\n[input]\nembedding = "table"\nvocabulary = 2\npositions = "none"\n\n[output]\nhead = "linear"\n[mixer]\nkernel = "sigmoid(dot(x,y))"\nnormalised = false\npattern = { kind = "rows", rows = [[0, 1], [0, 2], [0, 1]] }\n[feedforward]\nactivation = "gelu"\n[norm]\nkind = "rmsnorm"\neps = 1e-6\n[[layer]]\nrepeat = 4\n',
     lambda xs, ys, answer: id_collision_error(xs, ys, answer), 0.15),
    ("fixed positions", 'tokens = 2\ndim = 2\n[target]\nbox = 1.0\n[input]\npositions = "fixed"\ntable = [[0,0],[1,0]]\n', lambda xs, ys, answer: fixed_positions_error(xs, ys, answer), 0.08),
]


def constant_prefix_error(xs, ys):
    """Every network gives token i the value of token 0 when tokens 0..i are equal: the best value per id, fitted to both."""
    total = 0
    for symbol in (0, 1):
        values = [y[i][0] for x, y in zip(xs, ys) for i in range(3) if all(v == symbol for v in x[:i + 1])]
        middle = mean(values)
        total += sum((v - middle) ** 2 for v in values)
    return total / len(xs)


def id_collision_error(xs, ys, answer):
    """The two labelled sequences get one value."""
    ids = answer["witness"]["ids"]
    values = [y[ids[place]][0] for x, y in zip(xs, ys) for side, place in (("x", "a"), ("y", "b")) if x == ids[side]]
    assert 0 < sum(values) < len(values)
    middle = mean(values)
    return sum((v - middle) ** 2 for v in values) / len(xs)


def fixed_positions_error(xs, ys, answer):
    """X and X' with X' + E = tau (X + E), tau = (0 1): F^(X)_0 = F^(X')_1. Where both lie in the box the best value is 1/2."""
    paired = [x for x in xs if all(abs(x[0][k] - (1, 0)[k]) <= 1 for k in (0, 1)) and all(abs(x[1][k] + (1, 0)[k]) <= 1 for k in (0, 1))]
    a, b = answer["witness"]["collision"]["a"], answer["witness"]["collision"]["b"]
    assert {a, b} == {0, 1} and all(y[a][0] == 0 and y[b][0] == 1 for y in ys)
    return 2 * 0.25 * len(paired) / len(xs)


# Samples are of the class: what a target must not look at does not change it, what the group exchanges gets the same (theory 16.88).
# name, architecture, says what is wrong with the samples
OF_CLASS = [
    ("label collision, class seen", 'tokens = 2\ndim = 2\n[target]\nclass = "seen"\nsymmetry = []\n[input]\nembedding = "table"\nvocabulary = 2\n[output]\nhead = "linear"\ndim = 1\n[mixer]\nsink = true\npattern = { kind = "self" }\n',
     lambda xs, ys: len({(i, x[i], y[i][0]) for x, y in zip(xs, ys) for i in (0, 1)}) != 4),
    ("label collision, class causal", 'tokens = 3\ndim = 2\n[target]\nclass = "causal"\n[input]\nembedding = "table"\nvocabulary = 2\n[output]\nhead = "linear"\ndim = 1\n[mixer]\nsink = true\npattern = { kind = "rows", rows = [[0, 1], [0, 1], [0, 1, 2]] }\n',
     lambda xs, ys: any(len({(*x[:i + 1], y[i][0]) for x, y in zip(xs, ys)}) != 2 ** (i + 1) for i in range(3))),
    ("fixed positions, two equal rows", 'tokens = 3\ndim = 2\n[target]\nsymmetry = ["(1 2)"]\n[input]\npositions = "fixed"\ntable = [[0,0],[0.5,0],[0.5,0]]\n',
     lambda xs, ys: any(y[0] != [0, 0] or y[1] != [1, 0] or y[2] != [1, 0] for y in ys)),
]


def run(*arguments, cwd):
    return subprocess.run([command, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False, timeout=100)


def check_case(folder, name, text, error, slack):
    path = folder / "case.toml"
    path.write_text(text)
    answer = json.loads(run("certify", "--json", path, cwd=folder).stdout)
    result = run("target", path, "--samples", 4000, "--out", "case.npz", "--seed", 5, cwd=folder)
    if result.returncode != 0:
        faults.append(f"{name}: exit {result.returncode}: {result.stderr.strip()} ({answer.get('verdict')}, {answer.get('floor')})")
        return
    arrays = read_npz(folder / "case.npz")
    if json.loads(arrays["floor"][1]) != answer["floor"]:
        faults.append(f"{name}: metadata {arrays['floor'][1]} is not the answer's floor {answer['floor']}")
    floor = float(Fraction(answer["floor"]["squared_error"]))
    found = error(split(arrays["x"]), split(arrays["y"]), answer)
    if abs(found - floor) > slack * floor:
        faults.append(f"{name}: best predictor {found:.4f} on the samples, floor {floor:.4f} ({answer['floor']['rule']})")
    again = run("target", path, "--samples", 4000, "--out", "again.npz", "--seed", 5, cwd=folder)
    if again.returncode != 0 or (folder / "again.npz").read_bytes() != (folder / "case.npz").read_bytes():
        faults.append(f"{name}: the same seed gave other bytes")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for case in CASES:
        check_case(folder, *case)
    for case, text, is_wrong in OF_CLASS:
        (folder / "class.toml").write_text(text)
        result = run("target", "class.toml", "--samples", 400, "--out", "class.npz", cwd=folder)
        arrays = read_npz(folder / "class.npz") if result.returncode == 0 else None
        if arrays is None or is_wrong(split(arrays["x"]), split(arrays["y"])) or not any(arrays["y"][1]):
            faults.append(f"{case}: the samples are not of the class {result.stderr.strip()}")
    # Every floor with a number in the reference cases can be sampled.
    files = sorted((root / "tests/golden/cases").glob("*.toml"))
    for case, entry in json.loads((root / "tests/verdict_cases/cases.json").read_text()).items():
        files.append(folder / f"{case}.toml")
        files[-1].write_text(entry["architecture"])
    sampled = 0
    for line in run("certify", "--json", *files, cwd=folder).stdout.splitlines():
        answer = json.loads(line)
        floors = ([answer["floor"]] if answer.get("floor") else []) + answer.get("floors", [])
        for k, floor in enumerate(floors):
            if floor["squared_error"] is None:
                continue
            result = run("target", answer["file"], "--floor", k, "--samples", 2, "--out", "sweep.npz", cwd=folder)
            sampled += 1
            if result.returncode != 0 or json.loads(read_npz(folder / "sweep.npz")["floor"][1]) != floor:
                faults.append(f"{answer['file']}: floor {k}: {floor['target']}: {result.stderr.strip()}")
    if sampled < 100:
        faults.append(f"only {sampled} floors were sampled")
    # A certified architecture has no such target; a floor without a closed form has no samples.
    (folder / "good.toml").write_text("tokens = 4\ndim = 3\n")
    result = run("target", "good.toml", "--out", "good.npz", cwd=folder)
    if result.returncode != 2 or "found none" not in result.stderr or (folder / "good.npz").exists():
        faults.append(f"certified: {result}")
    # --fix writes a table that works (theory 3.9).
    (folder / "bad.toml").write_text(CASES[-1][1])
    result = run("certify", "bad.toml", "--fix", "mended.toml", cwd=folder)
    mended = run("certify", "mended.toml", "--require", "universal", cwd=folder)
    if result.returncode != 0 or mended.returncode != 0:
        faults.append(f"--fix: {result.returncode} {result.stderr} {mended.stdout} {mended.stderr}")
    if run("certify", "mended.toml", "--fix", "again.toml", cwd=folder).returncode != 2:
        faults.append("--fix on a table that works should say that there is nothing to mend")

print("\n".join(faults))
print(f"target: {len(CASES) + len(OF_CLASS) + 4} cases, {len(faults)} faults")
sys.exit(bool(faults))
