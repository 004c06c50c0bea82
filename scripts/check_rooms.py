#!/usr/bin/env python3
"""Compares the includes of every room of the library with what cmake/rooms.cmake allows. Prints each violation; exit 1 if any."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
allowed = {
    name: set(filter(None, rooms.split(";")))
    for name, rooms in re.findall(r'set\(SIGHTLINE_ROOM_(\w+) "([^"]*)"\)', (root / "cmake/rooms.cmake").read_text())
}
wrong = []
for room, others in allowed.items():
    for source in sorted((root / "sightline" / room).rglob("*.[ch]pp")):
        for number, line in enumerate(source.read_text().splitlines(), 1):
            found = re.match(r'#include "sightline/(\w+)/', line)
            if found and found[1] != room and found[1] not in others:
                wrong.append(f"{source.relative_to(root)}:{number}: room {room} may not include room {found[1]}")
            if re.match(r'#include [<"](cli|checker)/', line) or (room != "train" and re.match(r'#include [<"](torch|ATen|c10)/', line)):
                wrong.append(f"{source.relative_to(root)}:{number}: the library knows no command line, checker or (but for train) torch: {line}")
for folder in sorted((root / "sightline").iterdir()):
    if folder.is_dir() and folder.name not in allowed:
        wrong.append(f"{folder.relative_to(root)}: no line in cmake/rooms.cmake says what this room may include")
print("\n".join(wrong) if wrong else f"{len(allowed)} rooms keep to cmake/rooms.cmake")
sys.exit(bool(wrong))
