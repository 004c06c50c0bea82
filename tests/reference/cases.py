"""Small architectures that together use every mixer, kernel, norm, position and feedforward kind of the format."""
import copy

N, DIM, WIDTH, OUT = 6, 8, 3, 2


def make(**parts):
    """The base with tables merged over it; `layer`, `tokens` and what is none replace."""
    tree = {"tokens": N, "dim": DIM, "input": {"embedding": "linear", "dim": WIDTH}, "output": {"head": "linear", "dim": OUT},
            "feedforward": {"activation": "gelu", "width": 5}, "mixer": {"heads": 2}, "norm": {}, "block": {}}
    for key, value in parts.items():
        if isinstance(value, dict) and isinstance(tree.get(key), dict) and value.get("kind") != "none":
            tree[key].update(copy.deepcopy(value))
        else:
            tree[key] = copy.deepcopy(value)
    return tree


KERNELS = ["softmax", "gaussian", {"name": "rbf", "gamma": 0.3}, "cauchy", "laplace", "elu1", "relu2", "cosine", {"name": "cosine", "temperature": 0.5},
           "(1+norm2(x-y))*exp(dot(x,y))", "dot(elu(x)+1,elu(y)+1)", "(1+dot(x,y))^2*exp(-norm2(x-y))", "(1+norm2(x-y))^-0.5", "softplus(dot(x,y))",
           "cosh(dot(x,y))", "abs(dot(x,y))+0.1", "sqrt(1+norm2(x-y))*exp(-norm(x)/2)", "exp(-norm2(x)-norm2(y))+2", "1", "sigmoid(dot(x,y))/(2-tanh(dot(x,x)))"]
LITERAL = [{"name": "performer", "features": [[1, 0, 2, 0, -1, 0.5, 0, 1], [0, 1, -1, 0.25, 0, 0, 1, -0.5], [0.5, 0.5, 0, 0, 0, 1, -1, 0]]},
           {"name": "exponential-sum", "weight": [0.5, -1, 0, 0.25, 1, 0, 0, -0.5]}, "exp(dot([1,-2,1,0,0.5,0,0,1],x+y)/4)", "exp(dot(x,y)/3)+cos(dot([0,1,0,0,1,0,0,0],x-y))+2"]
PATTERNS = {
    "full": {"kind": "full"}, "self": {"kind": "self"}, "window": {"kind": "window", "radius": 1}, "window-sides": {"kind": "window", "before": 2, "after": 1, "dilation": 2},
    "window-wrap": {"kind": "window", "before": 1, "after": 2, "wrap": True}, "window-global": {"kind": "window", "radius": 1, "global": [0, 4]},
    "window-causal": {"kind": "window", "before": 2, "causal": True, "global": [1]}, "ring": {"kind": "ring", "radius": 1}, "blocks": {"kind": "blocks", "size": 4},
    "shifted": {"kind": "shifted_blocks", "size": 3, "shift": 1}, "shifted-cut": {"kind": "shifted_blocks", "size": 4, "shift": 2, "wrap": False},
    "strided": {"kind": "strided", "stride": 2}, "strided-code": {"kind": "strided", "stride": 3, "variant": "code", "part": "local"},
    "strided-summary": {"kind": "strided", "stride": 3, "part": "summary"}, "strided-local": {"kind": "strided", "stride": 2, "part": "local"},
    "fixed": {"kind": "fixed", "stride": 3, "summary": 1}, "fixed-summary": {"kind": "fixed", "stride": 3, "summary": 2, "part": "summary"},
    "fixed-local": {"kind": "fixed", "stride": 2, "part": "local"}, "grid-window": {"kind": "grid", "shape": [2, 3], "window": [1, 1]},
    "grid-torus": {"kind": "grid", "shape": [2, 3], "window": [0, 1], "wrap": True}, "grid-rows": {"kind": "grid", "shape": [2, 3], "rows": True},
    "grid-columns": {"kind": "grid", "shape": [3, 2], "columns": True}, "grid-blocks": {"kind": "grid", "shape": [3, 2], "blocks": [2, 1]},
    "grid-shift": {"kind": "grid", "shape": [3, 2], "blocks": [2, 2], "shift": [1, 1]}, "grid-shift-wrap": {"kind": "grid", "shape": [3, 2], "blocks": [2, 2], "shift": [1, 0], "wrap": True},
    "circulant": {"kind": "circulant", "offsets": [1, 4]}, "graph": {"kind": "graph", "edges": [[0, 1], [1, 2], [3, 5]]},
    "digraph": {"kind": "graph", "edges": [[0, 1], [2, 1], [5, 0]], "directed": True, "loops": False}, "rows": {"kind": "rows", "rows": [[0], [1, 3], [], [5, 2], [4, 0, 1], [5]]},
    "matrix": {"kind": "matrix", "matrix": [[1, 2, 0, 0, 3, 0], [2, 1, 2, 0, 0, 0], [0, 3, 1, 0, 0, 0], [0, 0, 0, 2, 1, 1], [1, 0, 3, 0, 0, 0], [0, 0, 0, 0, 2, 2]]},
    "union": {"kind": "union", "of": [{"kind": "blocks", "size": 2}, {"kind": "circulant", "offsets": [3]}]},
    "intersection": {"kind": "intersection", "of": [{"kind": "window", "radius": 2}, {"kind": "strided", "stride": 2}]},
    "minus": {"kind": "minus", "of": [{"kind": "full"}, {"kind": "window", "radius": 1, "causal": True}]},
    "union-causal": {"kind": "union", "of": [{"kind": "ring", "radius": 1}, {"kind": "fixed", "stride": 3, "summary": 1}], "causal": True},
}
ACTIVATIONS = ["relu", "gelu", "silu", "mish", "elu", "leaky_relu", "tanh", "sigmoid", "softplus", "erf", "sin", "exp", "square", "relu2", "cube", "identity", "step",
               "t^3-0.5*t", "t*sigmoid(2*t)", "exp(-t^2)"]


def all_cases():
    """name -> (architecture, options). Options: lengths, pooled, classes, exact, attention."""
    cases = {}

    def add(name, tree, **options):
        assert name not in cases, name
        tree["name"] = name
        cases[name] = (tree, options)

    for k, kernel in enumerate(KERNELS):
        add(f"kernel-{k}", make(mixer={"kernel": kernel, "pattern": PATTERNS["window-sides" if k % 2 else "full"]}))
    for k, kernel in enumerate(LITERAL):
        add(f"literal-{k}", make(mixer={"kernel": kernel, "heads": 1}))
    add("skyformer", make(mixer={"kernel": "gaussian", "normalised": False}))
    add("sigmoid-attention", make(mixer={"kernel": "sigmoid(dot(x,y))", "normalised": False, "pattern": PATTERNS["union"]}))
    add("exponential-sums", make(mixer={"normalised": False}))
    for name, pattern in PATTERNS.items():
        add(f"pattern-{name}", make(mixer={"pattern": pattern}), attention=name in ("full", "ring", "digraph"))
        if name in ("window-global", "matrix", "digraph", "rows"):
            for kind in ("sum", "mean", "max", "bias", "linear"):
                add(f"{kind}-{name}", make(mixer={"kind": kind, "pattern": pattern} | ({"activation": "tanh"} if kind == "bias" else {})))
    add("butterfly", make(tokens=8, mixer={"pattern": {"kind": "butterfly", "distance": 4}}))
    add("per-head", make(mixer={"pattern": {"kind": "per_head", "heads": [PATTERNS["ring"], PATTERNS["blocks"]]}}))
    add("per-head-max", make(mixer={"kind": "max", "pattern": {"kind": "per_head", "heads": [PATTERNS["ring"], PATTERNS["blocks"]]}}))
    add("per-head-mean", make(mixer={"kind": "mean", "pattern": {"kind": "per_head", "heads": [PATTERNS["rows"], PATTERNS["blocks"]]}}))
    add("star", make(input={"registers": ["relay"]}, mixer={"pattern": {"kind": "star"}}, layer=[{"repeat": 2}]), lengths=True)
    add("registers", make(input={"registers": ["a", "a", "b"]}, layer=[{}, {"norm": {"kind": "rmsnorm"}}]), lengths=True)
    add("registers-rows", make(tokens=4, input={"registers": ["a"]}, mixer={"pattern": {"kind": "union", "of": [
        {"kind": "ring", "radius": 1}, {"kind": "rows", "rows": [[4], [4], [], [2], [0, 1, 4]]}]}}, layer=[{"repeat": 2}]))
    add("registers-learned", make(input={"registers": ["a"]}, mixer={"relative": "learned"}, layer=[{"repeat": 2}]))
    add("registers-rotary", make(input={"registers": ["a"]}, mixer={"relative": "rotary"}, layer=[{"repeat": 2}]))
    for kind in ("sum", "mean", "max", "bias", "linear"):
        tree = make(input={"registers": ["a", "b"]}, mixer={"kind": kind} | ({"activation": "t^2"} if kind == "bias" else {}), layer=[{"repeat": 2}])
        add(f"registers-{kind}", tree, lengths=kind != "linear")
    for heads in (1, 4):
        add(f"heads-{heads}", make(mixer={"heads": heads, "relative": "alibi"}))
    add("top-k", make(mixer={"top_k": 2, "kernel": "cauchy"}))
    add("top-k-window", make(mixer={"top_k": 3, "pattern": PATTERNS["window-global"], "relative": "learned"}))
    add("sink", make(mixer={"sink": True}))
    add("sink-gaussian", make(mixer={"sink": True, "kernel": "gaussian", "pattern": PATTERNS["digraph"], "eps": 0.1}))
    add("eps", make(mixer={"eps": 0.5, "kernel": "relu2"}))
    add("mean-sink", make(mixer={"kind": "mean", "sink": True, "pattern": PATTERNS["digraph"]}), lengths=True)
    add("mean-eps", make(mixer={"kind": "mean", "eps": 0.5, "pattern": PATTERNS["matrix"]}))
    add("value-identity", make(mixer={"value": "identity"}))
    add("mean-value-identity", make(mixer={"kind": "mean", "value": "identity", "pattern": PATTERNS["digraph"]}))
    add("tied-keys", make(mixer={"query_key": "tied", "relative": "rotary"}))
    for relative in ("rotary", "alibi", "learned", {"kind": "t5", "buckets": 8, "max_distance": 12}, {"kind": "t5", "buckets": 6, "max_distance": 9, "bidirectional": False}):
        name = relative if isinstance(relative, str) else f"t5-{relative['buckets']}"
        for pattern in ("full", "window-causal", "matrix") if name != "rotary" else ("full", "window-causal"):
            tokens = 20 if name.startswith("t5") and pattern != "matrix" else N
            add(f"relative-{name}-{pattern}", make(tokens=tokens, mixer={"relative": relative, "pattern": PATTERNS[pattern]}))
    add("relative-grid", make(mixer={"relative": "learned", "pattern": PATTERNS["grid-window"]}))
    add("relative-sink", make(mixer={"relative": "alibi", "sink": True, "kernel": "cauchy"}))
    add("relative-sums", make(mixer={"relative": "learned", "normalised": False, "kernel": "gaussian"}))
    for projections in ("trained", "tied", "generic", {"blocks": [[0, 1, 2], [3, 5]]}):
        name = projections if isinstance(projections, str) else "blocks"
        rank = {} if name == "blocks" else {"rank": 3}
        add(f"linformer-{name}", make(mixer={"kind": "linformer", "projections": projections} | rank))
        add(f"linformer-{name}-gaussian", make(mixer={"kind": "linformer", "projections": projections, "kernel": "gaussian", "normalised": name != "trained"} | rank), lengths=True)
    add("convolution", make(mixer={"kind": "convolution", "taps": [0, 1, 4], "heads": 1}))
    add("convolution-back", make(mixer={"kind": "convolution", "taps": [-1, 2], "heads": 1}, layer=[{"repeat": 2}]))
    for k, activation in enumerate(["relu", "tanh", "t^3", "1", "sin"]):
        add(f"bias-mixer-{k}", make(mixer={"kind": "bias", "activation": activation, "heads": 1}))
    add("linear-heads", make(mixer={"kind": "linear"}))
    add("linear-one-head", make(mixer={"kind": "linear", "heads": 1, "pattern": PATTERNS["ring"]}))
    add("tokenwise", make(layer=[{}, {"mixer": {"kind": "tokenwise"}}]))
    add("norm-alone", make(layer=[{}, {"mixer": {"kind": "tokenwise"}, "feedforward": {"kind": "none"}, "norm": {"kind": "layernorm", "place": "post"}}]))
    for kind in ("layernorm", "rmsnorm"):
        for place in ("pre", "post", "sandwich", "after"):
            add(f"norm-{kind}-{place}", make(norm={"kind": kind, "place": place}, layer=[{"repeat": 2}]))
        add(f"norm-{kind}-plain", make(norm={"kind": kind, "affine": False, "eps": 0.01}))
        add(f"norm-{kind}-ends", make(input={"norm": {"kind": kind}}, output={"norm": {"kind": kind, "eps": 0.1}}))
    for place in ("pre", "post", "sandwich", "after"):
        add(f"parallel-{place}", make(norm={"kind": "layernorm", "place": place}, block={"arrangement": "parallel"}, layer=[{"repeat": 2}]))
    add("no-residual", make(block={"residual": False}, layer=[{"repeat": 2}]))
    add("no-residual-parallel", make(block={"residual": False, "arrangement": "parallel"}))
    add("tied", make(block={"tied": True}, norm={"kind": "rmsnorm"}, layer=[{"repeat": 3}]))
    for positions in ("learned", "sinusoidal"):
        add(f"positions-{positions}", make(input={"positions": positions}))
    add("positions-fixed", make(input={"positions": "fixed", "table": [[((3 * p + c * c) % 7) / 4 - 0.5 for c in range(DIM)] for p in range(N)]}))
    add("embedding-none", make(input={"embedding": "none", "dim": DIM}, output={"head": "none", "dim": 3}))
    add("embedding-mlp", make(input={"embedding": "mlp"}))
    add("embedding-table", make(input={"embedding": "table", "dim": DIM, "vocabulary": 5}), classes=True)
    add("embedding-bos", make(input={"embedding": "table", "dim": DIM, "vocabulary": 5, "bos": True}, mixer={"relative": "rotary"}), classes=True, lengths=True)
    for bias in (True, False, "output"):
        add(f"mlp-bias-{bias}", make(feedforward={"bias": bias}))
        add(f"glu-bias-{bias}", make(feedforward={"kind": "glu", "activation": "silu", "bias": bias}))
        add(f"moe-bias-{bias}", make(feedforward={"kind": "moe", "experts": 3, "top_k": 2, "bias": bias}))
    for k, activation in enumerate(ACTIVATIONS):
        add(f"activation-{k}", make(feedforward={"activation": activation}))
    add("glu-expression", make(feedforward={"kind": "glu", "activation": "t*tanh(t)"}))
    add("moe-glu", make(feedforward={"kind": "moe", "experts": 4, "top_k": 1, "expert": "glu", "activation": "silu"}))
    add("affine", make(feedforward={"kind": "affine"}))
    add("affine-bare", make(feedforward={"kind": "affine", "bias": False}))
    add("feedforward-none", make(feedforward={"kind": "none"}, norm={"kind": "layernorm", "place": "post"}))
    add("open-width", {**make(), "feedforward": {"kind": "glu", "activation": "gelu"}})
    for pool in ("mean", "first"):
        add(f"pool-{pool}", make(output={"pool": pool, "norm": {"kind": "layernorm"}}), pooled=True)
        add(f"pool-{pool}-lengths", make(output={"pool": pool}, mixer={"pattern": PATTERNS["window-global"]}), pooled=True, lengths=True, classes=True)
    for name in ("full", "window-global", "blocks", "matrix"):
        add(f"lengths-{name}", make(mixer={"pattern": PATTERNS[name], "relative": "learned"}, layer=[{"repeat": 2}]), lengths=True)
    for kind in ("sum", "mean", "max", "convolution", "bias"):
        extra = {"taps": [0, 1]} if kind == "convolution" else {"activation": "tanh"} if kind == "bias" else {}
        add(f"lengths-{kind}", make(mixer={"kind": kind, "heads": 1} | extra, layer=[{"repeat": 2}]), lengths=True)
    add("deep", make(norm={"kind": "layernorm"}, layer=[
        {"mixer": {"pattern": PATTERNS["blocks"], "relative": "rotary"}}, {"mixer": {"pattern": PATTERNS["shifted"], "kernel": "gaussian", "sink": True}},
        {"mixer": {"kind": "max"}, "feedforward": {"kind": "glu"}}, {"mixer": {"heads": 4, "relative": "alibi"}, "norm": {"place": "sandwich"}}]))
    for name in ("ring", "full", "blocks"):
        add(f"exact-{name}", make(mixer={"pattern": PATTERNS[name]}, norm={"kind": "layernorm"}, layer=[{"repeat": 2}]), exact=True)
    return cases
