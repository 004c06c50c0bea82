#!/usr/bin/env python3
"""The checker builds and runs alone: ./alone.py COMMAND [--library FILE]. Its files, which may include standard C++ and one another only, are
copied into an empty folder, compiled there with nothing but the compiler, and the program confirms a certificate, rejects a changed one and refuses
what is none. With --library only main.cpp is compiled and linked with nothing but what the build has made of the other files: seconds, not a minute."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(command, library):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = []
        for file in sorted((ROOT / "checker").glob("*.[ch]pp")):
            for included in re.findall(r'#include\s+["<]([^">]+)[">]', file.read_text()):
                if "/" in included or (included.endswith((".hpp", ".h")) and not (ROOT / "checker" / included).exists()):
                    print(f"checker/{file.name} includes {included}: standard C++ and files of its own folder only")
                    return 1
            shutil.copy(file, folder)
            if file.suffix == ".cpp":
                sources.append(file.name)

        if library:
            sources = ["main.cpp", os.path.abspath(library)]
        command_line = [os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-pthread", *sources, "-o", "sightline-check"]
        result = subprocess.run(command_line, cwd=folder, capture_output=True, text=True)
        if result.returncode != 0:
            print(f"the checker does not compile alone: {result.stderr[:500]}")
            return 1

        good = folder / "good.json"
        subprocess.run([command, "certify", str(ROOT / "examples/petersen.toml"), "--save", str(good)], check=True, stdout=subprocess.DEVNULL)
        tree = json.loads(good.read_text())
        tree["answer"]["layers"]["needed"] = 2
        (folder / "bad.json").write_text(json.dumps(tree, sort_keys=True, separators=(",", ":")))
        (folder / "none.json").write_text("[" * 100000)
        for file, expected, word in [("good.json", 0, "confirmed"), ("bad.json", 1, "needed"), ("none.json", 2, "byte"), ("absent.json", 2, "")]:
            run = subprocess.run([folder / "sightline-check", file], cwd=folder, capture_output=True, text=True, timeout=60)
            if run.returncode != expected or word not in run.stdout + run.stderr or len((run.stdout + run.stderr).splitlines()) != 1:
                print(f"{file}: exit {run.returncode}, expected {expected}: {run.stdout}{run.stderr}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3] if sys.argv[2:3] == ["--library"] else None))
