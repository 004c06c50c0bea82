#!/usr/bin/env python3
"""Digits 0 to 8 seen along circles: 24 angles, each with the values at four radii. A cyclic layout is exactly equivariant, so
that turning the test digits changes nothing, bit for bit; a plain transformer with learned positions loses them.

    python3 examples/ring/run.py

(9 is left out: turned, it is a 6.) Training sees the digits upright only.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tasks

RADII, ANGLES = (0.8, 1.8, 2.8, 3.6), 24


def to_rings(images):
    """[N, 8, 8] -> [N, 24, 4]: bilinear values around the centre (3.5, 3.5), 0 outside."""
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    rings = np.empty((len(images), ANGLES, len(RADII)))
    for a in range(ANGLES):
        for k, radius in enumerate(RADII):
            y = 4.5 + radius * np.sin(2 * np.pi * a / ANGLES)
            x = 4.5 + radius * np.cos(2 * np.pi * a / ANGLES)
            i, j = int(y), int(x)
            v, u = y - i, x - j
            rings[:, a, k] = ((1 - v) * (1 - u) * padded[:, i, j] + (1 - v) * u * padded[:, i, j + 1] + v * (1 - u) * padded[:, i + 1, j] +
                              v * u * padded[:, i + 1, j + 1])
    return rings.astype(np.float32)


def main():
    tasks.need_sklearn()
    global np
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    arguments = tasks.parse_arguments(__doc__, "ring")
    here = pathlib.Path(__file__).parent
    tasks.certify(arguments.command, here / "cyclic.toml", order=str(ANGLES), name=f"C_{ANGLES}")
    print(f"certified: cyclic.toml approximates the functions of a ring that commute with its rotations (C_{ANGLES}), and no smaller group's")

    digits = load_digits()
    kept = digits.target < 9
    rings, labels = to_rings(digits.images[kept] / 16), digits.target[kept].astype(np.int64)
    rest, test = train_test_split(np.arange(len(rings)), test_size=0.2, stratify=labels, random_state=0)
    train, held = train_test_split(rest, test_size=0.1, stratify=labels[rest], random_state=0)
    shifts = np.random.default_rng(0).integers(1, ANGLES, len(test))
    rolled = np.stack([np.roll(ring, shift, 0) for ring, shift in zip(rings[test], shifts)])
    data, upright, turned = (arguments.out / name for name in ("train.npz", "upright.npz", "turned.npz"))
    np.savez(data, x=rings[train], y=labels[train], x_val=rings[held], y_val=labels[held])
    np.savez(upright, x=rings[test], y=labels[test])
    np.savez(turned, x=rolled, y=labels[test])

    runs = [(here / f"{name}.toml", data, arguments.out / name, []) for name in ("cyclic", "plain")]
    seconds = tasks.train_all(arguments.command, runs, arguments.jobs)
    result = {"seconds": round(seconds, 1)}
    print("layout    as they are     turned")
    for name in ("cyclic", "plain"):
        result[name] = [tasks.accuracy(arguments.command, arguments.out / name, part, exact=True) for part in (upright, turned)]
        print(f"{name:8} {100 * result[name][0]:9.2f} % {100 * result[name][1]:9.2f} %")
    scores = []
    for part in (upright, turned):
        tasks.sightline(arguments.command, "predict", arguments.out / "cyclic", "--data", part, "--out", arguments.out / "p.npz", "--exact")
        scores.append(np.load(arguments.out / "p.npz")["y"])
    result["same_bits"] = scores[0].tobytes() == scores[1].tobytes()
    print(f"cyclic, --exact: the scores of {len(test)} digits, upright and turned, {'agree in every bit' if result['same_bits'] else 'DIFFER'}   ({seconds:.0f} seconds)")
    (arguments.out / "result.json").write_text(json.dumps(result) + "\n")
    if arguments.docs:
        rows = "".join(f"| `{name}.toml` | {100 * result[name][0]:.2f} % | {100 * result[name][1]:.2f} % |\n" for name in ("cyclic", "plain"))
        bits = "agree in every bit" if result["same_bits"] else "differ"
        table = f"| layout | upright | turned |\n|---|---|---|\n{rows}\nScores of the cyclic layout, upright and turned: they {bits}. {seconds:.0f} seconds for both trainings.\n"
        tasks.show("ring", table, arguments.out / "cyclic/loss.svg")
    if not result["same_bits"] or result["cyclic"][0] != result["cyclic"][1]:
        sys.exit("expected the cyclic layout to score turned digits as upright ones")
    if result["cyclic"][0] < 0.95 or result["plain"][1] > result["plain"][0] - 0.2:
        sys.exit("expected at least 95 % for the cyclic layout, and a loss of at least 20 points for the plain one")


if __name__ == "__main__":
    main()
