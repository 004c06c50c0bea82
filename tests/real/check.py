#!/usr/bin/env python3
"""Compares `sightline import` + `certify --json` with what real models depend on (exact zeros of the Jacobian of a randomly
weighted model): the `unseen` of every config of this folder and of `generated`.

usage: check.py SIGHTLINE      exit code 1 when one differs"""
import json
import pathlib
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
command = sys.argv[1]
passed = failed = 0
with tempfile.TemporaryDirectory() as folder:
    for path in sorted(here.rglob("*.json")):
        case = json.loads(path.read_text())
        config, saved = pathlib.Path(folder) / "config.json", pathlib.Path(folder) / "architecture.toml"
        config.write_text(json.dumps(case["config"]))
        saved.unlink(missing_ok=True)
        call = [command, "import", str(config), "--tokens", str(case["tokens"]), "--save", str(saved)]
        if case["extra"].get("global"):
            call += ["--global", ",".join(map(str, case["extra"]["global"]))]
        imported = subprocess.run(call, capture_output=True, text=True, check=False)
        certified = subprocess.run([command, "certify", "--json", str(saved)], capture_output=True, text=True, check=False)
        wanted = [case["tokens"] - len(row) for row in case["reach"]]
        found = json.loads(certified.stdout)["unseen"] if certified.stdout else None
        if found == wanted:
            passed += 1
            continue
        failed += 1
        print(f"{case['name']}: expected unseen {wanted}, found {found} {imported.stderr.strip()[:200]} {certified.stderr.strip()[:200]}")
print(f"real models: {passed} passed, {failed} failed")
sys.exit(bool(failed))
