#!/usr/bin/env python3
"""What `design --save` writes agrees with itself: architecture, masks, edge lists, FlexAttention masks, drawings.

usage: files_check.py SIGHTLINE
The Python file is executed with PyTorch where that is installed (and its masks go through flex_attention's own
create_block_mask when it is there), otherwise with a table of bytes that stands in for a boolean tensor."""
import ast
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import types
import zipfile

command = os.path.abspath(sys.argv[1])

try:
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
except ImportError:
    create_block_mask = None

    class Table:
        def __init__(self, n):
            self.cells = [[False] * n for _ in range(n)]

        def __setitem__(self, key, value):
            for j in key[1]:
                self.cells[key[0]][j] = value

        def __getitem__(self, key):
            return self.cells[key[0]][key[1]]

    torch = types.ModuleType("torch")
    torch.zeros = lambda n, m, dtype=None, device=None: Table(n)
    torch.bool = bool
    sys.modules["torch"] = torch


def read_npz(path):
    data = zipfile.ZipFile(path).read("mask.npy")
    length = struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10:10 + length].decode())["shape"]
    body = data[10 + length:]
    assert len(body) == shape[0] * shape[1], path
    return shape[0], {(i, j) for i in range(shape[0]) for j in range(shape[1]) if body[i * shape[1] + j]}


for group, vertices in (("D_5", 5), ("C_2*C_2", 4), ("S_3 wr S_2", 7), ("A_4", 16)):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([command, "design", "--symmetry", group, "--save", str(folder / "x.toml")], check=True, capture_output=True)
        certified = subprocess.run([command, "certify", "--json", str(folder / "x.toml")], check=True, capture_output=True, text=True).stdout
        assert '"verdict":"certified"' in certified, group
        scope = {}
        exec(compile((folder / "x.py").read_text(), "x.py", "exec"), scope)
        assert scope["VERTICES"] == vertices, (group, scope["VERTICES"])
        for mask_mod, k in zip(scope["mask_mods"], scope["ORDER"]):
            n, mask = read_npz(folder / f"x-{k + 1}.npz")
            edges = {tuple(map(int, line.split())) for line in (folder / f"x-{k + 1}.edges").read_text().splitlines() if not line.startswith("#")}
            flex = {(i, j) for i in range(n) for j in range(n) if bool(mask_mod(0, 0, i, j))}
            assert n == vertices and mask == edges == flex, group
            assert (folder / f"x-{k + 1}.svg").read_text().startswith("<svg")
            if create_block_mask:  # FlexAttention itself, against attention with the mask written out
                block_mask = create_block_mask(mask_mod, None, None, n, n, device="cpu")
                torch.manual_seed(0)
                q, k_, v = (torch.randn(1, 1, n, 8, dtype=torch.float64) for _ in range(3))
                dense = torch.tensor([[(i, j) in mask for j in range(n)] for i in range(n)])
                found, wanted = flex_attention(q, k_, v, block_mask=block_mask), torch.nn.functional.scaled_dot_product_attention(q, k_, v, attn_mask=dense)
                rows = dense.any(dim=1)
                assert torch.allclose(found[0, 0, rows], wanted[0, 0, rows], atol=1e-12), group
        assert "<circle" in (folder / "x.svg").read_text()
        # Every pair has one colour: the squares of the orbits add up to n^2.
        orbits = (folder / "x-orbits.svg").read_text()
        tokens = int(re.search(r'viewBox="0 0 (\d+)', orbits)[1])
        assert sum(map(int, re.findall(r"h(\d+)v1", orbits))) == tokens ** 2, group
        assert sum(map(int, re.findall(r", (\d+)</title>", orbits))) == tokens ** 2, group
# Above 2,048 tokens the masks are formulas, compared with what each pattern is by its definition, near the ends and on some rows inside;
# edge lists and sparse masks are written up to ten million arcs.
def ring(n, steps):
    return lambda i: {(i + s) % n for s in steps}


def path(i):
    return {i, i - 1} - {-1}


def torus(a, b):
    return lambda i: {i} | {((i // b + s) % a) * b + i % b for s in (-1, 1)} | {i // b * b + (i + s) % b for s in (-1, 1)}


def touching(n):  # all pairs that touch the register, which is position n
    return lambda i: set(range(n + 1)) if i == n else {n}


def gather(n):
    return lambda i: set(range(n)) if i == n else {i}


def broadcast(n):
    return lambda i: {i, n}


def own_block(i, a):
    return set(range(i // a * a, i // a * a + a))


def ring_of_blocks(n, a):  # a directed ring in every block, whole blocks in a directed ring
    return lambda i: {i, i // a * a + (i + 1) % a} | {j % n for j in range((i // a + 1) * a, (i // a + 2) * a)}


def tails(n, a):  # a path down every block, the last tokens in a directed ring
    return lambda i: {i} | ({i - 1} if i % a else set()) | ({(i + a) % n} if i % a == a - 1 else set())


def all_but(row, n):
    return lambda i: (set(range(n)) - row(i)) | {i}


def steps(n, s, back):
    return lambda i: {i, (i + s) % n} | ({(i - s) % n} if back else set())


def chord(n):
    return lambda i: {i, (i + 1) % n} | ({2} if i == 0 else set())


def read_sparse(path):
    """The .npz of scipy.sparse.save_npz: row by row the columns."""
    archive, arrays = zipfile.ZipFile(path), {}
    for name in archive.namelist():
        data = archive.read(name)
        length = struct.unpack("<H", data[8:10])[0]
        arrays[name[:-4]] = (ast.literal_eval(data[10:10 + length].decode()), data[10 + length:])
    assert arrays["format"][0]["descr"] == "|S3" and arrays["format"][1] == b"csr" and arrays["format"][0]["shape"] == ()
    shape, starts, columns = (struct.unpack(f"<{len(body) // size}{code}", body)
                              for (_, body), size, code in ((arrays["shape"], 8, "q"), (arrays["indptr"], 8, "q"), (arrays["indices"], 4, "i")))
    assert shape[0] == shape[1] == len(starts) - 1 and len(columns) == starts[-1] == len(arrays["data"][1]) and set(arrays["data"][1]) <= {1}
    return [set(columns[b:e]) for b, e in zip(starts, starts[1:])]


def read_edges(path, n):
    rows = [set() for _ in range(n)]
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            i, j = map(int, line.split())
            rows[i].add(j)
    return rows


for group, n, point, layers in (
        ("C_30000", 30000, "gather-broadcast", [ring(30000, (0, 1))]), ("D_30000", 30000, "gather-broadcast", [ring(30000, (-1, 0, 1))]),
        ("trivial(30000)", 30000, "gather-broadcast", [path]), ("torus(150,200)", 30000, "gather-broadcast", [torus(150, 200)]),
        ("S_10 wr S_3000", 30000, "gather-broadcast", [lambda i: own_block(i, 10)]), ("S_30000", 30000, "gather-broadcast", []),
        ("D_3000", 3000, "gather-broadcast", [ring(3000, (-1, 0, 1))]),
        ("C_6 wr C_1000", 6000, "gather-broadcast", [ring_of_blocks(6000, 6)]), ("trivial(5) wr C_6000", 30000, "gather-broadcast", [tails(30000, 5)]),
        ("hypercube(13)", 8192, "single", [lambda i: {i} | {i ^ (1 << q) for q in range(13)}]),
        ("C_3000", 3000, "several", [steps(3000, 1 << q, False) for q in range(12)]), ("D_3000", 3000, "several", [steps(3000, 1 << q, True) for q in range(11)]),
        ("trivial(30000)", 30000, "several", [path, lambda i: set(range(30000)) if i == 0 else {i}, lambda i: {0, i}]),
        ("trivial(30000)", 30000, "single", [chord(30000)]), ("torus(75,80)", 6000, "several", [torus(75, 80), all_but(torus(75, 80), 6000)])):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        front = json.loads(subprocess.run([command, "design", "--symmetry", group, "--json"], check=True, capture_output=True, text=True).stdout)["front"]
        of_kind = [k for k, p in enumerate(front) if p["kind"] == point and p["certified"] in ("run", "closed form")]
        number = min(of_kind, key=lambda k: front[k]["pattern_pairs"])
        said = subprocess.run([command, "design", "--symmetry", group, "--save", str(folder / "x.toml"), "--point", str(number + 1)], check=True, capture_output=True, text=True).stderr
        scope = {}
        exec(compile((folder / "x.py").read_text(), "x.py", "exec"), scope)
        registers = front[number]["registers"]
        size = n + registers
        assert scope["VERTICES"] == size and (folder / "x.svg").exists()
        expected = layers + ([] if registers == 0 else [gather(n), broadcast(n)] if n <= 20000 else [touching(n)] * 2)
        assert len(set(scope["ORDER"])) == len(scope["PATTERNS"]) <= len(expected) and len(scope["mask_mods"]) == front[number]["layers"], group
        for which, (mask_mod, row) in enumerate(zip(scope["mask_mods"], expected)):
            for i in {0, 1, n // 3, n - 1, size - 1}:
                wanted = row(i) if i < n or which >= len(layers) else set()
                looked_at = set(range(60)) | set(range(size - 61, size)) | set(range(n // 3 - 300, n // 3 + 300)) | (wanted if len(wanted) < 2000 else set())
                found = {j for j in looked_at if mask_mod(0, 0, i, j)}
                assert found == wanted & looked_at, (group, which, i, sorted(found ^ wanted)[:5])
            if create_block_mask and n <= 3000:
                assert create_block_mask(mask_mod, None, None, size, size, device="cpu").numel() > 0
        # Sparse masks and edge lists hold every arc, or the reason why they are not there is said.
        wide = sum(len(row(n // 2)) for row in expected) * n > 10_000_000
        assert wide == ("left out: masks and edge lists" in said) == (not (folder / "x-1.npz").exists()), (group, said)
        if not wide and n <= 8192:
            for k in range(len(scope["PATTERNS"])):
                rows = read_sparse(folder / f"x-{k + 1}.npz")
                assert rows == read_edges(folder / f"x-{k + 1}.edges", size), group
                which = scope["ORDER"].index(k)
                assert all(rows[i] == expected[which](i) for i in range(n)), (group, k)
with tempfile.TemporaryDirectory() as folder:  # the picture of the front: numbers on both axes, the legend beside the points
    folder = pathlib.Path(folder)
    subprocess.run([command, "design", "--symmetry", "torus(6,6)", "--save", str(folder / "p.toml")], check=True, capture_output=True)
    picture = (folder / "p.svg").read_text()
    points = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)" cy="[0-9.]+" r="5" fill="[^"]*" fill-opacity', picture)]
    legend = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)" cy="[0-9.]+" r="5" fill="[^"]*"/><text', picture)]
    width = float(re.search(r'width="([0-9.]+)"', picture).group(1))
    assert points and legend and max(points) < min(legend) < width - 60, (points, legend, width)
    assert re.search(r'text-anchor="middle">1</text>', picture) and re.search(r'text-anchor="end">100</text>', picture), picture
with tempfile.TemporaryDirectory() as folder:  # --from takes the symmetry of the target, not that of the layout
    folder = pathlib.Path(folder)
    (folder / "y.toml").write_text('tokens = 6\ndim = 4\ndepth = "listed"\n[target]\nsymmetry = "D_6"\n[[layer]]\npattern = { kind = "window", radius = 3 }\nrepeat = 5\n')
    found = json.loads(subprocess.run([command, "design", "--json", "--from", str(folder / "y.toml")], check=True, capture_output=True, text=True).stdout)
    assert found["group"]["order"] == "12" and any(p["kind"] == "single" and p["pattern_pairs"] == 12 for p in found["front"]), found["group"]
    # ... and keeps the file's kernel and feedforward.
    (folder / "z.toml").write_text('tokens = 6\ndim = 4\ndepth = "listed"\n[mixer]\nkernel = "elu1"\n[feedforward]\nactivation = "gelu"\n'
                                   '[[layer]]\npattern = { kind = "ring", radius = 2 }\nrepeat = 5\n')
    subprocess.run([command, "design", "--from", str(folder / "z.toml"), "--save", str(folder / "better.toml")], check=True, capture_output=True)
    text = (folder / "better.toml").read_text()
    assert '"elu1"' in text and '"gelu"' in text, text
    kept = json.loads(subprocess.run([command, "design", "--json", "--from", str(folder / "z.toml")], check=True, capture_output=True, text=True).stdout)
    assert kept["front"] and kept["notes"][0].endswith("5 layers, 120 pairs, 0 registers"), kept["notes"]
    best = subprocess.run([command, "design", "--from", str(folder / "better.toml")], check=True, capture_output=True, text=True).stdout
    assert "none found" in best and "bound: at least" in best, best
    # A mask in a .npz says its own size.
    subprocess.run([command, "design", "--symmetry", "D_6", "--save", str(folder / "m.toml")], check=True, capture_output=True)
    differ = subprocess.run([command, "diff", str(folder / "m-1.npz"), str(folder / "m-2.npz")], capture_output=True, text=True)
    assert differ.returncode == 1 and "first " in differ.stdout, differ
print("four designs agree with their files" + (", and with FlexAttention" if create_block_mask else ""))
