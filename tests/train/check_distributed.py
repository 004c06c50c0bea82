#!/usr/bin/env python3
"""Two and four processes train as one does on the same batches; a killed process is an error, not a hang. usage: check_distributed.py COMMAND"""
import signal
import socket
import subprocess
import time

from common import *

data = make_regression(samples=120)
arch = write("a.toml", REGRESSION)


def start(size, out, *more):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return [subprocess.Popen([command, "train", str(arch), "--data", str(data), "--out", out, "--threads", "1", *map(str, more)], cwd=work, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
            for rank in range(size)]


def finish_all(processes, name):
    for rank, process in enumerate(processes):
        out, errors = process.communicate(timeout=600)
        check(process.returncode == 0, f"{name}: process {rank}: {process.returncode} {errors}")
        check(rank == 0 or (not out and not errors), f"{name}: process {rank} speaks: {out} {errors}")


for dtype, steps, bound in (("float64", 100, 1e-9), ("float32", 20, 1e-5)):
    settings = ("--train.dtype", dtype, "--train.steps", steps)
    run("train", arch, "--data", data, "--out", f"one{dtype}", "--threads", 1, *settings)
    one = read_weights(work / f"one{dtype}" / "last.safetensors")[0]
    for size in (2, 4):
        finish_all(start(size, f"{size}{dtype}", *settings), f"{size} processes, {dtype}")
        many = read_weights(work / f"{size}{dtype}" / "last.safetensors")[0]
        worst = max(float(numpy.abs(many[name].astype(float) - one[name]).max()) for name in one)
        print(f"{size} processes, {dtype}, {steps} steps: largest difference {worst:.2e}", flush=True)
        check(worst <= bound, f"{size} processes, {dtype}: {worst} after {steps} steps")

# One of them is killed: the others say so, the checkpoint can be read, and the training goes on from it.
processes = start(2, "lost", "--train.steps", 1000000, "--checkpoint-seconds", 0)
while not (work / "lost/metrics.csv").exists() or (work / "lost/metrics.csv").stat().st_size < 150:
    time.sleep(0.05)
processes[1].send_signal(signal.SIGKILL)
errors = processes[0].communicate(timeout=600)[1]
processes[1].communicate()
check(processes[0].returncode == 2 and "lost another" in errors, f"a killed process: {processes[0].returncode} {errors!r}")
step = int(read_weights(work / "lost/optimiser.safetensors")[1]["step"])
check(step > 0, "no checkpoint")
processes = start(2, "lost", "--train.steps", 1000000, "--resume")
while f'{step}' and json.loads((work / "lost/run.json").read_text())["step"] < step:
    time.sleep(0.05)
for process in processes:
    process.send_signal(signal.SIGKILL)
    process.communicate()

# The first process refuses: the others end too.
processes = start(2, "lost")
codes = [process.communicate(timeout=600) and process.returncode for process in processes]
check(codes == [2, 2], f"a folder that exists: {codes}")
refused("WORLD_SIZE", "train", arch, "--data", data, "--out", "x", env={"RANK": "3", "WORLD_SIZE": "2"})
finish()
