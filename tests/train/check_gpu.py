#!/usr/bin/env python3
"""What a GPU computes is what the CPU computes, the same bits in every run, whoever killed it. usage: check_gpu.py COMMAND
Without a GPU (or with a LibTorch without CUDA) it says so and passes."""
import random
import signal
import socket
import subprocess
import time

from common import *

data = make_regression(samples=128)
arch = write("a.toml", REGRESSION.replace("epochs = 6", "steps = 100"))
probe = subprocess.run([command, "train", str(arch), "--data", str(data), "--out", "probe", "--device", "cuda", "--train.steps", "1"], cwd=work, capture_output=True, text=True)
if probe.returncode == 2 and "this LibTorch has no CUDA, or finds no device" in probe.stderr:
    print("SKIPPED: no GPU, or a LibTorch without CUDA")
    finish()
check(probe.returncode == 0 and "W" not in [line[:1] for line in probe.stderr.splitlines()], f"the first run: {probe.returncode} {probe.stderr}")

# The same training on both, in every mixer and with what the data may bring.
MIXERS = {
    "softmax": 'heads = 2\nrelative = "learned"\nsink = true',
    "rotary": 'heads = 2\nrelative = "rotary"\npattern = { kind = "window", radius = 2 }',
    "alibi": 'heads = 2\nrelative = "alibi"\ntop_k = 3',
    "gaussian": 'kernel = "gaussian"',
    "expression": 'kernel = "(1+norm2(x-y))*exp(dot(x,y))"',
    "performer": 'kernel = "elu1"\nheads = 2',
    "linformer": 'kind = "linformer"\nrank = 3\nheads = 2',
    "coloured": 'kind = "sum"\npattern = { kind = "matrix", matrix = [[1,2,0,0,0,3],[1,1,1,0,0,0],[0,2,1,3,0,0],[0,0,0,1,0,0],[0,0,0,2,1,0],[3,0,0,0,0,1]] }',
    "bias": 'kind = "bias"\nactivation = "tanh"',
    "linear": 'kind = "linear"',
    "convolution": 'kind = "convolution"\ntaps = [0, 1, -2]',
    "max": 'kind = "max"\npattern = { kind = "window", radius = 1, global = [2] }',
}
lengths = make_regression("lengths.npz", samples=128, lengths=numpy.random.default_rng(1).integers(1, 7, 128))
for name, mixer in MIXERS.items():
    file = write(f"{name}.toml", REGRESSION.replace("epochs = 6", "steps = 100").replace("[mixer]\nheads = 2", f"[mixer]\n{mixer}"))
    for which in (data, lengths) if name in ("softmax", "max") else (data,):
        out = f"{name}-{which.stem}"
        for device in ("cpu", "cuda"):
            run("train", file, "--data", which, "--out", f"{out}-{device}", "--device", device, "--train.dtype", "float64", "--threads", 1)
        here, there = (read_weights(work / f"{out}-{device}/last.safetensors")[0] for device in ("cpu", "cuda"))
        worst = max(float(numpy.abs(here[w] - there[w]).max()) for w in here)
        print(f"{out}: largest difference of a weight after 100 steps, float64: {worst:.2e}", flush=True)
        check(worst <= 1e-9, f"{out}: {worst}")
        for device in ("cpu", "cuda"):  # the weights of one on both
            run("predict", f"{out}-cuda", "--data", which, "--out", f"{out}-{device}.npz", "--device", device)
        y = [numpy.load(work / f"{out}-{device}.npz")["y"] for device in ("cpu", "cuda")]
        check(numpy.abs(y[0] - y[1]).max() <= 1e-11 * max(1, numpy.abs(y[0]).max()), f"{out}: predict differs by {numpy.abs(y[0] - y[1]).max()}")
    here, there = (json.loads(run("evaluate", f"{name}-regression-cuda", "--data", data, "--device", device)[0]) for device in ("cpu", "cuda"))
    check(abs(here["loss"] - there["loss"]) <= 1e-11 and here["samples"] == there["samples"], f"{name}: evaluate: {here} {there}")

# Ids and classes; a register.
draw = numpy.random.default_rng(2)
ids = draw.integers(0, 9, (128, 6))
numpy.savez(work / "ids.npz", x=ids, y=(ids.sum(1) % 3))
file = write("ids.toml", 'tokens = 6\ndim = 8\n[input]\nembedding = "table"\npositions = "learned"\nregisters = ["a", "b"]\n[mixer]\nheads = 2\n[norm]\nkind = "rmsnorm"\n'
             '[feedforward]\nkind = "moe"\nexperts = 3\ntop_k = 2\n[output]\nhead = "linear"\npool = "mean"\n[train]\nsteps = 100\nbatch = 16\nlr = 0.01\ndtype = "float64"\n')
for device in ("cpu", "cuda"):
    run("train", file, "--data", work / "ids.npz", "--out", f"ids-{device}", "--device", device, "--threads", 1)
here, there = (read_weights(work / f"ids-{device}/last.safetensors")[0] for device in ("cpu", "cuda"))
worst = max(float(numpy.abs(here[w] - there[w]).max()) for w in here)
print(f"ids: {worst:.2e}", flush=True)
check(worst <= 1e-9, f"ids: {worst}")

# Twice the same bytes, and again after kills, float32.
seed = int(os.environ.get("SIGHTLINE_TEST_SEED", time.time_ns() % 10**6))
print("seed", seed, flush=True)
chance = random.Random(seed)
for name in ("softmax", "ids", "coloured"):
    which = work / "ids.npz" if name == "ids" else lengths
    line = [command, "train", str(work / f"{name}.toml"), "--data", str(which), "--device", "cuda", "--train.dtype", "float32", "--train.steps", "150", "--checkpoint-seconds", "0"]
    run(*line[1:], "--out", f"{name}-whole")
    run(*line[1:], "--out", f"{name}-again")
    out, kills = f"{name}-killed", 0
    while True:  # before a chosen system call of a write; every step writes a checkpoint
        resume = ["--resume"] if (work / out).exists() else []
        done = subprocess.run([*line, "--out", out, *resume], cwd=work, capture_output=True, text=True, env={**os.environ, **({"SIGHTLINE_TEST_KILL_AT": str(chance.randrange(100, 1500))} if kills < 4 else {})})
        if done.returncode != -signal.SIGKILL:
            break
        kills += 1
    print(f"{name}: killed {kills} times", flush=True)
    check(done.returncode == 0 and kills > 0, f"{name}: resumed: exit code {done.returncode}, {kills} kills: {done.stderr[-300:]}")
    for other in ("again", "killed"):
        for part in ("best.safetensors", "last.safetensors", "optimiser.safetensors", "metrics.csv"):
            check((work / f"{name}-{other}" / part).read_bytes() == (work / f"{name}-whole" / part).read_bytes(), f"{name}-{other}: {part} differs (seed {seed})")

# Two processes on one device exchange by way of the CPU: the training of one.
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
processes = [subprocess.Popen([command, "train", str(arch), "--data", str(data), "--out", "two", "--device", "cuda", "--train.dtype", "float64"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
             for rank in range(2)]
for rank, process in enumerate(processes):
    _, errors = process.communicate(timeout=600)
    check(process.returncode == 0, f"process {rank} of two: {process.returncode} {errors}")
run("train", arch, "--data", data, "--out", "one", "--device", "cuda", "--train.dtype", "float64")
one, two = (read_weights(work / f"{which}/last.safetensors")[0] for which in ("one", "two"))
worst = max(float(numpy.abs(one[w] - two[w]).max()) for w in one)
print(f"two processes: {worst:.2e}", flush=True)
check(worst <= 1e-9, f"two processes: {worst}")

# What does not fit is one line; exact mode is that of the CPU's mixers.
refused("--exact: expected --device cpu", "predict", "one", "--data", data, "--out", "exact.npz", "--device", "cuda", "--exact")
big = write("big.toml", 'tokens = 16384\ndim = 64\n[input]\nembedding = "linear"\ndim = 1\n[mixer]\nheads = 4\npattern = { kind = "window", radius = 8 }\n[output]\nhead = "linear"\n[train]\nsteps = 1\nbatch = 64\n')
numpy.savez(work / "big.npz", x=draw.standard_normal((64, 16384, 1)), y=draw.standard_normal((64, 16384, 1)))
_, errors = run("train", big, "--data", work / "big.npz", "--out", "big", "--device", "cuda", code=3)
check("out of memory on the GPU" in errors and len([line for line in errors.splitlines() if line.startswith("sightline: ")]) == 1, f"too large: {errors!r}")
finish()
