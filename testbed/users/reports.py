"""What users write: texts of the corpus for the cells that fit, their figures filled in from what was seen."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import CorpusError
from testbed.users.corpus import CORPUS
from testbed.users.notes import SLOW_SECONDS, Visit

_ITEMS = {
    "shop": ("linen shirt", "oak lamp", "copper kettle", "wool blanket", "walnut shelf", "glass vase"),
    "forum": ("what are you reading this week", "rate my first loaf", "moving to the coast", "old bikes worth saving"),
    "travel": ("Banbury", "Kingsmere", "Oakham", "Westerby"),
}
"""What people are after where probe users named nothing: an article, a thread, a destination."""


@dataclass(frozen=True, slots=True)
class ReportText:
    """One text with its writer and the cell it was written for."""

    text: str
    writer: str
    cell: str


def choose_reports(
    cells: Sequence[str],
    visits: Sequence[Visit],
    writers: Sequence[str],
    seed: str,
    count: int,
    opened_at: float,
    folder: Path = CORPUS,
) -> tuple[ReportText, ...]:
    """Up to ``count`` texts, no writer twice in a row while there are others, the worst cells most often.

    ``cells`` as ``testbed.users.cells.cells`` gives them. Raises ``CorpusError`` when the corpus lacks a writer.
    """
    rng = random.Random(seed)
    texts = {w: _texts(folder, w) for w in writers}
    chosen: list[ReportText] = []
    order = rng.sample(list(writers), len(writers))
    for number in range(count):
        wanted = cells[number % len(cells)] if number % 2 else cells[min(number // 2, len(cells) - 1)]
        turn = number % len(order)
        fits = [
            (w, *text) for w in (*order[turn:], *order[:turn]) for text in rng.sample(texts[w][wanted], len(texts[w][wanted]))
        ]
        taken = {(c.writer, c.cell) for c in chosen}
        found = next((f for f in fits if f[:2] not in taken), None)
        if found is not None:
            chosen.append(ReportText(_filled(found[2], wanted, visits, opened_at, rng), found[0], found[1]))
    return tuple(chosen)


def _texts(folder: Path, writer: str) -> dict[str, list[tuple[str, str]]]:
    path = folder / f"{writer}.jsonl"
    if not path.is_file():
        raise CorpusError(f"{path}: no reports by {writer}; the corpus has one file a writer")
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found[row["cell"].split("#")[0]].append((row["cell"], row["text"]))
    return found


def _filled(text: str, cell: str, visits: Sequence[Visit], opened_at: float, rng: random.Random) -> str:
    feature = cell.split("/")[1]
    bad = [v for v in visits if v.outcome != "ok" and feature in (v.feature, "_site")]
    waited = [v.seconds for v in bad if v.seconds >= SLOW_SECONDS]
    seconds = max(waited, default=float(rng.randint(6, 20)))
    status = next((v.status for v in reversed(bad) if v.status and v.status >= 400), 500)
    since = dt.datetime.fromtimestamp(bad[0].at if bad else opened_at, tz=dt.UTC)
    values = {
        "seconds": str(max(2, round(seconds))),
        "status": str(status),
        "time": since.strftime("%H:%M"),
        "item": rng.choice(_items(visits, feature) or _ITEMS[cell.split("/", maxsplit=1)[0]]),
    }
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def _items(visits: Sequence[Visit], feature: str) -> list[str]:
    """The articles that users were after: where the complaint is about, else anywhere."""
    named = [v for v in visits if v.status is not None and v.status < 400 and v.detail]
    return sorted({v.detail for v in named if v.feature == feature} or {v.detail for v in named})
