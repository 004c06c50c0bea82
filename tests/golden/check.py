#!/usr/bin/env python3
"""Compares `sightline certify --json` with the reference answers of this folder: every field of every case.

usage: check.py SIGHTLINE [CASE...]      exit code 1 when a field differs, each on a line of its own"""
import json
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
command, wanted = sys.argv[1], sys.argv[2:]
expected = json.loads((here / "expected.json").read_text())
cases = [case for case in sorted(expected) if not wanted or case in wanted]
run = subprocess.run([command, "certify", "--json", *(str(here / "cases" / f"{case}.toml") for case in cases)],
                     capture_output=True, text=True, check=False)
answers = {}
for line in run.stdout.splitlines():
    answer = json.loads(line)
    answers[pathlib.Path(answer["file"]).stem] = answer


def find(answer, path):
    for key in path.split("."):
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


right = wrong = 0
for case in cases:
    for path, value in expected[case].items():
        found = find(answers.get(case, {}), path)
        if case in answers and found == value:
            right += 1
            continue
        wrong += 1
        why = answers.get(case, {}).get("error", "") if case in answers else "no answer"
        print(f"{case} {path}: expected {value!r}, found {found!r} {why}")
if run.returncode not in (0,):
    print(f"exit code {run.returncode}: {run.stderr.strip()[:300]}")
    wrong += 1
print(f"golden: {right} passed, {wrong} failed")
sys.exit(bool(wrong))
