#!/usr/bin/env python3
"""Compares `sightline certify --json` with answers derived by hand from theory.md, sentence by sentence.

cases.json: name -> why (the place in theory.md or format.md it rests on), architecture (TOML), expected (field -> value).

usage: check.py SIGHTLINE [CASE...]      exit code 1 when a field differs, each on a line of its own"""
import json
import pathlib
import subprocess
import sys
import tempfile

command, wanted = sys.argv[1], sys.argv[2:]
cases = json.loads((pathlib.Path(__file__).resolve().parent / "cases.json").read_text())
cases = {name: case for name, case in cases.items() if not wanted or name in wanted}


def find(answer, path):
    for key in path.split("."):
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


with tempfile.TemporaryDirectory() as folder:
    files = []
    for name, case in cases.items():
        files.append(pathlib.Path(folder) / f"{name}.toml")
        files[-1].write_text(case["architecture"])
    run = subprocess.run([command, "certify", "--json", *map(str, files)], capture_output=True, text=True, check=False)
answers = {pathlib.Path(answer["file"]).stem: answer for answer in map(json.loads, run.stdout.splitlines())}

right = wrong = 0
for name, case in cases.items():
    answer = answers.get(name, {"error": "no answer"})
    for path, value in case["expected"].items():
        found = find(answer, path)
        if "error" not in answer and found == value:
            right += 1
            continue
        wrong += 1
        print(f"{name} {path}: expected {value!r}, found {found!r} {answer.get('error', '')} ({case['why']})")
print(f"verdict cases: {len(cases)} cases, {right} fields passed, {wrong} failed")
sys.exit(bool(wrong))
