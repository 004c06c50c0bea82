#!/usr/bin/env python3
"""Writes the seed corpora of the fuzzers: at least 50 small files per reader, from the project's own cases and by hand.

    python3 tests/fuzz/make_corpus.py COMMAND     # rewrites tests/fuzz/corpus/ (the same bytes every time)
"""
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
rng = random.Random(5)


def save(reader, files):
    folder = CORPUS / reader
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for k, content in enumerate(files):
        (folder / f"{k:03d}").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert len(files) >= 50, (reader, len(files))


def damaged(texts, count):
    """Copies with one place changed, cut or doubled: the paths to the error messages."""
    result = []
    for k in range(count):
        text = bytearray(texts[k % len(texts)] if isinstance(texts[0], bytes) else texts[k % len(texts)].encode())
        at = rng.randrange(len(text))
        kind = k % 3
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text[at] = rng.randrange(256)
        else:
            text = text[:at] + text[at:at + 8] * 3 + text[at:]
        result.append(bytes(text))
    return result


def tomls():
    cases = sorted((ROOT / "tests/golden/cases").glob("*.toml"))[::4] + sorted((ROOT / "examples").glob("*.toml"))
    texts = [path.read_text() for path in cases]
    return [text for text in texts if len(text) < 3000][:70]


def jsons():
    kinds = [
        {"kind": "full"}, {"kind": "self"}, {"kind": "window", "radius": 2}, {"kind": "window", "before": 3, "dilation": 2},
        {"kind": "ring", "radius": 1}, {"kind": "blocks", "size": 3}, {"kind": "shifted_blocks", "size": 4, "shift": 2},
        {"kind": "strided", "stride": 3}, {"kind": "strided", "stride": 3, "variant": "code", "part": "local"},
        {"kind": "fixed", "stride": 4, "summary": 1}, {"kind": "grid", "shape": [3, 4], "window": [1, 1]},
        {"kind": "grid", "shape": [3, 4], "rows": True}, {"kind": "grid", "shape": [4, 3], "blocks": [2, 3], "shift": [1, 1]},
        {"kind": "bigbird", "block": 2, "random": 1, "globals": 1, "seed": 3}, {"kind": "random", "degree": 2, "seed": 1},
        {"kind": "random", "density": 0.5, "seed": 1}, {"kind": "circulant", "offsets": [1, 3]},
        {"kind": "graph", "edges": [[0, 1], [2, 3]], "directed": True}, {"kind": "rows", "rows": [[k] for k in range(12)]},
        {"kind": "union", "of": [{"kind": "self"}, {"kind": "window", "radius": 1}]},
        {"kind": "minus", "of": [{"kind": "full"}, {"kind": "window", "radius": 1, "causal": True}]},
        {"kind": "per_head", "heads": [{"kind": "full"}, {"kind": "self"}]},
    ]
    result = []
    for k in range(66):
        tree = {"tokens": 12, "dim": 8, "mixer": {"pattern": kinds[k % len(kinds)]}}
        if k % 3 == 1:
            tree["mixer"]["kernel"] = ["softmax", "(1+norm2(x-y))*exp(dot(x,y))", {"name": "rbf", "gamma": 0.25}][k % 9 // 3]
            tree["norm"] = {"kind": "rmsnorm", "place": "pre", "eps": 0}
        if k % 3 == 2:
            tree["input"] = {"embedding": "table", "vocabulary": 7, "bos": True}
            tree["output"] = {"head": "linear", "dim": 7}
            tree["layer"] = [{"repeat": 2, "feedforward": {"kind": "glu", "activation": "silu"}}]
        result.append(json.dumps(tree))
    return result


def configs():
    return [json.dumps(json.loads(path.read_text())["config"]) for path in sorted((ROOT / "tests/real").glob("*.json"))]


def npy(descr, order, shape, data, version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    size = 10 if version == 1 else 12
    header += " " * (-(size + len(header) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


def npys():
    result = []
    for descr, pack in [("|b1", "?"), ("|i1", "b"), ("|u1", "B"), ("<i2", "<h"), (">i2", ">h"), ("<i4", "<i"), ("<i8", "<q"), (">u4", ">I"),
                        ("<f2", "<e"), ("<f4", "<f"), (">f8", ">d")]:
        for order in (False, True):
            for version in (1, 2):
                values = [rng.randrange(2) for _ in range(64)]
                result.append(npy(descr, order, (8, 8), b"".join(struct.pack(pack, v) for v in values), version))
    result.append(npy("<f4", False, (8, 8), struct.pack("<64f", *[0.0 if k % 3 else -1e9 for k in range(64)])))
    result.append(npy("<f8", False, (8, 8), struct.pack("<64d", *[0.0 if k % 5 else float("-inf") for k in range(64)])))
    result.append(npy("|b1", False, (2**40, 2**40), b""))
    return result + damaged(result, 10)


def npzs():
    result = []
    for k, array in enumerate(npys()[:40]):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][k % 2]) as archive:
            archive.writestr(zipfile.ZipInfo(["mask.npy", "arr_0.npy"][k % 2]), array)
            if k % 5 == 0:
                archive.writestr(zipfile.ZipInfo("other.npy"), array)
        result.append(stream.getvalue())
    return result + damaged(result, 15)


def mtxs():
    result = []
    for k in range(50):
        field = ["pattern", "integer", "real"][k % 3]
        symmetry = ["general", "symmetric"][k // 3 % 2]
        arcs = sorted({(rng.randrange(1, 9), rng.randrange(1, 9)) for _ in range(k % 12)})
        if symmetry == "symmetric":
            arcs = sorted({(max(a), min(a)) for a in arcs})
        lines = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", "% a comment", f"8 8 {len(arcs)}"]
        lines += [f"{i} {j}" + ["", f" {k % 4}", f" {k}.5e-1"][k % 3] for i, j in arcs]
        result.append("\n".join(lines) + "\n")
    return result + damaged(result, 10)


def edges():
    result = []
    for k in range(50):
        arcs = sorted({(rng.randrange(8), rng.randrange(8)) for _ in range(k % 14)})
        result.append("# u reads v\n" + "".join(f"{u} {v}\n" for u, v in arcs))
    return result + damaged(result, 10)


def groups():
    names = ["trivial", "C_12", "D_12", "S_12", "S_3 x S_4", "S_2 wr S_6", "(C_3 x C_4)", "<(0 1 2), (3 4)>", "(0 1)(2 3)", "A_4 wr C_3", "B_6", "D_6 wr S_2",
             "C_2 x C_2 x C_8", "S_0", "C_-1", "S_999999999999999999999", "((((C_3))))", "C_3 x", "wr", ""]
    result = names + [f"{a} {op} {b}" for a in names[:6] for b in names[:6] for op in ("x", "wr")][:40]
    return result


def certificates(command):
    result = []
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "c.json"
        for path in sorted((ROOT / "tests/golden/cases").glob("*.toml"))[::3]:
            subprocess.run([command, "certify", str(path.relative_to(ROOT)), "--save", str(target)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
            if target.stat().st_size < 12000:
                result.append(target.read_bytes())
    return result[:45] + damaged(result, 15)


if __name__ == "__main__":
    save("toml", tomls() + damaged(tomls(), 12))
    save("json", jsons() + damaged(jsons(), 12))
    save("config", configs() + damaged(configs(), 14))
    save("npy", npys())
    save("npz", npzs())
    save("mtx", mtxs())
    save("edges", edges())
    save("group", groups())
    save("certificate", certificates(str(pathlib.Path(sys.argv[1]).resolve())))
