"""``python -m revelio.cli.recording``: docs/terminal, a session with the real command line in a terminal of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "terminal"
SESSION = (
    "revelio doctor",
    "revelio incidents list",
    "revelio recommend --incident {incident} -k 3",
    "revelio run {query} --incident {incident}",
    "revelio catalog check",
)
"""What is typed. ``{incident}`` is the first of the bundled ones whose first query shows series, ``{query}`` that query."""
COLUMNS, ROWS = 120, 60
_SECONDS = 300
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Typed:
    """A command, everything that it wrote, colours included, and its exit code."""

    command: str
    output: str
    code: int


def session() -> Iterator[Typed]:
    """Type every command of ``SESSION`` into a terminal in an empty folder, with no settings but the defaults."""
    with tempfile.TemporaryDirectory() as folder:
        blanks = _blanks(Path(folder))
        for command in SESSION:
            yield typed(command.format(**blanks), Path(folder))


def typed(command: str, folder: Path) -> Typed:
    """One command in a pseudo terminal. Paths are shown as seen from the project's folder."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(_arguments(command), stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=_environ(folder))
    os.close(theirs)
    with process, os.fdopen(ours, "rb", buffering=0) as screen:
        output = b"".join(_read(screen.fileno()))
        code = process.wait(_SECONDS)
    text = output.decode("utf-8", "replace").replace("\r\n", "\n").replace(f"{ROOT}/", "")
    return Typed(command, "".join(f"{line.rstrip()}\n" for line in text.splitlines()), code)


def write(folder: Path = FOLDER) -> None:
    """``session.svg`` for those who see it and ``session.txt`` with the same words."""
    from rich.console import Console
    from rich.text import Text

    screen = Console(record=True, width=COLUMNS, file=StringIO(), color_system="truecolor", highlight=False)
    for one in session():
        if one.code:
            raise SystemExit(f"{one.command} ended with {one.code}:\n{one.output}")
        screen.print(Text.assemble(("$ ", "dim"), (one.command, "bold")))
        screen.print(Text.from_ansi(one.output.rstrip("\n"), overflow="fold"))
        screen.print()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "session.txt").write_text(_trimmed(screen.export_text(clear=False)), encoding="utf-8")
    # Without the font of a foreign server: showing the picture makes no request.
    svg = _FONT.sub("", screen.export_svg(title="revelio", unique_id="session"))
    (folder / "session.svg").write_text(_trimmed(svg), encoding="utf-8")


def _blanks(folder: Path) -> dict[str, str]:
    for incident in json.loads(_said("revelio incidents list --json", folder)):
        answer = json.loads(_said(f"revelio recommend --incident {incident['id']} -k 1 --run --json", folder))
        first = answer["queries"][0]
        if (first.get("result") or {}).get("series"):
            return {"incident": incident["id"], "query": first["id"]}
    raise SystemExit("no bundled incident has a first query that shows series")


def _said(command: str, folder: Path) -> str:
    done = subprocess.run(_arguments(command), cwd=folder, env=_environ(folder), capture_output=True, text=True, check=True)
    return done.stdout


def _arguments(command: str) -> list[str]:
    return [str(Path(sys.executable).with_name("revelio")), *shlex.split(command)[1:]]


def _environ(folder: Path) -> dict[str, str]:
    # No system: whether the testbed runs just now is no part of the picture.
    return {
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "REVELIO_SYSTEMS": "{}",
        "TERM": "xterm-256color",
        "TZ": "UTC",
    }


def _read(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # on Linux: the other end is closed
            return
        if not part:
            return
        yield part


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


if __name__ == "__main__":
    write()
