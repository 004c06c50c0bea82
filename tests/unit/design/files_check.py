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
with tempfile.TemporaryDirectory() as folder:  # --from takes the symmetry of the target, not that of the layout
    folder = pathlib.Path(folder)
    (folder / "y.toml").write_text('tokens = 6\ndim = 4\ndepth = "listed"\n[target]\nsymmetry = "D_6"\n[[layer]]\npattern = { kind = "window", radius = 3 }\nrepeat = 5\n')
    found = json.loads(subprocess.run([command, "design", "--json", "--from", str(folder / "y.toml")], check=True, capture_output=True, text=True).stdout)
    assert found["group"]["order"] == "12" and any(p["kind"] == "single" and p["pattern_pairs"] == 12 for p in found["front"]), found["group"]
print("four designs agree with their files" + (", and with FlexAttention" if create_block_mask else ""))
