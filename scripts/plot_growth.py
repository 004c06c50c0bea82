#!/usr/bin/env python3
"""Draws build/bench/growth.csv (written by `./do bench growth`) as docs/images/growth.svg: time over tokens, both axes logarithmic."""
import csv
import math
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build/bench/growth.csv"
target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "docs/images/growth.svg"
families = {}
for row in csv.DictReader(source.open()):
    families.setdefault(row["family"], []).append((int(row["n"]), float(row["seconds"])))
if not families:
    sys.exit(f"{source}: no figures")
points = [p for line in families.values() for p in line]
left, right = math.log2(min(n for n, _ in points)), math.log2(max(n for n, _ in points))
low = math.floor(math.log10(min(s for _, s in points)))
high = math.ceil(math.log10(max(s for _, s in points)))
right, high = max(right, left + 1), max(high, low + 1)
x = lambda n: 60 + 440 * (math.log2(n) - left) / (right - left)
y = lambda s: 320 - 290 * (math.log10(s) - low) / (high - low)
colours = ["#1b6ca8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#117864", "#566573", "#d35400", "#2e4053"]
out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 360" font-family="sans-serif" font-size="11">', '<rect width="700" height="360" fill="white"/>']
for e in range(int(left), int(right) + 1, 2):
    out.append(f'<line x1="{x(2**e):.1f}" x2="{x(2**e):.1f}" y1="30" y2="320" stroke="#ddd"/><text x="{x(2**e):.1f}" y="336" text-anchor="middle">2^{e}</text>')
for d in range(low, high + 1):
    out.append(f'<line x1="60" x2="500" y1="{y(10.0**d):.1f}" y2="{y(10.0**d):.1f}" stroke="#ddd"/><text x="54" y="{y(10.0**d) + 4:.1f}" text-anchor="end">{10.0**d:g} s</text>')
for k, (name, line) in enumerate(families.items()):
    colour = colours[k % len(colours)]
    out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{" ".join(f"{x(n):.1f},{y(s):.1f}" for n, s in line)}"/>')
    out.append(f'<line x1="515" x2="535" y1="{40 + 18 * k}" y2="{40 + 18 * k}" stroke="{colour}" stroke-width="2"/><text x="541" y="{44 + 18 * k}">{name}</text>')
out += ['<text x="280" y="354" text-anchor="middle">tokens</text>', "</svg>"]
target.write_text("\n".join(out) + "\n")
print(target)
