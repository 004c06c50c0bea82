#!/usr/bin/env python3
"""train, predict, evaluate as the interface says, from file to file; and how mistakes are refused. usage: check_training.py COMMAND"""
import csv
import hashlib
import os
import signal
import struct
import subprocess
import time

import numpy

from common import *

# --- a regression: files, figures, learning ---
data = make_regression()
arch = write("regression.toml", REGRESSION)
out, errors = run("train", arch, "--data", data, "--out", "run", "--train.epochs", 60, "--threads", 1)
check("parameters" in errors and "about" in errors and "\n360 steps" in errors, f"no count and estimate: {errors!r}")
check("\r" not in errors, "a progress bar where there is no terminal")
names = {path.name for path in (work / "run").iterdir()}
check(names == {"architecture.json", "best.safetensors", "last.safetensors", "optimiser.safetensors", "metrics.csv", "loss.svg", "run.json"}, f"files {names}")
rows = list(csv.DictReader(open(work / "run/metrics.csv")))
check(list(rows[0]) == ["step", "epoch", "loss", "val_loss", "val_metric", "lr"], f"columns {list(rows[0])}")
check(len(rows) == 60 and rows[-1]["step"] == "360" and rows[-1]["epoch"] == "60", f"rows {len(rows)} {rows[-1]}")
check(float(rows[-1]["loss"]) < 0.1 * float(rows[0]["loss"]), f"no learning: {rows[0]} {rows[-1]}")
check(abs(float(rows[-1]["val_metric"]) ** 2 - float(rows[-1]["val_loss"])) < 1e-6, "rmse is not the root of the loss")
check((work / "run/loss.svg").read_text().startswith("<"), "no picture")
weights, metadata = read_weights(work / "run/best.safetensors")
check(metadata["sha256"] == hashlib.sha256(metadata["architecture"].encode()).hexdigest(), "digest")
check(metadata["architecture"] == (work / "run/architecture.json").read_text().strip(), "architecture in the weights and beside them")
check(weights["layers.0.mixer.q.weight"].shape == (8, 8) and weights["output.head.weight"].shape == (2, 8), "shapes")
check(all(array.dtype == numpy.float32 for array in weights.values()), "type")
printed = int(errors.split(" parameters")[0].split()[-1])
check(printed == sum(array.size for array in weights.values()), f"{printed} parameters")

run("predict", "run", "--data", data, "--out", "p.npz", "--attention", 0)
p = numpy.load(work / "p.npz")
check(p["y"].shape == (96, 6, 2) and p["attention"].shape == (96, 2, 6, 6), f"shapes {p['y'].shape} {p['attention'].shape}")
check(numpy.allclose(p["attention"].sum(-1), 1, atol=1e-5), "rows of the attention do not add up to 1")
answer = json.loads(run("evaluate", "run", "--data", data)[0])
mse = float(((p["y"] - numpy.load(data)["y"]) ** 2).mean())
check(set(answer) == {"loss", "rmse", "samples"} and answer["samples"] == 96 and abs(answer["loss"] - mse) < 1e-6 * (1 + mse), f"{answer} {mse}")
run("predict", "run/last.safetensors", "--data", data, "--out", "last.npz")

# --- the same seed gives the same bytes, another seed others; threads of the estimate do not matter ---
for name, more in (("again", []), ("other", ["--train.seed", 1])):
    run("train", arch, "--data", data, "--out", name, "--train.epochs", 2, "--threads", 1, *more)
run("train", arch, "--data", data, "--out", "again2", "--train.epochs", 2, "--threads", 1, "--checkpoint-seconds", 0)
same = [(work / name / "last.safetensors").read_bytes() for name in ("again", "again2", "other")]
check(same[0] == same[1], "one seed, two results")
check(same[0] != same[2], "two seeds, one result")

# --- a start from weights; optimisers, schedules, clipping, patience ---
run("train", arch, "--data", data, "--out", "init", "--train.steps", 1, "--train.lr", 1e-12, "--init-from", "run")
start = read_weights(work / "init/last.safetensors")[0]
check(all(numpy.allclose(start[name], weights[name], atol=1e-6) for name in weights), "--init-from did not start from the weights")
for optimiser, rate in (("adam", 0.01), ("sgd", 0.3)):
    run("train", arch, "--data", data, "--out", optimiser, "--train.optimiser", optimiser, "--train.lr", rate, "--train.schedule", "constant", "--train.dtype", "float64")
    rows = list(csv.DictReader(open(work / optimiser / "metrics.csv")))
    check(float(rows[-1]["loss"]) < 0.8 * float(rows[0]["loss"]), f"{optimiser} does not learn")
    check(read_weights(work / optimiser / "best.safetensors")[0]["output.head.bias"].dtype == numpy.float64, "type")
run("train", arch, "--data", data, "--out", "patience", "--train.epochs", 500, "--train.patience", 3, "--train.lr", 0.05)
state = json.loads((work / "patience/run.json").read_text())
check(state["status"] == "stopped early" and state["step"] < 3000 and state["step"] - state["best_step"] >= 18, f"patience: {state}")

before = (work / "patience/last.safetensors").read_bytes()
run("train", arch, "--data", data, "--out", "patience", "--train.epochs", 500, "--train.patience", 3, "--train.lr", 0.05, "--resume")
check((work / "patience/last.safetensors").read_bytes() == before, "a run that had stopped early went on")

# --- classes, lengths, weights, ids, pooling, csv ---
random = numpy.random.default_rng(1)
ids = random.integers(0, 7, (200, 5))
lengths = random.integers(1, 6, 200)
target = numpy.where(numpy.arange(5) < lengths[:, None], (ids + ids[:, :1]) % 3, -100)
numpy.savez(work / "ids.npz", x=ids, y=target, lengths=lengths, weight=random.uniform(0.5, 1, 200), x_test=ids[:40], y_test=target[:40], lengths_test=lengths[:40])
write("ids.toml", 'tokens = 5\ndim = 16\n[input]\nembedding = "table"\nvocabulary = 7\npositions = "learned"\n[norm]\nkind = "rmsnorm"\n[output]\nhead = "linear"\n'
      '[train]\nepochs = 40\nbatch = 20\nlr = 0.01\nlabel_smoothing = 0.05\n[[layer]]\nrepeat = 2\n')
run("train", "ids.toml", "--data", "ids.npz", "--out", "ids")
answer = json.loads(run("evaluate", "ids", "--data", "ids.npz", "--split", "test")[0])
check(set(answer) == {"loss", "accuracy", "samples"} and answer["samples"] == 40 and answer["accuracy"] > 0.9, f"ids {answer}")
run("predict", "ids", "--data", "ids.npz", "--out", "ids_p.npz")
scores = numpy.load(work / "ids_p.npz")["y"]
changed = ids.copy()
changed[numpy.arange(5) >= lengths[:, None]] = 6
numpy.savez(work / "changed.npz", x=changed, lengths=lengths)
run("predict", "ids", "--data", "changed.npz", "--out", "changed_p.npz")
seen = numpy.arange(5) < lengths[:, None]
check(numpy.array_equal(scores[seen], numpy.load(work / "changed_p.npz")["y"][seen]), "tokens behind the end of a sample were read")

# A BOS: one id in front of all samples, and nowhere else.
bos = write("bos.toml", (work / "ids.toml").read_text().replace("vocabulary = 7", "vocabulary = 7\nbos = true"))
fronted = ids.copy()
fronted[:, 0] = 7
numpy.savez(work / "bos.npz", x=fronted, y=target, lengths=lengths)
run("train", bos, "--data", "bos.npz", "--out", "bos", "--train.steps", 1)
run("evaluate", "bos", "--data", "bos.npz")
run("predict", "bos", "--data", "ids.npz", "--out", "ids_p2.npz")
again = fronted.copy()
again[5, 0] = 3
numpy.savez(work / "two.npz", x=again, y=target, lengths=lengths)
_, said = run("train", bos, "--out", "bos2", "--data", "two.npz", "--train.steps", 1)
check("warning: two.npz: x: found 3 in front of sample 5, 7 in front of the first" in said, f"no word about two ids in front: {said}")
again = fronted.copy()
again[3, 4] = 7
numpy.savez(work / "again.npz", x=again, y=target)
_, said = run("train", bos, "--out", "bos3", "--data", "again.npz", "--train.steps", 1)
check("warning: again.npz: x: found 7 in front and at token 4 of sample 3" in said, f"no word about a BOS inside: {said}")
_, said = run("train", bos, "--out", "bos4", "--data", "bos.npz", "--train.steps", 1)
check("warning" not in said, f"a warning of samples that are right: {said}")

points = random.standard_normal((60, 2, 2))
label = (points.sum((1, 2)) > 0).astype(int)
write("points.csv", "a,b,c,d,class\n" + "".join(",".join(map(repr, map(float, row.ravel()))) + f",{k}\n" for row, k in zip(points, label)))
write("points.toml", 'tokens = 2\ndim = 2\n[output]\npool = "mean"\nhead = "linear"\n[train]\nepochs = 80\nlr = 0.02\n')
run("train", "points.toml", "--data", "points.csv", "--out", "points")
answer = json.loads(run("evaluate", "points", "--data", "points.csv")[0])
check(answer["accuracy"] > 0.9, f"points {answer}")
numpy.save(work / "px.npy", points)
numpy.save(work / "py.npy", label)
check(abs(json.loads(run("evaluate", "points", "--data", "px.npy", "--targets", "py.npy")[0])["loss"] - answer["loss"]) < 1e-6, ".npy and .csv differ")

# --- mistakes: one line, exit code 2 ---
train = ("train", arch, "--data", data)
refused("--resume", *train, "--out", "run")
refused("none", *train, "--out", "nowhere", "--resume")
check(not (work / "nowhere").exists(), "a folder was left behind")
refused("run: /train/epochs: expected 60, as this run began (architecture.json), found 61", "train", arch, "--data", data, "--out", "run", "--resume", "--train.epochs", 61)
narrow = write("narrow.toml", REGRESSION.replace("dim = 8", "dim = 4"))
refused("run: /train/lr: expected 0.01, as this run began (architecture.json), found 0.1", "train", narrow, "--data", data, "--out", "run", "--resume", "--train.epochs", 60, "--train.lr", 0.1)
refused("run: /dim: expected 8, as this run began (architecture.json), found 4", "train", narrow, "--data", data, "--out", "run", "--resume", "--train.epochs", 60)
refused("the samples that this run began with", "train", arch, "--data", data, "--validation", 0.2, "--out", "run", "--resume", "--train.epochs", 60)
# What a run stopped with is gone: its weights are not written over by a new run.
(work / "lost").mkdir()
for name in ("architecture.json", "metrics.csv", "run.json", "best.safetensors", "last.safetensors"):
    if (work / "run" / name).exists():
        (work / "lost" / name).write_bytes((work / "run" / name).read_bytes())
before = (work / "lost/best.safetensors").read_bytes()
refused("lost/optimiser.safetensors: expected the state", "train", arch, "--data", data, "--out", "lost", "--resume", "--train.epochs", 60)
check((work / "lost/best.safetensors").read_bytes() == before, "weights were written over")
(work / "mixed").mkdir()
(work / "mixed/best.safetensors").write_bytes((work / "points/best.safetensors").read_bytes())
(work / "mixed/architecture.json").write_bytes((work / "run/architecture.json").read_bytes())
refused("another", "predict", "mixed", "--data", data, "--out", "q.npz")
refused("weights", *train, "--out", "x1", "--init-from", "points")
check(not (work / "x1").exists(), "a refused start left a folder")
x = numpy.load(data)["x"]
y = numpy.load(data)["y"]
bad = x.copy()
bad[3, 2, 1] = numpy.nan
numpy.savez(work / "nan.npz", x=bad, y=y)
refused("nan", "train", arch, "--data", "nan.npz", "--out", "x2")
numpy.savez(work / "shape.npz", x=x[:, :5], y=y)
refused("x", "train", arch, "--data", "shape.npz", "--out", "x2")
refused("x", "predict", "run", "--data", "shape.npz", "--out", "q.npz")
refused("see sightline predict --help", "predict", "run", "--data", data, "--out", "q.npz", "--exakt")
refused("layer", "predict", "run", "--data", data, "--out", "q.npz", "--attention", 1)
refused("another file to write to", "predict", "run", "--data", data, "--out", "run/best.safetensors")
refused("expected a name that ends with .npz", "predict", "run", "--data", data, "--out", "q.npy")
refused("No space", "predict", "run", "--data", data, "--out", "/dev/full") if os.path.exists("/dev/full") else None
raw = (work / "run/best.safetensors").read_bytes()
(work / "greedy.safetensors").write_bytes(raw.replace(b'"outputs":"2"', b'"outputs":"9"'))
refused("fewer numbers", "predict", "greedy.safetensors", "--data", data, "--out", "q.npz")
(work / "changed.safetensors").write_bytes(raw.replace(b"softmax", b"laplace"))
refused("sha256", "predict", "changed.safetensors", "--data", data, "--out", "q.npz")
nothing = write("nothing.toml", 'tokens = 6\ndim = 3\n[mixer]\nkind = "tokenwise"\n[feedforward]\nkind = "none"\n')
unbounded = write("unbounded.toml", 'depth = "unbounded"\n' + REGRESSION)
refused('unbounded.toml: /depth: expected "listed" for a model that runs', "train", unbounded, "--data", data, "--out", "x3")
check(not (work / "x3").exists(), "a refused depth left a folder")
# Weights of such a file were made before it was refused: they are not run either.
text = (work / "run/architecture.json").read_text().strip()
before, after = json.dumps(text)[1:-1].encode(), json.dumps(text.replace('"depth":"listed"', '"depth":"unbounded"'))[1:-1].encode()
digests = [hashlib.sha256(json.loads(b'"' + t + b'"').encode()).hexdigest().encode() for t in (before, after)]
raw = (work / "run/best.safetensors").read_bytes().replace(before, after).replace(*digests)
header = struct.unpack("<Q", raw[:8])[0] + len(after) - len(before)
(work / "unbounded.safetensors").write_bytes(struct.pack("<Q", header) + raw[8:])
for line in (("predict", "--out", "q.npz"), ("predict", "--out", "q.npz", "--exact"), ("evaluate",)):
    refused("unbounded.safetensors: /depth: expected", line[0], "unbounded.safetensors", "--data", data, *line[1:])
refused("something to train", "train", nothing, "--data", data, "--out", "x3")
refused("--train.lr: expected a number > 0, found 0", *train, "--out", "x3", "--train.lr", 0)
cuda = subprocess.run([command, *map(str, train), "--out", "cuda", "--device", "cuda", "--train.steps", "1"], cwd=work, capture_output=True, text=True)
check(cuda.returncode == 0 or (cuda.returncode == 2 and "sightline: --device: expected cpu (this LibTorch has no CUDA, or finds no device), found cuda" in cuda.stderr),
      f"--device cuda: {cuda.returncode} {cuda.stderr!r}")
refused("optimiser", *train, "--out", "x3", "--train.optimiser", "adamm")
refused("metadata", "predict", write("empty.safetensors", "\x02\0\0\0\0\0\0\0{}"), "--data", data, "--out", "q.npz")
_, text = run(*train, "--out", "x4", "--train.lr", 1e30, "--train.optimiser", "sgd", "--train.schedule", "constant", "--train.clip", 1e30, "--train.warmup", 0, code=2)
check("loss became" in text and "is kept" in text and "-nan" not in text, f"a loss that is no number: {text!r}")
check(json.loads((work / "x4/run.json").read_text())["status"] == "failed", "run.json speaks of a run that ended in an error as running")
values = read_weights(work / "x4/optimiser.safetensors")[0]["values"]
check(numpy.isfinite(values).all(), "the checkpoint holds what broke")

# --- a disk that is full ---
os.makedirs(work / "small")
mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(work / "small")], capture_output=True).returncode == 0
if mounted:
    try:
        refused("No space", *train, "--out", "small/run", "--checkpoint-seconds", 0)
        check(numpy.isfinite(read_weights(work / "small/run/optimiser.safetensors")[0]["values"]).all(), "the checkpoint before the disk was full is gone")
    finally:
        subprocess.run(["umount", str(work / "small")], check=True)
else:
    print("SKIPPED: a full disk (mounting a small one needs root)")

# --- Ctrl-C ---
process = subprocess.Popen([command, *map(str, train), "--out", "stopped", "--train.epochs", "100000"], cwd=work, stderr=subprocess.PIPE, text=True)
while not (work / "stopped/metrics.csv").exists() or (work / "stopped/metrics.csv").stat().st_size < 200:
    time.sleep(0.05)
process.send_signal(signal.SIGINT)
text = process.communicate(timeout=600)[1]
check(process.returncode == 130 and "--resume" in text, f"interrupt: {process.returncode} {text!r}")
step = int(read_weights(work / "stopped/optimiser.safetensors")[1]["step"])
check(step > 0, "no checkpoint after an interrupt")
finish()
