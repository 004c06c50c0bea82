#!/usr/bin/env python3
"""scikit-learn's handwritten digits, start to end: certify the architecture, train it on five folds, score each on its test part.

    python3 examples/digits/run.py

Training images are also shown moved by one pixel up, down, left and right; test images are as they are. A twentieth of the
training images (not moved) is the validation part that picks the best step; the test part takes no part in training.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tasks

GOAL = 0.97


def to_patches(images):
    """[N, 8, 8] -> [N, 16, 4]: 4 x 4 patches of 2 x 2 pixels."""
    return images.reshape(-1, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 16, 4)


def with_moved(images):
    """The images, and each moved by one pixel in four directions (what comes in is empty)."""
    moved = [images]
    for axis in (1, 2):
        for step in (1, -1):
            copy = np.roll(images, step, axis)
            edge = [slice(None)] * 3
            edge[axis] = 0 if step == 1 else -1
            copy[tuple(edge)] = 0
            moved.append(copy)
    return np.concatenate(moved)


def main():
    tasks.need_sklearn()
    global np
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold, train_test_split

    arguments = tasks.parse_arguments(__doc__, "digits")
    architecture = pathlib.Path(__file__).with_name("digits.toml")
    answer = tasks.certify(arguments.command, architecture)
    print(f"certified: {answer['layers']['given']} layers, {answer['layers']['needed']} needed; every patch reaches every patch")

    digits = load_digits()
    images, labels = digits.images / 16, digits.target.astype(np.int64)
    runs, tests = [], []
    for fold, (rest, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(images, labels)):
        train, held = train_test_split(rest, test_size=0.05, stratify=labels[rest], random_state=fold)
        data, check = arguments.out / f"fold-{fold}.npz", arguments.out / f"fold-{fold}-test.npz"
        np.savez(data, x=to_patches(with_moved(images[train])).astype(np.float32), y=np.tile(labels[train], 5),
                 x_val=to_patches(images[held]).astype(np.float32), y_val=labels[held])
        np.savez(check, x=to_patches(images[test]).astype(np.float32), y=labels[test])
        runs.append((architecture, data, arguments.out / f"run-{fold}", ["--train.seed", fold]))
        tests.append(check)
    seconds = tasks.train_all(arguments.command, runs, arguments.jobs)
    scores = [tasks.accuracy(arguments.command, run[2], check) for run, check in zip(runs, tests)]
    mean = sum(scores) / len(scores)
    for fold, score in enumerate(scores):
        print(f"fold {fold}   accuracy {100 * score:6.2f} %")
    print(f"mean     accuracy {100 * mean:6.2f} %   worst fold {100 * min(scores):.2f} %   {seconds:.0f} seconds for all five")
    (arguments.out / "result.json").write_text(json.dumps({"scores": scores, "mean": mean, "worst": min(scores), "seconds": round(seconds, 1)}) + "\n")
    if arguments.docs:
        rows = "".join(f"| {fold} | {100 * score:.2f} % |\n" for fold, score in enumerate(scores))
        table = f"| fold | accuracy |\n|---|---|\n{rows}| mean | {100 * mean:.2f} % |\n| worst | {100 * min(scores):.2f} % |\n\n{seconds:.0f} seconds for all five.\n"
        tasks.show("digits", table, arguments.out / "run-0/loss.svg")
    if mean < GOAL:
        sys.exit(f"expected a mean accuracy of at least {100 * GOAL:.0f} %, found {100 * mean:.2f} %")


if __name__ == "__main__":
    main()
