#!/usr/bin/env python3
"""Every field of the answer has its row in docs/certificate.md, and every row a field: ./check_certificate_docs.py COMMAND."""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def fields(answer):
    """Paths of an answer, two levels deep: what stands below is data."""
    result = set()
    for key, value in answer.items():
        if isinstance(value, dict):
            result |= {f"{key}.{inner}" for inner in value}
        elif value is not None or key not in ("layout", "expressed", "floor", "witness"):
            result.add(key)
    return result


def main(command):
    text = (ROOT / "docs/certificate.md").read_text()
    table = text.split("## What is checked")[1].split("\n## ")[0]
    documented = {name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in re.findall(r"`([^`]+)`", row)}
    files = sorted((ROOT / "tests/golden/cases").glob("*.toml")) + sorted((ROOT / "examples").glob("*.toml"))[:6]
    run = subprocess.run([command, "certify", "--json", *map(str, files)], capture_output=True, text=True)
    found = set()
    for line in run.stdout.splitlines():
        found |= fields(json.loads(line))
    missing, stale = found - documented, documented - found
    # Orders above 1,000 digits and bounds occur in few cases: their rows may stand without one here.
    stale = {name for name in stale if not name.endswith(("order_factored", "order_log10", "needed_between"))}
    for name in sorted(missing):
        print(f"docs/certificate.md: no row for the field {name} of the answer")
    for name in sorted(stale):
        print(f"docs/certificate.md: the row {name} is no field of the answer")
    if not found:
        print("no answers to compare with")
    return 1 if missing or stale or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
