"""Random networks of an architecture file, written out plainly: in float64, or on request in mpmath numbers with the same weights.

Numbers live in numpy arrays (dtype object for mpmath). Nothing of the library is used."""
import math
import tomllib

import mpmath
import numpy as np


class Float:
    """Arithmetic in float64."""
    name = "float64"

    @staticmethod
    def array(values):
        return np.asarray(values, dtype=np.float64)

    exp, log, sqrt, sin, cos, tanh, cosh, sinh = np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, np.cosh, np.sinh
    erf = staticmethod(np.vectorize(math.erf, otypes=[float]))


class Long:
    """Arithmetic in mpmath numbers: as many bits as mpmath.mp.prec says."""
    name = "mpmath"

    @staticmethod
    def array(values):
        values = np.asarray(values, dtype=object)
        return np.vectorize(mpmath.mpf, otypes=[object])(values) if values.size else values

    exp, log, sqrt, sin, cos, tanh, cosh, sinh, erf = (
        staticmethod(np.vectorize(f, otypes=[object]))
        for f in (mpmath.exp, mpmath.log, mpmath.sqrt, mpmath.sin, mpmath.cos, mpmath.tanh, mpmath.cosh, mpmath.sinh, mpmath.erf))


def functions(b):
    """The functions of the expression language (architecture-file.md), on arrays."""
    def relu(t):
        return np.where(t > 0, t, t * 0)

    def elu(t):
        return np.where(t > 0, t, b.exp(np.where(t > 0, t * 0, t)) - 1)

    def sigmoid(t):
        return 1 / (1 + b.exp(-t))

    def softplus(t):
        return b.log(1 + b.exp(t))

    root2 = b.sqrt(b.array(2.0))
    return {
        "relu": relu, "elu": elu, "sigmoid": sigmoid, "softplus": softplus, "exp": b.exp, "log": b.log, "sqrt": b.sqrt, "sin": b.sin, "cos": b.cos,
        "tanh": b.tanh, "cosh": b.cosh, "sinh": b.sinh, "abs": np.abs, "erf": b.erf,
        "gelu": lambda t: t * (1 + b.erf(t / root2)) / 2, "silu": lambda t: t * sigmoid(t), "mish": lambda t: t * b.tanh(softplus(t)),
        "leaky_relu": lambda t: np.where(t > 0, t, t / 128), "square": lambda t: t * t, "cube": lambda t: t * t * t,
        "relu2": lambda t: relu(t) ** 2, "identity": lambda t: t, "step": lambda t: np.where(t > 0, t * 0 + 1, t * 0),
    }


def evaluate(text, names, b):
    """An expression of the file format."""
    text = text.replace("^", "**").replace("[", "vector([").replace("]", "])")
    tools = {"vector": b.array, "dot": lambda u, v: (u * v).sum(axis=-1), "norm2": lambda u: (u * u).sum(axis=-1),
             "norm": lambda u: b.sqrt((u * u).sum(axis=-1)), **functions(b)}
    return eval(text, {"__builtins__": {}}, {**tools, **names})  # the golden cases' own expressions, and the list in check.py


# --- who reads whom ------------------------------------------------------------------------------------------------------

def rows_of(pattern, n, registers):
    kind = pattern.get("kind", "full")
    v = n + registers
    if kind == "full":
        rows = [list(range(v)) for _ in range(v)]
    elif kind == "rows":
        rows = [list(row) for row in pattern["rows"]]
    elif kind == "window":
        left, right = pattern.get("before", pattern.get("radius", 0)), pattern.get("after", pattern.get("radius", 0))
        rows = [list(range(max(0, i - left), min(n, i + right + 1))) for i in range(n)] + [[] for _ in range(registers)]
    elif kind in ("blocks", "shifted_blocks"):
        size = pattern["size"]
        block = [((i - pattern.get("shift", 0)) % n) // size if kind == "shifted_blocks" else i // size for i in range(n)]
        rows = [[j for j in range(n) if block[j] == block[i]] for i in range(n)] + [[] for _ in range(registers)]
    else:
        raise ValueError(kind)
    if pattern.get("causal"):
        rows = [[j for j in row if i >= n or j >= n or j <= i] for i, row in enumerate(rows)]
    return rows


def t5_bucket(distance, spec):
    """The published bucket of j - i."""
    buckets, furthest, result = spec.get("buckets", 32), spec.get("max_distance", 128), 0
    if spec.get("bidirectional", True):
        buckets //= 2
        result = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(0, -distance)
    exact = buckets // 2
    if distance < exact:
        return result + distance
    return result + min(buckets - 1, exact + int(math.log(distance / exact) / math.log(furthest / exact) * (buckets - exact)))


class Network:
    """A random member of the family that `tree` describes. `mixing` layers; 0 to 2 more feedforwards anywhere when `free`."""

    def __init__(self, tree, seed, mixing=None, kernel=None, activation=None):
        self.tree, self.n, self.d = tree, tree["tokens"], tree["dim"]
        self.draw = np.random.default_rng(seed)
        # Small weights keep deep networks away from saturation, large ones make shallow ones nonlinear: both are tried.
        self.scale = [1.0, 0.5, 0.25][int(self.draw.integers(3))]
        self.input, self.output, self.block = tree.get("input", {}), tree.get("output", {}), tree.get("block", {})
        self.registers = self.input.get("registers", [])
        self.table = self.input.get("embedding") == "table"
        listed = []
        for layer in tree.get("layer", [{}]):
            mixer = {**tree.get("mixer", {}), **layer.get("mixer", {})}
            if "pattern" in layer:
                mixer["pattern"] = layer["pattern"]
            if kernel:
                mixer = {**mixer, "kernel": kernel}
            feedforward = {"activation": "relu", "bias": True, "kind": "mlp", **tree.get("feedforward", {}), **layer.get("feedforward", {})}
            if activation:
                feedforward["activation"] = activation
            listed += [(mixer, feedforward, {**tree.get("norm", {}), **layer.get("norm", {})})] * layer.get("repeat", 1)
        mixing = len(listed) if mixing is None else mixing
        self.weights, self.sublayers, self.patterns = {}, [], {}
        self.free = not self.table
        for q in range(mixing):
            mixer, feedforward, norm = listed[q % len(listed)]
            if self.free:
                self.sublayers += [("feedforward", feedforward, norm)] * int(self.draw.integers(0, 2))
            self.sublayers += [("mixer", mixer, norm), ("feedforward", feedforward, norm)]
        self.make_weights()

    def matrix(self, name, rows, columns, scale=1.0):
        self.weights[name] = self.draw.normal(size=(rows, columns)) * scale / math.sqrt(columns) * (self.scale if name[0].isdigit() else 1.0)

    def vector(self, name, size, scale=1.0):
        self.weights[name] = self.draw.normal(size=size) * scale

    def make_weights(self):
        n, d, w = self.n, self.d, self.weights
        raw = self.input.get("dim", d)
        if self.table:
            self.matrix("table", min(self.input.get("vocabulary", n), 64) + 1, d, math.sqrt(d))  # the last row is the BOS
        elif self.input.get("embedding", "none") != "none":
            self.matrix("embed", d, raw)
            self.vector("embed.bias", d)
        if self.input.get("positions") == "learned":
            self.matrix("positions", n, d, math.sqrt(d))
        if self.input.get("positions") == "fixed":
            w["positions"] = np.array(self.input["table"])
        if self.input.get("positions") == "sinusoidal":
            w["positions"] = np.array([[(math.sin if k % 2 == 0 else math.cos)(p / 10000 ** (2 * (k // 2) / d)) for k in range(d)] for p in range(n)])
        colours = sorted(set(self.registers))
        if colours:
            self.matrix("colours", len(colours), d, math.sqrt(d))
            w["registers"] = w["colours"][[colours.index(c) for c in self.registers]]
        if self.output.get("head") == "linear":
            self.matrix("head", self.output.get("dim", d), d)
            self.vector("head.bias", self.output.get("dim", d))
        for s, (kind, spec, norm) in enumerate(self.sublayers):
            for place in ("before", "after"):
                self.vector(f"{s}.{place}.gain", d, 0.3)
                w[f"{s}.{place}.gain"] += 1 if norm.get("affine", True) else 0
                self.vector(f"{s}.{place}.shift", d, 0.3)
            if kind == "mixer":
                self.make_mixer(s, spec)
            else:
                self.make_feedforward(s, spec)
        self.vector("final.gain", d, 0.3)
        w["final.gain"] += 1
        self.vector("final.shift", d, 0.3)
        if self.block.get("tied"):  # the weights of the first layer's two sublayers everywhere
            for s in range(2, len(self.sublayers)):
                for name in [name for name in list(w) if name.split(".")[0] == str(s % 2)]:
                    w[".".join([str(s), *name.split(".")[1:]])] = w[name]

    def make_mixer(self, s, spec):
        n, d, kind = self.n, self.d, spec.get("kind", "attention")
        self.matrix(f"{s}.v", d, d, 1.5)
        if kind in ("attention", "linformer"):
            heads = spec.get("heads", 1)
            for h in range(heads):
                self.matrix(f"{s}.{h}.q", d, d)
                self.matrix(f"{s}.{h}.k", d, d)
                self.matrix(f"{s}.{h}.v", d, d, 1.5)
                if spec.get("query_key") == "tied":
                    self.weights[f"{s}.{h}.k"] = self.weights[f"{s}.{h}.q"]
                self.vector(f"{s}.{h}.relative", 2 * n + 64)
                self.vector(f"{s}.{h}.sink", 1)
            for which in "EF":
                self.matrix(f"{s}.{which}", n, spec.get("rank", 1), math.sqrt(spec.get("rank", 1)))
            if spec.get("projections") in ("tied", "generic"):
                self.weights[f"{s}.E"] = self.weights[f"{s}.F"]
        elif kind == "bias":
            self.matrix(f"{s}.w", d, d)
            self.vector(f"{s}.b", d)
        elif kind == "convolution":
            self.vector(f"{s}.taps", len(spec["taps"]))
        elif kind == "linear":
            self.matrix(f"{s}.mix", n, n, 2.0)

    def make_feedforward(self, s, spec):
        d, kind = self.d, spec["kind"]
        if kind == "none":
            return
        hidden = spec.get("width", 2 * d)
        copies = spec.get("experts", 1) if kind == "moe" else 1
        for e in range(copies):
            self.matrix(f"{s}.{e}.up", hidden, d, 1.5)
            self.matrix(f"{s}.{e}.gate", hidden, d, 1.5)
            self.matrix(f"{s}.{e}.down", d, hidden)
            for name, size in (("up", hidden), ("gate", hidden), ("down", d)):
                free = spec["bias"] is True or spec["bias"] == "output" and name == "down"
                self.vector(f"{s}.{e}.{name}.bias", size, 1.0 if free else 0.0)
            if "spectral_norm_at_most" in spec:
                for name in ("up", "down"):
                    self.weights[f"{s}.{e}.{name}"] *= spec["spectral_norm_at_most"] / np.linalg.norm(self.weights[f"{s}.{e}.{name}"], 2)
        if kind == "moe":
            self.matrix(f"{s}.router", copies, d)

    # --- running ---------------------------------------------------------------------------------------------------------

    def run(self, x, b=Float, want=None):
        """Outputs of the tokens: x is [n, raw] real tokens or n ids (the BOS is id -1). `want`: the tokens that matter, or None.

        self.gain is then the product over the sublayers of 1 + the norms of their matrices, times the steepness of the norms."""
        w = {name: b.array(values) for name, values in self.weights.items()}
        self.gain, n = 1.0, self.n
        if self.table:
            state = w["table"][np.asarray(x)]
        else:
            state = b.array(x)
            if "embed" in w:
                state = state @ w["embed"].T + w["embed.bias"]
        if "positions" in w:
            state = state + w["positions"]
        if "registers" in w:
            state = np.concatenate([state, w["registers"]])
        residual = self.block.get("residual", True)
        place = lambda norm: norm.get("place", "pre") if norm.get("kind", "none") != "none" else "nowhere"
        held = None  # parallel blocks: both branches read the same state
        for s, (kind, spec, norm) in enumerate(self.sublayers):
            parallel = self.block.get("arrangement") == "parallel"
            source = held if parallel and kind == "feedforward" and held is not None else state
            held = state if kind == "mixer" else None
            if place(norm) in ("pre", "sandwich"):
                source = self.norm(source, norm, w, f"{s}.before", b)
            branch = (self.mix if kind == "mixer" else self.feed)(s, spec, source, w, b)
            if place(norm) in ("sandwich", "after"):
                branch = self.norm(branch, norm, w, f"{s}.after", b)
            state = state + branch if residual else branch
            if place(norm) == "post":
                state = self.norm(state, norm, w, f"{s}.after", b)
        state = state[:n]
        if want is not None:
            state = state[want]
        if self.output.get("norm", {}).get("kind", "none") != "none":
            state = self.norm(state, self.output["norm"], w, "final", b)
        if "head" in w:
            state = state @ w["head"].T + w["head.bias"]
            self.gain *= max(1.0, np.linalg.norm(self.weights["head"], 2))
        return state

    def norm(self, x, spec, w, name, b):
        if spec["kind"] == "layernorm":
            x = x - x.mean(axis=1, keepdims=True)
        size = b.sqrt((x * x).mean(axis=1, keepdims=True) + b.array(spec.get("eps", 1e-5)))
        self.gain *= max(1.0, float(1 / np.min(size)))
        out = x / size
        if spec.get("affine", True):
            out = out * w[name + ".gain"]
            self.gain *= max(1.0, float(np.max(np.abs(self.weights[name + ".gain"]))))
            if spec["kind"] == "layernorm":
                out = out + w[name + ".shift"]
        return out

    def rows(self, pattern):
        key = repr(pattern)
        if key not in self.patterns:
            self.patterns[key] = [np.array(row, dtype=int) for row in rows_of(pattern, self.n, len(self.registers))]
        return self.patterns[key]

    def mix(self, s, spec, x, w, b):
        kind, n = spec.get("kind", "attention"), self.n
        pattern = spec.get("pattern", {"kind": "full"})
        if kind == "attention":
            heads = pattern["heads"] if pattern["kind"] == "per_head" else [pattern] * spec.get("heads", 1)
            if pattern["kind"] == "per_head" and f"{s}.1.q" not in w:  # heads are named by the pattern: weights from the same stream
                for h in range(1, len(heads)):
                    for name in "qkv":
                        self.weights[f"{s}.{h}.{name}"] = np.random.default_rng([h, ord(name)]).normal(size=(self.d, self.d)) / math.sqrt(self.d)
                        w[f"{s}.{h}.{name}"] = b.array(self.weights[f"{s}.{h}.{name}"])
            return sum(self.attend(s, h, spec, self.rows(one), x, w, b) for h, one in enumerate(heads))
        if kind == "linformer":
            return self.linformer(s, spec, x, w, b)
        self.gain *= 1 + np.linalg.norm(self.weights[f"{s}.v"], 2)
        values = x @ w[f"{s}.v"].T
        if kind == "convolution":
            return sum(w[f"{s}.taps"][k] * np.roll(values, -tap, axis=0) for k, tap in enumerate(spec["taps"]))
        if kind == "linear":
            return w[f"{s}.mix"] @ values
        if kind == "bias":
            units = evaluate(spec["activation"] + ("(t)" if spec["activation"].isidentifier() and spec["activation"] != "t" else ""),
                             {"t": x @ w[f"{s}.w"].T + w[f"{s}.b"]}, b)
            values = np.broadcast_to(units, x.shape) @ w[f"{s}.v"].T
        out = []
        for row in self.rows(pattern):
            if len(row) == 0:
                out.append(values[0] * 0)
            elif kind == "mean":
                out.append(values[row].sum(axis=0) / len(row))
            elif kind == "max":
                out.append(w[f"{s}.v"] @ x[row].max(axis=0))
            else:
                out.append(values[row].sum(axis=0))
        return np.stack(out)

    def kernel(self, spec, q, k, b):
        """Kernel values of one query with rows of keys."""
        name = spec.get("kernel", "softmax")
        if isinstance(name, dict):
            features = b.array(name["features"])
            if name["name"] == "performer":
                phi = lambda u: b.exp(u @ features.T - (u * u).sum(axis=-1, keepdims=True) / 2)
                return (phi(q[None, :]) * phi(k)).sum(axis=1)
            raise ValueError(name["name"])
        if name == "softmax":
            return b.exp(k @ q / b.sqrt(b.array(float(self.d))))
        value = evaluate(name, {"x": q[None, :], "y": k}, b)
        return np.broadcast_to(b.array(value) if np.isscalar(value) else value, (len(k),))

    def attend(self, s, h, spec, rows, x, w, b):
        queries, keys, values = (x @ w[f"{s}.{h}.{name}"].T for name in "qkv")
        relative = spec.get("relative", "none")
        self.gain *= 1 + np.linalg.norm(self.weights[f"{s}.{h}.v"], 2)
        if relative == "rotary":
            queries, keys = self.rotate(queries, b), self.rotate(keys, b)
        out = []
        for i, row in enumerate(rows):
            if len(row) == 0:
                out.append(values[0] * 0)
                continue
            weight = self.kernel(spec, queries[i], keys[row], b)
            if relative == "learned":
                weight = weight * b.exp(w[f"{s}.{h}.relative"][row - i + self.n])
            elif relative == "alibi":
                weight = weight * b.exp(-b.array(np.abs(row - i) * 2.0 ** (-8 * (h + 1) / max(8, spec.get("heads", 1)))))
            elif isinstance(relative, dict):
                weight = weight * b.exp(w[f"{s}.{h}.relative"][[t5_bucket(int(j) - i, relative) for j in row]])
            if spec.get("top_k"):
                best = sorted(range(len(row)), key=lambda p: -weight[p])[:spec["top_k"]]
                row, weight = row[best], weight[best]
            total = (weight[:, None] * values[row]).sum(axis=0)
            if spec.get("normalised", True):
                bottom = weight.sum() + b.array(float(spec.get("eps", 0)))
                if spec.get("sink"):
                    bottom = bottom + b.exp(w[f"{s}.{h}.sink"][0])
                total = total / bottom
            out.append(total)
        return np.stack(out)

    def rotate(self, x, b):
        """Pairs of coordinates turned by position times 10000^(-2k/d)."""
        half = self.d // 2
        angle = b.array(np.arange(len(x))[:, None]) * b.array([10000.0 ** (-k / half) for k in range(half)])[None, :]
        c, s_ = b.cos(angle), b.sin(angle)
        left, right = x[:, :half], x[:, half:2 * half]
        return np.concatenate([left * c - right * s_, left * s_ + right * c, x[:, 2 * half:]], axis=1)

    def linformer(self, s, spec, x, w, b):
        self.gain *= 1 + np.linalg.norm(self.weights[f"{s}.0.v"], 2) * np.linalg.norm(self.weights[f"{s}.F"], 2)
        keys, values = w[f"{s}.E"].T @ (x @ w[f"{s}.0.k"].T), w[f"{s}.F"].T @ (x @ w[f"{s}.0.v"].T)
        queries = x @ w[f"{s}.0.q"].T
        out = []
        for i in range(len(x)):
            weight = self.kernel(spec, queries[i], keys, b)
            out.append((weight[:, None] * values).sum(axis=0) / weight.sum())
        return np.stack(out)

    def feed(self, s, spec, x, w, b):
        kind = spec["kind"]
        if kind == "none":
            return x * 0
        act = functions(b).get(spec["activation"]) or (lambda t: evaluate(spec["activation"], {"t": t}, b))
        self.gain *= 1 + np.linalg.norm(self.weights[f"{s}.0.up"], 2) * np.linalg.norm(self.weights[f"{s}.0.down"], 2)

        def expert(e, rows):
            up = rows @ w[f"{s}.{e}.up"].T + w[f"{s}.{e}.up.bias"]
            if kind == "affine":
                hidden = up
            elif kind == "glu":
                hidden = act(rows @ w[f"{s}.{e}.gate"].T + w[f"{s}.{e}.gate.bias"]) * up
            else:
                hidden = act(up)
            return hidden @ w[f"{s}.{e}.down"].T + w[f"{s}.{e}.down.bias"]

        if kind != "moe":
            return expert(0, x)
        chosen = [max(range(spec["experts"]), key=lambda e: score[e]) for score in x @ w[f"{s}.router"].T]
        return np.concatenate([expert(e, x[i:i + 1]) for i, e in enumerate(chosen)])


def read(path):
    return tomllib.loads(path.read_text())
