#!/usr/bin/env python3
"""A training that is killed again and again ends with the same bytes as one that was not. usage: check_resume.py COMMAND [--all]"""
import random
import subprocess
import time

from common import *

data = make_regression(samples=128)
arch = write("a.toml", REGRESSION.replace("epochs = 6", "steps = 150") + 'patience = 40\n')
seed = int(os.environ.get("SIGHTLINE_TEST_SEED", time.time_ns() % 10**6))
print("seed", seed, flush=True)
chance = random.Random(seed)
line = [command, "train", str(arch), "--data", str(data), "--threads", "2", "--checkpoint-seconds", "0"]
run(*line[1:], "--out", "whole")
compared = ("best.safetensors", "last.safetensors", "optimiser.safetensors", "metrics.csv", "loss.svg", "architecture.json")
whole = {name: (work / "whole" / name).read_bytes() for name in compared}


def go_on(out, limit, env=None):
    """One more attempt, killed after `limit` seconds or where `env` says. True when it came to its end."""
    resume = ["--resume"] if (work / out).exists() else []
    process = subprocess.Popen([*line, "--out", out, *resume], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    try:
        errors = process.communicate(timeout=limit)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    check(process.returncode in (0, -9), f"{out}: exit code {process.returncode}: {errors}")
    return process.returncode == 0


def compare(out, kills):
    for name in compared:
        check((work / out / name).read_bytes() == whole[name], f"{out}: {name} differs after {kills} kills (seed {seed})")


# At random moments.
for attempt in range(2):
    kills = 0
    while not go_on(f"killed{attempt}", chance.uniform(0.3, 0.8) * 1.25 ** kills):
        kills += 1
    print(f"killed {kills} times", flush=True)
    compare(f"killed{attempt}", kills)

# Before every system call of the first writes, the folder's first file among them (every second one without --all).
short = [*line[1:], "--train.steps", "2"]
run(*short, "--out", "short")
for step in range(1, 13) if "--all" in sys.argv else range(1 + seed % 2, 13, 2):
    out = f"first{step}"
    run(*short, "--out", out, code=-9, env={"SIGHTLINE_TEST_KILL_AT": str(step)})
    run(*short, "--out", out, *(["--resume"] if (work / out).exists() else []))
    for name in compared:
        check((work / out / name).read_bytes() == (work / "short" / name).read_bytes(), f"{out}: {name} differs")

# Before a chosen system call of a write: half-written files of every kind.
kills = 0
step = chance.randrange(1, 12)
while not go_on("steps", 600, {"SIGHTLINE_TEST_KILL_AT": str(step)}) and kills < 10:
    kills += 1
    step = chance.randrange(1, 12) + 30 * kills
compare("steps", kills) if (kills < 10 or go_on("steps", 600)) else None
print(f"killed {kills} times while writing", flush=True)
left = [path.name for path in (work / "steps").iterdir() if path.name not in (*compared, "run.json")]
check(not left, f"files left behind: {left}")
finish()
