"""``python scripts/rooms.py [--write]``: the rooms of Revelio and the figures of its structure, from the code.

``--write`` draws the rooms into docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = ("revelio", "webui", "fault_injection", "testbed")
ENTRIES = 17
"""The most entries at the top of ``revelio``."""
_DRAWING = re.compile(r"(<!-- rooms: `python scripts/rooms.py --write` -->\n```\n).*?(\n```)", re.DOTALL)


def entries() -> list[str]:
    """What a newcomer sees at the top of ``revelio``, without the files that Python asks for."""
    own = ("__init__.py", "__main__.py", "py.typed", "__pycache__")
    return sorted(p.name for p in (ROOT / "revelio").iterdir() if p.name not in own)


def floors() -> list[list[str]]:
    """The rooms of ``revelio`` from the top floor down, as the import contract has them."""
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    lines = contracts["importlinter:contract:layers"]["layers"].split("\n")
    return [[room.strip() for room in line.split("|")] for line in lines if line.strip()]


def arrows() -> set[tuple[str, str]]:
    """Which room imports which."""
    found = set()
    for file in (ROOT / "revelio").rglob("*.py"):
        room = file.relative_to(ROOT / "revelio").parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("revelio."):
                found.add((room, (node.module or "").split(".")[1]))
    return {(a, b) for a, b in found if a not in (b, "__init__")}


def drawing() -> str:
    """A line a room: what it holds, from its own first line. Each floor imports from those below it."""
    lines = []
    for floor in floors():
        for place, room in enumerate(floor):
            init = ROOT / "revelio" / room / "__init__.py"
            if init.exists():
                about = (ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or "").split("\n", 1)[0]
                lines.append(f"{_mark(place, len(floor))} {room:<13} {about}")
    return "\n".join(lines)


def _mark(place: int, rooms: int) -> str:
    if rooms == 1:
        return "─"
    return "┌" if place == 0 else "└" if place == rooms - 1 else "├"


def figures() -> dict[str, int]:
    """Files, lines, rooms, arrows, floors, and class names that stand twice or more."""
    files = [p for package in PACKAGES for p in (ROOT / package).rglob("*.py")]
    texts = [p.read_text(encoding="utf-8") for p in files]
    classes = Counter(
        node.name
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and node.name[0] != "_"
    )
    return {
        "source files": len(files),
        "source lines": sum(text.count("\n") for text in texts),
        "test lines": sum(p.read_text(encoding="utf-8").count("\n") for p in (ROOT / "tests").rglob("*.py")),
        "entries at the top of revelio": len(entries()),
        "arrows between its rooms": len(arrows()),
        "floors": len(floors()),
        "class names that stand twice or more": sum(count > 1 for count in classes.values()),
    }


def main(words: list[str]) -> None:
    """Print the drawing and the figures; write the drawing where that is asked for."""
    if "--write" in words:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_DRAWING.sub(lambda found: f"{found[1]}{drawing()}{found[2]}", page), encoding="utf-8")
    print(drawing())
    for name, figure in figures().items():
        print(f"{figure:>8,}  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
