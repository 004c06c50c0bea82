#!/usr/bin/env python3
"""`sightline falsify` on shared libraries, good and bad. usage: check.py COMMAND"""
import json
import pathlib
import subprocess
import sys
import tempfile

command = pathlib.Path(sys.argv[1]).resolve()
source = pathlib.Path(__file__).resolve().parent / "mixers.c"
MOMENT = "equal moments, degree 1"

# case, extra arguments, exit code, what the one line on standard error must say
BAD = [
    ("CRASH", [], "crashed in sightline_mixer (signal 11"),
    ("CRASH_LATE", [], "crashed in sightline_mixer (signal 6"),
    ("NOT_A_NUMBER", [], "sightline_mixer gave nan for token 1, entry 0"),
    ("HANG", ["--call-time", "1"], "did not return from sightline_mixer within 1 s"),
    ("RANDOM_BITS", [], "sightline_mixer gave different bits for the same input twice (output 0)"),
    ("NO_MIXER", [], "exports no sightline_mixer"),
    ("INFO_FAILS", [], "sightline_mixer_info(4, 2) returned 5"),
    ("OVERRUN", [], "sightline_mixer wrote beyond the 8 numbers of its output"),
    ("LEAVES", [], "ended the process in sightline_mixer (exit code 3)"),
    ("RETURNS", [], "sightline_mixer returned 7"),
    ("WRONG_INTERVAL", [], "outside the enclosure"),
]
faults = []


def build(folder, case):
    library = folder / f"{case.lower()}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-DCASE={case}", str(source), "-o", str(library), "-lm"], check=True)
    return library


def run(folder, *arguments):
    return subprocess.run([command, "falsify", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=100)


def expect(what, holds, shown):
    if not holds:
        faults.append(f"{what}: {shown}")


def statuses(result):
    return {pair["name"]: pair["status"] for pair in json.loads(result.stdout)["pairs"]}


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for case, extra, text in BAD:
        library = build(folder, case)
        result = run(folder, f"lib:{library.name}", "--tokens", "4", *extra)
        lines = result.stderr.splitlines()
        good = result.returncode == 2 and len(lines) == 1 and lines[0].startswith(f"sightline: {library.name}: ") and text in lines[0]
        expect(case, good, (result.returncode, result.stdout, result.stderr))

    # Numbers are never a proof: exit 3, and the words say so. What the library prints stays out of the answer.
    for case, status in (("MEAN", "equal numerically"), ("SOFTMAX", "differs numerically")):
        result = run(folder, f"lib:{build(folder, case).name}", "--tokens", "4", "--json")
        answer = json.loads(result.stdout)
        expect(case, result.returncode == 3 and answer["exit"] == 3 and statuses(result)[MOMENT] == status, result)
        expect(case, not any(pair["claims"] for pair in answer["pairs"]) and answer["theorem_g"]["status"] == "not shown", answer)

    # With an interval function: separated pairs and the dependence on another token are proved, equal values never are.
    library = build(folder, "MEAN_INTERVAL")
    result = run(folder, f"lib:{library.name}", "--tokens", "4", "--json", "--save", "proof.json")
    expect("MEAN_INTERVAL", result.returncode == 0 and statuses(result)[MOMENT] == "suspect" and statuses(result)["one token changed"] == "separated", result)
    expect("MEAN_INTERVAL", json.loads(result.stdout)["theorem_g"]["status"] == "holds", result.stdout)
    expect("proof", all(c["claim"] == "separated" for c in json.loads((folder / "proof.json").read_text())["claims"]), "a library's proof claims equality")

    # Outputs that do not follow a permutation of the tokens: Theorem G is not applied.
    result = run(folder, f"lib:{build(folder, 'POSITIONS').name}", "--tokens", "4", "--json")
    expect("POSITIONS", result.returncode == 3, result)

    for arguments, text in (
        (["lib:absent.so"], "absent.so: No such file or directory"),
        (["lib:proof.json"], "proof.json: "),
        (["expr:exp(dot(x,y)"], "character"),
        (["softmax"], "expected expr:EXPRESSION or lib:FILE.so"),
        (["expr:softmax", "--tokens", "4", "--symmetry", "C_5"], "5 points"),
    ):
        result = run(folder, *arguments)
        expect(" ".join(arguments), result.returncode == 2 and len(result.stderr.splitlines()) == 1 and text in result.stderr, result)

    # The same seed gives the same bytes, another seed other parameters; a proof is whole JSON.
    first, second, other = (run(folder, "expr:softmax", "--tokens", "5", "--json", "--seed", seed).stdout for seed in ("7", "7", "8"))
    expect("seed", first == second and first != other, "answers and seeds do not go together")
    # Proofs with one thing changed: what is claimed is then false, and `check` says so (exit 1), or the file is none any more (exit 2).
    def judge(tree):
        (folder / "changed.json").write_text(json.dumps(tree))
        return subprocess.run([command, "check", "changed.json"], cwd=folder, capture_output=True, text=True, check=False, timeout=100)

    run(folder, "expr:1", "--tokens", "4", "--save", "truth.json")
    truth = json.loads((folder / "truth.json").read_text())
    result = judge({**truth, "claims": []})
    expect("a proof without claims", result.returncode == 1 and result.stdout == "changed.json: nothing is confirmed: it holds no claims\n", result)
    result = subprocess.run([command, "check", "truth.json", "--architecture", "a.toml"], cwd=folder, capture_output=True, text=True, check=False)
    expect("a proof and an architecture", result.returncode == 2 and result.stderr == "sightline: truth.json: --architecture: expected no such option (a proof is about one mixing layer, not an architecture), found it\n", result)
    lies = 0
    for expression, tokens in (("(1+dot(x,y))^2", "5"), ("t^2", "5"), ("1", "4")):
        run(folder, f"expr:{expression}", "--tokens", tokens, "--save", "truth.json")
        truth = json.loads((folder / "truth.json").read_text())
        expect(f"the proof for {expression}", judge(truth).returncode == 0, judge(truth))
        changes = []
        for k, claim in enumerate(truth["claims"]):
            other = (claim["a"] + 1) % int(tokens)
            moved = (claim["b"] + 1) % int(tokens)
            changes += [(f"/claims/{k}/a", lambda c, v=other: c.update(a=v)), (f"/claims/{k}/y", lambda c, v=moved: c["y"][v].__setitem__(0, c["y"][v][0] + "7"))]
            if claim["claim"] == "separated":
                changes += [] if expression == "1" else [(f"/claims/{k}/theta", lambda c: c["theta"].__setitem__(0, c["theta"][0].replace("/", "1/") if "/" in c["theta"][0] else c["theta"][0] + "1"))]
                changes += [(f"/claims/{k}/claim", lambda c: c.update(claim="equal")),
                            (f"/claims/{k}/enclosure", lambda c: c.update(enclosure=[repr(2 * float(e)) for e in c["enclosure"]])),
                            (f"/claims/{k}/enclosure", lambda c: c.update(enclosure=["-1", "1"]))]
            else:
                changes += [(f"/claims/{k}/claim", lambda c: c.update(claim="separated", theta=["1/3"] * 8, entry=0, enclosure=["1", "2"], bits=256))]
        for path, change in changes[:: max(1, len(changes) // 30)]:
            lie = json.loads(json.dumps(truth))
            change(lie["claims"][int(path.split("/")[2])])
            result = judge(lie)
            lies += 1
            expect(f"a lie about {expression} at {path}", result.returncode in (1, 2), (result, lie["claims"][int(path.split("/")[2])]))
        for key, value in (("mixer", {**truth["mixer"], "expression": "exp(dot(x,y))" if "t" not in expression else "t^7"}), ("tokens", 3), ("dim", 1), ("symmetry", "C_9")):
            expect(f"a lie about {expression} at /{key}", judge({**truth, key: value}).returncode in (1, 2), key)
            lies += 1
    expect("lies about proofs", lies >= 60, lies)
    # A time limit ends the search with what is known: exit 3 and the limit named.
    result = run(folder, "expr:softmax", "--tokens", "64", "--dim", "16", "--time", "0.2")
    expect("--time", result.returncode == 3 and "limit" in result.stdout, result)

print("\n".join(faults))
print(f"falsify: {len(faults)} faults")
sys.exit(bool(faults))
