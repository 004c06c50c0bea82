#!/usr/bin/env python3
"""Runs every counterexample of docs/errata.md. usage: check.py COMMAND [E8 ...]"""
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

root = pathlib.Path(__file__).resolve().parent.parent.parent
command, wanted = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
PETERSEN = "[[0,1],[1,2],[2,3],[3,4],[4,0],[0,5],[1,6],[2,7],[3,8],[4,9],[5,7],[7,9],[9,6],[6,8],[8,5]]"
checks = {}


def erratum(function):
    checks[function.__name__] = function
    return function


def certify(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.toml"
        path.write_text(text)
        run = subprocess.run([command, "certify", "--json", str(path)], capture_output=True, text=True, check=False, timeout=100)
        return json.loads(run.stdout)


def kernel(expression, dim=2):
    return json.loads(subprocess.run([command, "kernel", expression, "--dim", str(dim), "--json"], capture_output=True, text=True, check=True).stdout)


def falsify(mixer, tokens, *options):
    run = subprocess.run([command, "falsify", mixer, "--tokens", str(tokens), "--json", *options], capture_output=True, text=True, check=False, timeout=100)
    return run.returncode, {pair["name"]: pair["status"] for pair in json.loads(run.stdout)["pairs"]}


def rows(table, layers, symmetry="layout"):
    listed = f"[[layer]]\nrepeat = {layers}\n" if layers else ""
    depth = "" if layers else 'depth = "unbounded"\n'
    return f'tokens = {len(table)}\ndim = 3\n{depth}[target]\nsymmetry = "{symmetry}"\n[mixer]\npattern = {{ kind = "rows", rows = {json.dumps(table)} }}\n{listed}'


def pattern(tokens, text, depth='depth = "unbounded"\n'):
    return f"tokens = {tokens}\ndim = 3\n{depth}[mixer]\npattern = {{ {text} }}\n"


@erratum
def E1():
    # Tokenwise maps h and mixings X -> (sum psi, sum psi'): after any mixing both outputs are invariant under the swap.
    draw = random.Random(1)
    for _ in range(200):
        layers = [(draw.choice("hm"), draw.uniform(-2, 2), draw.uniform(-2, 2)) for _ in range(draw.randint(1, 6))]

        def network(x):
            for kind, p, q in layers:
                x = [math.sin(p * v + q) for v in x] if kind == "h" else [sum(math.cos(p * v) for v in x), sum(math.cos(q * v) for v in x)]
            return x

        swapped, straight = network([1.0, 0.0]), network([0.0, 1.0])
        if any(kind == "m" for kind, _, _ in layers):
            assert max(abs(a - b) for a, b in zip(swapped, straight)) < 1e-12
        else:
            assert straight[0] == network([0.0, 5.0])[0]
    # F(X) = (phi(x1,x2), phi(x2,x1)) with phi(0,1) = 0, phi(1,0) = 1, phi(0,5) = 2 obeys neither.


@erratum
def E2():
    code, pairs = falsify("expr:1", 3)
    assert code == 1 and pairs["equal moments, degree 1"] == "failing"
    answer = certify('tokens = 3\ndim = 2\ndepth = "unbounded"\n[mixer]\nkernel = "1"\n')
    assert answer["verdict"] == "certified" and answer["layers"]["needed"] == 1


@erratum
def E3():
    # One sample (0, 1) and the family {0, g}, (Id+g)(X) = (x1 + x2, x1 + x2): no pair of samples, nothing asked, tokens equal.
    x = [0, 1]
    assert len({sum(x), sum(x)}) == 1 and len(set(x)) == 2


@erratum
def E4():
    # Token q = 0 and one other token (a, b). Layer 1: (a, b) -> (t a, -t b). Layer 2: q += s (max(a,0) + max(b,0)).
    def q(other, t, s):
        return s * (max(t * other[0], 0) + max(-t * other[1], 0))

    x, y, z = (1, 1), (2, 1), (1, 2)
    for t in [Fraction(k, 8) for k in range(-16, 17)]:
        assert (q(x, t, 1) != q(y, t, 1)) == (t > 0)
        assert (q(x, t, 1) != q(z, t, 1)) == (t < 0)


@erratum
def E7():
    full, path = [[0, 1, 2]] * 3, [[0, 1], [1], [2]]
    layers = "".join(f'[[layer]]\nmixer = {{ pattern = {{ kind = "rows", rows = {json.dumps(table)} }} }}\n' for table in (full, path))
    both = certify("tokens = 3\ndim = 3\n" + layers)
    assert both["layout"]["order"] == "1" and both["layers"]["connected"] == 1 and both["at_connected"]["order"] == "6"
    one = certify(rows(full, 1, "trivial(3)"))
    assert one["verdict"] == "impossible" and one["floor"]["squared_error"] is not None


@erratum
def E8():
    for table, connected, order, layout in (([[0, 1, 2], [0, 2], [0, 1]], 1, "6", "2"), ([[0, 1, 2, 3], [0, 1, 2], [0, 2], [0, 3]], 2, "6", "1")):
        answer = certify(rows(table, connected))
        assert answer["verdict"] == "impossible" and answer["layers"]["connected"] == connected, answer
        assert answer["at_connected"]["order"] == order and answer["layout"]["order"] == layout, answer
        assert certify(rows(table, answer["layers"]["needed"]))["verdict"] == "certified"
    answer = certify(pattern(10, f'kind = "graph", edges = {PETERSEN}'))
    assert answer["layers"]["connected"] == 2 and answer["layers"]["needed"] == 3
    assert answer["at_connected"]["order"] == str(math.factorial(10)) and answer["layout"]["order"] == "120"
    assert answer["published"]["layers"] == 2 and not answer["published"]["sound"]
    for tokens, needed in ((5, 2), (6, 3), (8, 3)):
        answer = certify(pattern(tokens, 'kind = "window", radius = 1, global = [0]'))
        assert answer["layers"]["connected"] == 2 and answer["layers"]["needed"] == needed, (tokens, answer["layers"])


@erratum
def E9():
    graph = f'[[layer]]\nrepeat = 2\nmixer = {{ pattern = {{ kind = "graph", edges = {PETERSEN} }} }}\n'
    for more in (1, 5, 50):
        answer = certify(f'tokens = 10\ndim = 3\n{graph}[[layer]]\nrepeat = {more}\nmixer = {{ pattern = {{ kind = "self" }} }}\n')
        assert answer["verdict"] == "impossible" and answer["layout"]["order"] == "120"
        assert answer["expressed"]["order"] == str(math.factorial(10)) if answer["expressed"] else answer["at_connected"]["order"] == str(math.factorial(10))


@erratum
def E10():
    # |W y1|^2 - |W y2|^2 = 0 for y2 = -y1, while the linear term 2 x.W(y1 - y2) = 4 x.W y1 is not.
    draw = random.Random(2)
    for _ in range(50):
        w = [[draw.randint(-5, 5) for _ in range(2)] for _ in range(2)]
        y = [draw.randint(1, 5), draw.randint(1, 5)]
        wy = [sum(a * b for a, b in zip(row, y)) for row in w]
        assert sum(v * v for v in wy) - sum((-v) * (-v) for v in wy) == 0
    assert kernel("gaussian")["condition13"] == "holds"


@erratum
def E11():
    antithetic = kernel("(exp(dot([1,2],x+y))+exp(-dot([1,2],x+y)))*exp(-(norm2(x)+norm2(y))/2)")
    assert antithetic["condition13"] == "fails" and "-y1" in antithetic["failing"]["y2"], antithetic
    assert kernel("exp(-(norm2(x)+norm2(y))/2)")["condition13"] == "fails"
    assert kernel("exp(dot([1,2],x+y)-(norm2(x)+norm2(y))/2)")["condition13"] == "holds"


@erratum
def E12():
    appendix, text = kernel("exp(dot([1,2],x))+exp(dot([1,2],y))"), kernel("exp(dot([1,2],x+y))")
    assert appendix["condition13"] == "fails" and text["condition13"] == "holds" and appendix["uap"] == "yes"


@erratum
def E14():
    # One token, a = 0: the block gives 2 x, so the zero map is not in the family.
    x, a = 3, 0
    g = x + a * math.tanh(x)
    assert x + g == 6 != x


@erratum
def E15():
    for degree in (1, 2, 3, 4):
        if degree <= 3:  # n = p + 2: the built-in blocks have p + 1 tokens up to there
            assert falsify(f"expr:t^{degree}", degree + 2, "--dim", "1")[0] == 1
        code, pairs = falsify(f"expr:t^{degree}", 7)
        assert code == 1 and pairs[f"equal moments, degree {degree}"] == "failing"
        assert degree == 1 or pairs[f"equal moments, degree {degree - 1}"] == "separated"
        assert certify(f'tokens = 7\ndim = 2\n[mixer]\nkind = "bias"\nactivation = "t^{degree}"\n')["verdict"] == "certified"
    assert certify('tokens = 2\ndim = 2\n[mixer]\nkind = "bias"\nactivation = "1"\n')["verdict"] == "impossible"


@erratum
def E16():
    alone = certify(pattern(4, 'kind = "window", radius = 0'))
    assert alone["layout"]["order"] == "24" and alone["layers"]["connected"] is None
    for tokens, radius, order in ((3, 1, 6), (4, 1, 8), (7, 1, 14), (7, 2, 14), (9, 3, 18), (6, 2, 48)):
        assert certify(pattern(tokens, f'kind = "ring", radius = {radius}'))["layout"]["order"] == str(order), (tokens, radius)


@erratum
def E17():
    for tokens in range(4, 9):
        for width in range(1, tokens - 1):
            assert certify(pattern(tokens, f'kind = "circulant", offsets = {list(range(width + 1))}'))["layout"]["order"] == str(tokens)


@erratum
def E18():
    def convolution(tokens, taps):
        return certify(f'tokens = {tokens}\ndim = 3\ndepth = "unbounded"\n[mixer]\nkind = "convolution"\ntaps = {taps}\n')

    assert convolution(4, [0, 2])["verdict"] == "impossible"
    for tokens, length in ((2, 1), (5, 1), (7, 2), (7, 3), (8, 3)):
        answer = convolution(tokens, list(range(length + 1)))
        assert answer["verdict"] == "certified" and answer["layers"]["needed"] == -(-(tokens - 1) // length)


@erratum
def E19():
    linformer = certify('tokens = 5\ndim = 3\n[target]\nsymmetry = "trivial(5)"\n[mixer]\nkind = "linformer"\nrank = 1\nprojections = "tied"\n')
    assert linformer["verdict"] == "certified" and linformer["layers"]["needed"] == 1
    skyformer = certify('tokens = 5\ndim = 3\n[mixer]\nkernel = "gaussian"\nnormalised = false\n')
    assert skyformer["verdict"] == "certified" and skyformer["layers"]["needed"] == 1 and skyformer["layout"]["order"] == "120"


@erratum
def E22():
    for tokens in range(4, 12):
        for radius in range(1, tokens - 1):
            order = int(certify(pattern(tokens, f'kind = "window", radius = {radius}'))["layout"]["order"])
            assert order == (2 if 2 * radius <= tokens - 1 else 2 * math.factorial(2 * radius + 2 - tokens)), (tokens, radius, order)


@erratum
def E23():
    for text in ('kind = "strided", stride = 3', 'kind = "fixed", stride = 3, summary = 1'):
        assert certify(pattern(9, text + ", causal = true"))["layers"]["connected"] is None
        assert certify(pattern(9, text))["layers"]["connected"] is not None


@erratum
def E24():
    ring = [[(i - 1) % 4, i, (i + 1) % 4] for i in range(4)] + [[0, 1, 2, 3, 4]]
    assert certify(rows(ring, 0))["verdict"] == "impossible" and certify(rows(ring, 0))["unseen"] == [1, 1, 1, 1, 0]
    assert certify(rows([row + [4] for row in ring[:4]] + ring[4:], 0))["verdict"] == "certified"


@erratum
def E25():
    connected = {2: 0, 12: 0}
    for degree in connected:
        for seed in range(1, 21):
            connected[degree] += certify(pattern(200, f'kind = "random", degree = {degree}, seed = {seed}'))["layers"]["connected"] is not None
    assert connected[2] == 0 and connected[12] == 20, connected  # 200 e^-2 = 27 and 200 e^-12 = 0.001 tokens that nobody reads


@erratum
def E26():
    axial = "".join(f'[[layer]]\nmixer = {{ pattern = {{ kind = "grid", shape = [3, 3], {way} = true }} }}\n' for way in ("rows", "columns"))
    answer = certify('tokens = 9\ndim = 3\ndepth = "unbounded"\n' + axial)
    assert answer["layers"]["connected"] == 2 and answer["layers"]["needed"] == 3, answer["layers"]


@erratum
def E27():
    text = 'tokens = 2\ndim = 2\n[target]\nbox = {}\n[input]\npositions = "fixed"\ntable = [[0,0],[1,0]]\n'
    assert certify(text.format(1.0))["verdict"] == "impossible" and certify(text.format(0.5))["verdict"] == "certified"


@erratum
def E28():
    facts = kernel("cauchy")
    assert facts["condition13"] == "fails" and facts["token_distinguishability"] == "yes" and facts["uap"] == "yes"
    assert falsify("expr:cauchy", 7)[0] == 0


@erratum
def E29():
    bias_free = 'tokens = 2\ndim = 2\n[feedforward]\nactivation = "relu"\nbias = false\n[mixer]\nkind = "mean"\n'
    assert certify(bias_free)["verdict"] == "impossible" and certify(bias_free.replace("false", "true"))["verdict"] == "certified"
    assert certify('tokens = 2\ndim = 2\n[feedforward]\nactivation = "square"\n')["verdict"] == "certified"


faults = []
for name, check in checks.items():
    if wanted and name not in wanted:
        continue
    try:
        check()
    except (AssertionError, KeyError, TypeError, json.JSONDecodeError, subprocess.SubprocessError) as error:
        faults.append(f"{name}: {type(error).__name__} {str(error)[:400]}")
# Every erratum is in the page; those with a counterexample, and no others, run here.
page = (root / "docs/errata.md").read_text()
entries = dict(re.findall(r"^\*\*(E\d+)\*\*(.*?)(?=^\*\*E\d+\*\*|\Z)", page, re.M | re.S))
if set(entries) != {f"E{k}" for k in range(1, 30)}:
    faults.append(f"docs/errata.md has {list(entries)}")
for name, text in entries.items():
    if ("Counterexample:" in text) != (name in checks):
        faults.append(f"{name}: docs/errata.md and this file disagree about whether there is a counterexample")
print("\n".join(faults))
print(f"errata: {len(checks)} counterexamples, {len(faults)} faults")
sys.exit(bool(faults))
