#!/usr/bin/env python3
"""Writes the molecules of the designer's tests as MOL V2000 blocks: connectivity only, all coordinates 0.

usage: make.py FOLDER"""
import itertools
import math
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])


def write(name, atoms, bonds, charges=(), isotopes=()):
    """atoms: elements; bonds: (i, j, type), 0-based; charges, isotopes: (atom, value)."""
    lines = [name, "  connectivity only", "", f"{len(atoms):3d}{len(bonds):3d}  0  0  0  0  0  0  0  0999 V2000"]
    lines += [f"{0:10.4f}{0:10.4f}{0:10.4f} {element:<3} 0  0  0  0  0  0  0  0  0  0  0  0" for element in atoms]
    lines += [f"{i + 1:3d}{j + 1:3d}{kind:3d}  0" for i, j, kind in bonds]
    for tag, values in (("CHG", charges), ("ISO", isotopes)):
        if values:
            lines.append(f"M  {tag}{len(values):3d}" + "".join(f" {atom + 1:3d} {value:3d}" for atom, value in values))
    lines += ["M  END", "$$$$"]
    (folder / f"{name}.sdf").write_text("\n".join(lines) + "\n")


def saturate(atoms, bonds, valence={"C": 4, "N": 3, "O": 2}):
    """The same with hydrogens up to the usual valence."""
    atoms, bonds = list(atoms), list(bonds)
    used = [0] * len(atoms)
    for i, j, kind in bonds:
        used[i] += kind
        used[j] += kind
    for i, element in enumerate(list(atoms)):
        for _ in range(valence.get(element, 0) - used[i]):
            bonds.append((i, len(atoms), 1))
            atoms.append("H")
    return atoms, bonds


def ring(members, types):
    return [(members[k], members[(k + 1) % len(members)], types[k % len(types)]) for k in range(len(members))]


benzene = ["C"] * 6, ring(range(6), (2, 1))
write("benzene", *benzene)
write("benzene-hydrogens", *saturate(*benzene))
write("naphthalene", ["C"] * 10, [(0, 1, 2), (1, 2, 1), (2, 3, 2), (3, 4, 1), (4, 5, 2), (5, 0, 1), (4, 6, 1), (6, 7, 2), (7, 8, 1), (8, 9, 2), (9, 5, 1)])
write("azulene", ["C"] * 10, ring(range(10), (2, 1)) + [(0, 4, 1)])
corners = list(itertools.product((0, 1), repeat=3))
write("cubane", ["C"] * 8, [(i, j, 1) for i, j in itertools.combinations(range(8), 2) if sum(a != b for a, b in zip(corners[i], corners[j])) == 1])

# C60: the truncated icosahedron; bonds between two hexagons are the double ones.
golden = (1 + math.sqrt(5)) / 2
points = set()
for base in ((0, 1, 3 * golden), (1, 2 + golden, 2 * golden), (golden, 2, 2 * golden + 1)):
    for signs in itertools.product((1, -1), repeat=3):
        for turn in range(3):
            moved = [s * c for s, c in zip(signs, base)]
            points.add(tuple(round(moved[(k + turn) % 3], 6) + 0.0 for k in range(3)))
points = sorted(points)
edges = [(i, j) for i, j in itertools.combinations(range(60), 2) if abs(math.dist(points[i], points[j]) - 2) < 1e-3]
near = {i: {j for e in edges for j in e if i in e and j != i} for i in range(60)}


def in_pentagon(i, j):
    return any(near[a] & near[b] for a in near[i] - {j} for b in near[j] - {i})


write("fullerene-c60", ["C"] * 60, [(i, j, 1 if in_pentagon(i, j) else 2) for i, j in edges])

# Caffeine: N1 C2 N3 C4 C5 C6, N7 C8 N9, O on C2 and C6, methyls on N1, N3, N7.
caffeine = (["N", "C", "N", "C", "C", "C", "N", "C", "N", "O", "O", "C", "C", "C"],
            [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 2), (4, 5, 1), (5, 0, 1), (4, 6, 1), (6, 7, 1), (7, 8, 2), (8, 3, 1),
             (1, 9, 2), (5, 10, 2), (0, 11, 1), (2, 12, 1), (6, 13, 1)])
write("caffeine", *caffeine)
write("caffeine-hydrogens", *saturate(*caffeine))
# Ferrocene: two rings of aromatic bonds, iron bound to all ten carbons, one hydrogen on each.
write("ferrocene", ["Fe"] + ["C"] * 10 + ["H"] * 10,
      ring(range(1, 6), (4,)) + ring(range(6, 11), (4,)) + [(0, k, 1) for k in range(1, 11)] + [(k, k + 10, 1) for k in range(1, 11)])
# Adamantane: four CH, six CH2 between each two of them.
cage = list(itertools.combinations(range(4), 2))
write("adamantane", ["C"] * 10, [(corner, 4 + k, 1) for k, pair in enumerate(cage) for corner in pair])
neopentane = ["C"] * 5, [(0, k, 1) for k in range(1, 5)]
write("neopentane", *neopentane)
write("neopentane-hydrogens", *saturate(*neopentane))
write("ethane-hydrogens", *saturate(["C", "C"], [(0, 1, 1)]))
write("toluene", ["C"] * 7, ring(range(6), (2, 1)) + [(0, 6, 1)])
write("para-benzoquinone", ["C"] * 6 + ["O", "O"], [(0, 1, 1), (1, 2, 2), (2, 3, 1), (3, 4, 1), (4, 5, 2), (5, 0, 1), (0, 6, 2), (3, 7, 2)])
write("acetate", ["C", "C", "O", "O"], [(0, 1, 1), (1, 2, 2), (1, 3, 1)], charges=[(3, -1)])
write("heavy-water", ["O", "H", "H"], [(0, 1, 1), (0, 2, 1)], isotopes=[(1, 2), (2, 2)])
write("half-heavy-water", ["O", "H", "H"], [(0, 1, 1), (0, 2, 1)], isotopes=[(1, 2)])
dodecahedron = [(i, (i + 1) % 5, 1) for i in range(5)] + [(i, i + 5, 1) for i in range(5)] + [(5 + i, 10 + i, 1) for i in range(5)]
dodecahedron += [(10 + i, 5 + (i + 1) % 5, 1) for i in range(5)] + [(10 + i, 15 + i, 1) for i in range(5)] + [(15 + i, 15 + (i + 1) % 5, 1) for i in range(5)]
write("dodecahedrane", ["C"] * 20, dodecahedron)
write("sulfur-hexafluoride", ["S"] + ["F"] * 6, [(0, k, 1) for k in range(1, 7)])
write("biphenyl", ["C"] * 12, ring(range(6), (2, 1)) + ring(range(6, 12), (2, 1)) + [(0, 6, 1)])
write("tetramethylammonium", ["N"] + ["C"] * 4, [(0, k, 1) for k in range(1, 5)], charges=[(0, 1)])
