"""The whole command: `certify --save` and `check` on structured layouts of 2^10 to 2^20 tokens, each in a process of its own.

Processor seconds and peak memory are those of the process; `search` is what certify takes beyond its own check, `check / search` the
ratio of the goal (at most 0.1, or the time to read the certificate twice). A run that needs more than --limit seconds is a dash.

usage: certificates.py SIGHTLINE [--only TEXT] [--sizes 10,12,..] [--limit SECONDS] [--docs]"""

import argparse
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GLOBALS = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]"
# SQRT: the width of a square, SUMMARY a 32nd of it, SPREAD 16 tokens spread over all. More than one pattern: layers in turn.
LAYOUTS = {
    "full": ['{ kind = "full" }'],
    "causal": ['{ kind = "full", causal = true }'],
    "window, radius 256": ['{ kind = "window", radius = 256 }'],
    "dilated window, radius 256": ['{ kind = "window", radius = 256, dilation = 4 }'],
    "ring, radius 8": ['{ kind = "ring", radius = 8 }'],
    "Longformer, radius 256, 16 globals": ['{ kind = "window", radius = 256, global = %s }' % GLOBALS],
    "Longformer, its globals spread": ['{ kind = "window", radius = 256, global = SPREAD }'],
    "dilated Longformer, radius 8": ['{ kind = "window", radius = 8, dilation = 4, global = %s }' % GLOBALS],
    "BigBird, blocks of 64": ['{ kind = "bigbird", block = 64, random = 3, seed = 0 }'],
    "BigBird, 24 seeds": ['{ kind = "bigbird", block = 64, random = 3, globals = 2, seed = %d }' % k for k in range(24)],
    "blocks of 64, shifted": ['{ kind = "blocks", size = 64 }', '{ kind = "shifted_blocks", size = 64, shift = 32 }'],
    "Swin, windows of 7, shifted": ['{ kind = "grid", shape = [SQRT, SQRT], blocks = [7, 7] }', '{ kind = "grid", shape = [SQRT, SQRT], blocks = [7, 7], shift = [3, 3] }'],
    "Swin, windows of 8, shifted": ['{ kind = "grid", shape = [SQRT, SQRT], blocks = [8, 8] }', '{ kind = "grid", shape = [SQRT, SQRT], blocks = [8, 8], shift = [4, 4] }'],
    "windows of radius 3 on a grid": ['{ kind = "grid", shape = [SQRT, SQRT], window = [3, 3] }'],
    "axial": ['{ kind = "grid", shape = [SQRT, SQRT], rows = true }', '{ kind = "grid", shape = [SQRT, SQRT], columns = true }'],
    "star": ['{ kind = "star" }'],
    "strided, causal": ['{ kind = "strided", stride = SQRT, causal = true }'],
    "strided both ways": ['{ kind = "strided", stride = SQRT }'],
    "fixed, causal": ['{ kind = "fixed", stride = SQRT, summary = SUMMARY, causal = true }'],
    "fixed both ways": ['{ kind = "fixed", stride = SQRT, summary = SUMMARY }'],
    "butterfly": ["BUTTERFLY"],
}


def architecture(name, n):
    root = 1 << ((n.bit_length() - 1) // 2)
    patterns = LAYOUTS[name]
    if patterns == ["BUTTERFLY"]:
        patterns = ['{ kind = "butterfly", distance = %d }' % (1 << k) for k in range(n.bit_length() - 1)]
    names = {"SQRT": str(root), "SUMMARY": str(max(1, root // 32)), "SPREAD": str([g * n // 16 for g in range(16)])}
    head = f"tokens = {n}\ndim = 64\n" + ('[input]\nregisters = ["hub"]\n' if name == "star" else "")
    layer = "[[layer]]\npattern = {}\n"
    # One pattern is repeated, a few take turns, many stand once.
    text = layer.format(patterns[0]) + "repeat = 8\n" if len(patterns) == 1 else "".join(map(layer.format, patterns)) * max(1, 8 // len(patterns))
    for word, value in names.items():
        text = text.replace(word, value)
    return head + text


def run(arguments, limit):
    """(user + system seconds, peak MB) of a process, or None beyond the limit."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1)))
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: exit code {process.returncode}: {error.decode().strip()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sightline")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="10,12,14,16,18,20")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--docs", action="store_true", help="write the table to docs/certificate-cost.md")
    options = parser.parse_args()
    rows, lines = [], ["| layout | n | certify, s | memory, MB | certificate, kB | check, s | memory, MB | check / search |", "|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines))
    with tempfile.TemporaryDirectory() as folder:
        for name in LAYOUTS:
            if options.only not in name:
                continue
            for log in map(int, options.sizes.split(",")):
                n, file, saved = 1 << log, f"{folder}/a.toml", f"{folder}/c.json"
                pathlib.Path(file).write_text(architecture(name, n))
                certify = run([options.sightline, "certify", file, "--save", saved, "--threads", "1"], options.limit)
                if certify is None:
                    lines.append(f"| {name} | 2^{log} | - | | | | | |")
                    print(lines[-1], flush=True)
                    break
                size = os.path.getsize(saved) / 1000
                check = run([options.sightline, "check", saved, "--threads", "1"], options.limit)
                search = max(certify[0] - check[0], 1e-3)
                rows.append({"layout": name, "tokens": n, "certify_s": certify[0], "certify_mb": certify[1], "certificate_kb": size,
                             "check_s": check[0], "check_mb": check[1]})
                lines.append(f"| {name} | 2^{log} | {certify[0]:.2f} | {certify[1]:.0f} | {size:,.0f} | {check[0]:.2f} | {check[1]:.0f} | {check[0] / search:.2f} |")
                print(lines[-1], flush=True)
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    (out / "certificates.json").write_text(json.dumps({"when": time.strftime("%Y-%m-%d"), "rows": rows}, indent=1) + "\n")
    if options.docs:
        (ROOT / "docs" / "certificate-cost.md").write_text(
            f"# What a certificate costs\n\n`./do bench certificates --docs --sizes {options.sizes} --limit {options.limit}` writes this page: processor seconds of one process, one thread; " + "`-`: more than "
            f"{options.limit} s.\n`search` is what certify takes beyond its own check.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
