#!/usr/bin/env python3
"""approximate --method mlp as users run it: the saved model, predict, certify, a kill and --resume, errors."""
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
from common import check, command, finish, numpy, refused, run, work

words = ["approximate", "expr:norm2(x)*x + sum(y)", "--method", "mlp", "--tokens", 4, "--dim", 2, "--latent", 3, "--width", 16, "--samples", 500, "--test", 200]
out = run(*words, "--steps", 150, "--save", "m.safetensors", "--json", code=1)[0]
answer = json.loads(out)
check(answer["latent"] == 3 and answer["equivariance"] == 0 and 0 < answer["relative_l2"] < 0.5 and answer["blame"], f"{answer}")
check("CERTIFIED" in run("certify", "m.toml")[0], "its architecture is certified")
random = numpy.random.default_rng(0)
x = random.uniform(-1, 1, (300, 4, 2))
y = (x**2).sum(2, keepdims=True) * x + x.sum(1, keepdims=True)
numpy.savez(work / "d.npz", x=x, y=y)
run("predict", "m.safetensors", "--data", "d.npz", "--out", "p.npz")
p = numpy.load(work / "p.npz")["y"]
rms = numpy.sqrt(((p - y) ** 2).mean())
check(abs(rms / answer["l2"] - 1) < 0.2, f"predict: {rms}, approximate said {answer['l2']}")
s = random.permutation(4)
numpy.savez(work / "moved.npz", x=x[:, s])
run("predict", "m.safetensors", "--data", "moved.npz", "--out", "q.npz")
check(numpy.array_equal(numpy.load(work / "q.npz")["y"], p[:, s]), "moved tokens, moved predictions, bit for bit")
check(abs(json.loads(run("evaluate", "m.safetensors", "--data", "d.npz")[0])["rmse"] - rms) < 1e-12, "evaluate")
text = run(*words, "--steps", 30, code=1)[0]
check("the wanted error 0.01 is missed" in text, text)
check("error" in run(*words, "--steps", 100, "--error", 2)[0], "a wish that is met")

# Stopped, and gone on with: the same bytes as in one go.
whole = [*words, "--steps", 3000, "--threads", 1]
part = work / "stopped.safetensors.part"
process = subprocess.Popen([command, *map(str, whole), "--save", "stopped.safetensors", "--checkpoint-seconds", "0"], cwd=work, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
while process.poll() is None and not part.exists():
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
process.communicate(timeout=120)
check(process.returncode == 130 and part.exists(), f"Ctrl-C: exit {process.returncode}, no checkpoint")
text = run(*whole, "--save", "stopped.safetensors", "--resume", "--time", 0.01, code=3)[1]
check("stopped.safetensors.part holds what was done, --resume goes on" in text, text)
run(*whole, "--save", "stopped.safetensors", "--resume", code=1)
run(*whole, "--save", "whole.safetensors", code=1)
check((work / "stopped.safetensors").read_bytes() == (work / "whole.safetensors").read_bytes(), "resumed, other bytes")
check(not part.exists(), "the checkpoint stays behind")
refused("not expected", *words, "--degree", 3)
refused("belong to --method mlp", "approximate", "expr:sum(y)", "--latent", 3)
refused("--resume: expected --save", *words, "--resume")
refused("expected finite numbers", "approximate", "expr:log(x)", "--method", "mlp")
(work / "mine.toml").write_text("tokens = 4\ndim = 2\n")
refused("mine.toml, where its architecture goes, holds something else", *words, "--steps", 5, "--save", "mine.safetensors")
check((work / "mine.toml").read_text() == "tokens = 4\ndim = 2\n" and not (work / "mine.safetensors").exists(), "a refusal wrote something")
finish()
