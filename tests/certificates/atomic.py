#!/usr/bin/env python3
"""A certificate is written whole or not at all: ./atomic.py COMMAND [--moments N]

Killed before every system call of the write, and at N moments spread over the whole run, `certify --save` leaves the target absent,
whole and old, or whole and new; the next run removes what was left. A full disk and a folder that cannot be written: one line, exit 2."""
import argparse
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

ARCHITECTURE = """tokens = 512
dim = 16
mixer.pattern = { kind = "window", radius = 3, global = [0] }
depth = "unbounded"
"""


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def parts(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


class Case:
    def __init__(self, command, folder):
        self.command, self.folder = command, pathlib.Path(folder)
        self.file, self.target = self.folder / "a.toml", self.folder / "a.json"
        self.file.write_text(ARCHITECTURE)
        self.new = None

    def run(self, target=None, environment=None, **options):
        return subprocess.run([self.command, "certify", str(self.file), "--save", str(target or self.target)], capture_output=True, text=True,
                              env={**os.environ, **(environment or {})}, timeout=120, **options)

    def whole(self, old):
        """The target is absent (when there was none), whole and old, or whole and new."""
        if not self.target.exists():
            expect(old is None, "the old file has disappeared")
            return
        found = self.target.read_bytes()
        expect(found in (old, self.new), f"the target holds {len(found)} bytes, neither the old file nor the new one")


def check_steps(case):
    """Dies before the k-th system call of the write phase, for every k, with and without an old file."""
    for old in (None, b"old"):
        step = 0
        while True:
            step += 1
            expect(step < 100, "the write never ends")
            case.target.unlink(missing_ok=True)
            if old is not None:
                case.target.write_bytes(old)
            run = case.run(environment={"SIGHTLINE_TEST_KILL_AT": str(step)})
            case.whole(old)
            if run.returncode == 0:
                break
            expect(run.returncode == -signal.SIGKILL, f"step {step}: exit {run.returncode}: {run.stderr}")
            expect(case.run().returncode == 0, "the run after a killed one fails")
            expect(case.target.read_bytes() == case.new, "the run after a killed one writes something else")
            expect(not parts(case.folder), "the next run leaves what the killed one left")
        expect(step >= 7, f"only {step} steps: is the hook still there?")


def check_moments(case, moments):
    start = time.monotonic()
    expect(case.run().returncode == 0, "the plain run fails")
    length = time.monotonic() - start
    for k in range(moments):
        old = None if k % 2 else b"old"
        case.target.unlink(missing_ok=True)
        if old is not None:
            case.target.write_bytes(old)
        process = subprocess.Popen([case.command, "certify", str(case.file), "--save", str(case.target)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(length * 1.1 * (k + 0.5) / moments)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        case.whole(old)
    expect(case.run().returncode == 0 and not parts(case.folder), "leftovers stay after a later run")


def check_refusals(case, folder):
    """One line on standard error, exit 2, nothing half-written."""
    def refused(run, what):
        expect(run.returncode == 2, f"{what}: exit {run.returncode}, expected 2; {run.stderr}")
        expect(len(run.stderr.splitlines()) == 1, f"{what}: expected one line, found {run.stderr!r}")
        expect(not parts(folder), f"{what}: a part is left")

    case.target.write_bytes(b"old")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    refused(case.run(preexec_fn=small_files), "a file that may not grow")
    expect(case.target.read_bytes() == b"old", "the old file is gone")
    refused(case.run(target="/proc/sightline/a.json"), "a folder that cannot be written")
    refused(case.run(target=folder), "a folder as the target")
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)], capture_output=True).returncode == 0:
        try:
            (disk / "filler").write_bytes(b"x" * 4096)
            refused(case.run(target=disk / "a.json"), "a full disk")
            expect(os.listdir(disk) == ["filler"], "something is left on the full disk")
        finally:
            subprocess.run(["umount", str(disk)], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("--moments", type=int, default=40)
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            case = Case(options.command, folder)
            run = case.run()
            expect(run.returncode == 0, f"exit {run.returncode}: {run.stderr}")
            case.new = case.target.read_bytes()
            check_steps(case)
            check_moments(case, options.moments)
            check_refusals(case, folder)
    except Failure as failure:
        print(f"atomic: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
