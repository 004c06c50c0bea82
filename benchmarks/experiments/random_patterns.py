#!/usr/bin/env python3
"""Experiment random-patterns: how often random sparse patterns have a trivial group, are connected, and how many layers they need.

usage: random_patterns.py COMMAND [--largest 4096] [--out docs/experiments]
Writes OUT/random-patterns.md and OUT/random-patterns.svg; the same draws give the same files (patterns are seeded)."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("command")
parser.add_argument("--largest", type=int, default=4096)
parser.add_argument("--out", default="docs/experiments")
options = parser.parse_args()
command, out = str(pathlib.Path(options.command).resolve()), pathlib.Path(options.out)
SIZES = [n for n in (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096) if n <= options.largest]
DEGREES = range(1, 9)
DRAWS = {256: 40, 512: 10, 1024: 5, 2048: 2, 4096: 1}  # 100 below
COLOURS = ["#b2182b", "#d6604d", "#f4a582", "#b8a07e", "#92c5de", "#4393c3", "#2166ac", "#053061"]


def certify(texts):
    """One answer per architecture, in one run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for k, text in enumerate(texts):
            files.append(pathlib.Path(folder) / f"{k}.toml")
            files[-1].write_text(text)
        run = subprocess.run([command, "certify", "--json", *map(str, files)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def architecture(tokens, pattern):
    return f'tokens = {tokens}\ndim = 3\ndepth = "unbounded"\n[mixer]\npattern = {{ {pattern} }}\n'


def measure(tokens, degree):
    draws = DRAWS.get(tokens, 100)
    answers = certify([architecture(tokens, f'kind = "random", degree = {degree}, seed = {seed}') for seed in range(1, draws + 1)])
    connected = [a for a in answers if a["layers"]["connected"] is not None]
    return {
        "draws": draws,
        "trivial": sum(a["layout"]["order"] == "1" for a in answers) / draws,
        "connected": len(connected) / draws,
        "hops": sorted({a["layers"]["connected"] for a in connected}),
        "needed": sorted({a["layers"]["needed"] for a in connected if a["layers"]["needed"] is not None}),
        "late": sum(a["layers"]["needed"] is not None and a["layers"]["needed"] > a["layers"]["connected"] for a in connected),
        "both": len(connected),
    }


def span(values):
    return "-" if not values else str(values[0]) if values[0] == values[-1] else f"{values[0]}-{values[-1]}"


def print_table(title, cell):
    lines = ["| " + title + " | " + " | ".join(str(d) for d in DEGREES) + " |", "|---" * (len(DEGREES) + 1) + "|"]
    for n in SIZES:
        lines.append(f"| {n} | " + " | ".join(cell(results[n, d]) if (n, d) in results else "" for d in DEGREES) + " |")
    return "\n".join(lines) + "\n"


def plot():
    """Two panels, share against n on a logarithmic axis, one line per degree."""
    width, height, left, top = 340, 240, 50, 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * (width + left) + 90}" height="{height + top + 60}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    for panel, (key, title) in enumerate((("connected", "share connected"), ("trivial", "share with trivial group"))):
        x0 = left + panel * (width + left)
        place = lambda n, share: (x0 + width * math.log2(n / SIZES[0]) / max(1, math.log2(SIZES[-1] / SIZES[0])), top + height * (1 - share))
        parts.append(f'<text x="{x0}" y="{top - 14}" font-weight="bold">{title}</text>')
        parts.append(f'<rect x="{x0}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999"/>')
        for share in (0, 0.5, 1):
            parts.append(f'<text x="{x0 - 6}" y="{place(SIZES[0], share)[1] + 4:.1f}" text-anchor="end">{share:g}</text>')
        for n in SIZES[::2]:
            parts.append(f'<text x="{place(n, 0)[0]:.1f}" y="{top + height + 18}" text-anchor="middle">{n}</text>')
        parts.append(f'<text x="{x0 + width / 2}" y="{top + height + 40}" text-anchor="middle">tokens</text>')
        for degree, colour in zip(DEGREES, COLOURS):
            points = " ".join("{:.1f},{:.1f}".format(*place(n, results[n, degree][key])) for n in SIZES if (n, degree) in results)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for degree, colour in zip(DEGREES, COLOURS):
        x, y = left + 2 * width + left + 15, top + 14 * degree
        parts.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 18}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/><text x="{x + 24}" y="{y}">degree {degree}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def order_of(answer):
    order = answer["layout"]["order"]
    return order if order is not None and len(order) <= 12 else f"10^{math.log10(int(order)) if order else answer['layout']['order_log10']:.0f}"


results = {}
for n in SIZES:
    for degree in DEGREES:
        if degree < n:
            results[n, degree] = measure(n, degree)
            print(f"n = {n}, degree {degree}: {results[n, degree]}", file=sys.stderr)
bigbird = []
for n, block, picked in ((16, 4, 1), (64, 4, 2), (64, 1, 2), (256, 4, 3), (256, 1, 3), (1024, 16, 3)):
    if n <= options.largest:
        answer = certify([architecture(n, f'kind = "bigbird", block = {block}, random = {picked}, globals = 1, seed = 1')])[0]
        claimed = math.factorial(block) ** (n // block)
        bigbird.append(f"| {n} | {block} | {picked} | {order_of(answer)} | {answer['layers']['connected']} | {answer['layers']['needed']} | {'yes' if answer['layout']['order'] is None or int(answer['layout']['order']) % claimed == 0 else 'NO'} |")

late, both = sum(r["late"] for r in results.values()), sum(r["both"] for r in results.values())
out.mkdir(parents=True, exist_ok=True)
(out / "random-patterns.svg").write_text(plot())
(out / "random-patterns.md").write_text(f"""# Random sparse patterns

The remark after Corollary 2 says that random sparse patterns have a trivial group with high probability. Every token reads `degree` others at
random (`pattern = {{ kind = "random", degree = R, seed = S }}`, seeds 1, 2, ..), one pattern repeated for ever. Draws: {", ".join(f"{k} at {n} tokens" for n, k in DRAWS.items() if n in SIZES)}, 100 below.
Written by `./do bench random-patterns`.

![share of connected layouts and of trivial groups](random-patterns.svg)

## Connected layouts
A token is read by nobody with probability about e^-R, so about n e^-R tokens are: constant degree fails for large n, R must exceed log n.

{print_table("share connected: n, degree", lambda r: f"{r['connected']:.2f}")}
## Trivial groups
Two tokens that nobody reads and that read the same row, or two twins, already make a symmetry.

{print_table("share trivial: n, degree", lambda r: f"{r['trivial']:.2f}")}
## Layers
Hops until every token sees every token (Definition 4), and exact layers where they differ ("hops / exact", ranges over the connected draws). In
{late} of {both} connected draws the published number is too small.

{print_table("hops / exact: n, degree", lambda r: span(r['hops']) if r['hops'] == r['needed'] else f"{span(r['hops'])} / {span(r['needed'])}")}
## BigBird draws blocks, not tokens
Tokens of one block read the same tokens and are read by the same tokens: they are twins, and the group contains (b!)^(n/b) permutations
whatever is drawn (last column: does its order divide). Random blocks never make the group trivial unless a block is one token.

| n | block b | random blocks | order of the group | hops | exact layers | (b!)^(n/b) divides |
|---|---|---|---|---|---|---|
""" + "\n".join(bigbird) + "\n")
print(out / "random-patterns.md")
