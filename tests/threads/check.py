#!/usr/bin/env python3
"""The same bytes for any number of threads: answers, certificates and reports of the checker; and limits hold for all threads together.

usage: check.py SIGHTLINE [--all]      exit code 1 when something differs"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[2]
command = os.path.abspath(sys.argv[1])
sanitized = b"__asan_init" in pathlib.Path(command).read_bytes()
COUNTS = ("1", "2", "3")

LAYERS = "[[layer]]\nrepeat = 4\n"
LARGE = {
    "window": '[mixer]\npattern = { kind = "window", radius = 64 }\n' + LAYERS,
    "ring": '[mixer]\npattern = { kind = "ring", radius = 8 }\n' + LAYERS,
    "causal": '[mixer]\npattern = { kind = "full", causal = true }\n' + LAYERS,
    "longformer": '[mixer]\npattern = { kind = "window", radius = 32, global = [0, 1, 9] }\n' + LAYERS,
    "star": '[input]\nregisters = ["hub"]\n[mixer]\npattern = { kind = "star" }\n' + LAYERS,
    "strided": '[mixer]\npattern = { kind = "strided", stride = 64, causal = true }\n' + LAYERS,
    "bigbird": "".join(f'[[layer]]\npattern = {{ kind = "bigbird", block = 64, random = 3, seed = {seed} }}\n' for seed in range(4)),
    "shifted": '[[layer]]\npattern = { kind = "blocks", size = 64 }\n[[layer]]\npattern = { kind = "shifted_blocks", size = 64, shift = 32 }\n' * 2,
    "grid": '[[layer]]\npattern = { kind = "grid", shape = [64, 64], blocks = [8, 8] }\n[[layer]]\npattern = { kind = "grid", shape = [64, 64], blocks = [8, 8], shift = [4, 4] }\n' * 2,
    "random": '[mixer]\npattern = { kind = "random", degree = 8, seed = 1 }\n' + LAYERS,
}


def run(*arguments, folder):
    result = subprocess.run([command, *arguments], cwd=folder, capture_output=True, check=False)
    return result.returncode, result.stdout, result.stderr


def damage(certificate):
    """Certificates with one or two false claims: (what is false, text)."""
    def with_changes(*changes):
        tree = json.loads(certificate)
        for change in changes:
            change(tree)
        return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"

    def order(tree):
        tree["answer"]["layout"]["order"] = "5"

    def needed(tree):
        tree["answer"]["layers"]["needed"] = 77

    def path(tree):
        tree["evidence"]["groups"]["layout"]["path"] = []

    def name(tree):
        tree["answer"]["layout"]["name"] = "C_3"

    def views(tree):
        tree["evidence"]["views"]["layout"] = {}

    changes = (order, needed, path, name, views)
    for a in changes:
        for b in changes:
            if a is b is path and not json.loads(certificate)["evidence"]["groups"]["layout"]["path"]:
                continue  # twins say it all
            yield f"{a.__name__} and {b.__name__}", with_changes(a, b)


def find_differences(folder):
    """All golden architectures, and several of thousands of tokens."""
    files = sorted((root / "tests" / "golden" / "cases").glob("*.toml"))
    for name, text in LARGE.items():
        files.append(folder / f"{name}.toml")
        tokens = 384 if name == "random" else 4096  # random links have no structure: their views take quadratic time
        files[-1].write_text(f"tokens = {tokens}\ndim = 4\n{text}")
    faults, kept = [], {}
    for position, file in enumerate(files):
        found = []
        # Small cases: one thread beside two or three, in turn.
        counts = COUNTS if "--all" in sys.argv or file.parent == folder else ("1", COUNTS[1 + position % 2])
        for count in counts:
            saved = folder / f"{count}.json"
            saved.unlink(missing_ok=True)
            answer = run("certify", str(file), "--json", "--save", str(saved), "--threads", count, folder=folder)
            found.append((answer, saved.read_bytes() if saved.exists() else b""))
            if saved.exists():
                found[-1] += (run("check", "1.json", "--threads", count, folder=folder),)
        if any(one != found[0] for one in found):
            faults.append(f"{file.name}: threads {', '.join(counts)} differ: {[(one[0][0], len(one[1])) for one in found]}")
        if found[0][0][0] not in (0, 3) or (found[0][1] and found[0][2][0] != 0):
            faults.append(f"{file.name}: exit codes {found[0][0][0]} and {found[0][2:]}")
        kept[file.stem] = found[0][1]
    for case in ("ring", "longformer", "grid"):
        met = set()
        for what, text in damage(kept[case]):
            (folder / "damaged.json").write_text(text)
            reports = [run("check", "damaged.json", "--threads", count, folder=folder) for count in COUNTS]
            met.add(reports[0][1])
            if reports[0][0] not in (1, 2) or any(one != reports[0] for one in reports):
                faults.append(f"{case} with {what} damaged: {reports}")
        if len(met) < 4:
            faults.append(f"{case}: damage was to be found in different places: {met}")
    return faults


def find_option_faults(folder):
    (folder / "a.toml").write_text('tokens = 6\ndim = 4\n[mixer]\npattern = { kind = "ring", radius = 1 }\n[[layer]]\nrepeat = 3\n')
    faults = []
    for arguments in (["certify", "a.toml"], ["check", "1.json"]):
        for bad in ("0", "-1", "1025", "two", "1.5"):
            code, out, error = run(*arguments, "--threads", bad, folder=folder)
            if code != 2 or out or error.count(b"\n") != 1 or b"--threads" not in error:
                faults.append(f"{arguments[0]} --threads {bad}: exit code {code}, {out!r}, {error!r}")
    return faults


def find_limit_faults(folder):
    faults = []
    # Memory: what all threads hold together, and what one thread can do within it is done by any number of them.
    for name, pattern, limits in (("window", '{ kind = "window", radius = 64 }', (16, 33, 60)), ("longformer", '{ kind = "window", radius = 64, global = [0, 5] }', (16, 48))):
        (folder / "m.toml").write_text(f"tokens = 65536\ndim = 4\n[mixer]\npattern = {pattern}\n[[layer]]\nrepeat = 8\n")
        for megabytes in limits:
            codes = []
            for count in COUNTS:
                process = subprocess.Popen([command, "certify", "m.toml", "--json", "--memory", str(megabytes), "--threads", count], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                out = process.stdout.read()
                _, status, usage = os.wait4(process.pid, 0)
                codes.append(os.waitstatus_to_exitcode(status))
                peak = usage.ru_maxrss / 1024
                if codes[-1] not in (0, 3) or (not sanitized and peak > megabytes + 32) or (codes[-1] == 3) != (b'"limit":"' in out):
                    faults.append(f"memory: {name} with {megabytes} MB and {count} threads: exit code {codes[-1]}, {peak:.0f} MB, {out[-200:]!r}")
            if len(set(codes)) > 1:
                faults.append(f"memory: {name} with {megabytes} MB: exit codes {codes}")
            if not sanitized and megabytes == limits[0] and codes[0] != 3:
                faults.append(f"memory: {name} does not need {megabytes} MB, so nothing was tested")
    # Time and Ctrl-C: two seconds instead of one, as the test machine may be busy.
    (folder / "t.toml").write_text('tokens = 300000\ndim = 4\n[mixer]\npattern = { kind = "window", radius = 64, global = [0, 5] }\n[[layer]]\nrepeat = 8\n')
    for limit in (0.1, 0.5, 1.0):
        start = time.monotonic()
        code, out, _ = run("certify", "t.toml", "--json", "--time", str(limit), "--threads", "2", folder=folder)
        over = time.monotonic() - start - limit
        if over > 2 or code not in (0, 3) or (code == 3) != (b'"limit":"' in out):
            faults.append(f"time: limit {limit} s with 2 threads: exit code {code}, {over:.1f} s over the limit, {out[-200:]!r}")
    for wait in (0.2, 0.6):
        process = subprocess.Popen([command, "certify", "t.toml", "--threads", "2"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, _ = process.communicate(timeout=60)
        if process.returncode != 130 or out or time.monotonic() - start > 2:
            faults.append(f"interrupt after {wait} s: exit code {process.returncode}, {time.monotonic() - start:.1f} s, {out!r}")
    return faults


with tempfile.TemporaryDirectory() as name:
    faults = [*find_differences(pathlib.Path(name)), *find_option_faults(pathlib.Path(name)), *find_limit_faults(pathlib.Path(name))]
print("\n".join(faults))
print(f"threads: {len(faults)} faults")
sys.exit(bool(faults))
