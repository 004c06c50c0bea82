"""Architectures whose answer is known by construction: golden cases, changed in ways whose effect is proved (README.md here).

Nothing of the certifier is used: reach is Definition 4 by boolean matrices, orders come from the golden table by formulas."""
import copy
import math
import pathlib
import random
import tomllib
from fractions import Fraction

ODD = ["tanh", "sin", "erf", "cube"]
FULL_WITHOUT_BIAS = ["sigmoid", "softplus", "exp", "gelu", "silu", "relu2", "square"]
NORM_FREE_BIAS = ["relu", "tanh", "gelu", "sin", "sigmoid"]
# Kernels with k(0,0) != 0 and k(-x,-y) = k(x,y): (MEAN) holds exactly, and attention with them is odd.
EVEN_KERNELS = ["softmax", "exp(-0.5*norm2(x-y))", "1/(1+norm2(x-y))", "(1+dot(x,y))^2", "cosh(dot(x,y))", "1"]


class Plant:
    """One architecture: the rows of every listed layer (tokens first, then registers), settings, and what is proved of it."""

    def __init__(self, name, tokens, layers, settings):
        self.name, self.tokens, self.layers, self.settings = name, tokens, layers, settings
        self.registers, self.depth = [], "unbounded"
        self.global_register = False  # a register that every token and itself reads, and that reads every token, in every layer
        self.order = None     # of the layout's group; None: not known
        self.needed = None    # (lowest, highest) number of layers for the layout's group; "never"; None: not known
        self.never = None     # why no depth will do, apart from sight
        self.plain = True     # positions, norms, ids and feedforwards are still the golden case's
        self.steps = []

    def copy(self):
        return copy.deepcopy(self)

    def sequence(self, length):
        return [self.layers[q % len(self.layers)] for q in range(length)]

    def views(self, length):
        """Definition 4: bit j of views[i] = token i has read token j within the first `length` layers (itself included)."""
        seen = [1 << v for v in range(self.tokens + len(self.registers))]
        for rows in self.sequence(length):
            seen = self.step(seen, rows)
        return [view & ((1 << self.tokens) - 1) for view in seen[:self.tokens]]

    @staticmethod
    def step(seen, rows):
        """Row i of (I + A_q) times the views so far: what i saw, and what those it reads saw."""
        fresh = []
        for reader, row in enumerate(rows):
            view = seen[reader]
            for read in row:
                view |= seen[read]
            fresh.append(view)
        return fresh

    def reach(self):
        """The views that no more layers change, and the least number of layers until all see all (None: never)."""
        full = (1 << self.tokens) - 1
        seen = [1 << v for v in range(self.tokens + len(self.registers))]
        done, length, still = None, 0, 0
        while still < len(self.layers):  # one whole period without news is the end
            if done is None and all(view & full == full for view in seen[:self.tokens]):
                done = length
            fresh = self.step(seen, self.layers[length % len(self.layers)])
            still = still + 1 if fresh == seen else 0
            seen, length = fresh, length + 1
        if done is None and all(view & full == full for view in seen[:self.tokens]):
            done = length
        return [view & full for view in seen[:self.tokens]], done

    def connected(self):
        return self.reach()[1]

    def unseen(self):
        views = self.reach()[0] if self.depth == "unbounded" else self.views(len(self.layers))
        return [self.tokens - view.bit_count() for view in views]

    def tighten(self):
        """Corollary E2: connected <= needed <= connected + period (with a global register: <= 2 + period)."""
        reach = self.connected()
        if reach is None:
            self.needed = "never"
            return
        low, high = self.needed if isinstance(self.needed, tuple) else (0, math.inf)
        bound = 2 if self.global_register else reach
        if not self.registers or self.global_register:
            high = min(high, bound + len(self.layers))
        low = max(low, reach)
        self.needed = (low, high)

    def facts(self):
        """What the answer must say. verdict None: nothing is proved of it."""
        out = {"connected": self.connected(), "unseen": self.unseen(), "order": self.order}
        sight = sum(out["unseen"])
        ids = self.settings.get("input", {}).get("embedding") == "table"
        if sight:
            out["verdict"] = "impossible"
            colours = self.settings.get("input", {}).get("vocabulary", 2)
            out["floor"] = sight * (1 - Fraction(colours % 2, colours * colours)) if ids else Fraction(sight, 12)
        elif self.never:
            out["verdict"] = "impossible"
            if self.never == "layernorm":
                out["floor"] = Fraction(self.tokens, 3)
        elif self.depth == "unbounded":
            out["verdict"] = "certified"
        elif isinstance(self.needed, tuple) and len(self.layers) >= self.needed[1]:
            out["verdict"] = "certified"
        elif isinstance(self.needed, tuple) and len(self.layers) < self.needed[0]:
            out["verdict"] = "impossible"
        else:
            out["verdict"] = None
        out["needed"] = "never" if self.never else self.needed
        return out

    def tree(self):
        out = copy.deepcopy(self.settings)
        out = {"name": f"{self.name}: {', '.join(self.steps)}", "tokens": self.tokens, **out, "depth": self.depth}
        if self.registers:
            out.setdefault("input", {})["registers"] = self.registers
        out["layer"] = [{"pattern": {"kind": "rows", "rows": rows}} for rows in self.layers]
        return out


# --- the bases ---------------------------------------------------------------------------------------------------------

def rows_of(pattern, tokens):
    if pattern.get("kind", "full") == "full" and not pattern.get("causal"):
        return [list(range(tokens)) for _ in range(tokens)]
    if pattern.get("kind") == "rows" and not pattern.get("causal"):
        return [sorted(row) for row in pattern["rows"]]
    return None


def bases(golden_cases, expected):
    """The golden cases that are a list of uncoloured patterns on tokens alone, target class all, everything else plain."""
    found = []
    for case, answer in sorted(expected.items()):
        tree = tomllib.loads((golden_cases / f"{case}.toml").read_text())
        mixer = tree.get("mixer", {})
        if case[0] not in "AB" or set(tree) - {"name", "tokens", "dim", "depth", "mixer", "layer"}:
            continue
        if mixer.get("kind", "attention") not in ("attention", "bias") or set(mixer) - {"kind", "kernel", "activation", "pattern", "normalised"}:
            continue
        tokens = tree["tokens"]
        listed = tree.get("layer", [{}])
        layers = [rows_of(layer.get("pattern", mixer.get("pattern", {})), tokens) for layer in listed]
        if any(rows is None for rows in layers) or any(set(layer) - {"pattern"} for layer in listed):
            continue
        settings = {"dim": tree["dim"], "mixer": {k: v for k, v in mixer.items() if k != "pattern"}}
        plant = Plant(case, tokens, layers, settings)
        plant.order = int(answer["layout.order"])
        needed = answer.get("layers.needed")
        plant.needed = (needed, needed) if needed is not None else "never"
        # B31, B34, B35 are listed: their golden `needed` is that of the list repeated, which is what is planted on.
        found.append(plant)
    return found


class WholeCase:
    """A golden case of any kind, whose one layer is listed another number of times."""

    # Impossible for a reason that no depth removes: rank of the head, constant sequences, multiplicities that max forgets,
    # a causal mask under class all. More layers than the case has change nothing.
    DEPTHLESS = {"R02", "R13", "R14", "R19", "R20", "R21", "R42", "R46", "R50", "R56", "R61", "R64", "R82", "R87"}

    def __init__(self, name, tree, answer, given):
        self.name, self.source, self.answer, self.given = name, tree, answer, given
        self.tokens, self.steps, self.layers, self.settings, self.registers, self.depth = tree["tokens"], [], given, tree, [], "listed"

    def vary(self, rng):
        out = copy.deepcopy(self)
        needed = self.answer.get("layers.needed")
        if self.answer["verdict"] == "certified":
            out.layers = rng.choice([needed - 1, needed - 1, needed, needed + 1, rng.randint(needed, needed + 12)])
        else:
            out.layers = rng.randint(self.given, self.given + 12)
        if out.layers < 1:
            return None
        patterns = [self.source.get("mixer", {}).get("pattern"), *(layer.get("pattern") for layer in self.source.get("layer", []))]
        kinds = {pattern["kind"] for pattern in patterns if pattern}
        if kinds and kinds <= {"window", "blocks"} and not self.source.get("input", {}).get("registers") and rng.random() < 0.5:
            out.registers = ["r"] * rng.randint(1, 2)  # generated patterns do not touch registers
        out.steps = [f"{out.layers} layers, {needed} needed" if needed else f"{out.layers} layers for {self.given}"]
        return out

    def facts(self):
        needed = self.answer.get("layers.needed")
        if self.answer["verdict"] == "certified":
            verdict = "certified" if self.layers >= needed else "impossible"
        else:
            verdict = "impossible"
        out = {"verdict": verdict, "order": None, "needed": (needed, needed) if needed else None}
        if "layers.connected" in self.answer:
            out["connected"] = self.answer["layers.connected"]
        if "floor.squared_error" in self.answer and self.answer["verdict"] == "impossible":
            out["floor"] = Fraction(self.answer["floor.squared_error"])
        if "layout.order" in self.answer:
            out["order"] = int(self.answer["layout.order"])
        return out

    def tree(self):
        out = copy.deepcopy(self.source)
        out["name"] = f"{self.name}: {', '.join(self.steps)}"
        out["depth"] = "listed"
        layer = dict(out.get("layer", [{}])[0])
        layer["repeat"] = self.layers
        out["layer"] = [layer]
        if self.registers:
            out.setdefault("input", {})["registers"] = self.registers
        return out


def whole_cases(golden_cases, expected):
    found = []
    for case, answer in sorted(expected.items()):
        tree = tomllib.loads((golden_cases / f"{case}.toml").read_text())
        listed_layers = tree.get("layer", [{}])
        if len(listed_layers) != 1 or tree["tokens"] > 600:
            continue
        given = listed_layers[0].get("repeat", 1)
        if answer["verdict"] == "certified" and answer.get("layers.needed") or case in WholeCase.DEPTHLESS:
            found.append(WholeCase(case, tree, answer, given))
    return found


# --- the transformations (each proved in README.md) ----------------------------------------------------------------------

def relabel(plant, rng):
    out = plant.copy()
    where = list(range(out.tokens))
    rng.shuffle(where)
    where += range(out.tokens, out.tokens + len(out.registers))
    layers = []
    for rows in out.layers:
        fresh = [None] * len(rows)
        for reader, row in enumerate(rows):
            fresh[where[reader]] = sorted(where[read] for read in row)
        layers.append(fresh)
    out.layers = layers
    out.steps.append("relabelled")
    return out


def repeat_list(plant, rng):
    out = plant.copy()
    times = rng.randint(2, 3)
    if out.depth != "unbounded" or len(out.layers) * times > 12:
        return None
    out.layers = [copy.deepcopy(rows) for rows in out.sequence(len(out.layers) * times)]
    out.steps.append(f"list written {times} times")
    return out


def repeat_layer(plant, rng):
    if plant.depth != "unbounded" or len(plant.layers) > 5:
        return None
    out = plant.copy()
    which = rng.randrange(len(out.layers))
    extra = rng.randint(1, 2)
    period = len(plant.layers)
    out.layers[which:which] = [copy.deepcopy(out.layers[which]) for _ in range(extra)]
    if isinstance(plant.needed, tuple) and period > 1:
        high = plant.needed[1]
        if high != math.inf and high > 0:
            # The old list is a subsequence of the new one: where its layer number `high` has gone.
            whole, rest = divmod(high - 1, period)
            high = whole * (period + extra) + rest + (extra if rest >= which else 0) + 1
        out.needed = (0, high)
    out.tighten()
    out.steps.append(f"layer {which + 1} {extra + 1} times")
    return out


def strong_twins(plant):
    """Classes of tokens with the same row and the same column in every layer."""
    classes = {}
    for token in range(plant.tokens):
        key = tuple((tuple(rows[token]), tuple(reader for reader, row in enumerate(rows) if token in row)) for rows in plant.layers)
        classes.setdefault(key, []).append(token)
    return list(classes.values())


def blow_up(plant, rng):
    twins = rng.randint(2, 4)
    if plant.tokens * twins > 60 or plant.depth != "unbounded":
        return None
    out = plant.copy()
    tokens = plant.tokens
    out.tokens = tokens * twins

    def members(vertex):
        if vertex >= tokens:
            return [out.tokens + vertex - tokens]
        return range(vertex * twins, (vertex + 1) * twins)

    out.layers = []
    for rows in plant.layers:
        fresh = []
        for row in rows[:tokens]:
            wide = sorted(v for read in row for v in members(read))
            fresh += [list(wide) for _ in range(twins)]
        fresh += [sorted(v for read in row for v in members(read)) for row in rows[tokens:]]
        out.layers.append(fresh)
    if out.order is not None:
        for group in strong_twins(plant):
            out.order = out.order * math.factorial(twins * len(group)) // math.factorial(len(group))
    low = plant.needed[0] if isinstance(plant.needed, tuple) else 0
    out.needed = (low, math.inf)
    out.tighten()
    out.steps.append(f"{twins} twins")
    return out


def union(plant, other, rng):
    """Side by side: nothing passes between the two, so no number of layers will do. Lists are brought to one length."""
    if plant.registers or other.registers or plant.depth != "unbounded" or other.depth != "unbounded":
        return None
    period = math.lcm(len(plant.layers), len(other.layers))
    if plant.tokens + other.tokens > 70 or period > 12:
        return None
    out = plant.copy()
    shift = plant.tokens
    out.tokens += other.tokens
    out.layers = [[list(row) for row in ours] + [[v + shift for v in row] for row in theirs]
                  for ours, theirs in zip(plant.sequence(period), other.sequence(period))]
    both_whole = plant.connected() is not None and other.connected() is not None
    out.order = None
    if both_whole and plant.order is not None and other.order is not None:
        if plant.tokens != other.tokens:
            out.order = plant.order * other.order
        elif plant.layers == other.layers:
            out.order = 2 * plant.order ** 2
    out.needed = "never"
    out.steps.append(f"beside {other.name}")
    return out


def listed(plant, rng):
    """Exactly so many layers: one below the exact number, exactly it, or one more."""
    if plant.depth != "unbounded" or not isinstance(plant.needed, tuple):
        return None
    low, high = plant.needed
    choices = [low - 1, low - 1, low - 1, high, high + 1]
    length = rng.choice(choices)
    period = len(plant.layers)
    if length == math.inf or not period <= length <= 14:
        return None
    out = plant.copy()
    out.layers = [copy.deepcopy(rows) for rows in plant.sequence(length)]
    out.depth = "listed"
    if length < high and length % period:
        # The list repeated is another sequence: more than `length` layers are needed, and Corollary E2 bounds them.
        reach = out.connected()
        out.needed = (length + 1, math.inf) if low > length else (0, math.inf)
        out.tighten()
        assert reach is not None
    out.steps.append(f"{length} layers, {low} needed" if low == high else f"{length} layers, {low} to {high} needed")
    return out


def never_listed(plant, rng):
    """Any depth of a layout without sight."""
    if plant.depth != "unbounded" or plant.needed != "never":
        return None
    out = plant.copy()
    length = len(plant.layers) * rng.randint(1, 3)
    if length > 12:
        return None
    out.layers = [copy.deepcopy(rows) for rows in plant.sequence(length)]
    out.depth = "listed"
    out.steps.append(f"{length} layers")
    return out


def add_register(plant, rng):
    if plant.registers or plant.depth != "unbounded" or not plant.plain:
        return None
    out = plant.copy()
    kind = rng.choice(["hub", "hub", "unread", "constant"])
    register = out.tokens
    out.registers = ["hub" if kind == "hub" else "r"]
    for rows in out.layers:
        if kind in ("hub", "constant"):
            for row in rows:
                row.append(register)
        rows.append({"hub": list(range(register + 1)), "unread": list(range(register)), "constant": []}[kind])
    if kind == "hub":
        out.global_register = True
        out.needed = (0, math.inf)
        out.tighten()
    out.steps.append({"hub": "a register that gathers and broadcasts", "unread": "a register nobody reads",
                      "constant": "a register that reads nothing"}[kind])
    return out


def change_kernel(plant, rng):
    if plant.settings["mixer"].get("kind", "attention") != "attention" or not plant.plain:
        return None
    out = plant.copy()
    out.settings["mixer"] = {"kernel": rng.choice(EVEN_KERNELS)}
    if rng.random() < 0.2:
        out.settings["mixer"]["sink"] = True
    out.steps.append("kernel " + out.settings["mixer"]["kernel"])
    return out


def change_width(plant, rng):
    out = plant.copy()
    if not out.plain or "[" in str(out.settings["mixer"].get("kernel", "")) or isinstance(out.settings["mixer"].get("kernel"), dict):
        return None
    out.settings["dim"] = rng.choice([2, 4, 5, 8])
    out.steps.append(f"width {out.settings['dim']}")
    return out


def even_kernel(plant):
    return plant.settings["mixer"].get("kind", "attention") == "attention" and plant.settings["mixer"].get("kernel", "softmax") in EVEN_KERNELS


def remove_bias(plant, rng):
    if not plant.plain or plant.settings["dim"] < 2:
        return None
    out = plant.copy()
    out.plain = False
    kind = rng.choice(["odd", "odd", "homogeneous", "kept", "output", "rms", "rms-odd"])
    feedforward = {"bias": False}
    if kind in ("odd", "rms-odd"):
        if out.registers or not even_kernel(out):
            return None
        feedforward["activation"] = rng.choice(ODD)
        out.never = "odd"
    elif kind == "homogeneous":
        if out.registers:
            return None
        feedforward["activation"] = rng.choice(["relu", "leaky_relu"])
        out.settings["mixer"] = {"kind": rng.choice(["mean", "sum"])}
        out.never = "homogeneous"
    elif kind == "kept":
        feedforward["activation"] = rng.choice(FULL_WITHOUT_BIAS)
    elif kind == "output":
        feedforward = {"activation": rng.choice(NORM_FREE_BIAS), "bias": "output"}
    else:
        feedforward["activation"] = rng.choice(["relu", "leaky_relu", "gelu", "silu", "elu"])
    out.settings["feedforward"] = feedforward
    if kind.startswith("rms"):
        out.settings["norm"] = {"kind": "rmsnorm", "place": "pre", "eps": 1e-6}
    if kind == "homogeneous" and out.settings["mixer"]["kind"] == "sum" and any(not row for rows in out.layers for row in rows):
        return None
    out.steps.append(f"{feedforward['activation']}, bias {str(feedforward['bias']).lower()}" + (", RMSNorm" if kind.startswith("rms") else ""))
    return out


def layernorm_first(plant, rng):
    if not plant.plain or plant.settings["mixer"].get("kind", "attention") != "attention":
        return None
    out = plant.copy()
    out.plain = False
    out.settings["norm"] = {"kind": "layernorm", "place": "pre"}
    kind = rng.choice(["all", "all", "centred", "embedded"])
    if kind != "all" and out.settings["dim"] < 3:
        return None
    if kind == "all":
        out.never = "layernorm"
    elif kind == "centred":
        out.settings["input"] = {"domain": "centred"}
    else:
        out.settings["input"] = {"embedding": "linear", "dim": out.settings["dim"] - 1}
        out.settings["output"] = {"head": "linear"}
    out.steps.append({"all": "LayerNorm first", "centred": "LayerNorm first, centred inputs", "embedded": "LayerNorm first, embedded"}[kind])
    return out


def learned_positions(plant, rng):
    """Labels name the token, so sight alone decides: needed = connected, trivial group."""
    if not plant.plain or plant.settings["mixer"].get("kind", "attention") != "attention":
        return None
    out = plant.copy()
    out.plain = False
    out.order = 1
    if rng.random() < 0.5:
        out.settings["input"] = {"positions": "learned"}
    else:
        out.settings["input"] = {"positions": "learned", "embedding": "table", "vocabulary": rng.choice([2, 3, 4, 7, 100])}
        out.settings["output"] = {"head": "linear"}
        out.settings["feedforward"] = {"activation": rng.choice(["gelu", "relu", "tanh"])}
        # A constant kernel adds the raw rows up (theory.md 15.8 h): softmax sees distinct states.
        out.settings["mixer"] = {"kernel": "softmax"}
    reach = out.connected()
    out.needed = "never" if reach is None else (reach, reach)
    out.steps.append("learned positions" + (" on ids" if "embedding" in out.settings["input"] else ""))
    return out


def vary(roots, shapes, rng):
    plant = rng.choice(roots).copy()
    for _ in range(rng.randint(0, 3)):
        plant = rng.choice(shapes)(plant, rng) or plant
    if rng.random() < 0.3:
        other = rng.choice(roots).copy()
        if rng.random() < 0.15:
            other = plant.copy()
        elif rng.random() < 0.4:
            other = blow_up(other, rng) or other
        plant = union(plant, other, rng) or plant
        if rng.random() < 0.3:
            plant = (rng.choice([add_register, blow_up, relabel])(plant, rng)) or plant
    if rng.random() < 0.45:
        plant = rng.choice([remove_bias, layernorm_first, learned_positions])(plant, rng) or plant
    if rng.random() < 0.5:
        plant = listed(plant, rng) or never_listed(plant, rng) or plant
    if rng.random() < 0.5:
        plant = relabel(plant, rng)
    return plant


def plant_all(golden_cases, expected, count, seed=0):
    """`count` different plants, with their facts; at least half are not universal."""
    rng = random.Random(seed)
    roots, wholes = bases(golden_cases, expected), whole_cases(golden_cases, expected)
    shapes = [relabel, relabel, repeat_list, repeat_layer, blow_up, blow_up, add_register, change_kernel, change_width]
    seen, made, universal = set(), [], 0
    while len(made) < count:
        if rng.random() < 0.06:
            plant = rng.choice(wholes).vary(rng)
        else:
            plant = vary(roots, shapes, rng)
        if plant is None or not plant.steps:
            continue
        facts = plant.facts()
        if facts["verdict"] is None:
            continue
        key = repr(plant.tree()["layer"]) + repr(plant.settings) + repr(plant.registers) + plant.depth
        if key in seen:
            continue
        if facts["verdict"] == "certified":
            if 2 * (universal + 1) > count:
                continue
            universal += 1
        seen.add(key)
        made.append((plant, facts))
    return made
