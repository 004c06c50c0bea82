#!/usr/bin/env python3
"""Runs the command as users do and compares exit code, standard output and standard error.

usage: check.py SIGHTLINE [NAME...]      exit code 1 when a case differs"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[2]
command, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]

RING = 'tokens = 6\ndim = 4\n[mixer]\npattern = { kind = "ring", radius = 1 }\n[[layer]]\nrepeat = 3\n'
HEADS = 'tokens = 2\ndim = 2\n[mixer]\npattern = { kind = "per_head", heads = [{kind="full"},{kind="full"},{kind="self"}] }\n[feedforward]\nkind = "none"\n'
EMBEDDED = 'tokens = 2\ndim = 4\noutput = { head = "linear", dim = 1 }\ninput = { embedding = "linear", dim = 3 }\n'
BLOCKS = 'tokens = 4\ndim = 2\n[mixer]\nkind = KIND\npattern = { kind = "blocks", size = 2 }\n'
BOXED = 'tokens = 2\ndim = 1\ninput = { positions = "fixed", table = [[0],[1]] }\ntarget = { box = 0.25 }\n'
IDS = 'tokens = 2\ndim = 4\noutput = { head = "linear", dim = 1 }\ninput = { embedding = "table", vocabulary = 3, positions = "learned" }\n'
MASKED = 'tokens = 3\ndim = 4\n[mixer]\npattern = { kind = "file", path = "m.edges" }\n'
LATER_MASK = 'tokens = 3\ndim = 4\n[[layer]]\n[[layer]]\npattern = { kind = "union", of = [{ kind = "self" }, { kind = "file", path = "m.edges" }] }\n'
EDGES = "0 1\n1 2\n2 0\n0 0\n1 1\n2 2\n"
READ_ALREADY = "expected another file to write to, found one that the command reads or writes already\n"
BESIDE_DESIGN = "sightline: a.toml: expected a name under which nothing is written over, found that {}, one of the files beside it, holds something else\n"
SYMMETRIC = 'tokens = %d\ndim = 4\n[mixer]\npattern = %s\n[target]\nclass = "%s"\nsymmetry = "%s"\n'
LONG_RING = 'tokens = 16384\ndim = 4\n[target]\nsymmetry = "%s"\n[mixer]\npattern = { kind = "ring", radius = 8 }\n[[layer]]\nrepeat = 1026\n'
# (name, files to write, arguments, exit code, lines that standard output must hold, exact standard error or None)
CASES = [
    ("certified", {"a.toml": RING}, ["certify", "a.toml"], 0, ["CERTIFIED", "D_6, order 12", "3 given, 3 needed"], ""),
    ("two files in order", {"a.toml": RING, "b.toml": "tokens = 1\ndim = 2\n"}, ["certify", "--json", "a.toml", "b.toml"], 0,
     ['{"file":"a.toml"', '{"file":"b.toml"'], ""),
    ("a bad file among good ones", {"a.toml": RING, "b.toml": "tokens = 0\ndim = 2\n"}, ["certify", "--json", "b.toml", "a.toml"], 2,
     ['{"file":"b.toml","error":"b.toml:1:10: ', '{"file":"a.toml","name"'], None),
    ("unknown key", {"a.toml": "tokens = 4\ndim = 2\n[mixer]\nkernal = \"softmax\"\n"}, ["certify", "a.toml"], 2, [],
     'sightline: a.toml:4:1: expected a key of mixer (kind, pattern, kernel, normalised, heads, top_k, sink, eps, value, query_key, relative, rank, projections, activation, taps), found "kernal" (did you mean "kernel"?)\n'),
    ("wrong type", {"a.toml": "tokens = \"four\"\ndim = 2\n"}, ["certify", "a.toml"], 2, [], None),
    ("token out of range", {"a.toml": "tokens = 3\ndim = 2\n[mixer]\npattern = { kind = \"rows\", rows = [[0],[1],[7]] }\n"}, ["certify", "a.toml"], 2, [], None),
    ("contradictory sizes", {"a.toml": "tokens = 3\ndim = 2\n[mixer]\npattern = { kind = \"rows\", rows = [[0],[1]] }\n"}, ["certify", "a.toml"], 2, [], None),
    ("mask not square", {"a.toml": "tokens = 2\ndim = 2\n[mixer]\npattern = { kind = \"matrix\", matrix = [[1,1],[1]] }\n"}, ["certify", "a.toml"], 2, [], None),
    ("not what its name says", {"a.toml": "tokens = 2\ndim = 2\n[mixer]\npattern = { kind = \"file\", path = \"m.npy\" }\n", "m.npy": "hello"},
     ["certify", "a.toml"], 2, [], None),
    ("missing file", {}, ["certify", "none.toml"], 2, [], None),
    ("empty file", {"a.toml": ""}, ["certify", "a.toml"], 2, [], None),
    ("a config without a model type", {"a.json": '{"architectures": ["BertModel"], "hidden_size": 8}'}, ["certify", "a.json", "--tokens", "8"], 2, [],
     "sightline: a.json: /model_type: expected the name of a model type, found nothing\n"),
    ("a misspelt kernel", {}, ["kernel", "sofmax"], 2, [],
     'sightline: EXPR: expected a kernel name or an expression in x and y, found "sofmax" (did you mean "softmax"?)\n'),
    ("a mixer that is no expression", {}, ["falsify", "expr:exp(dot(x,y)"], 2, [], 'sightline: expr:exp(dot(x,y): character 13: expected ")", found the end\n'),
    ("numbers are decimal", {"config.json": '{"model_type": "gpt2"}'}, ["import", "config.json", "--tokens", "010"], 0, ["tokens = 10"], None),
    ("an empty text is no number", {"config.json": '{"model_type": "longformer"}'}, ["import", "config.json", "--global", ""], 2, [],
     'sightline: --global: expected a whole number, found "" (see sightline --help)\n'),
    ("numbers are finite", {}, ["rate", "expr:min(x,y)", "--domain", "0,inf"], 2, [], 'sightline: --domain: expected a number, found "inf" (see sightline --help)\n'),
    ("numbers have bounds", {}, ["approximate", "expr:x[0]", "--samples", "99999999999999999999"], 2, [],
     'sightline: --samples: expected a whole number of at most 2^62, found 99999999999999999999 (see sightline --help)\n'),
    ("an answer is not written over its question", {"a.toml": RING}, ["certify", "a.toml", "--save", "./a.toml"], 2, [],
     "sightline: ./a.toml: expected another file to write to, found one that the command reads or writes already\n"),
    ("a config is not written over", {"config.json": '{"model_type": "gpt2"}'}, ["import", "config.json", "--save", "config.json"], 2, [], None),
    ("nor is one output by another", {"a.toml": RING}, ["certify", "a.toml", "--save", "b.json", "--fix", "./b.json"], 2, [], None),
    ("nor a graph by the design of its symmetry", {"a-1.edges": "0 1\n1 2\n2 0\n"}, ["design", "--symmetry", "graph:a-1.edges", "--save", "a.toml"], 2, [],
     "sightline: a.toml: expected a name under which nothing is written over, found that a-1.edges is one of the files beside it\n"),
    ("a graph beside them stays", {"a.edges": "0 1\n1 2\n2 0\n"}, ["design", "--symmetry", "graph:a.edges", "--save", "a.toml"], 0, [], None),
    ("nor a mask by the certificate", {"a.toml": MASKED, "m.edges": EDGES}, ["certify", "a.toml", "--save", "m.edges"], 2, [], "sightline: m.edges: " + READ_ALREADY),
    ("nor a mask in a later layer under another name", {"a.toml": LATER_MASK, "m.edges": EDGES}, ["certify", "a.toml", "--save", "./m.edges"], 2, [], "sightline: ./m.edges: " + READ_ALREADY),
    ("nor a mask by the mended architecture", {"a.toml": MASKED, "m.edges": EDGES}, ["certify", "a.toml", "--fix", "m.edges"], 2, [], "sightline: m.edges: " + READ_ALREADY),
    ("nor a mask by the target", {"a.toml": MASKED, "m.edges": EDGES}, ["target", "a.toml", "--out", "m.edges"], 2, [], "sightline: m.edges: " + READ_ALREADY),
    ("nor a graph that the target's symmetry names", {"a.toml": RING.replace("dim = 4\n", "dim = 4\n[target]\nsymmetry = \"graph:'g.edges'\"\n"), "g.edges": "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n"},
     ["certify", "a.toml", "--save", "g.edges"], 2, [], "sightline: g.edges: " + READ_ALREADY),
    ("nor a graph that --require names", {"a.toml": RING, "g.edges": "0 1\n1 2\n2 3\n3 4\n4 5\n"}, ["certify", "a.toml", "--require", "symmetry=graph:g.edges", "--save", "g.edges"], 2, [],
     "sightline: g.edges: " + READ_ALREADY),
    ("nor a mask by the design that improves on it", {"a.toml": MASKED.replace("m.edges", "b-1.edges"), "b-1.edges": EDGES}, ["design", "--from", "a.toml", "--save", "b.toml"], 2, [],
     "sightline: b.toml: expected a name under which nothing is written over, found that b-1.edges is one of the files beside it\n"),
    ("nor the second of two graphs", {"g.edges": "0 1\n1 2\n", "a-1.edges": "0 1\n"}, ["design", "--symmetry", "graph:g.edges x graph:'a-1.edges'", "--save", "a.toml"], 2, [],
     "sightline: a.toml: expected a name under which nothing is written over, found that a-1.edges is one of the files beside it\n"),
    ("nor what else has the name of a drawing", {"a.svg": "<svg>mine</svg>"}, ["design", "--symmetry", "C_5", "--save", "a.toml"], 2, [], BESIDE_DESIGN.format("a.svg")),
    ("nor a program", {"a.py": "print()\n"}, ["design", "--symmetry", "C_5", "--save", "a.toml"], 2, [], BESIDE_DESIGN.format("a.py")),
    ("nor orbits", {"a-orbits.svg": "<svg>mine</svg>"}, ["design", "--symmetry", "C_5", "--save", "a.toml"], 2, [], BESIDE_DESIGN.format("a-orbits.svg")),
    ("nor edges", {"a-1.edges": "0 1\n"}, ["design", "--symmetry", "C_5", "--save", "a.toml"], 2, [], BESIDE_DESIGN.format("a-1.edges")),
    ("nor a mask, which is found before the search", {"a-1.npz": "mine"}, ["design", "--symmetry", "S_6 wr S_9 x torus(9,9)", "--save", "a.toml", "--time", "0.001"], 2, [], BESIDE_DESIGN.format("a-1.npz")),
    ("what a design wrote is written again, and named", {"a.svg": "<svg>\n<!-- sightline design -->\n", "a-1.edges": "# reader read (sightline design)\n", "a.py": ""},
     ["design", "--symmetry", "C_5", "--save", "a.toml"], 0, [], "written: point 2 of the front (two patterns in turn: 5 pairs in 1 orbital, 10 pairs in 2 orbitals): a.toml, a.svg, a-orbits.svg, a-1.npz, a-1.edges, a-1.svg, a-2.npz, a-2.edges, a-2.svg, a.py\n"),
    ("a design as JSON", {}, ["design", "--symmetry", "C_5", "--save", "a.json"], 0, [], "written: point 2 of the front (two patterns in turn: 5 pairs in 1 orbital, 10 pairs in 2 orbitals): a.json, a.svg, a-orbits.svg, a-1.npz, a-1.edges, a-1.svg, a-2.npz, a-2.edges, a-2.svg, a.py\n"),
    ("a mask is nothing to be improved on", {"m.mtx": "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n"}, ["design", "--from", "m.mtx"], 2, [],
     "sightline: m.mtx: expected an architecture or a config.json, found a mask; an architecture names it: pattern = { kind = \"file\", path = \"m.mtx\" } under [mixer]\n"),
    ("a mask is certified as layers of attention with it", {"m.mtx": "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 1\n"}, ["certify", "m.mtx", "--save", "c.json"], 0, [], ""),
    ("nor is a mask written over by its certificate", {"m.edges": EDGES}, ["certify", "m.edges", "--save", "m.edges"], 2, [], "sightline: m.edges: " + READ_ALREADY),
    ("--tokens counts those that an edge list leaves out", {"m.edges": "0 1\n"}, ["certify", "m.edges", "--tokens", "3"], 0, [], ""),
    ("but not others than there are", {"m.edges": "0 3\n"}, ["certify", "m.edges", "--tokens", "3"], 2, [], "sightline: --tokens: expected 4, the size of the mask m.edges, found 3\n"),
    ("a mask that is none says why", {"m.edges": "a b\n"}, ["certify", "m.edges"], 2, [], "sightline: m.edges:1: expected two indices u v, found \"a b\"\n"),
    ("options of a config.json have no use for a mask", {"m.edges": EDGES}, ["certify", "m.edges", "--bos", "yes"], 2, [], "sightline: m.edges: --bos: expected no such option (it is for a config.json), found it\n"),
    ("more points than can be counted", {}, ["design", "--symmetry", "C_99999999999999"], 2, [],
     'sightline: group "C_99999999999999", character 1: expected at most 16777216 points, found more\n'),
    ("samples of a target are an archive", {"a.toml": RING}, ["target", "a.toml", "--samples", "2", "--out", "t.npy"], 2, [], "sightline: t.npy: expected a name that ends with .npz (an archive of arrays is written), found .npy\n"),
    ("a fit that cannot be resumed says so", {}, ["approximate", "expr:x[0]", "--tokens", "2", "--save", "m.safetensors", "--resume"], 0, [], "sightline: m.safetensors.part is not there: the fit begins anew\n"),
    ("nor what stands beside a model", {"m.toml": RING}, ["approximate", "expr:x[0]", "--tokens", "2", "--method", "linformer", "--save", "m.safetensors"], 2, [],
     "sightline: m.safetensors: expected a name under which nothing is written over, found that m.toml, where its architecture goes, holds something else\n"),
    ("but the architecture of the model before", {"m.toml": "# S(X)_i = psi(x_i, sum_j phi(x_j)): the embedding computes x and phi, the mixer the mean, the feedforward psi.\n"},
     ["approximate", "expr:x[0]", "--tokens", "2", "--method", "linformer", "--save", "m.safetensors"], 0, ["m.toml"], None),
    ("what writes no architecture may stand beside one", {"m.toml": RING}, ["approximate", "expr:x[0]", "--tokens", "2", "--save", "m.safetensors"], 0, [], None),
    ("a group on too many points is refused before it is built", {}, ["design", "--symmetry", "D_12999988", "--tokens", "6"], 2, [],
     'sightline: group "D_12999988", character 1: this acts on 12999988 points, expected 6\n'),
    ("so is a part of one", {}, ["design", "--symmetry", "C_2 x torus(4000,4000)", "--tokens", "6"], 2, [],
     'sightline: group "C_2 x torus(4000,4000)", character 7: this acts on 16000000 points, expected at most 6\n'),
    ("a part inside regular() may be larger", {}, ["design", "--symmetry", "regular(trivial(9))", "--tokens", "1"], 0, ["one token"], None),
    ("a rotary part larger than the head", {"config.json": '{"model_type": "gptj", "n_embd": 16, "n_head": 4, "rotary_dim": 8}'}, ["import", "config.json", "--tokens", "8"], 2, [],
     "sightline: config.json: /rotary_dim: expected at most 4, the width of a head, found 8\n"),
    ("also where the file does not say", {"config.json": '{"model_type": "codegen", "n_embd": 16, "n_head": 4}'}, ["import", "config.json", "--tokens", "8"], 2, [],
     "sightline: config.json: /rotary_dim: expected at most 4, the width of a head, found 64, the library's default\n"),
    ("and as a share", {"config.json": '{"model_type": "phi", "hidden_size": 16, "num_attention_heads": 4, "partial_rotary_factor": 1.5}'}, ["import", "config.json", "--tokens", "8"], 2, [],
     "sightline: config.json: /partial_rotary_factor: expected at most 1: the head has 4 coordinates, found 1.5\n"),
    ("and in an architecture", {"a.toml": 'tokens = 4\ndim = 4\n[mixer]\nrelative = { kind = "rotary", dim = 8 }\n'}, ["certify", "a.toml"], 2, [], None),
    ("nor a certificate by its target", {"a.toml": RING}, ["target", "a.toml", "--out", "a.toml"], 2, [], None),
    ("json syntax", {"a.json": '{"tokens": 4,\n "dim": }'}, ["certify", "a.json"], 2, [], None),
    ("empty rows are warned about", {"a.toml": "tokens = 2\ndim = 2\n[mixer]\npattern = { kind = \"rows\", rows = [[],[0,1]] }\n"}, ["certify", "a.toml"], 0,
     ["IMPOSSIBLE"], None),
    ("requirement met", {"a.toml": RING}, ["certify", "a.toml", "--require", "symmetry=D_6"], 0, ["CERTIFIED"], ""),
    ("requirement not met", {"a.toml": RING}, ["certify", "a.toml", "--require", "symmetry=C_6"], 1, ["IMPOSSIBLE"], ""),
    ("requirement misspelt", {"a.toml": RING}, ["certify", "a.toml", "--require", "univrsal"], 2, [], None),
    ("requirement of no group", {"a.toml": RING}, ["certify", "a.toml", "--require", "symmetry="], 2, [], None),
    ("no such command", {}, ["certfy", "a.toml"], 2, [], 'sightline: expected a command, found "certfy" (did you mean "certify"?) (see sightline --help)\n'),
    ("an option that would change nothing", {"a.toml": RING}, ["certify", "a.toml", "--tokens", "9"], 2, [],
     "sightline: a.toml: --tokens: expected no such option (it is for a config.json), found it\n"),
    ("a token before the first", {"a.toml": RING}, ["explain", "a.toml", "--token", "-1"], 2, [], "sightline: --token: expected a whole number from 0 to 2^53, found -1 (see sightline --help)\n"),
    ("an edge list with a byte order mark", {"a.toml": 'tokens = 2\ndim = 2\n[mixer]\npattern = { kind = "file", path = "a.edges" }\n', "a.edges": "\ufeff0 1\n1 0\n"},
     ["certify", "a.toml"], 0, ["verdict"], ""),
    ("a pair of keys is named once", {}, ["kernel", "cosh(dot(x,y))"], 0, [", y2 = -y1: "], ""),
    ("causal models are no failures of sight", {"a.toml": 'tokens = 4\ndim = 4\n[target]\nclass = "causal"\n[mixer]\npattern = { kind = "full", causal = true }\n'},
     ["certify", "a.toml"], 0, ["no token sees a later one"], ""),
    ("unknown model type", {"config.json": '{"model_type": "lama", "hidden_size": 8}'}, ["certify", "config.json"], 2, [], None),
    ("pattern knows a symmetry that is no group", {"a.toml": RING + '[target]\nsymmetry = "S_9"\n'}, ["pattern", "a.toml"], 2, [], None),
    ("explain knows a symmetry that is no group", {"a.toml": RING + '[target]\nsymmetry = ["(0 9)"]\n'}, ["explain", "a.toml", "--token", "0"], 2, [], None),
    ("import that cannot be saved assumes nothing", {"config.json": '{"model_type": "gpt2", "n_layer": 2, "n_embd": 8, "n_head": 2, "n_positions": 16, "vocab_size": 10}'},
     ["import", "config.json", "--save", "none/a.toml"], 2, [], None),
    ("import", {"config.json": '{"model_type": "gpt2", "n_layer": 2, "n_embd": 8, "n_head": 2, "n_positions": 16, "vocab_size": 10}'},
     ["import", "config.json"], 0, ["tokens = 16", 'positions = "learned"'], None),
    ("explain", {"a.toml": RING}, ["explain", "a.toml", "--token", "0"], 0,
     ["it sees", "after   1 layer         3 tokens: 0-1, 5", "it is seen by"], ""),
    ("explain out of range", {"a.toml": RING}, ["explain", "a.toml", "--token", "6"], 2, [], "sightline: --token: expected 0 to 5, found 6\n"),
    ("pattern", {"a.toml": RING}, ["pattern", "a.toml"], 0, ["    0 ##...#"], ""),
    ("pattern from afar", {"a.toml": 'tokens = 200\ndim = 4\n[mixer]\npattern = { kind = "union", of = [{ kind = "blocks", size = 50 }, { kind = "strided", stride = 7 }] }\n'}, ["pattern", "a.toml"], 0,
     ["a character for about 3 x 3 pairs: # all", "\n        0 " + "#" * 16 + ":", "\n      196 "], ""),
    ("kernel", {}, ["kernel", "exp(dot(x,y))", "--json"], 0, ['"condition13":"holds"'], ""),
    ("kernel with a misspelt function", {}, ["kernel", "exq(dot(x,y))"], 2, [], None),
    ("long rings with the symmetry that they have", {"a.toml": LONG_RING % "D_16384"}, ["certify", "a.toml"], 0, ["CERTIFIED", "D_16384"], ""),
    ("long rings and a smaller group", {"a.toml": LONG_RING % "C_16384"}, ["certify", "a.toml"], 0, ["IMPOSSIBLE", "C_16384"], ""),
    ("ids that see too little, where a figure beside the verdict is out of reach",
     {"a.toml": 'tokens = 80000\ndim = 4\n[input]\nembedding = "table"\nvocabulary = 8\n[target]\nsymmetry = "gens[(0 1)]"\n[mixer]\npattern = { kind = "full", causal = true }\n'},
     ["certify", "a.toml"], 0, ["IMPOSSIBLE", "3199960000", "class.layers"], ""),
    ("a symmetric target of a class on long sequences: the group moves every token",
     {"a.toml": SYMMETRIC % (65536, '{ kind = "full", causal = true }', "causal", "C_65536")}, ["certify", "a.toml"], 0, ["CERTIFIED", "C_65536"], ""),
    ("a symmetric target of a class on long sequences: the group moves two tokens, whose output is not to use the other",
     {"a.toml": SYMMETRIC % (9000, '{ kind = "window", before = 3000 }', "causal", "gens[(0 1)]")}, ["certify", "a.toml"], 0, ["IMPOSSIBLE", "1 given, 3 needed"], ""),
    ("the same where tokens see their blocks", {"a.toml": SYMMETRIC % (1024, '{ kind = "blocks", size = 4 }', "seen", "C_1024")}, ["certify", "a.toml"], 0, ["CERTIFIED", "C_1024"], ""),
    ("a BOS and a symmetric target on long sequences",
     {"a.toml": SYMMETRIC % (4096, '{ kind = "window", radius = 2, causal = true }', "all", "D_4096") + '[input]\nembedding = "table"\nvocabulary = 8\nbos = true\n'},
     ["certify", "a.toml"], 0, ["IMPOSSIBLE", "D_4096"], ""),
    ("two long masks", {"a.toml": LONG_RING % "D_16384", "b.toml": 'tokens = 16384\ndim = 4\n[mixer]\npattern = { kind = "full", causal = true }\n'}, ["diff", "a.toml", "b.toml"], 1,
     ["different", "token 0 reads 1 only in a"], ""),
    ("a group whose order takes long obeys the clock", {"a.toml": (LONG_RING % "").replace('""', '["(%s)"]' % " ".join(map(str, range(16384))))},
     ["certify", "a.toml", "--time", "1"], 3, ["UNKNOWN"], None),
    ("memory limit", {"a.toml": "tokens = 20000\ndim = 4\n[mixer]\npattern = { kind = \"random\", degree = 8, seed = 1 }\n"},
     ["certify", "a.toml", "--memory", "0.5"], 3, ["UNKNOWN"], None),
    ("time limit", {"a.toml": "tokens = 60000\ndim = 4\ndepth = \"unbounded\"\n[mixer]\npattern = { kind = \"random\", degree = 8, seed = 1 }\n"},
     ["certify", "a.toml", "--time", "0.05"], 3, ["UNKNOWN"], None),
    ("a list too long to be written out", {"a.toml": RING.replace("repeat = 3", "repeat = 1000000000")}, ["certify", "a.toml", "--time", "2"], 3,
     ["UNKNOWN", "1000000000 layers"], None),
    ("more tokens than a certificate holds", {"a.toml": "tokens = 16777217\ndim = 4\n"}, ["certify", "a.toml"], 3, ["UNKNOWN", "16777217 tokens"], None),
    ("an empty name of a file", {"a.toml": RING}, ["certify", "a.toml", "--save", ""], 2, [], "sightline: --save: expected a text, found an empty one (see sightline --help)\n"),
    ("a requirement of nothing", {"a.toml": RING}, ["certify", "a.toml", "--require", ""], 2, [], None),
    ("canonical text is no certificate", {"a.toml": RING}, ["certify", "a.toml", "--canonical", "--save", "c.json"], 2, [],
     "sightline: --save: expected no --canonical beside it, which prints the architecture and stops\n"),
    ("a place that is not there is found before the work", {}, ["design", "--symmetry", "S_6 wr S_9 x torus(9,9)", "--save", "none/a.toml", "--time", "0.001"], 2, [],
     "sightline: none/a.toml: expected a file that can be written, found: No such file or directory\n"),
    ("pattern obeys the clock", {"a.toml": 'tokens = 2000000\ndim = 4\n[mixer]\npattern = { kind = "random", degree = 500 }\n'}, ["pattern", "a.toml", "--time", "0.05"], 3, [], None),
    ("a point of what is not saved", {}, ["design", "--symmetry", "D_12", "--point", "1"], 2, [], "sightline: --point: expected --save FILE beside it, found none\n"),
    ("singular values obey the clock", {}, ["rate", "expr:exp(-norm2(x-y))", "--dim", "2", "--samples", "4096", "--time", "0.2"], 3, [],
     "sightline: the time limit of 0.2 s was reached\n"),
    ("an architecture is no certificate", {"a.toml": RING}, ["check", "a.toml"], 2, [],
     "sightline: a.toml: expected a certificate (certify --save) or a proof (falsify --save), found something else\n"),
    ("no time at all", {}, ["falsify", "expr:softmax", "--time", "0"], 2, [], 'sightline: --time: expected a number above 0, found "0" (see sightline --help)\n'),
    ("no number of megabytes", {"a.toml": RING}, ["certify", "a.toml", "--memory", "-1"], 2, [], 'sightline: --memory: expected a number above 0, found "-1" (see sightline --help)\n'),
    ("design", {}, ["design", "--symmetry", "D_6"], 0, ["D_6, order 12 on 6 tokens", "2-closed", "gather-broadcast", "proved"], ""),
    ("design as json", {}, ["design", "--symmetry", "C_2*C_2", "--json"], 0,
     ['"group":{"tokens":4,"order":"4"', '"two_closed":true', '"closure":null', '"layers":2,"pairs":8,"registers":0,"kind":"several","optimal":"proved","lower_bound":8'], ""),
    ("design of a group that is not 2-closed", {}, ["design", "--symmetry", "A_4"], 0, ["S_4, order 24", "12  registers"], ""),
    ("design of a graph", {"g.edges": "0 1\n1 2\n2 3\n3 0\n"}, ["design", "--symmetry", "graph:g.edges"], 0, ["order 8 on 4 tokens", "note: the symmetry is that of the graph"], ""),
    ("design with a misspelt group", {}, ["design", "--symmetry", "C_5 x graf(3)"], 2, [], None),
    ("design with a wrong degree", {}, ["design", "--symmetry", "C_5", "--tokens", "6"], 2, [], 'sightline: group "C_5", character 1: this acts on 5 points, expected 6\n'),
    ("design with a regular group that is too large", {}, ["design", "--symmetry", "C_3 x regular(S_12)"], 3, [],
     'sightline: group "C_3 x regular(S_12)", character 7: regular(...) of a group of order 12! on 12 points is beyond its limit (200000 elements)\n'),
    ("design with a broken kernel", {}, ["design", "--symmetry", "C_5", "--kernel", "exp(dot(x,y)"], 2, [],
     'sightline: --kernel: expected a kernel name or an expression in x and y, found "exp(dot(x,y)": character 13: expected ")", found the end\n'),
    ("design with no layers", {}, ["design", "--symmetry", "C_5", "--layers", "0"], 2, [], "sightline: --layers: expected a whole number from 1 to 2^53, found 0 (see sightline --help)\n"),
    ("design with too many layers", {}, ["design", "--symmetry", "C_5", "--layers", "99999999999999999999999"], 2, [],
     "sightline: --layers: expected a whole number of at most 2^62, found 99999999999999999999999 (see sightline --help)\n"),
    ("design of one token", {}, ["design", "--symmetry", "S_1"], 0, ["one token"], ""),
    ("design that improves", {"a.toml": RING.replace("repeat = 3", "repeat = 9")}, ["design", "--from", "a.toml"], 0, ["9 layers, 108 pairs"], ""),
    ("design with nothing to improve", {"a.toml": "tokens = 4\ndim = 4\n"}, ["design", "--from", "a.toml"], 0, ["none found", "at least 12 pairs in 1 layer"], ""),
    ("design causal with a symmetry", {}, ["design", "--symmetry", "C_5", "--causal"], 2, [], None),
    ("design causal", {}, ["design", "--symmetry", "trivial(6)", "--causal"], 0, ["tokens back"], ""),
    ("symmetry of a file", {"a.toml": RING.replace("dim = 4\n", "dim = 4\n[target]\nsymmetry = \"graph:g.edges\"\n"), "g.edges": "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n"},
     ["certify", "a.toml"], 0, ["CERTIFIED"], ""),
    ("requirement from a file", {"a.toml": RING, "g.edges": "0 1\n1 2\n2 3\n3 4\n4 5\n"}, ["certify", "a.toml", "--require", "symmetry=graph:g.edges"], 1, ["IMPOSSIBLE"], ""),
    ("diff of equals", {"a.toml": RING, "b.toml": RING}, ["diff", "a.toml", "b.toml"], 0, ["same"], ""),
    ("diff", {"a.toml": RING, "b.toml": RING.replace("repeat = 3", "repeat = 2")}, ["diff", "a.toml", "b.toml", "--json"], 1,
     ['"same":false', '"needed":[3,3]', '"first_difference":{"layer":3,"reader":0,"read":0,"in":"a"}', '"floor":"1/2"'], ""),
    ("diff of masks", {"a.edges": "0 0\n0 1\n1 1\n1 0\n", "b.edges": "0 0\n0 1\n1 1\n"}, ["diff", "a.edges", "b.edges"], 1, ["layer 1: token 1 reads 0 only in a"], ""),
    ("diff of a mask and a width", {"a.edges": "0 0\n0 1\n1 1\n1 0\n", "b.toml": 'tokens = 2\ndim = 8\ndepth = "unbounded"\n[mixer]\npattern = { kind = "full" }\n'}, ["diff", "a.edges", "b.toml"], 0, ["same"], ""),
    ("diff of depths", {"a.edges": EDGES, "b.toml": 'tokens = 3\ndim = 8\n[mixer]\npattern = { kind = "file", path = "a.edges" }\n'}, ["diff", "a.edges", "b.toml"], 1,
     ["layouts      different\ndepth        a repeated for ever, b 1 layer\na  "], ""),
    ("diff of files with an option for configs", {"a.toml": RING}, ["diff", "a.toml", "a.toml", "--tokens", "4"], 2, [], "sightline: a.toml: --tokens: expected no such option (it is for a config.json), found it\n"),
    ("diff of widths", {"a.toml": RING, "b.toml": RING.replace("dim = 4", "dim = 8")}, ["diff", "a.toml", "b.toml"], 1, ["not shown", "inputs       of another kind, width"], ""),
    ("tokens move with their rows", {"a.toml": 'tokens = 4\ndim = 4\ninput = { positions = "sinusoidal" }\n'}, ["certify", "a.toml"], 0, ["each with its row of the table"], ""),
    ("memory without end", {"a.toml": RING}, ["certify", "a.toml", "--memory", "1e30"], 0, ["CERTIFIED"], ""),
    ("width beyond files", {"config.json": '{"model_type": "llama", "hidden_size": 2147483648}'}, ["certify", "config.json"], 2, [], "sightline: config.json: /hidden_size: expected an integer <= 2147483647, found 2147483648\n"),
    ("names cannot write to the terminal", {"a.toml": 'tokens = 2\ndim = 2\nname = "x\\u001b[31m"\n'}, ["certify", "a.toml"], 0, ["x?[31m (2 tokens)"], ""),
    ("all numbers behind a norm", {"a.toml": 'tokens = 2\ndim = 3\n[output]\nnorm = { kind = "layernorm" }\n'}, ["certify", "a.toml"], 0, ["outputs      3 per token asked, 2 possible", "at most 2 outputs per token"], ""),
    ("fewer numbers behind a norm", {"a.toml": 'tokens = 2\ndim = 3\n[output]\ndim = 2\nnorm = { kind = "layernorm" }\n'}, ["certify", "a.toml"], 0, ["CERTIFIED", "outputs      2 per token asked, 2 possible"], ""),
    ("functions of what is seen", {"a.toml": 'tokens = 4\ndim = 2\n[[layer]]\npattern = { kind = "blocks", size = 2 }\n'}, ["certify", "a.toml", "--require", "seen"], 0, ["CERTIFIED: it can approximate all functions of what each token sees"], ""),
    ("functions of what is not seen", {"a.toml": 'tokens = 4\ndim = 2\n[[layer]]\npattern = { kind = "blocks", size = 2 }\n'}, ["certify", "a.toml"], 0, ["this layout is partial", "--require seen", 'target.class = "seen"'], ""),
    ("tokens that see alike", {"a.toml": 'tokens = 3\ndim = 2\n[target]\nclass = "seen"\n[[layer]]\npattern = { kind = "rows", rows = [[0], [0, 1], [2]] }\n'}, ["certify", "a.toml"], 0, ["IMPOSSIBLE", "add positions"], ""),
    ("a requirement that there is not", {"a.toml": RING}, ["certify", "a.toml", "--require", "see"], 2, [], 'sightline: --require: expected universal, causal, seen or symmetry=GROUP, found "see"\n'),
    ("causal target of own tokens", {"a.toml": RING}, ["certify", "a.toml", "--require", "causal"], 0, ["leave to a token"], ""),
    # Heads that share a pattern are two all the same; functions of other inputs are other functions.
    ("diff of heads", {"a.toml": HEADS, "b.toml": HEADS.replace('{kind="full"},{kind="self"}', '{kind="self"},{kind="self"}')}, ["diff", "a.toml", "b.toml"], 1, ["not shown"], ""),
    ("diff of equal heads", {"a.toml": HEADS, "b.toml": HEADS.replace('{kind="full"}', '{kind="rows",rows=[[0,1],[0,1]]}')}, ["diff", "a.toml", "b.toml"], 0, ["same"], ""),
    ("diff of raw widths", {"a.toml": EMBEDDED, "b.toml": EMBEDDED.replace("dim = 3", "dim = 2")}, ["diff", "a.toml", "b.toml"], 1, ["not shown"], ""),
    ("diff of domains", {"a.toml": EMBEDDED, "b.toml": EMBEDDED.replace("dim = 3", 'dim = 3, domain = "centred"')}, ["diff", "a.toml", "b.toml"], 1, ["not shown"], ""),
    ("diff of boxes", {"a.toml": BOXED, "b.toml": BOXED.replace("0.25", "0.3")}, ["diff", "a.toml", "b.toml"], 1, ["not shown"], ""),
    ("diff of constants and means", {"a.toml": BLOCKS.replace("KIND", '"bias"\nactivation = "1"'), "b.toml": BLOCKS.replace("KIND", '"mean"')}, ["diff", "a.toml", "b.toml"], 1, ["different", "missed by a: what token 1 is, asked of token 0"], ""),
    ("explain of constants", {"a.toml": BLOCKS.replace("KIND", '"bias"\nactivation = "1"')}, ["explain", "a.toml", "--token", "0"], 0, ["1 token : 0"], ""),
    ("diff with and without BOS", {"a.toml": IDS, "b.toml": IDS.replace("vocabulary = 3", "vocabulary = 3, bos = true")}, ["diff", "a.toml", "b.toml"], 1, ["not shown"], ""),
    ("no command", {}, [], 2, [], None),
]


def run_case(folder, files, arguments):
    for name, text in files.items():
        (folder / name).write_text(text)
    return subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def find_faults(case, folder):
    name, files, arguments, code, lines, error = case
    result = run_case(folder, files, arguments)
    faults = []
    if result.returncode != code:
        faults.append(f"exit code {result.returncode}, expected {code}: {result.stderr.strip()}")
    faults += [f"standard output lacks {line!r}: {result.stdout[:600]!r}" for line in lines if line not in result.stdout]
    if error is not None and result.stderr != error:
        faults.append(f"standard error {result.stderr!r}, expected {error!r}")
    # What is refused writes nothing.
    if code == 2 and {path.name: path.read_text() for path in folder.iterdir()} != files:
        faults.append(f"files were changed: {sorted(path.name for path in folder.iterdir())}")
    if code == 2 and (len(result.stderr.strip().splitlines()) != 1 or not result.stderr.startswith("sightline: ")):
        faults.append(f"bad input must give one line: {result.stderr!r}")
    return [f"{name}: {fault}" for fault in faults]


def find_screen_faults(folder):
    """Every example fits one screen, and says the same twice."""
    faults = []
    for path in sorted((root / "examples").glob("*.toml")):
        first = subprocess.run([command, "certify", str(path)], capture_output=True, text=True, check=False)
        lines = first.stdout.splitlines()
        if first.returncode != 0 or len(lines) > 40 or max(map(len, lines)) > 100:
            faults.append(f"{path.name}: exit {first.returncode}, {len(lines)} lines, width {max(map(len, lines), default=0)}")
    return faults


def find_saved_faults(folder):
    """A certificate of a config is checked against the config with the length that it was made with. And: what design and import save under a name that ends with .json is JSON, without another .json in the names beside it; a second design writes over the files of the first."""
    faults, inside = [], folder / "saved"
    inside.mkdir()
    (inside / "config.json").write_text('{"model_type": "gpt2", "n_layer": 2, "n_embd": 8, "n_head": 2, "n_positions": 16, "vocab_size": 10}')
    for line in (["import", "config.json", "--save", "a.json"], ["design", "--symmetry", "C_5", "--save", "b.json"], ["design", "--symmetry", "C_6", "--save", "b.json"]):
        result = subprocess.run([command, *line], cwd=inside, capture_output=True, text=True, check=False)
        text = (inside / line[-1]).read_text() if (inside / line[-1]).exists() else ""
        again = subprocess.run([command, "certify", line[-1], "--canonical"], cwd=inside, capture_output=True, text=True, check=False)
        if result.returncode != 0 or not text.startswith("{") or again.stdout != text:
            faults.append(f"{line}: exit code {result.returncode}, {result.stderr!r}, saved {text[:60]!r}")
    subprocess.run([command, "certify", "config.json", "--tokens", "5", "--save", "c.json"], cwd=inside, capture_output=True, check=False)
    for more, code, words in (([], 1, "than config.json (5 tokens, found 16; --tokens 5 reads the config at that length)"), (["--tokens", "5"], 0, "every claim is confirmed")):
        result = subprocess.run([command, "check", "c.json", "--architecture", "config.json", *more], cwd=inside, capture_output=True, text=True, check=False)
        if result.returncode != code or words not in result.stdout:
            faults.append(f"check --architecture {more}: exit code {result.returncode}, {result.stdout!r}, {result.stderr!r}")
    (inside / "c.json").unlink()
    names = sorted(path.name for path in inside.iterdir())
    if names != ["a.json", "b-1.edges", "b-1.npz", "b-1.svg", "b-2.edges", "b-2.npz", "b-2.svg", "b-orbits.svg", "b.json", "b.py", "b.svg", "config.json"]:
        faults.append(f"saved files: {names}")
    return faults


def find_lost_output_faults(folder):
    """An answer that could not be written is no success; a reader who has seen enough is no failure."""
    (folder / "a.toml").write_text(RING)
    faults = []
    for arguments in (["certify", "a.toml"], ["rules"], ["--help"], ["design", "--help"], ["--version"]):  # less, and more, than standard output holds back
        with open("/dev/full", "w") as full:
            result = subprocess.run([command, *arguments], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode != 2 or not result.stderr.startswith("sightline: standard output: expected a file that can be written"):
            faults.append(f"full disk: {arguments}: exit code {result.returncode}, {result.stderr!r}")
    process = subprocess.Popen([command, "rules"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    return faults + ([f"closed pipe: {error!r}"] if process.wait() not in (0, -signal.SIGPIPE) or error else [])


def find_endless_faults(folder):
    """Devices that never end are refused by every reader, at once; what cannot be written is one line."""
    (folder / "a.toml").write_text(RING)
    (folder / "config.json").write_text('{"model_type": "gpt2", "n_positions": 8}')
    calls = []
    for device in ("/dev/zero", "/dev/urandom"):
        calls += [["certify", device], ["import", device], ["pattern", device], ["explain", device], ["check", device], ["diff", "a.toml", device],
                  ["target", device, "--out", "t.npz"], ["design", "--from", device], ["design", "--symmetry", f"molecule:{device}"], ["design", "--symmetry", f"mask:{device}"],
                  ["certify", "a.toml", "--require", f"symmetry=graph:{device}"], ["approximate", f"data:{device}"], ["falsify", f"lib:{device}"],
                  ["rate", f"data:{device}"], ["rate", "expr:min(x,y)", "--data", device]]
        for name, key in (("mask", f'[mixer]\npattern = {{ kind = "file", path = "{device}" }}\n'), ("table", f'[input]\npositions = "fixed"\nfile = "{device}"\n')):
            (folder / f"{name}{device[5:]}.toml").write_text(f"tokens = 6\ndim = 4\n{key}")
            calls.append(["certify", f"{name}{device[5:]}.toml"])
    calls += [["certify", "a.toml", "--save", "/dev/full"], ["import", "config.json", "--save", "/dev/full"], ["falsify", "expr:softmax", "--save", "/dev/full"], ["design", "--symmetry", "C_5", "--save", "/dev/full"]]
    faults = []
    for call in calls:
        start = time.monotonic()
        process = subprocess.Popen([command, *call], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        error = process.stderr.read().decode()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        took, code, peak = time.monotonic() - start, os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024
        if code != 2 or len(error.strip().splitlines()) != 1 or took > 5 or peak > 300:
            faults.append(f"endless: {call}: exit code {code} after {took:.1f} s, {peak:.0f} MB, {error[:300]!r}")
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        result = subprocess.run([command, "certify", "/dev/stdin"], stdin=endless.stdout, capture_output=True, text=True, check=False, timeout=60)
        endless.kill()
    if result.returncode != 2 or "more than 256 MiB from a pipe" not in result.stderr:
        faults.append(f"endless pipe: exit code {result.returncode}, {result.stderr[:300]!r}")
    return faults


def find_interrupt_faults(folder):
    """Ctrl-C ends long work within a second with exit code 130."""
    (folder / "long.toml").write_text('tokens = 300000\ndim = 4\ndepth = "unbounded"\n[mixer]\npattern = { kind = "random", degree = 16, seed = 1 }\n')
    process = subprocess.Popen([command, "certify", "long.toml"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1)
    if process.poll() is not None:
        return ["interrupt: the work was over before it could be interrupted"]
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    process.communicate(timeout=60)
    waited = time.monotonic() - start
    # Two seconds, not one: the test machine may be busy with other tests.
    return [] if process.returncode == 130 and waited < 2 else [f"interrupt: exit code {process.returncode} after {waited:.1f} s"]


def find_time_faults(folder):
    """--time holds for the search, for the writing and for the check of the certificate."""
    (folder / "timed.toml").write_text('tokens = 300000\ndim = 4\n[mixer]\npattern = { kind = "window", radius = 64, global = [0, 5] }\n[[layer]]\nrepeat = 8\n')
    start = time.monotonic()
    subprocess.run([command, "certify", "timed.toml"], cwd=folder, capture_output=True, check=False)
    whole = time.monotonic() - start
    faults = []
    # How fast the machine is changes while other tests run, so the moment of the check is looked for by halving, not computed from one run.
    low, high, limit = 0.0, whole, 0.2 * whole
    for _ in range(12):
        start = time.monotonic()
        result = subprocess.run([command, "certify", "timed.toml", "--json", "--time", f"{limit:.2f}"], cwd=folder, capture_output=True, text=True, check=False)
        over = time.monotonic() - start - limit
        # Two seconds, not one: the test machine may be busy with other tests.
        if result.returncode not in (0, 3) or over > 2 or (result.returncode == 3 and '"limit":"' not in result.stdout):
            faults.append(f"time: limit {limit:.2f} s of {whole:.2f} s: exit code {result.returncode}, {over:.1f} s over the limit, {result.stdout[-200:]!r}")
        if "while the certificate was checked: the time limit" in result.stdout:
            return faults
        if result.returncode == 0:
            high = limit
        else:
            low = limit
        if high - low < 0.02:  # the machine has become slower or faster
            low, high = 0.0, 1.5 * high
        limit = (low + high) / 2
    return [*faults, "time: no check was interrupted"]


def find_memory_faults(folder):
    """--memory holds for the whole process, and what it cuts short says how far it came."""
    patterns = {
        "bigbird": (['{ kind = "bigbird", block = 64, random = 3, globals = 2, seed = 1 }'], (16, 40)),
        "swin": (['{ kind = "grid", shape = [256, 256], blocks = [8, 8] }', '{ kind = "grid", shape = [256, 256], blocks = [8, 8], shift = [4, 4] }'], (16, 40)),
        # Where a limit ended these while large lists were printed, the program ended with them.
        "causal": (['{ kind = "full", causal = true }'], (10, 14)),
        "grid": (['{ kind = "grid", shape = [256, 256], window = [3, 3] }'], (16, 22, 28)),
    }
    faults = []
    for name, (layers, limits) in patterns.items():
        text = "tokens = 65536\ndim = 64\n" + "".join(f"[[layer]]\npattern = {p}\n" for p in layers * 2)
        (folder / f"{name}.toml").write_text(text)
        for megabytes in limits:
            process = subprocess.Popen([command, "certify", f"{name}.toml", "--json", "--memory", str(megabytes)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out = process.stdout.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            code, peak = os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024
            if code not in (0, 3) or peak > megabytes + 32 or (code == 3 and '"limit":"' not in out):
                faults.append(f"memory: {name} with --memory {megabytes}: exit code {code}, {peak:.0f} MB, {out[-200:]!r}")
            if megabytes == limits[0] and code != 3:
                faults.append(f"memory: {name} does not even need {megabytes} MB, so nothing was tested")
    return faults


def main():
    faults = []
    count = 0
    with tempfile.TemporaryDirectory() as name:
        for index, case in enumerate(CASES):
            if wanted and case[0] not in wanted:
                continue
            folder = pathlib.Path(name) / str(index)
            folder.mkdir()
            faults += find_faults(case, folder)
            count += 1
        if not wanted:
            faults += find_screen_faults(pathlib.Path(name)) + find_saved_faults(pathlib.Path(name)) + find_lost_output_faults(pathlib.Path(name)) + find_endless_faults(pathlib.Path(name)) + find_interrupt_faults(pathlib.Path(name)) + find_time_faults(pathlib.Path(name))
            # Under the sanitizers memory is not what it was.
            if b"__asan_init" not in pathlib.Path(command).read_bytes():
                faults += find_memory_faults(pathlib.Path(name))
            count += 7
    print("\n".join(faults))
    print(f"cli: {count - len(faults)} passed, {len(faults)} failed")
    sys.exit(bool(faults))


main()
