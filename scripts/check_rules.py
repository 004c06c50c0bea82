#!/usr/bin/env python3
"""The rules of the certifier are one table: docs/theory.md 16.8 lists the names, sightline/verdict/rules.cpp has source and
statement of each (the section and the item in it must be there), the checker's table says the same, and no other name is used. With COMMAND also: `sightline rules` knows
every rule, and every rule is named by the answer to some case (tests/golden, tests/verdict_cases, tests/rules, examples), as
cli/rule_cases.cpp says; --write writes that file. Prints what differs; exit 1 if anything does.

usage: check_rules.py [COMMAND [--write]]"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

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
    used |= set(re.findall(r'make_(?:layers|at_most)\([^;]*?"([a-z0-9-]+)"', text, re.S))
for name in sorted(used - table.keys()):
    problems.append(f"used, but not in sightline/verdict/rules.cpp: {name}")
for name in sorted(table.keys() - used):
    problems.append(f"in sightline/verdict/rules.cpp, but not used: {name}")
for name in sorted(name for name in table if not re.search(rf"(?<![a-z0-9-]){name}(?![a-z0-9-])", listed)):
    problems.append(f"not in docs/theory.md 16.8: {name}")
# Where each rule is proved: sections by number, with what stands below them; items in a section by their first word.
without_proof = {"left-out", "limit"}  # limits on work, not mathematics
sections, number = collections.defaultdict(str), None
for line in (root / "docs/theory.md").read_text().splitlines():
    heading = re.match(r"(?:#+ )?(\d+(?:\.\d+)?)[. ]", line)
    number = heading[1] if heading else number
    sections[number] += line + "\n"
for name, (source, _) in sorted(table.items()):
    if not source and name not in without_proof:
        problems.append(f"{name}: no section of docs/theory.md proves it")
    place = None
    for reference in source.removeprefix("theory ").split(", ") if source else []:
        digits, _, item = reference.partition(" ") if reference[0].isdigit() else (place, "", reference)
        place = digits
        inside = "".join(text for key, text in sections.items() if key and (key == place or key.startswith(place + ".")))
        if len(inside) < 40:
            problems.append(f"{name}: docs/theory.md has no section {place}")
        elif item and not re.search(rf"^ *(?:## [\d.]+ )?{re.escape(item)}[ .:(]|[.;(] {re.escape(item)}[ .:(]|CORRECTION of {re.escape(item)}", inside, re.M | re.I):
            problems.append(f"{name}: docs/theory.md {place} has no item {item}")
if (root / "checker/rules.cpp").exists():
    other = read_table("checker/rules.cpp")
    for name in sorted(table.keys() | other.keys()):
        if table.get(name) != other.get(name):
            problems.append(f"checker/rules.cpp says otherwise about {name}: {other.get(name)}")


def collect_cases(command):
    """rule -> folder/name of every case whose answer names it, golden ones first."""
    cases = collections.defaultdict(list)

    def run(folder, files, *options):
        answers = subprocess.run([command, "certify", "--json", *options, *map(str, files)], capture_output=True, text=True, check=False)
        for answer in map(json.loads, answers.stdout.splitlines()):
            for name in dict.fromkeys(re.match(r"[a-z0-9-]+", rule)[0] for rule in answer.get("rules", [])):
                cases[name].append(f"{folder}/{pathlib.Path(answer['file']).stem}")

    run("golden", sorted((root / "tests/golden/cases").glob("*.toml")))
    run("rules", sorted((root / "tests/rules").glob("*.toml")))
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, case in json.loads((root / "tests/verdict_cases/cases.json").read_text()).items():
            files.append(pathlib.Path(folder) / f"{name}.toml")
            files[-1].write_text(case["architecture"])
        run("verdict_cases", files)
        limited = pathlib.Path(folder) / "time-limit.toml"
        limited.write_text('tokens = 300000\ndim = 4\ndepth = "unbounded"\n[mixer]\npattern = { kind = "random", degree = 16, seed = 1 }\n')
        run("rules", [limited], "--time", "0.3")
    run("examples", sorted((root / "examples").glob("*.toml")))
    return cases


def print_cases(cases):
    lines = []
    for name in sorted(table):
        golden = [case.split("/")[1] for case in cases[name] if case.startswith("golden/")]
        others = [] if golden else cases[name][:3]
        lines.append(f'      {{"{name}", "{" ".join(golden)}", "{" ".join(others)}"}},\n')
    return ("// Written by scripts/check_rules.py COMMAND --write: which cases name which rule.\n#include \"cli/rule_notes.hpp\"\n\n"
            "namespace sightline::cli {\n\nconst std::vector<RuleCases>& rule_cases() {\n  static const std::vector<RuleCases> cases = {\n"
            + "".join(lines) + "  };\n  return cases;\n}\n\n}  // namespace sightline::cli\n")


noted = set(re.findall(r'^      \{"([a-z0-9-]+)", "', (root / "cli/rule_notes.cpp").read_text(), re.M))
for name in sorted(noted ^ table.keys()):
    problems.append(f"cli/rule_notes.cpp and sightline/verdict/rules.cpp differ about {name}")
if len(sys.argv) > 1:
    cases = collect_cases(sys.argv[1])
    for name in sorted(table):
        if not cases[name]:
            problems.append(f"{name}: no case names this rule")
    path = root / "cli/rule_cases.cpp"
    if "--write" in sys.argv:
        path.write_text(print_cases(cases))
    elif path.read_text() != print_cases(cases):
        problems.append("cli/rule_cases.cpp is out of date: scripts/check_rules.py COMMAND --write")
print("\n".join(problems) or f"{len(table)} rules stand in every list")
sys.exit(bool(problems))
