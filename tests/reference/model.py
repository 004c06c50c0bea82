#!/usr/bin/env python3
"""An independent model in NumPy: reads a checkpoint (safetensors with the architecture as canonical JSON in its metadata) by the
names of the documented tensors and computes what `sightline predict` computes, in float64, the slow and obvious way: every
pattern is a matrix, every weight of every pair is written down. It shares no code with the library.

    python3 tests/reference/model.py WEIGHTS.safetensors DATA.npz [PREDICTIONS.npz]    # prints the largest relative difference
"""
import json
import math
import re
import struct
import sys

import numpy as np


# ---------------------------------------------------------------- safetensors
TYPES = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "I64": np.dtype("<i8")}


def read_safetensors(path):
    raw = open(path, "rb").read()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(raw[8 + length:][begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def write_safetensors(path, tensors, metadata):
    header, body = {"__metadata__": metadata}, b""
    for name in sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name)):
        array = np.ascontiguousarray(tensors[name])
        kind = next(kind for kind, dtype in TYPES.items() if dtype == array.dtype)
        header[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [len(body), len(body) + array.nbytes]}
        body += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)


# ---------------------------------------------------------------- patterns: integer matrices [vertices, vertices], 0 absent, else the colour
def expand(spec, n, r):
    """Row = reader."""
    size = n + r
    kind = spec["kind"]
    i, j = np.indices((n, n))
    if kind == "full":
        out = np.ones((size, size), int)
    elif kind == "star":
        out = np.zeros((size, size), int)
        for t in range(n):
            out[t, [(t - 1) % n, t, (t + 1) % n, n]] = 1
        out[n, :] = 1
    elif kind == "rows":
        out = np.zeros((size, size), int)
        for reader, row in enumerate(spec["rows"]):
            out[reader, row] = 1
    elif kind == "matrix":
        out = np.array(spec["matrix"], int)
    elif kind in ("union", "intersection", "minus"):
        parts = [expand(part, n, r) for part in spec["of"]]
        out = parts[0]
        for part in parts[1:]:  # an arc keeps the colour of the first that has it
            if kind == "union":
                out = np.where(out != 0, out, part)
            elif kind == "intersection":
                out = np.where(part != 0, out, 0)
            else:
                out = np.where(part != 0, 0, out)
    else:
        out = np.zeros((size, size), int)
        out[:n, :n] = expand_tokens(spec, kind, n, i, j)
    if spec.get("causal"):
        out = out.copy()
        out[:n, :n] = np.where(j > i, 0, out[:n, :n])
    return out


def expand_tokens(spec, kind, n, i, j):
    offset = j - i
    if kind == "self":
        return offset == 0
    if kind in ("window", "ring"):
        radius = spec.get("radius")
        before = radius if radius is not None else spec.get("before") or 0
        after = radius if radius is not None else spec.get("after") or 0
        dilation = spec.get("dilation", 1)
        wrap = kind == "ring" or spec.get("wrap", False)
        out = np.zeros((n, n), bool)
        for step in range(-before, after + 1):
            distance = step * dilation
            out |= (offset - distance) % n == 0 if wrap else offset == distance
        for g in spec.get("global", []):
            out[g, :] = out[:, g] = True
        return out
    if kind == "blocks":
        return i // spec["size"] == j // spec["size"]
    if kind == "shifted_blocks":
        size, shift = spec["size"], spec["shift"] % spec["size"] if spec["shift"] % spec["size"] else 0
        label = (np.arange(n) - shift) // size  # -1: the piece before the first boundary
        pieces = label.copy()
        if spec.get("wrap", True):
            pieces[label == -1] = label.max() if shift else -1
        return pieces[i] == pieces[j]
    if kind in ("strided", "fixed"):
        stride, part = spec["stride"], spec.get("part", "merged")
        if kind == "strided":
            local = abs(offset) <= stride if spec.get("variant", "paper") == "paper" else abs(offset) < stride
            summary = offset % stride == 0
        else:
            local = i // stride == j // stride
            summary = (j % stride >= stride - (spec.get("summary") or 0)) | (i == j)
        return {"local": local, "summary": summary, "merged": local | summary}[part]
    if kind == "grid":
        height, width = spec["shape"]
        row, column = np.divmod(np.arange(n), width)
        dr, dc = row[j] - row[i], column[j] - column[i]
        wrap = spec.get("wrap", False)
        if spec.get("window"):
            a, b = spec["window"]
            near = lambda d, limit, size: (np.minimum(abs(d), size - abs(d)) if wrap else abs(d)) <= limit
            return near(dr, a, height) & near(dc, b, width)
        if spec.get("rows"):
            return dr == 0
        if spec.get("columns"):
            return dc == 0
        (a, b), (p, q) = spec["blocks"], spec.get("shift") or (0, 0)

        def piece(at, block, shift, size):
            label = (at - shift % block) // block
            last = (size - 1 - shift % block) // block
            return np.where((label == -1) & wrap, last, label)

        br, bc = piece(row, a, p, height), piece(column, b, q, width)
        return (br[i] == br[j]) & (bc[i] == bc[j])
    if kind == "butterfly":
        return (i == j) | ((i ^ spec["distance"]) == j)
    if kind == "circulant":
        out = np.zeros((n, n), bool)
        for o in spec["offsets"]:
            out |= (offset - o) % n == 0
        return out
    if kind == "graph":
        out = np.eye(n, dtype=bool) if spec.get("loops", True) else np.zeros((n, n), bool)
        for u, v in spec["edges"]:
            out[u, v] = True
            if not spec.get("directed", False):
                out[v, u] = True
        return out
    raise NotImplementedError(f"pattern {kind}")


def patterns_of_heads(spec, n, r, heads):
    if spec["kind"] == "per_head":
        return [np.where((np.indices((n + r, n + r))[1] > np.indices((n + r, n + r))[0]) & (np.indices((n + r, n + r)).max(0) < n) & bool(spec.get("causal")), 0,
                         expand(part, n, r)) for part in spec["heads"]]
    return [expand(spec, n, r)] * heads


# ---------------------------------------------------------------- expressions in x, y or t
def erf(t):
    return np.vectorize(math.erf, otypes=[float])(t)


FUNCTIONS = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "cosh": np.cosh, "sinh": np.sinh, "cos": np.cos, "sin": np.sin, "tanh": np.tanh,
    "sigmoid": lambda t: 1 / (1 + np.exp(-t)), "softplus": lambda t: np.logaddexp(0, t), "relu": lambda t: np.maximum(t, 0),
    "elu": lambda t: np.where(t > 0, t, np.expm1(np.minimum(t, 0))), "abs": np.abs,
}


class Expression:
    """Scalars have a last axis of 1, vectors one of the width: NumPy's broadcasting is the language's."""

    def __init__(self, text, variables):
        self.tokens = re.findall(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|[-+*/^()\[\],]", text)
        assert "".join(self.tokens) == re.sub(r"\s", "", text), text
        self.variables, self.at = variables, 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, wanted=None):
        token = self.peek()
        assert token is not None and (wanted is None or token == wanted), (token, wanted)
        self.at += 1
        return token

    def value(self):
        out = self.sum()
        assert self.peek() is None
        return out

    def sum(self):
        out = self.product()
        while self.peek() in ("+", "-"):
            out = out + self.product() if self.take() == "+" else out - self.product()
        return out

    def product(self):
        out = self.signed()
        while self.peek() in ("*", "/"):
            out = out * self.signed() if self.take() == "*" else out / self.signed()
        return out

    def signed(self):
        if self.peek() == "-":
            self.take()
            return -self.signed()
        if self.peek() == "+":
            self.take()
            return self.signed()
        return self.power()

    def power(self):
        base = self.atom()
        if self.peek() != "^":
            return base
        self.take()
        return base ** self.signed()  # a signed number, or another power: right-associative

    def atom(self):
        token = self.take()
        if token == "(":
            out = self.sum()
            self.take(")")
            return out
        if token == "[":
            numbers = [self.number()]
            while self.take() == ",":
                numbers.append(self.number())
            return np.array(numbers, float)
        if token in self.variables:
            return self.variables[token]
        if token[0].isdigit() or token[0] == ".":
            return np.array([float(token)])
        self.take("(")
        arguments = [self.sum()]
        while self.peek() == ",":
            self.take()
            arguments.append(self.sum())
        self.take(")")
        if token == "dot":
            return (arguments[0] * arguments[1]).sum(-1, keepdims=True)
        if token in ("norm", "norm2"):
            square = (arguments[0] ** 2).sum(-1, keepdims=True)
            return np.sqrt(square) if token == "norm" else square
        return FUNCTIONS[token](arguments[0])

    def number(self):
        sign = 1.0
        while self.peek() in ("-", "+"):
            sign *= -1 if self.take() == "-" else 1
        return sign * float(self.take())


def activation(name, t):
    named = {
        "relu": lambda: np.maximum(t, 0), "gelu": lambda: t * 0.5 * (1 + erf(t / math.sqrt(2))), "silu": lambda: t / (1 + np.exp(-t)),
        "mish": lambda: t * np.tanh(np.logaddexp(0, t)), "elu": lambda: FUNCTIONS["elu"](t), "leaky_relu": lambda: np.where(t > 0, t, 0.01 * t),
        "tanh": lambda: np.tanh(t), "sigmoid": lambda: FUNCTIONS["sigmoid"](t), "softplus": lambda: np.logaddexp(0, t), "erf": lambda: erf(t),
        "sin": lambda: np.sin(t), "exp": lambda: np.exp(t), "square": lambda: t ** 2, "relu2": lambda: np.maximum(t, 0) ** 2, "cube": lambda: t ** 3,
        "step": lambda: (t > 0).astype(float), "identity": lambda: t,
    }
    if name in named:
        return named[name]()
    return Expression(name, {"t": t[..., None]}).value()[..., 0] + 0 * t


def kernel_weights(kernel, x, y):
    """x [.., readers, width], y [.., reads, width] -> k of every pair [.., readers, reads]."""
    x, y = x[..., :, None, :], y[..., None, :, :]
    name = kernel if isinstance(kernel, str) else kernel["name"]
    dot = (x * y).sum(-1)
    square = ((x - y) ** 2).sum(-1)
    if name == "softmax":
        return np.exp(dot)
    if name in ("gaussian", "rbf"):
        return np.exp(-(1.0 if isinstance(kernel, str) else kernel.get("gamma", 1)) * square)
    if name == "cauchy":
        return 1 / (1 + square)
    if name == "laplace":
        return np.exp(-np.sqrt(square))
    if name == "elu1":
        return ((FUNCTIONS["elu"](x) + 1) * (FUNCTIONS["elu"](y) + 1)).sum(-1)
    if name == "relu2":
        return np.maximum(dot, 0) ** 2
    if name == "cosine":
        length = np.sqrt((x ** 2).sum(-1) * (y ** 2).sum(-1))
        return np.exp(np.divide(dot, length, out=np.zeros_like(dot), where=length > 0) * (1.0 if isinstance(kernel, str) else kernel.get("temperature", 1)))
    if name == "performer":
        features = np.array(kernel["features"], float)
        phi = lambda z: np.exp(z @ features.T - (z ** 2).sum(-1, keepdims=True) / 2)
        return (phi(x) * phi(y)).sum(-1)
    if name == "exponential-sum":
        return np.exp((np.array(kernel["weight"], float) * (x + y)).sum(-1))
    out = Expression(name, {"x": x, "y": y}).value()
    return np.broadcast_to(out, np.broadcast_shapes(out.shape, dot.shape + (1,)))[..., 0].copy()


# ---------------------------------------------------------------- relative positions
def t5_bucket(offset, buckets, most, bidirectional):
    base = 0
    if bidirectional:
        buckets //= 2
        base = buckets if offset > 0 else 0
        distance = abs(offset)
    else:
        distance = max(-offset, 0)
    exact = buckets // 2
    if distance < exact:
        return base + distance
    f = np.float32
    far = exact + int(np.log(f(distance) / f(exact)) / f(math.log(most / exact)) * f(buckets - exact))
    return base + min(far, buckets - 1)


def relative_columns(relative, pattern, n, size):
    """Column of the table of biases for each pair, and the number of columns per colour of the matrix."""
    i, j = np.indices((n, n))
    columns = np.zeros((size, size), int)
    kind = relative if isinstance(relative, str) else relative["kind"]
    if kind == "learned" and pattern["kind"] == "grid":
        height, width = pattern["shape"]
        dr, dc = j // width - i // width, j % width - i % width
        columns[:n, :n] = 1 + (dr + height) * (2 * width + 1) + dc + width
        return columns, 1 + (2 * height + 1) * (2 * width + 1)
    if kind == "learned":
        columns[:n, :n] = j - i + n
        return columns, 2 * n
    if kind == "t5":
        table = {o: t5_bucket(o, relative["buckets"], relative["max_distance"], relative["bidirectional"]) for o in range(-n + 1, n)}
        columns[:n, :n] = np.vectorize(table.get)(j - i) + 1
        return columns, relative["buckets"] + 1
    return columns, 1


def rotate(x, n):
    """x [.., vertices, width]: pairs (2p, 2p+1) of token t turn by t / 10000^(2p/width); registers keep still."""
    width = x.shape[-1]
    angles = np.arange(n)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    cos, sin = np.cos(angles), np.sin(angles)
    out = x.copy()
    even, odd = x[..., :n, 0::2], x[..., :n, 1::2]
    out[..., :n, 0::2] = even * cos - odd * sin
    out[..., :n, 1::2] = even * sin + odd * cos
    return out


# ---------------------------------------------------------------- the model
class Model:
    def __init__(self, path):
        tensors, metadata = read_safetensors(path)
        self.weights = {name: tensor.astype(float) for name, tensor in tensors.items() if tensor.dtype != np.int64}
        self.architecture = json.loads(metadata["architecture"])
        self.n, self.dim = self.architecture["tokens"], self.architecture["dim"]
        self.registers = self.architecture["input"]["registers"] or []
        self.layers = [layer for layer in self.architecture["layer"] for _ in range(layer["repeat"])]
        self.attention = {}

    def linear(self, name, x):
        out = x @ self.weights[name + ".weight"].T
        return out + self.weights[name + ".bias"] if name + ".bias" in self.weights else out

    def norm(self, name, spec, x):
        if spec is None or spec["kind"] == "none":
            return x
        centred = x - x.mean(-1, keepdims=True) if spec["kind"] == "layernorm" else x
        out = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + spec["eps"])
        if spec["affine"]:
            out = out * self.weights[name + ".weight"]
            if spec["kind"] == "layernorm":
                out = out + self.weights[name + ".bias"]
        return out

    def split(self, x, heads):
        return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-2, -3)  # [batch, head, vertex, width]

    def mix(self, index, spec, x, exist):
        name = f"layers.{index}.mixer"
        get = lambda leaf: self.weights.get(f"{name}.{leaf}")
        heads, size, kind = spec["heads"], x.shape[1], spec["kind"]
        colours = np.array(patterns_of_heads(spec["pattern"], self.n, size - self.n, heads))  # [head, i, j]
        allowed = (colours != 0)[None] & exist[:, None, :, None] & exist[:, None, None, :]    # [batch, head, i, j]
        join = lambda out: out.swapaxes(1, 2).reshape(*x.shape)
        if kind == "attention":
            scale = 1 / math.sqrt(self.dim // heads) if (spec["kernel"] if isinstance(spec["kernel"], str) else spec["kernel"]["name"]) == "softmax" else 1
            q = self.split(self.linear(name + ".q", x), heads)
            k = q if spec["query_key"] == "tied" else self.split(self.linear(name + ".k", x), heads)
            v = self.split(self.linear(name + ".v", x) if spec["value"] == "free" else x, heads)
            w = kernel_weights(spec["kernel"], scale * q, k)
            if spec["relative"] == "rotary":  # arcs that touch a register have no offset
                w[:, :, :self.n, :self.n] = kernel_weights(spec["kernel"], scale * rotate(q, self.n), rotate(k, self.n))[:, :, :self.n, :self.n]
            if get("bias") is not None:
                columns, count = relative_columns(spec["relative"], spec["pattern"], self.n, size)
                w = w * np.exp(np.array([get("bias")[h][np.where(colours[h] != 0, (colours[h] - 1) * count + columns, 0)] for h in range(heads)]))
            if spec["relative"] == "alibi":
                i, j = np.indices((size, size))
                distance = np.where(np.maximum(i, j) < self.n, abs(i - j), 0)
                w = w * np.exp(-np.array([2 ** (-8 * (h + 1) / heads) for h in range(heads)])[:, None, None] * distance)
            w = np.where(allowed, w, 0)
            if spec["top_k"] is not None:
                order = np.argsort(np.where(allowed, -w, np.inf), axis=-1, kind="stable")
                rank = np.argsort(order, axis=-1, kind="stable")
                w = np.where(rank < spec["top_k"], w, 0)
            if spec["normalised"]:
                total = w.sum(-1, keepdims=True) + spec["eps"]
                if spec["sink"]:
                    total = total + np.exp(get("sink"))[:, None, None]
                w = np.divide(w, total, out=np.zeros_like(w), where=total != 0)
            self.attention[index] = w
            return self.linear(name + ".o", join(w @ v))
        if kind == "linformer":
            scale = 1 / math.sqrt(self.dim // heads) if spec["kernel"] == "softmax" else 1
            q, k = self.linear(name + ".q", x), self.linear(name + ".q" if spec["query_key"] == "tied" else name + ".k", x)
            v = self.linear(name + ".v", x) if spec["value"] == "free" else x
            if isinstance(spec["projections"], dict):
                e = np.zeros((len(exist), size, len(spec["projections"]["blocks"])))
                for c, block in enumerate(spec["projections"]["blocks"]):
                    e[:, block, c] = exist[:, block] / np.maximum(exist[:, block].sum(1, keepdims=True), 1)
                f = e
            else:
                e = get("E")[None] * exist[:, :, None]
                f = e if spec["projections"] == "tied" else get("F")[None] * exist[:, :, None]
            k, v = self.split(e.swapaxes(1, 2) @ k, heads), self.split(f.swapaxes(1, 2) @ v, heads)
            w = kernel_weights(spec["kernel"], scale * self.split(q, heads), k)
            if spec["normalised"]:
                w = w / (w.sum(-1, keepdims=True) + spec["eps"] + (np.exp(get("sink"))[:, None, None] if spec["sink"] else 0))
            return self.linear(name + ".o", join(w @ v))
        weight = get("weight")
        if kind == "linear":
            return join(np.where(allowed, weight if weight.ndim == 3 else weight[None], 0) @ self.split(x, heads))
        if kind == "convolution":
            i, j = np.indices((self.n, self.n))
            matrix = np.zeros((len(exist), size, size))
            for tap, value in zip(spec["taps"], get("taps").reshape(-1)):
                matrix[:, :self.n, :self.n] += value * ((j - i - tap) % self.n == 0)
            return np.where(exist[:, :, None] & exist[:, None, :], matrix, 0) @ x
        coefficient = allowed.astype(float)
        if weight is not None:  # a factor per colour; in a mean its logarithm
            factor = np.array([weight[h][np.maximum(colours[h], 1) - 1] for h in range(heads)])
            coefficient = coefficient * (np.exp(factor) if kind == "mean" else factor)
        if kind == "bias":
            beta = activation(spec["activation"], x @ get("w")[0] - get("b")[0])  # [batch, vertex]
            total = (coefficient * beta[:, None, None, :]).sum(-1)                # [batch, head, vertex]
            return join(total[..., None] * get("a").reshape(heads, -1)[:, None, :])
        v = self.split(self.linear(name + ".v", x) if spec["value"] == "free" else x, heads)
        if kind in ("sum", "mean"):
            out = coefficient @ v
            total = coefficient.sum(-1, keepdims=True) + (spec["eps"] if kind == "mean" else 0)
            if kind == "mean" and spec["sink"]:
                total = total + np.exp(get("sink"))[:, None, None]
            return join(np.divide(out, total, out=np.zeros_like(out), where=total != 0) if kind == "mean" else out)
        if kind == "max":
            out = np.where(allowed[..., None], v[:, :, None], -np.inf).max(3)
            return join(np.where(np.isfinite(out), out, 0))
        raise NotImplementedError(kind)

    def expert(self, name, kind, spec, x):
        if kind == "affine":
            return self.linear(name + ".down", x)
        if kind == "glu":
            return self.linear(name + ".down", activation(spec["activation"], self.linear(name + ".gate", x)) * self.linear(name + ".up", x))
        return self.linear(name + ".down", activation(spec["activation"], self.linear(name + ".up", x)))

    def feed(self, index, spec, x):
        name = f"layers.{index}.feedforward"
        if spec["kind"] != "moe":
            return self.expert(name, spec["kind"], spec, x)
        scores = self.linear(name + ".router", x)
        chosen = np.argsort(np.argsort(-scores, -1, kind="stable"), -1, kind="stable") < spec["top_k"]
        share = np.where(chosen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
        share /= share.sum(-1, keepdims=True)
        return sum(share[..., e:e + 1] * self.expert(f"{name}.expert.{e}", spec["expert"], spec, x) for e in range(spec["experts"]))

    def layer(self, position, x, exist):
        spec, block = self.layers[position], self.architecture["block"]
        index = 0 if block["tied"] else position
        place, norm = spec["norm"]["place"], spec["norm"]
        keep = 1 if block["residual"] else 0
        steps = []
        if spec["mixer"]["kind"] != "tokenwise":
            steps.append(("norm1", lambda h: self.mix(index, spec["mixer"], h, exist)))
        if spec["feedforward"]["kind"] != "none":
            steps.append(("norm2", lambda h: self.feed(index, spec["feedforward"], h)))

        def branch(leaf, body, h):
            out = body(self.norm(f"layers.{index}.{leaf}", norm, h) if place in ("pre", "sandwich") else h)
            if place == "after":
                return self.norm(f"layers.{index}.{leaf}", norm, out)
            return self.norm(f"layers.{index}.{leaf}_after", norm, out) if place == "sandwich" else out

        if block["arrangement"] == "parallel":
            total = keep * x + sum(branch(leaf, body, x) for leaf, body in steps)
            return self.norm(f"layers.{index}.norm1", norm, total) if place == "post" else total
        if not steps and place == "post":  # nothing was added, and the norm stands behind it all the same
            return self.norm(f"layers.{index}.norm1", norm, x)
        for leaf, body in steps:
            x = keep * x + branch(leaf, body, x)
            if place == "post":
                x = self.norm(f"layers.{index}.{leaf}", norm, x)
        return x

    def embed(self, x):
        given = self.architecture["input"]
        if given["embedding"] == "table":
            x = self.weights["input.embedding.weight"][x]
        elif given["embedding"] == "linear":
            x = self.linear("input.embedding", x)
        elif given["embedding"] == "mlp":
            x = self.linear("input.embedding.down", activation("gelu", self.linear("input.embedding.up", x)))
        if given["positions"] == "learned":
            x = x + self.weights["input.positions"]
        elif given["positions"] == "fixed":
            x = x + np.array(given["table"])
        elif given["positions"] == "sinusoidal":
            p, c = np.indices((self.n, self.dim))
            angle = p / 10000 ** (c // 2 * 2 / self.dim)
            x = x + np.where(c % 2 == 0, np.sin(angle), np.cos(angle))
        x = self.norm("input.norm", given["norm"], x)
        if self.registers:
            colours = list(dict.fromkeys(self.registers))
            rows = self.weights["input.registers"][[colours.index(colour) for colour in self.registers]]
            x = np.concatenate([x, np.broadcast_to(rows, (len(x), *rows.shape))], 1)
        return x

    def predict(self, x, lengths=None, outputs=None):
        """Scores [N, n, k] or, pooled, [N, k]. What lies beyond a length is whatever it is."""
        exist = np.ones((len(x), self.n + len(self.registers)), bool)
        if lengths is not None:
            exist[:, :self.n] = np.arange(self.n) < lengths[:, None]
            inside = exist[:, :self.n]
            x = np.where(inside if x.ndim == 2 else inside[..., None], x, 0)
        h = self.embed(x)
        for position in range(len(self.layers)):
            h = self.layer(position, h, exist)
        h = self.norm("output.norm", self.architecture["output"]["norm"], h[:, :self.n])
        pool = self.architecture["output"]["pool"]
        if pool == "first":
            h = h[:, 0]
        elif pool == "mean":
            inside = exist[:, :self.n, None]
            h = np.where(inside, h, 0).sum(1) / inside.sum(1)
        if self.architecture["output"]["head"] == "linear":
            h = self.linear("output.head", h)
        return h if outputs is None else h[..., :outputs]


def compare(expected, found):
    """Largest difference as a share of the largest entry."""
    return float(np.abs(expected - found).max() / max(np.abs(expected).max(), 1e-300))


if __name__ == "__main__":
    data = np.load(sys.argv[2])
    scores = Model(sys.argv[1]).predict(data["x"], data["lengths"] if "lengths" in data else None)
    if len(sys.argv) > 3:
        found = np.load(sys.argv[3])["y"]
        print(compare(scores[..., :found.shape[-1]], found))
    else:
        print(scores)
