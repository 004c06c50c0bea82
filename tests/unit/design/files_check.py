#!/usr/bin/env python3
"""What `design --save` writes agrees with itself: architecture, masks, edge lists, FlexAttention masks, drawings.

usage: files_check.py SIGHTLINE
The Python file is executed with PyTorch where that is installed (and its masks go through flex_attention's own
create_block_mask when it is there), otherwise with a table of bytes that stands in for a boolean tensor."""
import ast
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import types
import zipfile

command = os.path.abspath(sys.argv[1])

try:
    import torch
except ImportError:
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
        assert "<circle" in (folder / "x.svg").read_text()
print("four designs agree with their files")
