"""Random layouts of named families, as small or as large as asked; their architecture files; what `definition.cpp` reads of them.

A case is {"family", "tokens", "registers": names, "positions", "target", "depth", "mixer": keys of [mixer], "layers": patterns}."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reference"))
import model  # noqa: E402  (what every pattern is, by the documents)

CAUSAL = ("window", "blocks", "shifted_blocks", "strided", "fixed", "grid", "full", "rows")


# ---------------------------------------------------------------- patterns
def window(rng, n):
    spec = {"kind": "window", "before": rng.randint(0, 3), "after": rng.randint(0, 3)}
    if spec["before"] + spec["after"] == 0:
        spec["before"] = 1
    if rng.random() < 0.4:
        spec["dilation"] = rng.randint(2, 4)
    if rng.random() < 0.2:
        spec["wrap"] = True
    elif rng.random() < 0.25:
        spec["global"] = sorted(rng.sample(range(n), rng.randint(1, 2)))
    return spec


def blocks(rng, n):
    return {"kind": "blocks", "size": rng.randint(2, max(2, n // 3))}


def shifted_blocks(rng, n):
    size = rng.randint(2, max(2, n // 3))
    return {"kind": "shifted_blocks", "size": size, "shift": rng.randint(1, size - 1), "wrap": rng.random() < 0.5}


def strided(rng, n):
    return {"kind": "strided", "stride": rng.randint(2, max(2, n // 3)), "variant": rng.choice(["paper", "code"]), "part": rng.choice(["merged", "local", "summary"])}


def fixed(rng, n):
    stride = rng.randint(2, max(2, n // 3))
    return {"kind": "fixed", "stride": stride, "summary": rng.randint(1, min(stride, 3)), "part": rng.choice(["merged", "merged", "local", "summary"])}


def grid(rng, shape):
    height, width = shape
    spec, choice = {"kind": "grid", "shape": [height, width]}, rng.randint(0, 4)
    if choice <= 1:
        spec["window"] = [rng.randint(0, min(2, height - 1)), rng.randint(0, min(2, width - 1))]
        if rng.random() < 0.2 and 2 * spec["window"][0] < height and 2 * spec["window"][1] < width:
            spec["wrap"] = True
    elif choice <= 3:
        spec[rng.choice(["rows", "columns"])] = True
    else:
        spec["blocks"] = [rng.randint(1, height), rng.randint(1, width)]
        if rng.random() < 0.5:
            spec["shift"] = [rng.randint(0, size - 1) for size in spec["blocks"]]
    return spec


def rows(reads, n, registers=0):
    return {"kind": "rows", "rows": [sorted(reads[i]) for i in range(n)] + [[] for _ in range(registers)]}


def random_rows(rng, n):
    return rows([({i} if rng.random() < 0.8 else set()) | {rng.randrange(n) for _ in range(rng.randint(0, 2))} for i in range(n)], n)


def circulant(rng, n):
    return {"kind": "circulant", "offsets": sorted(rng.sample(range(n), rng.randint(1, min(3, n))))}


def graph(rng, n):
    edges = {tuple(sorted(rng.sample(range(n), 2))) for _ in range(rng.randint(1, 2 * n))}
    return {"kind": "graph", "edges": [list(e) for e in sorted(edges)], "directed": rng.random() < 0.5, "loops": rng.random() < 0.5}


def matrix(rng, n):
    density = rng.random()
    return {"kind": "matrix", "matrix": [[rng.randint(1, 3) if i == j or rng.random() < density else 0 for j in range(n)] for i in range(n)]}


def full(rng, n):
    return {"kind": "full"}


def sinks(rng, n):
    first, before = rng.randint(1, 2), rng.randint(1, 3)
    return rows([set(range(first)) | set(range(max(0, i - before), i + 1)) for i in range(n)], n)


def cycles(rng, n, begin, end):
    """Cycles and cliques of a few lengths, side by side: many symmetric parts that only a search tells apart."""
    lengths, reads, at = rng.choice([[3, 4], [3, 6], [4, 5, 6], [4, 8], [4], [5, 6], [2]]), [set() for _ in range(n)], begin
    while at < end:
        length = min(rng.choice(lengths), end - at)
        for k in range(length):
            for step in ((1, length - 1) if length > 2 else (1,)):
                reads[at + k].add(at + (k + step) % length)
        at += length
    return rows(reads, n)


def tiles(rng, n):
    """A small random digraph, repeated."""
    size = rng.randint(2, max(2, min(6, n // 2)))
    tile = [{j for j in range(size) if rng.random() < 0.4} | ({i} if rng.random() < 0.7 else set()) for i in range(size)]
    reads = [{i - i % size + j for j in tile[i % size] if i - i % size + j < n} for i in range(n)]
    if rng.random() < 0.4:  # linked by one of each
        k = rng.randrange(size)
        reads = [reads[i] | ({j for j in range(k, n, size)} if i % size == k else set()) for i in range(n)]
    return rows(reads, n)


ONE = {f.__name__: f for f in (window, blocks, shifted_blocks, strided, fixed, random_rows, circulant, graph, matrix, full, sinks, tiles)}


# ---------------------------------------------------------------- families: (tokens, layers)
def mixed(rng, n):
    kinds = rng.sample(sorted(ONE), rng.randint(1, 3))
    return n, [combine(rng, [ONE[rng.choice(kinds)](rng, n) for _ in range(3)]) for _ in range(rng.choice([1, 1, 2, 3, 4]))]


def alone(name):
    return lambda rng, n: (n, [combine(rng, [ONE[name](rng, n) for _ in range(3)]) for _ in range(rng.choice([1, 1, 2, 3, 4]))])


def grids(rng, n):
    height = rng.randint(2, max(2, min(12, n // 2)))
    shape = (height, max(2, n // height))
    return shape[0] * shape[1], [combine(rng, [grid(rng, shape) for _ in range(3)]) for _ in range(rng.choice([1, 2, 2, 3]))]


def video(rng, n):
    """Frames of patches: space in full or near, time in full, causal or near, in turn, in heads or in one; patch after patch, or time first."""
    frames = rng.randint(2, max(2, n // 3))
    patches = max(2, n // frames)
    space = rng.choice([{"kind": "grid", "shape": [frames, patches], "rows": True}, {"kind": "grid", "shape": [frames, patches], "window": [0, 1]},
                        {"kind": "blocks", "size": patches}])
    time = rng.choice([{"kind": "grid", "shape": [frames, patches], "columns": True}, {"kind": "grid", "shape": [frames, patches], "window": [1, 0]},
                       {"kind": "strided", "stride": patches, "part": "summary"}])
    if rng.random() < 0.6:
        time["causal"] = True
    return frames * patches, together(rng, [space, time] if rng.random() < 0.7 else [time, space])


def crosses(rng, n):
    """Rows and columns of a grid in full, in one pattern, in heads or in turn, beside windows on it."""
    height = rng.randint(2, max(2, min(12, n // 2)))
    shape = [height, height if rng.random() < 0.5 and height * height <= n else max(2, n // height)]
    lines = together(rng, [{"kind": "grid", "shape": shape, "rows": True}, {"kind": "grid", "shape": shape, "columns": True}])
    if rng.random() < 0.5:
        lines = [{"kind": "union", "of": [{"kind": "grid", "shape": shape, "rows": True}, {"kind": "grid", "shape": shape, "columns": True}]}]
    near = [{"kind": "grid", "shape": shape, "window": [rng.randint(0, 2), rng.randint(0, 2)]} if rng.random() < 0.8 else grid(rng, shape) for _ in range(rng.randint(1, 2))]
    layers = lines + near if rng.random() < 0.7 else near + lines
    nested = any(layer["kind"] == "per_head" for layer in layers)
    return shape[0] * shape[1], layers if nested or rng.random() < 0.7 else together(rng, layers)


def packed(rng, n):
    """Sequences packed into one: what is read lies in the own one, some of which are of one length."""
    lengths, left = [], n
    some = [rng.randint(2, max(2, n // 2)) for _ in range(2)]
    while left > 0:
        lengths.append(min(left, rng.choice(some)))
        left -= lengths[-1]
    begins = [sum(lengths[:k]) for k in range(len(lengths))]

    def within(reads):
        return rows([{b + j for j in range(size) if i == j or reads(i, j, size)} for b, size in zip(begins, lengths) for i in range(size)], n)
    step, near, causal = rng.randint(1, 2), rng.randint(1, 3), rng.random() < 0.5
    kinds = [lambda i, j, size: abs(i - j) <= near, lambda i, j, size: (i - j) % step == 0 and abs(i - j) <= 3 * step, lambda i, j, size: j == 0 or i == 0, lambda i, j, size: j % 2 == 0]
    return n, together(rng, [within(lambda i, j, size, kind=kind: kind(i, j, size) and (j <= i or not causal)) for kind in rng.sample(kinds, rng.randint(1, 2))])


def dilations(rng, n):
    first, before, after = rng.choice([1, 2, 3]), rng.randint(0, 2), rng.randint(0, 2)
    wrap, causal = rng.random() < 0.2, rng.random() < 0.4
    layers = [{"kind": "window", "before": before or (0 if after else 1), "after": after, "dilation": first * 2**k} for k in range(rng.randint(2, 4))]
    for layer in layers:
        if wrap:
            layer["wrap"] = True
        if causal:
            layer["causal"] = True
    if rng.random() < 0.5:
        rng.shuffle(layers)
    return n, together(rng, layers)


def segments(rng, n):
    """LongNet: within segments, tokens at a distance; longer ones with longer segments."""
    size, layers = rng.randint(2, 5), []
    for k in range(rng.randint(2, 3)):
        near = {"kind": "blocks", "size": size * 2**k}
        layers.append({"kind": "intersection", "of": [near, {"kind": "strided", "stride": 2**k, "part": "summary"}]} if k > 0 else near)
        if rng.random() < 0.5:
            layers[-1]["causal"] = True
    return n, together(rng, layers)


def summaries(rng, n):
    """Some tokens are read by everybody, beside parts that look alike."""
    kept = rng.randint(1, max(1, n // 2))
    first = {"kind": "fixed", "stride": rng.choice([n, max(2, n // rng.randint(2, 5))]), "part": "summary", "summary": 1}
    first["summary"] = min(kept, first["stride"])
    if rng.random() < 0.3:
        first = {"kind": "minus", "of": [first, {"kind": "self"}]}
    layers = [{"kind": "union", "of": [first, cycles(rng, n, 0, n - kept)]}]
    if rng.random() < 0.5:
        layers.append(cycles(rng, n, n - kept, n))
    return n, together(rng, layers)


def parts(rng, n):
    layers = [cycles(rng, n, 0, n) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.5:  # all but those
        layers[0] = rows([set(range(n)) - set(row) for row in layers[0]["rows"]], n)
    return n, together(rng, layers)


def clusters(rng, n):
    """Few lists of scattered tokens: clusters in turns, some with tokens that everybody reads, some that read another cluster, or all that come before."""
    layers = []
    for _ in range(rng.randint(1, 3)):
        order, size = rng.sample(range(n), n), rng.randint(2, max(2, n // 3))
        members = [order[k:k + size] for k in range(0, n, size)]
        step, summary, upward = rng.choice([0, 0, 0, 1]), rng.choice([0, 0, 1]), rng.random() < 0.15
        lists = [set(members[(c + step) % len(members)]) for c in range(len(members))]
        if upward:
            lists = [set().union(*lists[:c + 1]) for c in range(len(lists))]
        read_by_all = {j for c in members for j in c[:summary]}
        reads = [None] * n
        for c, cluster in enumerate(members):
            for i in cluster:
                reads[i] = lists[c] | read_by_all
        layers.append(rows(reads, n))
    return n, together(rng, layers)


def nested(rng, n):
    """Rows each of which holds the next shorter one, along an order of the tokens: causal masks, prefixes, blocks of time, some with a hole in each row, all or the documents apart."""
    order = rng.sample(range(n), n)
    layers = []
    for _ in range(rng.randint(1, 2)):
        prefix, size, hole, strict = rng.choice([0, 0, n // 4]), rng.choice([1, 1, 2, 5]), rng.choice([0, 0, 0, 2, 3]), rng.random() < 0.3
        document = rng.choice([n, n, n // 2 + 1, n // 3 + 1])
        reads = [None] * n
        for k in range(n):
            begin = k - k % document
            end = min(n, begin + document, max(k - k % size + size - strict, begin + prefix))
            reads[order[k]] = {order[j] for j in range(begin, end) if hole == 0 or j == k or k // hole != j}
        layers.append(rows(reads, n))
    return n, together(rng, layers)


def copies(rng, n):
    """A few tokens, twins among them, several times over, all but alike: arcs that only one of the copies has, sometimes one from copy to copy or a token that all read or that reads all."""
    size = rng.randint(2, max(2, min(6, n // 2)))
    count, layers = max(2, n // size), []
    hubs = rng.choice([0, 0, 0, 1])
    n = size * count + hubs
    order = list(range(n)) if rng.random() < 0.5 else rng.sample(range(n), n)
    twins = rng.choice([0, 1, 1, 2])
    kind = lambda t: t - t % 2 if t < 2 * twins and t - t % 2 + 1 < size else t
    for _ in range(rng.choice([1, 1, 2])):
        both, loops = rng.random() < 0.6, rng.random() < 0.3
        arcs = {(kind(x), kind(y)) for x, y in ((rng.randrange(size), rng.randrange(size)) for _ in range(rng.randint(1, 2 * size)))}
        arcs |= {(y, x) for x, y in arcs} if both else set()
        reads = [{i} if loops else set() for i in range(n)]
        for c in range(count):
            for x in range(size):
                reads[c * size + x] |= {c * size + y for y in range(size) if (kind(x), kind(y)) in arcs}
        for _ in range(rng.choice([0, 1, 1, 2])):
            i, part = rng.randrange(size * count), rng.random() < 0.8
            j = i - i % size + rng.randrange(size) if part else rng.randrange(size * count)
            (reads[i].discard if rng.random() < 0.3 else reads[i].add)(j)
        for h in range(size * count, n):
            reads[h] |= set(range(0, n, rng.choice([1, 1, size])))
            for i in range(n):
                if rng.random() < 0.9:
                    reads[i].add(h)
        moved = [None] * n
        for i in range(n):
            moved[order[i]] = {order[j] for j in reads[i]}
        layers.append(rows(moved, n))
    return n, together(rng, layers)


def lattices(rng, n):
    """Windows and crosses on a grid whose tokens are numbered anyhow, sometimes beside one that all read and that reads all."""
    height = rng.randint(2, max(2, min(10, n // 3)))
    width, hubs = max(2, n // height), rng.choice([0, 0, 1])
    n, name = height * width + hubs, list(range(height * width + hubs))
    rng.shuffle(name)
    layers = []
    for _ in range(rng.randint(1, 2)):
        up, side, cross, own = rng.choice([0, 1, 1, 2]), rng.choice([1, 1, 2]), rng.random() < 0.3, rng.random() < 0.8
        reads = [set() for _ in range(n)]
        for i in range(n):
            for j in range(n):
                x, y = abs(i // width - j // width), abs(i % width - j % width)
                if max(i, j) >= height * width or (x <= up and y <= side and (own or i != j) and (not cross or x == 0 or y == 0)):
                    reads[name[i]].add(name[j])
        layers.append(rows(reads, n))
    return n, together(rng, layers)


def digits(rng, n):
    """Tokens of two to four digits: of each digit a token reads its own, all, those next to it (on a ring or a line), or the first. Groups of many equal parts, of rows and columns that change places, and what glues them."""
    sides = [rng.randint(2, 4)]
    while len(sides) < 2 or (len(sides) < 4 and np.prod(sides) * 2 <= n and rng.random() < 0.8):
        sides.append(rng.randint(2, max(2, min(6, n // int(np.prod(sides))))))
    n = int(np.prod(sides))
    digit = np.unravel_index(np.arange(n), sides)

    def product():
        reads = np.ones((n, n), bool)
        for side, own in zip(sides, digit):
            reader, read = own[:, None], own[None, :]
            choice = rng.choice("===***o-0")
            if choice == "=":
                reads &= reader == read
            elif choice == "o":
                reads &= np.isin((reader - read) % side, [0, 1, side - 1])
            elif choice == "-":
                reads &= abs(reader - read) <= 1
            elif choice == "0":
                reads &= (reader == read) | (read == 0)
        return reads

    layers = []
    for _ in range(rng.randint(1, 4)):
        reads = product() | product() if rng.random() < 0.2 else product()
        layers.append(rows([set(np.flatnonzero(row).tolist()) for row in reads], n))
    return n, together(rng, layers)


def butterfly(rng, n):
    n = 1 << max(2, n.bit_length() - 1)
    return n, together(rng, [{"kind": "butterfly", "distance": 1 << rng.randrange(n.bit_length() - 1)} for _ in range(rng.randint(1, 3))])


def star(rng, n):
    return n, [{"kind": "star"} if rng.random() < 0.7 else window(rng, n) for _ in range(rng.randint(1, 2))] + [{"kind": "star"}]


FAMILIES = {**{name: alone(name) for name in ONE}, "mixed": mixed, "grids": grids, "video": video, "crosses": crosses, "packed": packed, "dilations": dilations, "segments": segments, "summaries": summaries,
            "parts": parts, "clusters": clusters, "nested": nested, "copies": copies, "lattices": lattices, "digits": digits, "butterfly": butterfly, "star": star}


def combine(rng, patterns):
    choice = rng.random()
    if choice < 0.65:
        return patterns[0]
    if choice < 0.77:
        return {"kind": "union", "of": patterns[:2]}
    if choice < 0.85:
        return {"kind": rng.choice(["intersection", "minus"]), "of": patterns[:2]}
    return {"kind": "per_head", "heads": patterns[:rng.randint(2, 3)]}


def together(rng, layers):
    choice = rng.random()
    if choice < 0.55 or len(layers) == 1:
        return layers
    return [{"kind": "per_head", "heads": layers}] if choice < 0.8 else [{"kind": "union", "of": layers}]


def draw(rng, family, tokens):
    """A case of about so many tokens."""
    n, layers = FAMILIES[family](rng, tokens)
    registers = []
    if family == "star":
        registers = ["a"]
    elif rng.random() < 0.12:
        registers = rng.choice([["a"], ["a", "b"], ["a", "a"]])
        layers = [attach(rng, layer, n, len(registers)) for layer in layers]
    causal = rng.random()
    for layer in layers:
        for pattern in parts_of(layer):
            if pattern["kind"] in CAUSAL and (causal < 0.25 or (causal < 0.35 and rng.random() < 0.5)):
                pattern["causal"] = True
    if rng.random() < 0.3:
        disturb(rng, layers, n, len(registers))
    elif rng.random() < 0.2 and not any(p["kind"] in ("matrix", "star") for layer in layers for p in parts_of(layer)):
        layers = relabel(rng, layers, n, len(registers))
    case = {"family": family, "tokens": n, "registers": registers, "positions": "none", "target": "all", "layers": layers, "mixer": {}}
    case["depth"] = rng.choice(["unbounded", "unbounded", "listed"])
    if rng.random() < 0.3:
        case["target"] = rng.choice(["causal", "seen"])
    kind = rng.random()
    plain = not any(layer["kind"] in ("per_head", "matrix") or any(p["kind"] == "matrix" for p in parts_of(layer)) for layer in layers)
    if kind < 0.08:
        case["mixer"] = {"kind": rng.choice(["mean", "sum"])}
    elif kind < 0.2 and plain:
        case["mixer"] = {"relative": rng.choice(["learned", "rotary", "alibi", "t5"])}
        if case["mixer"]["relative"] == "t5":
            case["mixer"]["relative"] = {"kind": "t5"}
    elif kind < 0.24:
        case["positions"] = "learned"
    return case


def parts_of(pattern):
    inner = pattern.get("of") or pattern.get("heads")
    return [p for part in inner for p in parts_of(part)] if inner else [pattern]


def attach(rng, layer, n, registers):
    """Registers, which read and are read."""
    reads = [set() for _ in range(n + registers)]
    for k in range(n, n + registers):
        choice = rng.randint(0, 3)
        if choice in (0, 2):
            for i in range(n):
                reads[i].add(k)
        if choice in (0, 3):
            reads[k] |= set(range(n)) if choice == 0 else set(rng.sample(range(n), rng.randint(1, n)))
        if choice == 1:
            reads[k] |= set(rng.sample(range(n + registers), rng.randint(1, n)))
            for i in rng.sample(range(n), rng.randint(1, n)):
                reads[i].add(k)
    extra = rows(reads, n + registers)
    if layer["kind"] == "per_head":
        return {"kind": "per_head", "heads": [widen(p, registers) for p in layer["heads"]] + [extra]}
    return {"kind": "union", "of": [widen(layer, registers), extra]}


def widen(pattern, registers):
    """Listed rows: empty ones for registers."""
    if pattern["kind"] == "rows":
        return {**pattern, "rows": pattern["rows"] + [[] for _ in range(registers)]}
    if pattern["kind"] == "matrix":
        n = len(pattern["matrix"])
        return {**pattern, "matrix": [row + [0] * registers for row in pattern["matrix"]] + [[0] * (n + registers) for _ in range(registers)]}
    key = "of" if "of" in pattern else "heads" if "heads" in pattern else None
    return {**pattern, key: [widen(p, registers) for p in pattern[key]]} if key else pattern


def disturb(rng, layers, n, registers):
    """One arc more or less."""
    at, x, y = rng.randrange(len(layers)), rng.randrange(n), rng.randrange(n)
    arc = {"kind": "rows", "rows": [[y] if k == x else [] for k in range(n + registers)]}
    place, key = (layers[at]["heads"], rng.randrange(len(layers[at]["heads"]))) if layers[at]["kind"] == "per_head" else (layers, at)
    place[key] = {"kind": rng.choice(["union", "minus"]), "of": [place[key], arc]}


def relabel(rng, layers, n, registers):
    """Anonymous rows, the tokens in another order perhaps."""
    order = list(range(n))
    if rng.random() < 0.5:
        rng.shuffle(order)
    order += range(n, n + registers)

    def listed(pattern):
        if pattern["kind"] == "per_head":
            return {"kind": "per_head", "heads": [listed(p) for p in pattern["heads"]]}
        result = [[]] * (n + registers)
        for i, row in enumerate(model.expand(pattern, n, registers)):
            result[order[i]] = sorted(order[j] for j in np.flatnonzero(row))
        return {"kind": "rows", "rows": result}

    return [listed(layer) for layer in layers]


# ---------------------------------------------------------------- what the two sides read
def to_toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "[" + ",".join(map(to_toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {to_toml(v)}" for key, v in value.items()) + " }"
    return str(value)


def architecture(case):
    text = f'tokens = {case["tokens"]}\ndim = 4\ndepth = "{case["depth"]}"\n[target]\nclass = "{case["target"]}"\n'
    text += f'[input]\npositions = "{case["positions"]}"\nregisters = {to_toml(case["registers"]) if case["registers"] else 0}\n'
    text += "[mixer]\n" + "".join(f"{key} = {to_toml(value)}\n" for key, value in case["mixer"].items())
    return text + "".join(f"[[layer]]\npattern = {to_toml(layer)}\n" for layer in case["layers"])


def is_defined(case):
    """Does `definition` decide this case? Registers that start equal may stay so, as one in the eyes of their readers. Fixed weights confuse rows that are
    proportional (2.5), unless all tokens read themselves."""
    if len(set(case["registers"])) < len(case["registers"]):
        return False
    matrices = [colours(case, layer) for layer in case["layers"]]
    return case["mixer"].get("relative") != "alibi" or all(m[i, i] != 0 for m in matrices for i in range(case["tokens"]))


def colours(case, pattern):
    """The layer as a matrix of effective colours (format.md, `layout`; theory.md 2.5)."""
    n, registers = case["tokens"], len(case["registers"])
    if pattern["kind"] == "per_head":  # a colour for each tuple, of which no row's are recoloured as a whole
        return sum((normalise(case, model.expand(head, n, registers).astype(int))) << (3 * h) for h, head in enumerate(pattern["heads"]))
    arcs = model.expand(pattern, n, registers).astype(int)
    relative = case["mixer"].get("relative", "none")
    if relative != "none":
        i, j = np.indices(arcs.shape)
        offset = np.where((i < n) & (j < n), j - i, 3 * n)
        if relative == "alibi":
            offset = np.where(offset == 3 * n, offset, abs(offset))
        elif relative != "learned" and relative != "rotary":  # so near, a bucket for each distance up to 8
            offset = np.where(offset == 3 * n, offset, np.sign(offset) * np.minimum(abs(offset), 8))
        arcs = np.where(arcs != 0, offset + 4 * n + 100 * n * arcs, 0)
    return normalise(case, arcs)


def normalise(case, arcs):
    """Rows of one colour are all alike where weights are divided by their sum."""
    for row in arcs if case["mixer"].get("kind") != "sum" else []:
        if len(set(row[row != 0])) == 1:
            row[row != 0] = 1
    return arcs


def definition_input(name, case):
    n, registers = case["tokens"], case["registers"]
    start = range(n) if case["positions"] == "learned" else [0] * n
    text = f"{name} {n} {len(registers)} {len(case['layers'])}\n" + " ".join(map(str, list(start) + [1000 + ord(r) for r in registers])) + "\n"
    for layer in case["layers"]:
        text += "\n".join(" ".join(map(str, row)) for row in colours(case, layer)) + "\n"
    return text
