#!/usr/bin/env python3
"""Certifies architectures whose answers are known by construction and compares: verdict, order, layers, sight, floor.

usage: check.py SIGHTLINE [--count N] [--seed S] [--keep FOLDER]      exit code 1 when one answer is wrong"""
import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from fractions import Fraction

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import plant as planting  # noqa: E402


def differences(facts, answer):
    """Every claim of the answer that contradicts what is proved, and every figure that is left out."""
    wrong, left_out = [], []
    verdict = answer["verdict"]
    if verdict != "unknown" and verdict != facts["verdict"]:
        wrong.append(f"verdict {verdict}, planted {facts['verdict']}")
    layout = (answer.get("layout") or {}).get("order")
    if facts["order"] is not None:
        if layout is None:
            left_out.append("layout.order")
        elif int(layout) != facts["order"]:
            wrong.append(f"layout.order {layout}, planted {facts['order']}")
    layers = answer["layers"]
    if "connected" in facts and layers["connected"] != facts["connected"]:
        wrong.append(f"layers.connected {layers['connected']}, planted {facts['connected']}")
    needed, between = layers["needed"], layers.get("needed_between")
    if facts["needed"] == "never":
        if needed is not None or between:
            wrong.append(f"layers.needed {needed} {between or ''}, planted never")
    elif facts["needed"] is not None:
        low, high = facts["needed"]
        if needed is not None and not low <= needed <= high:
            wrong.append(f"layers.needed {needed}, planted {low} to {high}")
        if needed is None and between and (between[1] < low or between[0] > high):
            wrong.append(f"layers.needed_between {between}, planted {low} to {high}")
        if needed is None:
            left_out.append("layers.needed")
    if "unseen" in facts and answer["unseen"] != facts["unseen"]:
        wrong.append(f"unseen {answer['unseen']}, planted {facts['unseen']}")
    if verdict == "impossible" and "floor" in facts:
        floor = answer.get("floor")
        if not floor:
            left_out.append("floor")
        elif Fraction(floor["squared_error"]) != facts["floor"]:
            wrong.append(f"floor {floor['squared_error']}, planted {facts['floor']}")
    return wrong, left_out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sightline")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="write the files of wrong answers here")
    options = parser.parse_args()
    golden = here.parent / "golden"
    expected = json.loads((golden / "expected.json").read_text())
    plants = planting.plant_all(golden / "cases", expected, options.count, options.seed)
    wrong = unknown = 0
    reasons, figures, kinds = collections.Counter(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(0, len(plants), 250):
            some = plants[begin:begin + 250]
            names = []
            for index, (planted, _) in enumerate(some):
                names.append(pathlib.Path(folder) / f"{begin + index:05}.json")
                names[-1].write_text(json.dumps(planted.tree()))
            run = subprocess.run([options.sightline, "certify", "--json", *map(str, names)], capture_output=True, text=True, check=False)
            lines = run.stdout.splitlines()
            if run.returncode or len(lines) != len(some):
                print(f"exit code {run.returncode}, {len(lines)} answers to {len(some)} files: {run.stderr.strip()[:500]}")
                wrong += 1
            for (planted, facts), name, line in zip(some, names, lines):
                answer = json.loads(line)
                if "error" in answer:
                    wrong += 1
                    print(f"{planted.tree()['name']}: {answer['error']}")
                    continue
                kinds[facts["verdict"]] += 1
                bad, left_out = differences(facts, answer)
                if answer["verdict"] == "unknown":
                    unknown += 1
                    reasons[" + ".join(answer["rules"])] += 1
                figures.update(left_out)
                if bad:
                    wrong += 1
                    print(f"{planted.tree()['name']} ({planted.tokens} tokens): {'; '.join(bad)[:400]}")
                    if options.keep:
                        pathlib.Path(options.keep).mkdir(parents=True, exist_ok=True)
                        (pathlib.Path(options.keep) / name.name).write_text(name.read_text())
    total = len(plants)
    print(f"planted: {total} architectures, {kinds['certified']} universal, {kinds['impossible']} not; {wrong} wrong, {unknown} unknown ({100 * unknown / total:.1f}%)")
    for reason, times in reasons.most_common():
        print(f"  unknown {times:5}: {reason}")
    for figure, times in sorted(figures.items()):
        print(f"  left out {times:5}: {figure}")
    sys.exit(bool(wrong) or total != options.count or 2 * kinds["impossible"] < total)


main()
