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


def sparse_matrices():
    """As scipy.sparse.save_npz writes them: csr, csc, bsr, coo, dia."""
    result = []
    numbers = lambda values, pack="<i": npy({"<i": "<i4", "<q": "<i8", "?": "|b1", "<f": "<f4"}[pack], False, f"({len(values)},)", b"".join(struct.pack(pack, v) for v in values))
    for k in range(40):
        rows = [sorted(rng.sample(range(8), rng.randrange(1, 5))) for _ in range(8)]
        kind = ["csr", "csc", "coo", "bsr", "dia"][k % 5]
        pack = ["<q", "?", "<f", "<i"][k % 4]
        begins = [sum(map(len, rows[:i])) for i in range(9)]
        flat = [j for row in rows for j in row]
        data = numbers([1 + (k % 8 > 3) * (j % 3) for j in flat], pack)
        arrays = {"indices": numbers(flat), "indptr": numbers(begins), "format": npy("|S3", False, "()", kind.encode()), "shape": numbers([8, 8], "<q"), "data": data}
        if kind == "coo":
            arrays |= {"row": numbers([i for i, row in enumerate(rows) for _ in row]), "col": arrays.pop("indices")}
            del arrays["indptr"]
        if kind == "bsr":
            blocks = [row[:2] for row in rows[:4]]
            flat = [j // 2 for row in blocks for j in row]
            arrays["indptr"], arrays["indices"] = numbers([sum(map(len, blocks[:i])) for i in range(5)]), numbers(flat)
            arrays["data"] = npy("|b1", False, (len(flat), 2, 2), bytes(rng.randrange(2) for _ in range(4 * len(flat))))
        if kind == "dia":
            arrays = {key: arrays[key] for key in ("format", "shape")} | {"offsets": numbers([-2, 0, 3]), "data": npy("<i4", False, (3, 8), struct.pack("<24i", *[1] * 24))}
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][k % 2]) as archive:
            for name, array in arrays.items():
                archive.writestr(zipfile.ZipInfo(name + ".npy"), array)
        result.append(stream.getvalue())
    return result + damaged(result, 15)


def safetensors():
    result = []
    names = ["a", "layers.0.mixer.q.weight", "input.positions", "z\u00e9", "", "output.head.bias"]
    for k in range(44):
        header, data = {}, b""
        if k % 2:
            header["__metadata__"] = {"architecture": json.dumps({"tokens": k}), "sha256": "00" * (k % 5)}
        for name in names[: k % 7]:
            dtype, width = [("F32", 4), ("F64", 8), ("I64", 8)][rng.randrange(3)]
            shape = [rng.randrange(4) for _ in range(rng.randrange(4))]
            size = width
            for extent in shape:
                size *= extent
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + size]}
            data += bytes(rng.randrange(256) for _ in range(size))
        text = json.dumps(header).encode() + b" " * (k % 8)
        result.append(struct.pack("<Q", len(text)) + text + data)
    wrong = [{"a": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}, {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
             {"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 2**63]}}]
    result += [struct.pack("<Q", len(json.dumps(w))) + json.dumps(w).encode() + bytes(8) for w in wrong]
    return result + [struct.pack("<Q", 2**64 - 1), struct.pack("<Q", 6) + b'{"a":['] + damaged(result, 12)


def datasets():
    """Archives for 3 tokens of 2 numbers, or ids below 5: right ones first, then such with one thing wrong."""
    result = []
    for k in range(42):
        count = k % 3 + 1
        x = [npy("<f8", False, (count, 3, 2), struct.pack(f"<{6 * count}d", *[rng.random() for _ in range(6 * count)])),
             npy(">f4", True, (count, 3, 2), struct.pack(f">{6 * count}f", *[rng.random() for _ in range(6 * count)])),
             npy("<i8", False, (count, 3), struct.pack(f"<{3 * count}q", *[rng.randrange(5) for _ in range(3 * count)])),
             npy("|u1", False, (count, 3), bytes(rng.randrange(5) for _ in range(3 * count)))][k % 4]
        y = [npy("<f8", False, (count, 3, 1), struct.pack(f"<{3 * count}d", *[rng.random() for _ in range(3 * count)])),
             npy("<f4", False, (count, 2), struct.pack(f"<{2 * count}f", *[rng.random() for _ in range(2 * count)])),
             npy("<i8", False, (count, 3), struct.pack(f"<{3 * count}q", *[rng.choice([0, 1, -100]) for _ in range(3 * count)])),
             npy("<i4", False, (count,), struct.pack(f"<{count}i", *[rng.randrange(3) for _ in range(count)]))][rng.randrange(4)]
        arrays = {"x": x, "y": y}
        if k % 5 == 1:
            arrays["lengths"] = npy("<i8", False, (count,), struct.pack(f"<{count}q", *[rng.randrange(4) for _ in range(count)]))
        if k % 5 == 2:
            arrays["weight"] = npy("<f8", False, (count,), struct.pack(f"<{count}d", *[rng.random() for _ in range(count)]))
        if k % 5 == 3:
            arrays["x_val"], arrays["y_val"] = x, y
        if k % 10 == 9:
            arrays["x"] = npy("|O", False, (count, 3, 2), b"\x80\x04N.")
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][k // 2 % 2]) as archive:
            for name, array in arrays.items():
                archive.writestr(zipfile.ZipInfo(name + ".npy"), array)
        result.append(stream.getvalue())
    return result + damaged(result, 18)


def csvs():
    result = []
    for k in range(45):
        ids, of_y = k % 3 == 2, [3, 1, 6, 2][k % 4]
        columns = [f"x[{i}]" for i in range(3 if ids else 6)] + [f"y[{i}]" for i in range(of_y)]
        rows = [[str(rng.randrange(5)) if ids else f"{rng.random():.3f}" for _ in range(3 if ids else 6)] +
                [str(rng.randrange(3)) if k % 2 else f"{rng.random():.2e}" for _ in range(of_y)] for _ in range(k % 4 + 1)]
        end = ["\n", "\r\n"][k % 2]
        result.append(end.join(",".join(row) for row in [columns] + rows) + ["", end][k // 2 % 2])
    return result + ["x\n", "1,2\n3,4\n", "\xef\xbb\xbfa,b\n", "a,b,c,d,e,f,y\n1,2,3,4,5,nan,1\n"] + damaged(result, 12)


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


def expressions():
    kernels = ["exp(dot(x,y))", "(1+norm2(x-y))*exp(dot(x,y))", "dot(elu(x)+1,elu(y)+1)", "(1+norm2(x-y))^-0.5", "exp(-0.5*norm2(x-y))", "1", "0",
               "exp(dot([1,-2],x+y))", "exp(dot([1,2],x))+exp(dot([1,2],y))", "cosh(dot(x,y))", "relu(dot(x,y))^2", "softplus(dot(x,y))", "(1+dot(x,y))^4",
               "exp(dot(x,y))+exp(-2*dot(x,y))", "1/(1+norm2(x-y))", "exp(-norm(x-y))", "dot(x,y)/(norm(x)*norm(y))", "1e-6+dot(x,y)^2", "exp(-norm2(y))*(exp(dot([1,0],y))+2)",
               "sigmoid(dot(x,y))", "abs(dot(x,y))", "exp(dot(x*[1,2],y))", "sqrt(1+norm2(x))", "log(2+norm2(y))", "dot(sin(x),sin(y))+dot(cos(x),cos(y))"]
    activations = ["t", "t^3", "1", "t^2-t", "tanh(t)", "relu(t)", "relu(t)-relu(-t)", "t*sigmoid(t)", "exp(-t^2)", "sin(3*t)+t", "abs(t)^1.5", "(t+1)^9-(t-1)^9", "elu(t)",
                   "log(1+exp(t))", "t/(1+t^2)", "softplus(t)-softplus(-t)"]
    targets = ["sum((y-x)/(norm2(y-x)+0.01)^1.5)", "attend(dot(x,y), y)", "x+mean(y)", "concat(max(y),min(x))", "sum(sum(dot(y,z)))", "x[0]*x[1]+n", "sin(i)*x-j", "mean(attend(exp(dot(y,z)),z))"]
    odd = ["2^3^2", "-x^-2", "((((x))))", "1e999", "1e-999999", "x^99999999", "(t+1)^1000", "exp(exp(exp(t)))", "x+", "[1,2,3]", "dot(x)", "t^0.5", "0/0", "(1+t)^(1+1)", "1/(t-t)", "0^-1", "x x", "\u00e9"]
    return kernels + activations + targets + odd + damaged(kernels + activations + targets, 20)


def proofs(command):
    """Proofs of one claim each, of both kinds: ten claims take ten times as long to check and lead nowhere else; a few whole ones."""
    whole, single = [], []
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "p.json"
        for expression in ["softmax", "1", "(1+dot(x,y))^2", "cosh(dot(x,y))", "t^2", "tanh(t)", "cauchy", "1+exp(dot(x,y))"]:
            for extra in (["--tokens", "4"], ["--tokens", "3", "--dim", "1"], ["--tokens", "5", "--unnormalised"]):
                subprocess.run([command, "falsify", "expr:" + expression, *extra, "--save", str(target)], check=False, stdout=subprocess.DEVNULL)
                if target.stat().st_size >= 12000:
                    continue
                proof = json.loads(target.read_bytes())
                if len(whole) < 4:
                    whole.append(target.read_bytes())
                for claim in {claim["claim"]: claim for claim in proof["claims"]}.values():
                    single.append(json.dumps(proof | {"claims": [claim]}, separators=(",", ":")).encode())
    return whole + single + damaged(single, max(15, 55 - len(single)))


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
    # Later additions at the end: what is drawn above stays as it is.
    save("safetensors", safetensors())
    save("data-npz", datasets())
    save("data-csv", csvs())
    save("expression", expressions())
    save("proof", proofs(str(pathlib.Path(sys.argv[1]).resolve())))
    rng.seed(77)  # whatever was drawn before
    save("sparse-npz", sparse_matrices())
