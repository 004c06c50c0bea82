#!/usr/bin/env python3
"""predict --exact: permuting the tokens by an element of the layout's group permutes the outputs bit for bit; pooled outputs stay.
usage: check_exact.py COMMAND [--all]      --all: every case in both precisions"""
from common import *

random = numpy.random.default_rng(5)
CASES = {
    # name: (architecture, generators as permutations sigma: token i goes to place sigma[i])
    "ring": ('tokens = 12\ndim = 8\n[mixer]\nheads = 2\npattern = { kind = "ring", radius = 2 }\n[norm]\nkind = "layernorm"\n[feedforward]\nactivation = "gelu"\n[[layer]]\nrepeat = 2\n',
             [[(i + 1) % 12 for i in range(12)], [(-i) % 12 for i in range(12)]]),
    "full, gaussian, registers": ('tokens = 7\ndim = 8\n[input]\nregisters = ["a", "b"]\nembedding = "mlp"\ndim = 8\n[mixer]\nkernel = "gaussian"\nheads = 4\nsink = true\n[norm]\nkind = "rmsnorm"\nplace = "post"\n'
                                  '[feedforward]\nkind = "glu"\nactivation = "silu"\n', [list(random.permutation(7)) for _ in range(3)]),
    "blocks, moe": ('tokens = 9\ndim = 6\n[mixer]\npattern = { kind = "blocks", size = 3 }\n[feedforward]\nkind = "moe"\nexperts = 3\ntop_k = 2\nactivation = "tanh"\n',
                    [[1, 2, 0, 3, 4, 5, 6, 7, 8], [3, 4, 5, 6, 7, 8, 0, 1, 2]]),
    "convolution": ('tokens = 8\ndim = 5\n[mixer]\nkind = "convolution"\ntaps = [0, 1, 3]\n[feedforward]\nactivation = "softplus"\n[[layer]]\nrepeat = 2\n',
                    [[(i + 3) % 8 for i in range(8)]]),
    "torus, mean": ('tokens = 12\ndim = 4\n[mixer]\nkind = "mean"\npattern = { kind = "grid", shape = [3, 4], window = [1, 1], wrap = true }\n',
                    [[(i // 4 + 1) % 3 * 4 + i % 4 for i in range(12)], [i // 4 * 4 + (i % 4 + 1) % 4 for i in range(12)]]),
    "linformer over blocks": ('tokens = 6\ndim = 4\n[mixer]\nkind = "linformer"\nprojections = { blocks = [[0,1,2],[3,4,5]] }\n', [[1, 2, 0, 3, 4, 5], [3, 4, 5, 0, 1, 2]]),
    "bias mixer": ('tokens = 6\ndim = 4\n[mixer]\nkind = "bias"\nactivation = "sigmoid"\npattern = { kind = "ring", radius = 1 }\n', [[(i + 1) % 6 for i in range(6)]]),
}
differ = 0
for number, (name, (text, generators)) in enumerate(CASES.items()):
    a = text.split("dim = ")
    tokens, width = int(a[0].split("=")[1]), int(a[1].split("\n")[0])
    forms = (("float32", "none"), ("float64", "mean"))
    for dtype, pool in forms if "--all" in sys.argv else [forms[number % 2]]:
        out = f"run{number}{dtype}"
        arch = write(f"{out}.toml", text + f'[output]\nhead = "linear"\npool = "{pool}"\n[train]\nsteps = 3\nlr = 0.05\ndtype = "{dtype}"\n')
        x = random.standard_normal((6, tokens, width)) * 2
        numpy.savez(work / "x.npz", x=x, y=random.standard_normal((6, 2) if pool == "mean" else (6, tokens, 2)))
        run("train", arch, "--data", "x.npz", "--out", out)
        # All moved copies in one file; the second pass runs with more threads and other batches.
        copies = [x]
        for sigma in generators:
            copies.append(numpy.empty_like(x))
            copies[-1][:, sigma] = x
        numpy.savez(work / "moved.npz", x=numpy.concatenate(copies))
        run("predict", out, "--data", "moved.npz", "--out", "p.npz", "--exact", "--threads", 1, "--batch", 64)
        run("predict", out, "--data", "moved.npz", "--out", "p3.npz", "--exact", "--threads", 3, "--batch", 5)
        run("predict", out, "--data", "moved.npz", "--out", "plain.npz")
        exact, again, plain = (numpy.split(numpy.load(work / f)["y"], len(copies)) for f in ("p.npz", "p3.npz", "plain.npz"))
        bound = 1e-5 if dtype == "float32" else 1e-11
        check(numpy.allclose(exact[0], plain[0], rtol=bound, atol=bound), f"{name}: exact mode computes another function")
        check(all(numpy.array_equal(a, b) for a, b in zip(exact, again)), f"{name}: threads or batches change bits")
        for sigma, there, ordinary in zip(generators, exact[1:], plain[1:]):
            back = there if pool == "mean" else there[:, sigma]
            check(numpy.array_equal(back.view(numpy.uint8), exact[0].view(numpy.uint8)), f"{name}, {dtype}, pool {pool}: {int((back != exact[0]).sum())} of {back.size} outputs differ")
            differ += int(((ordinary if pool == "mean" else ordinary[:, sigma]) != plain[0]).sum())
check(differ > 0, "without --exact nothing differs either: the test shows nothing")
print(f"without --exact {differ} outputs differ")
finish()
