"""Keeps a small sample of an exporter's output.

``python -m tests.catalog.conventions.record NAME URL "the command that made it"``

Of the metrics that some convention reads, a few series each are kept, as the exporter wrote them.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import httpx

from revelio.catalog.conventions import conventions

FOLDER = Path(__file__).parent / "samples"
SERIES = 6


def trimmed(text: str) -> str:
    """The lines of metrics that conventions read, with their types."""
    patterns = " ".join(text for c in conventions().values() for r in c.rules for text in (r.query, *dict(r.views).values()))
    wanted = {*re.findall(r"[a-z_:][a-zA-Z0-9_:]+(?=\{\$\{)", patterns), *(c.exporter for c in conventions().values())}
    kept, count = [], Counter[str]()
    for line in text.splitlines():
        name = line.split()[2] if line.startswith("# TYPE") else re.split(r"[{ ]", line, maxsplit=1)[0]
        base = re.sub(r"_(bucket|count|sum)$", "", name)
        if line.startswith("# TYPE") and any(name in (w, re.sub(r"_(bucket|count|sum)$", "", w)) for w in wanted):
            kept.append(line)
        elif name in wanted or f"{base}_bucket" in wanted & {name}:
            count[name] += 1
            kept += [line] if count[name] <= SERIES else []
    return "\n".join(kept) + "\n"


if __name__ == "__main__":
    name, url, command = sys.argv[1:]
    text = httpx.get(url, timeout=10.0).raise_for_status().text
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.txt").write_text(f"# {command}\n{trimmed(text)}", encoding="utf-8")
