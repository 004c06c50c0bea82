"""Permutations of tokens, as tuples of images: read from cycle notation, and the group that some of them generate."""


def parse_cycles(text, n):
    image = list(range(n))
    for cycle in text.replace(")", "").split("("):
        points = [int(p) for p in cycle.replace(",", " ").split()]
        for p, q in zip(points, points[1:] + points[:1]):
            image[p] = q
    return tuple(image)


def orbit(generators, start):
    """Every tuple of points that the group generated takes `start` to."""
    found, fresh = {start}, [start]
    while fresh:
        points = fresh.pop()
        for g in generators:
            image = tuple(g[v] for v in points)
            if image not in found:
                found.add(image)
                fresh.append(image)
    return found


def closure(generators, n):
    return orbit(generators, tuple(range(n)))
