"""What the tests of training share: running the command, small data sets, reading weights. numpy only."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy

command = str(pathlib.Path(sys.argv[1]).resolve())
folder = tempfile.TemporaryDirectory(prefix="sightline-train-")
work = pathlib.Path(folder.name)
faults = []


def check(condition, words):
    if not condition:
        faults.append(words)
        print("FAULT:", words, flush=True)


def run(*arguments, code=0, env=None, timeout=600):
    """Runs the command; anything but the wanted exit code is a fault. Returns (stdout, stderr)."""
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, cwd=work,
                          env={**os.environ, **(env or {})})
    check(done.returncode == code, f"{' '.join(map(str, arguments))}: exit code {done.returncode}, not {code}: {done.stderr.strip()[-500:]}")
    return done.stdout, done.stderr


def refused(words, *arguments, env=None):
    """Exit code 2 and one line that holds these words."""
    _, errors = run(*arguments, code=2, env=env)
    lines = [line for line in errors.splitlines() if line.startswith("sightline: ")]
    check(len(lines) == 1 and words in lines[0], f"{' '.join(map(str, arguments))}: expected one line with \"{words}\", found {errors!r}")


def write(name, text):
    path = work / name
    path.write_text(text)
    return path


def read_weights(path):
    """(name -> array, metadata) of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = numpy.frombuffer(data[8 + size + begin:8 + size + end], types[entry["dtype"]]).reshape(entry["shape"])
    return arrays, metadata


def finish():
    folder.cleanup()
    print(f"{len(faults)} faults")
    sys.exit(bool(faults))


def make_regression(name="regression.npz", samples=96, tokens=6, width=3, outputs=2, seed=0, **more):
    random = numpy.random.default_rng(seed)
    x = random.standard_normal((samples, tokens, width))
    y = numpy.stack([x.mean(1, keepdims=True)[..., 0] + 0 * x[..., 0], numpy.sin(x[..., 1])], -1)[..., :outputs]
    numpy.savez(work / name, x=x, y=y, **more)
    return work / name


REGRESSION = """tokens = 6
dim = 8
[input]
embedding = "linear"
dim = 3
[mixer]
heads = 2
[norm]
kind = "layernorm"
[output]
head = "linear"
[train]
epochs = 6
batch = 16
lr = 0.01
"""
