#!/usr/bin/env python3
"""./do bench mixer: token mixers beside PyTorch and beside what the machine can do. Writes build/bench/mixer.json.

Every figure is the fastest of several repetitions, peers and ours in turn in one run. What differs from the reference is not timed.
  --quick           less than two minutes of processor time without peers: 4,096 tokens on two threads alone, kernels and exact mode checked at 260 tokens (else 700), a quarter
                    of a second per figure. Left out: one thread and other lengths of the layouts, time over dense of layouts but three, kernels but six,
                    linear time but a Performer's on the full pattern, biases but two, weights per pair of tokens, top_k of causal rows, memory but of three layouts, compiling full
                    and causal, compiled peers; exact mode at 1,024 tokens, kernels and time over dense on 4 heads instead of 12
  --only TEXT       cases whose name contains TEXT
  --venv FOLDER     a virtual environment that has torch==2.13.0 (default: build/bench/venv, made when missing; or SIGHTLINE_BENCH_VENV)
  --no-peers        ours alone
  --seconds S       time for each figure (1; quick: 0.25)
  --processor-time  processor time on one thread, for machines that others use as well, of what is measured and of the machine's peak and bandwidth; PyTorch and two
                    threads are left out
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYOUTS = ["full", "causal", "window", "longformer", "bigbird", "swin64", "swin49", "ring", "star", "random32"]
SHARE_GOALS = {"bigbird": 0.6, "window": 0.6, "longformer": 0.6, "swin64": 0.6, "swin49": 0.45, "random32": 0.1}
BACKWARD_GOALS = {"bigbird": 0.5, "window": 0.5, "longformer": 0.5, "swin64": 0.5, "swin49": 0.5, "full": 0.5, "causal": 0.5}
WIDTH = 64


class Bench:
    def __init__(self, options):
        self.options = options
        self.rows = []
        self.wrong = False
        self.cache = {}
        self.out = ROOT / "build/bench/mixer.json"
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.machine = self.run(["machine"])
        self.machine["peak"][1] = max(self.machine["peak"][1], self.machine["peak"][0])
        for index, threads in enumerate((1, 2)):
            print(f"machine, {threads} threads: {self.machine['peak'][index] / 1e9:.0f} GFLOP/s fused multiply-add, "
                  f"triad {self.machine['triad'][index] / 1e9:.1f} GB/s", flush=True)

    def run(self, words):
        text = subprocess.run([self.options.binary, *words], stdout=subprocess.PIPE, check=True, text=True).stdout
        return json.loads(text)

    @staticmethod
    def key(layout, n, heads, threads, direction="backward", kernel="softmax", dtype="float32", mode="plain", what="time"):
        return (layout, n, heads, threads, direction, kernel, dtype, mode, what)

    def ours(self, *words, checked=700, **named):
        key = self.key(*words, **named)
        if key not in self.cache:
            layout, n, heads, threads, direction, kernel, dtype, mode, what = key
            if self.options.quick and (kernel != "softmax" or mode == "exact"):
                checked = min(checked, 260)
            self.cache[key] = self.run([what, layout, str(n), str(heads), str(threads), kernel, dtype, mode, direction, str(self.options.seconds), str(checked)])
        return self.cache[key]

    def beside(self, plain, other):
        """Two measurements by turns (each the words that ours() takes, as a dict): on a machine that others use as well a ratio of two minutes says
        little. The least of every figure."""
        found = []
        for turn in range(1 if self.options.quick else 3):
            pair = []
            for words in (plain, other):
                self.cache.pop(self.key(**words), None)
                pair.append(self.ours(**words, checked=700 if turn == 0 else 140))
            wrong = [result for result in pair if "refused" in result]
            if wrong:
                return pair[0], wrong[0]
            found.append(pair)
        return [{name: min(pair[side][name] for pair in found) if name.endswith("_seconds") else value for name, value in found[0][side].items()}
                for side in (0, 1)]

    def peers(self, layout, n, heads, threads, ways):
        key = ("peers", layout, n, heads, threads, ways)
        if self.options.no_peers or not ways:
            return []
        if key not in self.cache:
            done = subprocess.run([str(self.options.venv / "bin/python"), str(ROOT / "benchmarks/mixer_peers.py"), layout, str(n), str(heads), str(threads),
                                   ways, str(self.options.seconds)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env=os.environ | {"THP_MEM_ALLOC_ENABLE": "1"})  # large pages, as ours has (take_pages)
            self.cache[key] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return self.cache[key]

    def wants(self, case):
        return self.options.only in case

    def add(self, case, figure, unit, peer=None, ratio=None, goal=None, met=None, remark=""):
        if not self.wants(case):
            return
        row = {"case": case, "figure": figure, "unit": unit, "peer": peer, "ratio": ratio, "goal": goal, "met": met}
        if remark:
            row["remark"] = remark
        self.rows.append(row)
        self.out.write_text(json.dumps(self.rows, indent=1) + "\n")
        show = lambda x: "-" if x is None else f"{x:.4g}"
        print(f"{case:58} {show(figure):>9} {unit:22} peer {show(peer):>8} ratio {show(ratio):>7}  {goal or '':34} "
              f"{'' if met is None else 'met' if met else 'MISSED'} {remark}", flush=True)

    def refused(self, case, result):
        if "refused" not in result:
            return False
        self.wrong = True
        self.add(case, None, "not timed", goal="equals the reference", met=False, remark=result["refused"])
        return True

    # Speeds.

    def speeds(self, layout, n, heads, threads):
        name = f"{layout} n={n} heads={heads} threads={threads}"
        if not any(self.wants(f"{name} {part}") for part in ("forward", "backward", "forward+backward", "triad", "cost per arc")):
            return
        if not self.options.quick:
            again = self.run(["machine"])  # other work on the machine only lowers it: the highest counts
            for what in ("peak", "triad"):
                self.machine[what] = [max(a, b) for a, b in zip(self.machine[what], again[what])]
        result = self.ours(layout, n, heads, threads)
        if self.refused(name, result):
            return
        peak, triad = self.machine["peak"][threads - 1], self.machine["triad"][threads - 1]
        forward, backward, pairs = result["forward_seconds"], result["backward_seconds"], result["pairs"]
        ways = "sdpa"
        if layout not in ("full", "causal") and n <= 4200:
            ways += ",mask"
        if n <= 4200 and threads == 2 and not self.options.quick and layout != "random32":
            ways += ",flex64,flex128"
        ways += ",backward"
        found = self.peers(layout, n, heads, threads, ways)
        forwards = {p["way"]: p["forward_seconds"] for p in found if "forward_seconds" in p}
        boths = {p["way"]: p["both_seconds"] for p in found if "both_seconds" in p}
        best = min(forwards, key=forwards.get) if forwards else None
        others = "; ".join(f"{way} {1e3 * t:.3g} ms" for way, t in forwards.items())
        failed = "; ".join(f"{p['way']}: {p['failed']}" for p in found if "failed" in p)
        share = pairs * 4 * WIDTH / forward / peak
        peer_share = pairs * 4 * WIDTH / forwards[best] / peak if best else None
        ratio = share / peer_share if peer_share else None
        goal, met = None, None
        if layout in SHARE_GOALS:
            goal, met = f">= {SHARE_GOALS[layout]} of peak", share >= SHARE_GOALS[layout]
        elif layout in ("full", "causal") and best:
            goal, met = "at least SDPA's speed", ratio >= 1
        elif layout in ("ring", "star") and any(w.startswith("Flex") for w in forwards):
            flex = min(t for w, t in forwards.items() if w.startswith("Flex"))
            goal, met = ">= 20 x FlexAttention", flex / forward >= 20
            others += f"; {flex / forward:.0f} x FlexAttention"
        self.add(f"{name} forward", share, "of FMA peak", peer_share, ratio, goal, met, f"{1e3 * forward:.4g} ms; {others} {failed}".strip())
        if layout in ("ring", "star"):
            part = 4 * n * WIDTH * 4 * heads / forward / triad
            self.add(f"{name} triad", part, "of triad bandwidth", goal=">= 0.5", met=part >= 0.5)
            self.add(f"{name} backward", backward / forward, "x forward", goal="<= 2.5", met=backward <= 2.5 * forward, remark=f"{1e3 * backward:.4g} ms")
        else:
            share = pairs * 10 * WIDTH / backward / peak
            goal = BACKWARD_GOALS.get(layout)
            self.add(f"{name} backward", share, "of FMA peak", goal=f">= {goal} of peak" if goal else None, met=share >= goal if goal else None,
                     remark=f"{1e3 * backward:.4g} ms")
        if boths:
            way = min(boths, key=boths.get)
            times = boths[way] / (forward + backward)
            masked = boths.get("SDPA with mask")
            goal, met = None, None
            if layout in ("longformer", "bigbird") and masked:
                times, way = masked / (forward + backward), "SDPA with mask"
                goal, met = ">= 6 x SDPA with mask", times >= 6
            self.add(f"{name} forward+backward", 1e3 * (forward + backward), "ms", 1e3 * boths[way], times, goal, met, f"ratio: times faster than {way}")

    def costs(self, n, heads, threads):
        layouts = ("causal", "window", "bigbird") if self.options.quick else LAYOUTS[1:]
        if not any(self.wants(f"{layout} n={n} heads={heads} threads={threads} time over density x dense") for layout in layouts):
            return
        dense = self.ours("full", n, heads, threads)
        if "refused" in dense:
            return
        for layout in layouts:
            case = f"{layout} n={n} heads={heads} threads={threads} time over density x dense"
            if not self.wants(case):
                continue
            result = self.ours(layout, n, heads, threads)
            if "refused" in result:
                continue
            density = result["pairs"] / dense["pairs"]
            relative = result["forward_seconds"] / dense["forward_seconds"]
            keys = density * n
            most = 1.15 if keys >= 512 or layout in ("bigbird", "swin64", "swin49") else 1.6 if keys >= 64 else None
            met = relative <= 1.03 and (most is None or relative / density <= most)
            self.add(case, relative / density, "x", goal=f"<= {most}, time <= 1.03 x dense" if most else "time <= 1.03 x dense", met=met,
                     remark=f"{relative:.3f} x dense, {keys:.0f} keys per row")

    def kernels(self, layout, n, heads, threads):
        same = {"layout": layout, "n": n, "heads": heads, "threads": threads}
        few = ("gaussian", "relu2", "performer:64", "exponential-sum", "expr:sigmoid(dot(x,y)/8)", "expr:exp(dot(tanh(x),y)/8)")
        for kernel in few if self.options.quick else ("gaussian", "cauchy", "relu2", "elu1", "cosine", "laplace", "exponential-sum", "performer:64", "performer:256",
                       "expr:exp(dot(x,y)/8)", "expr:sigmoid(dot(x,y)/8)", "expr:cosh(dot(x,y)/8)", "expr:(1+norm2(x-y))^-0.5",
                       "expr:exp(dot(tanh(x),y)/8)", "expr:exp(dot(tanh(x),sin(y))/8)"):
            features = int(kernel.split(":")[1]) if kernel.startswith("performer") else 0
            most = 1.2 * (features + WIDTH) / (2 * WIDTH) if features else 1.2
            pair = None
            for direction in ("forward", "backward"):
                case = f"kernel {kernel} {layout} n={n} threads={threads} {direction}"
                if not self.wants(case):
                    continue
                plain, result = pair = pair or self.beside(same, same | {"kernel": kernel})
                if self.refused(case, result):
                    continue
                ratio = result[f"{direction}_seconds"] / plain[f"{direction}_seconds"]
                self.add(case, ratio, "x softmax", goal=f"<= {most:.3g}" + (" (1.2 (m + d) / 2d)" if features else ""), met=ratio <= most, remark=f"{1e3 * result[f'{direction}_seconds']:.4g} ms")

    def linear(self, layout, n, threads):
        """Performer in time linear in n beside softmax attention."""
        for kernel in ("performer:256", "exponential-sum")[:1 if self.options.quick else 2]:
            for direction in ("forward", "backward"):
                case = f"linear {kernel} {layout} n={n} threads={threads} {direction}"
                if not self.wants(case) or (direction == "backward" and n > 20000):
                    continue
                result = self.ours(layout, n, 1, threads, direction, kernel=kernel)
                if self.refused(case, result):
                    continue
                plain = self.ours(layout, n, 1, threads, direction)
                times = plain[f"{direction}_seconds"] / result[f"{direction}_seconds"]
                goal = ">= 10 x softmax" if layout == "full" and n == 65536 else None
                self.add(case, times, "x faster than softmax", goal=goal, met=times >= 10 if goal else None,
                         remark=f"{1e3 * result[f'{direction}_seconds']:.4g} ms")

    def aggregates(self, n, threads):
        """Sums, means and maxima over rows beside the reference at 512 tokens, in one run; then exact mode beside them."""
        for kind, width, most in (("convolution", 768, 1.05), ("linear", 64, 1.05), ("mean", 64, 1.1), ("max", 64, 1.05), ("ring", 64, 1.05), ("hub", 64, 2)):
            case = f"aggregate {kind} n={n} width={width} threads={threads}"
            if not self.wants(case) or (self.options.quick and kind == "linear"):
                continue
            words = ["aggregate", kind, str(n), str(width), str(threads), str(self.options.seconds)]
            result, exact = self.run(words), self.run(words + ["exact"])
            if self.refused(case, result) or self.refused(f"exact {case}", exact):
                continue
            for index, direction in enumerate(("forward", "backward")):
                time, other = result[f"{direction}_seconds"], exact[f"{direction}_seconds"]
                self.add(f"{case} {direction}", result["times_reference"][index], "x faster than reference", remark=f"{1e3 * time:.4g} ms")
                self.add(f"exact {case} {direction}", other / time, "x plain", goal=f"<= {most}", met=other <= most * time, remark=f"{1e3 * other:.4g} ms")

    def biases(self, n, heads, threads):
        """Learned biases of every colouring, alone and beside a register, on the full pattern: gradients of the biases with the others."""
        same = {"layout": "full", "n": n, "heads": heads, "threads": threads}
        for extra in ("offset", "registers=1+t5") if self.options.quick else ("offset", "t5", "grid", "registers=1", "registers=1+offset", "registers=1+t5", "registers=1+grid"):
            pair = None
            for direction in ("forward", "backward"):
                case = f"bias {extra} full n={n} threads={threads} {direction}"
                if not self.wants(case):
                    continue
                plain, result = pair = pair or self.beside(same, same | {"kernel": f"softmax+{extra}"})
                if self.refused(case, result):
                    continue
                ratio = result[f"{direction}_seconds"] / plain[f"{direction}_seconds"]
                self.add(case, ratio, "x without", goal="<= 1.2", met=ratio <= 1.2, remark=f"{1e3 * result[f'{direction}_seconds']:.4g} ms")

    def largest(self, layout, n, heads, threads, most):
        """The largest weights of every row: never slower than all of them."""
        pair = None
        same = {"layout": layout, "n": n, "heads": heads, "threads": threads}
        for direction in ("forward", "backward"):
            case = f"top_k={most} {layout} n={n} threads={threads} {direction}"
            if not self.wants(case):
                continue
            plain, result = pair = pair or self.beside(same, same | {"kernel": f"softmax+top_k={most}"})
            if self.refused(case, result):
                continue
            ratio = result[f"{direction}_seconds"] / plain[f"{direction}_seconds"]
            self.add(case, ratio, "x all weights", goal="<= 1.03", met=ratio <= 1.03, remark=f"{1e3 * result[f'{direction}_seconds']:.4g} ms")

    def rotation(self, n, heads, threads):
        case = f"rotate n={n} heads={heads} threads={threads}"
        if not self.wants(case):
            return
        result = self.run(["rotate", str(n), str(heads), str(threads), str(self.options.seconds)])
        if self.refused(case, result):
            return
        part = 2 * 4 * n * heads * WIDTH / result["forward_seconds"] / self.machine["triad"][threads - 1]
        self.add(case, part, "of triad bandwidth", goal=">= 0.5", met=part >= 0.5,
                 remark=f"{1e3 * result['forward_seconds']:.4g} ms, {result['times_reference']:.3g} x faster than reference")

    def exact(self, n, heads, threads):
        # The group of each layout: reflections, rotations, a grid's translations; all permutations, of blocks, of nothing; others.
        for layout, most, group in (("ring", 1.05, "dihedral"), ("wide-ring", 1.05, "dihedral"), ("wrapped", 1.05, "cyclic"), ("torus", 1.05, "torus"),
                                    ("full", 1.1, "symmetric"), ("swin64", 1.1, "blocks"), ("window", 1.05, "trivial"), ("star", 2, "stabiliser")):
            pair = None
            same = {"layout": layout, "n": n, "heads": heads, "threads": threads}
            for direction in ("forward", "backward"):
                case = f"exact {layout} n={n} threads={threads} {direction}"
                if not self.wants(case):
                    continue
                plain, result = pair = pair or self.beside(same, same | {"mode": "exact"})
                if self.refused(case, result):
                    continue
                ratio = result[f"{direction}_seconds"] / plain[f"{direction}_seconds"]
                self.add(case, ratio, "x plain", goal=f"<= {most} ({group})", met=ratio <= most, remark=f"{1e3 * result[f'{direction}_seconds']:.4g} ms")

    def memory(self, layout, n, heads, threads, kernel="softmax"):
        for direction in ("forward", "backward"):
            case = f"memory {'' if kernel == 'softmax' else kernel + ' '}{layout} n={n} heads={heads} threads={threads} {direction}"
            if not self.wants(case):
                continue
            result = self.ours(layout, n, heads, threads, direction, kernel=kernel, what="memory")
            most = result["output_bytes"] * 1.1 + 16e6
            self.add(case, result["peak_bytes"] / 1e6, "MB above inputs", goal=f"<= {most / 1e6:.1f} (outputs + 10 % + 16)", met=result["peak_bytes"] <= most,
                     remark=f"outputs {result['output_bytes'] / 1e6:.1f} MB")

    def compiling(self, n):
        for layout in LAYOUTS[2:] if self.options.quick else LAYOUTS:
            case = f"compile {layout} n={n}"
            if not self.wants(case):
                continue
            result = self.run(["memory", layout, str(n), "1", "1", "softmax", "float32", "plain", "forward", "0"]) if layout not in ("full", "causal") else None
            if result is None:
                result = self.ours(layout, n, 1, 2, "forward", what="memory")
            self.add(case, 1e3 * result["compile_seconds"], "ms", goal="<= 10", met=result["compile_seconds"] <= 0.01)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--venv", type=pathlib.Path, default=os.environ.get("SIGHTLINE_BENCH_VENV", ROOT / "build/bench/venv"))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--binary", default=str(ROOT / "build/release/benchmarks/bench_mixer"))
    options = parser.parse_args()
    options.venv = pathlib.Path(options.venv)
    options.seconds = options.seconds or (0.25 if options.quick else 1.0)
    if options.processor_time:
        options.no_peers = True
        os.environ["SIGHTLINE_BENCH_PROCESSOR_TIME"] = "1"
    try:
        os.nice(-10)
    except OSError:
        pass
    if not options.no_peers and not (options.venv / "bin/python").exists():
        print("making an environment with torch==2.13.0 (once)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(options.venv)], check=True)
        subprocess.run([str(options.venv / "bin/pip"), "install", "--quiet", "torch==2.13.0", "numpy"], check=True)
    bench = Bench(options)
    for threads in (1,) if options.processor_time else (2, 1):
        for layout in LAYOUTS:
            bench.speeds(layout, 4116 if layout == "swin49" else 4096, 12, threads)
        if options.quick:
            break
    bench.costs(4096, 4 if options.quick else 12, 1)
    bench.kernels("window", 4096, 4 if options.quick else 12, 1)
    bench.linear("full", 4096, 1)
    if not options.quick:
        bench.linear("causal", 4096, 1)
        bench.linear("full", 65536, 2)
    bench.aggregates(4096, 1)
    bench.rotation(4096, 12, 1)
    bench.biases(1024, 4, 1)
    bench.largest("full", 2048, 4, 1, 32)
    if not options.quick:
        bench.largest("causal", 2048, 4, 1, 32)
    bench.exact(1024 if options.quick else 2048, 2 if options.quick else 4, 1)
    for layout in ("window", "ring", "random32") if options.quick else ("full", "window", "bigbird", "ring", "random32"):
        bench.memory(layout, 4096, 12, 2)
    if not options.quick:
        bench.memory("window", 4096, 12, 2, "performer:256")
        for layout in ("window", "bigbird", "ring", "star", "random32"):
            bench.memory(layout, 65536, 1, 2)
            for threads in (2, 1):
                bench.speeds(layout, 65536, 1, threads)
        for n in (256, 1024, 16384):
            for layout in ("full", "window", "ring", "star"):
                for threads in (2, 1):
                    bench.speeds(layout, n, 12 if n < 4096 else 1, threads)
    bench.compiling(16384)
    missed = sum(row["met"] is False for row in bench.rows)
    print(f"{len(bench.rows)} rows, {sum(row['goal'] is not None for row in bench.rows)} goals, {missed} missed; {bench.out}")
    return 1 if bench.wrong else 0


sys.exit(main())
