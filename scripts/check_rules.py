#!/usr/bin/env python3
"""The rules of the certifier are one table: docs/theory.md 16.8 lists the names, sightline/verdict/rules.cpp has source and
statement of each, the checker's table says the same, and no other name is used. Prints what differs; exit 1 if anything does."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
row = re.compile(r'\{"([a-z0-9-]+)",\s*"([^"]*)",\s*"([^"]*)"\}')
problems = []


def read_table(path):
    rows = row.findall((root / path).read_text())
    if len({name for name, _, _ in rows}) != len(rows):
        problems.append(f"{path}: a name stands there twice")
    return {name: (source, statement) for name, source, statement in rows}


table = read_table("sightline/verdict/rules.cpp")
listed = (root / "docs/theory.md").read_text().split("## 16.8", 1)[1]
used = set()
for source in (root / "sightline/verdict").glob("*.[ch]pp"):
    text = source.read_text()
    for names in re.findall(r'(?:\buse\(|\brule = )(?:[^";{]*\? )?"([a-z0-9-]+)"(?: : "([a-z0-9-]+)")?', text):
        used |= {name for name in names if name}
    used |= set(re.findall(r'make_layers\([^;]*?"([a-z0-9-]+)"', text, re.S))
for name in sorted(used - table.keys()):
    problems.append(f"used, but not in sightline/verdict/rules.cpp: {name}")
for name in sorted(table.keys() - used):
    problems.append(f"in sightline/verdict/rules.cpp, but not used: {name}")
for name in sorted(name for name in table if not re.search(rf"(?<![a-z0-9-]){name}(?![a-z0-9-])", listed)):
    problems.append(f"not in docs/theory.md 16.8: {name}")
if (root / "checker/rules.cpp").exists():
    other = read_table("checker/rules.cpp")
    for name in sorted(table.keys() | other.keys()):
        if table.get(name) != other.get(name):
            problems.append(f"checker/rules.cpp says otherwise about {name}: {other.get(name)}")
print("\n".join(problems) or f"{len(table)} rules stand in every list")
sys.exit(bool(problems))
