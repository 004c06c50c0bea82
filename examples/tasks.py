"""What the example tasks share: the command, scikit-learn's digits, runs of `sightline`, and the pages that show results."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def need_sklearn():
    """Starts the script again in build/examples/venv, made on the first call, when this Python has no scikit-learn."""
    try:
        import sklearn  # noqa: F401
        return
    except ImportError:
        pass
    folder = ROOT / "build/examples/venv"
    python = folder / "bin/python3"
    if pathlib.Path(sys.prefix) == folder:
        sys.exit("scikit-learn is installed in build/examples/venv but cannot be imported")
    if not (folder / "ready").exists():
        print("making build/examples/venv with scikit-learn", file=sys.stderr)
        if subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(folder)], stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("no virtual environment could be made (Debian: apt-get install python3-venv)")
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "scikit-learn"], check=True, stderr=subprocess.DEVNULL)
        (folder / "ready").touch()
    os.execv(python, [str(python), *sys.argv])


def parse_arguments(description, default_out):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=str(ROOT / "build/release/sightline"), help="the sightline to drive")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/examples" / default_out, help="where data, runs and results go")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time, one thread each")
    parser.add_argument("--docs", action="store_true", help="also write table and curve into docs/")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.command).with_name("sightline-train").exists():
        sys.exit(f"{arguments.command}-train: not there; `./do train --help` builds it")
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    return arguments


def sightline(command, *words):
    """Standard output of one call; an error ends the script with the command's own line."""
    done = subprocess.run([command, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"sightline {words[0]}: exit {done.returncode}")
    return done.stdout


def certify(command, architecture, **wanted):
    """Stops unless the architecture is certified (and has the symmetry that is asked for)."""
    answer = json.loads(sightline(command, "certify", "--json", architecture))
    assert answer["verdict"] == "certified", answer["verdict"]
    for key, value in wanted.items():
        assert answer["expressed"][key] == value, answer["expressed"]
    return answer


def train_all(command, runs, jobs):
    """runs: (architecture, data, folder, options). At most `jobs` at a time, one thread each. Returns the seconds."""
    start, waiting, running = time.time(), list(runs), []
    while waiting or running:
        while waiting and len(running) < jobs:
            architecture, data, folder, options = waiting.pop(0)
            log = open(f"{folder}.log", "w")
            words = [command, "train", architecture, "--data", data, "--out", folder, "--threads", "1", *options]
            running.append((subprocess.Popen([str(word) for word in words], stdout=log, stderr=subprocess.STDOUT), folder))
        time.sleep(0.2)
        for process, folder in list(running):
            if process.poll() is None:
                continue
            running.remove((process, folder))
            if process.returncode != 0:
                for other, _ in running:
                    other.terminate()
                sys.exit(f"{folder}: " + pathlib.Path(f"{folder}.log").read_text().strip().splitlines()[-1])
    return time.time() - start


def accuracy(command, weights, data, exact=False):
    return json.loads(sightline(command, "evaluate", weights, "--data", data, *(["--exact"] if exact else [])))["accuracy"]


def show(name, table, curve):
    """Table and curve between the marks of docs/examples.md."""
    page, images = ROOT / "docs/examples.md", ROOT / "docs/images"
    images.mkdir(exist_ok=True)
    shutil.copy(curve, images / f"{name}-loss.svg")
    before, rest = page.read_text().split(f"<!-- {name} -->\n", 1)
    picture = f"\n![Loss over the steps, training and validation](images/{name}-loss.svg)\n"
    page.write_text(f"{before}<!-- {name} -->\n{table}{picture}<!-- end -->\n" + rest.split("<!-- end -->\n", 1)[1])
