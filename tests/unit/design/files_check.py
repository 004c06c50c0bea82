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
# Above 2,048 tokens the masks are formulas: they are compared with what each pattern is by its definition, near the ends and on some rows inside.
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


for group, n, layers in (("C_30000", 30000, [ring(30000, (0, 1))]), ("D_30000", 30000, [ring(30000, (-1, 0, 1))]), ("trivial(30000)", 30000, [path]),
                         ("torus(150,200)", 30000, [torus(150, 200)]), ("S_100 wr S_300", 30000, [lambda i: set(range(i // 100 * 100, i // 100 * 100 + 100))]),
                         ("S_30000", 30000, []), ("D_3000", 3000, [ring(3000, (-1, 0, 1))])):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([command, "design", "--symmetry", group, "--save", str(folder / "x.toml")], check=True, capture_output=True)
        scope = {}
        exec(compile((folder / "x.py").read_text(), "x.py", "exec"), scope)
        assert scope["VERTICES"] == n + 1 and (folder / "x.svg").exists()
        expected = layers + ([gather(n), broadcast(n)] if n <= 20000 else [touching(n)] * 2)
        assert len(scope["mask_mods"]) == len(expected), group
        for number, (mask_mod, row) in enumerate(zip(scope["mask_mods"], expected)):
            for i in (0, 1, n // 3, n - 1, n):
                wanted = row(i) if i < n or number >= len(layers) else set()
                looked_at = set(range(60)) | set(range(n - 60, n + 1)) | set(range(n // 3 - 300, n // 3 + 300)) | wanted
                found = {j for j in looked_at if mask_mod(0, 0, i, j)}
                assert found == wanted, (group, number, i, sorted(found ^ wanted)[:5])
            if create_block_mask and n == 3000:
                assert create_block_mask(mask_mod, None, None, n + 1, n + 1, device="cpu").numel() > 0
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
