#!/usr/bin/env python3
"""rate --verify as users run it: a finite rank is reached and not undercut, the drawing, errors."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
from common import check, finish, refused, run, work

words = ["rate", "expr:dot(x,y)", "--dim", 2, "--verify", "--heads", "2,1", "--tokens", 6, "--train-samples", 600, "--steps", 250]
answer = json.loads(run(*words, "--json", "--plot", "v.svg")[0])
rows = answer["verified"]["rows"]
check([row["heads"] for row in rows] == [1, 2], f"head dimensions: {rows}")
check(abs(rows[0]["predicted"] - 1 / 9) < 1e-12 and rows[1]["predicted"] < 1e-12, f"the tail of dot(x,y) on the square: {rows}")
check(rows[0]["score"] > 1 / 9 - 4 * rows[0]["score_error"], f"no head of dimension 1 is below the tail: {rows}")
check(rows[0]["score"] < 2 / 9 and rows[1]["score"] < 0.3 * rows[0]["score"], f"dimension 2 is enough: {rows}")
check(abs(answer["verified"]["score_variance"] - 2 / 9) < 0.03, f"E rho^2 at different tokens: {answer['verified']}")
check((work / "v.svg").read_text().count("<circle") >= 3, "a drawing")
check(json.loads(run(*words, "--json")[0])["verified"] == answer["verified"], "the same numbers twice")
check("mean e^2 of the score: predicted  trained" in run(*words[:-1], 20)[0], "text")
# A score that oscillates: f with sines learns it in steps in which f with gelu does not.
wave = ["rate", "expr:2*sin(30*x)*sin(30*y)", "--domain", "0,1", "--verify", "--heads", 1, "--tokens", 6, "--train-samples", 600, "--steps", 200, "--lr", 0.01, "--json"]
gelu, sines = (json.loads(run(*wave, *words)[0])["verified"]["rows"][0]["score"] for words in ([], ["--frequency", 60]))
check(sines < 0.1 and gelu > 5 * sines, f"sines: {sines}, gelu: {gelu}")
refused("expected --verify", "rate", "expr:dot(x,y)", "--heads", 2)
refused("expected --verify", "rate", "expr:dot(x,y)", "--frequency", 60)
refused("expected expr:SCORE", "rate", "l.npy", "--verify")
refused("expected a finite number", "rate", "expr:log(dot(x,y))", "--verify")
finish()
