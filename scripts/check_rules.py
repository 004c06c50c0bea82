#!/usr/bin/env python3
"""Every rule name that the certifier uses stands in docs/theory.md 16.8. Prints the missing ones; exit 1 if any."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
listed = (root / "docs/theory.md").read_text().split("## 16.8", 1)[1]
names = set()
for source in (root / "sightline/verdict").glob("*.[ch]pp"):
    text = source.read_text()
    names |= set(re.findall(r'\buse\(\s*(?:\w+ \? )?"([a-z0-9-]+)"', text))
    names |= set(re.findall(r'\brule = (?:\w+ \? )?"([a-z0-9-]+)"', text))
    names |= set(re.findall(r'make_layers\([^;]*?"([a-z0-9-]+)", "theory', text, re.S))
missing = sorted(name for name in names if name not in listed)
print(f"not in docs/theory.md 16.8: {', '.join(missing)}" if missing else f"{len(names)} rules stand in docs/theory.md")
sys.exit(bool(missing))
