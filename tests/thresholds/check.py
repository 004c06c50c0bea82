#!/usr/bin/env python3
"""Certifies random layouts with low thresholds, so that small ones take the ways of large ones, and compares with the definition (a dozen tokens) and with
the answer at usual thresholds (up to 200 tokens). A layout that fails is kept, with the thresholds that it takes.

usage: check.py SIGHTLINE DEFINITION [--small N] [--large N] [--seconds S] [--seed S] [--family NAME] [--keep FOLDER]

SIGHTLINE is of the build `low-thresholds`. Exit code 1 when an answer is wrong, or none is given where one was."""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import layouts  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 30


def threshold_names():
    names = set()
    for file in [*(ROOT / "sightline").rglob("*.[ch]pp"), *(ROOT / "checker").glob("*.[ch]pp")]:
        for declared in re.findall(r"constexpr Threshold<.*", file.read_text()):
            names |= set(re.findall(r'"([^"]+)"\}', declared))
    return sorted(names)


def low_names(low):
    """The names that a setting makes low (sightline/base/threshold.hpp)."""
    names = threshold_names()
    if low in ("all", "none"):
        return names if low == "all" else []
    if not low.isdigit():
        return low.split(",")

    def mix(x):
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    def hash_name(name):
        value = 0xCBF29CE484222325
        for byte in name.encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        return value

    return [name for name in names if mix(int(low) ^ hash_name(name)) % 4 < 1 + int(low) % 3]


def certify(sightline, low, files):
    """By file: the answer, or {"error"} for an internal error, a crash or no end."""
    answers, left = {}, list(files)
    environment = {**os.environ, "SIGHTLINE_LOW": low}
    while left:
        command = [sightline, "certify", "--json", "--threads", "1", "--time", "20", *map(str, left)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60 + 21 * len(left))
            code, out, err = run.returncode, run.stdout, run.stderr
        except subprocess.TimeoutExpired as late:
            code, out, err = "no end", (late.stdout or b"").decode(), ""
        for line in out.splitlines():
            answer = json.loads(line)
            answers[pathlib.Path(answer["file"])] = answer if "error" not in answer else {"error": answer["error"]}
        left = [file for file in left if file not in answers]
        if left and code in (0, 1, 2, 3):
            raise SystemExit(f"{left[0]}: neither an answer nor an error")
        if left:  # it ended at the first that has none
            answers[left[0]] = {"error": f"exit code {code}: {err.strip()[-300:]}"}
            left = left[1:]
    return answers


def orbits(answer):
    """By token the first of its orbit; nothing where not all generators are listed."""
    if len(answer["layout"]["generators"] or []) >= 100:
        return None
    first = list(range(len(expand_runs(answer["unseen"]))))

    def find(x):
        while first[x] != x:
            x = first[x]
        return x

    for generator in answer["layout"]["generators"] or []:
        for cycle in re.findall(r"\(([^)]*)\)", generator):
            points = [int(x) for x in cycle.replace(",", " ").split()]
            for a, b in zip(points, points[1:]):
                a, b = find(a), find(b)
                first[max(a, b)] = min(a, b)
    return [find(x) for x in range(len(first))]


def expand_runs(values):
    return [v for entry in values for v in ([entry[0]] * entry[1] if isinstance(entry, list) else [entry])]


def facts(answer):
    """What no threshold may change."""
    floor = answer.get("floor") or {}
    if floor.get("rule", "").startswith("collision"):  # as good as the pair of views that was found first
        floor = {"p": floor["p"], "squared_error": "of a pair"}
    return {"verdict": answer["verdict"], "order": answer["layout"]["order"], "orbits": orbits(answer), "expressed": (answer["expressed"] or {}).get("order"), "layers": answer["layers"],
            "at_connected": (answer["at_connected"] or {}).get("order"), "class": answer["class"], "output": answer["output"], "unseen": answer["unseen"],
            "floor": [floor.get("p"), floor.get("squared_error")]}


def against_definition(answer, definition, case):
    """Claims that the definition refutes, and those that it has and the answer lacks."""
    needed = definition["needed"]
    expected = {"order": definition["order"], "orbits": definition["orbits"], "connected": definition["connected"], "class": definition["kind"],
                "unseen": definition["unseen_listed" if case["depth"] == "listed" else "unseen_ever"], "needed": needed[case["target"]], "class.layers": needed[definition["kind"]]}
    got = {"order": answer["layout"]["order"], "orbits": orbits(answer), "connected": answer["layers"]["connected"], "class": answer["class"]["kind"], "unseen": answer["unseen"],
           "needed": answer["layers"]["needed"], "class.layers": answer["class"]["layers"]}
    if "at_connected" in definition:
        expected["at_connected"], got["at_connected"] = definition["at_connected"], (answer["at_connected"] or {}).get("order")
    enough = expected["needed"] is not None and (case["depth"] == "unbounded" or expected["needed"] <= len(case["layers"]))
    expected["verdict"], got["verdict"] = "certified" if enough else "impossible", answer["verdict"]
    open_too = ("needed", "class.layers", "at_connected", "verdict") if answer["verdict"] == "unknown" else ()
    return [f"{key}: {got[key]}, by definition {expected[key]}" for key in expected if got[key] != expected[key] and not (key in open_too and got[key] in (None, "unknown"))]


def differences(usual, low, definition, case):
    if low is None or "error" in low:
        return [low["error"] if low else "no answer"]
    found = []
    if usual is not None and "error" not in usual:
        mine, theirs = facts(low), facts(usual)
        compared = mine if "unknown" not in (mine["verdict"], theirs["verdict"]) else ("order", "orbits", "unseen")  # a bound on steps: not wrong
        found += [f"{key}: {mine[key]}, at usual thresholds {theirs[key]}" for key in compared if mine[key] != theirs[key] and not (key == "orbits" and None in (mine[key], theirs[key]))]
    if definition and "gave_up" not in definition:
        found += against_definition(low, definition, case)
    return found


def reduce_names(fails, low):
    """The fewest names found, by leaving out one part after the other, whose low thresholds still fail."""
    names = low_names(low)
    if low == "none" or not fails(",".join(names)):
        return low
    part = len(names) // 2
    while part >= 1:
        at = 0
        while at < len(names):
            fewer = names[:at] + names[at + part:]
            if fewer and fails(",".join(fewer)):
                names = fewer
            else:
                at += part
        part //= 2
    return ",".join(names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sightline")
    parser.add_argument("definition")
    parser.add_argument("--small", type=int, default=600, help="layouts of 4 to 12 tokens, against the definition")
    parser.add_argument("--large", type=int, default=300, help="layouts of 20 to 200 tokens, against usual thresholds")
    parser.add_argument("--seconds", type=float, help="go on for so long instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", choices=sorted(layouts.FAMILIES), action="append")
    parser.add_argument("--keep", type=pathlib.Path, default=ROOT / "build" / "thresholds", help="folder for layouts that fail")
    arguments = parser.parse_args()
    families = arguments.family or sorted(layouts.FAMILIES)
    begin, tried, wrong, less, gave_up, unanswered, batch = time.time(), collections.Counter(), 0, 0, 0, collections.Counter(), 0

    def goes_on():
        if arguments.seconds:
            return time.time() - begin < arguments.seconds
        return sum(tried.values()) < arguments.small + arguments.large

    while goes_on():
        rng = random.Random(f"{arguments.seed} {batch}")
        small = rng.random() < 0.6 if arguments.seconds else sum(tried.values()) < arguments.small
        batch += 1
        with tempfile.TemporaryDirectory() as name:
            cases, text = {}, ""
            for k in range(BATCH):
                file = pathlib.Path(name) / f"{k}.toml"
                case = layouts.draw(rng, rng.choice(families), rng.randint(4, 12) if small else rng.randint(20, 200))
                file.write_text(layouts.architecture(case))
                cases[file] = case
                if small and case["tokens"] + len(case["registers"]) <= 14 and layouts.is_defined(case):
                    text += layouts.definition_input(file, case)
            defined = subprocess.run([arguments.definition], input=text, capture_output=True, text=True, check=True).stdout
            definitions = {pathlib.Path(d["id"]): d for d in map(json.loads, defined.splitlines())}
            gave_up += sum("gave_up" in d for d in definitions.values())
            seeds = ["none", "all", str(rng.randrange(10**6)), str(rng.randrange(10**6))]
            answers = {low: certify(arguments.sightline, low, cases) for low in seeds}
            for file, case in cases.items():
                tried[case["family"]] += 1
                verdicts = [answers[low].get(file, {}).get("verdict") for low in seeds]
                unanswered[case["family"]] += verdicts[0] == "unknown"
                less += verdicts[0] != "unknown" and "unknown" in verdicts
                for low in seeds:
                    usual = answers["none"].get(file)
                    found = differences(usual, answers[low].get(file), definitions.get(file), case)
                    if not found:
                        continue
                    wrong += 1
                    fails = lambda names: bool(differences(usual, certify(arguments.sightline, names, [file])[file], definitions.get(file), case))
                    names = reduce_names(fails, low)
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    kept = arguments.keep / f"{case['family']}-{arguments.seed}-{batch}-{file.stem}.toml"
                    kept.write_text(f"# SIGHTLINE_LOW='{names}' (was {low})\n" + "".join(f"# {line}\n" for line in found) + file.read_text())
                    print(f"{kept}: SIGHTLINE_LOW='{names}': {'; '.join(found)[:400]}", flush=True)
                    break
    print(f"{sum(tried.values())} layouts in {time.time() - begin:.0f} s, {wrong} wrong; {less} unknown at low thresholds alone, {gave_up} not decided by definition")
    print(", ".join(f"{family} {count}" + (f" ({unanswered[family]} unknown)" if unanswered[family] else "") for family, count in sorted(tried.items())))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
