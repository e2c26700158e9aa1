"""Earlier incidents like this one whose cause people found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from revelio.service import Service
from revelio.store import SavedAnswer
from revelio.store.history import FoundAnswer, Search

_LOOKED_AT, _SHOWN, _LEAST = 200, 3, 0.12
_SAME_SUSPECT, _SAME_QUERY = 0.5, 0.3


@dataclass(frozen=True, slots=True)
class Similar:
    """An earlier answer: what was reported, what its first query was, and the cause as a person noted it."""

    id: str
    saved_at: float
    report: str
    title: str
    cause: str


def similar(service: Service, saved: SavedAnswer, suspect: str) -> tuple[Similar, ...]:
    """At most three, the most similar first: by the words of the reports, the suspect and the first query."""
    answer = saved.recommendation
    wanted = Search(system=answer.incident.system, judged="found")
    title = answer.queries[0].query.title if answer.queries else ""
    scored = [
        (_likeness(answer.incident.report, suspect, title, f), f)
        for f in service.search(wanted, _LOOKED_AT, 0).answers
        if f.entry.id != saved.id
    ]
    best = sorted((s for s in scored if s[0] >= _LEAST), key=lambda s: (-s[0], -s[1].entry.saved_at))[:_SHOWN]
    return tuple(Similar(f.entry.id, f.entry.saved_at, f.entry.report, f.entry.top_title, f.note) for _, f in best)


def _likeness(report: str, suspect: str, title: str, other: FoundAnswer) -> float:
    ours, theirs = _words(report), _words(other.entry.report)
    words = len(ours & theirs) / len(ours | theirs) if ours | theirs else 0.0
    same = bool(suspect) and suspect == other.entry.suspect
    return words + _SAME_SUSPECT * same + _SAME_QUERY * (bool(title) and title == other.entry.top_title)


def _words(text: str) -> set[str]:
    return {w for w in _split(text) if len(w) > 3}


def _split(text: str) -> Iterable[str]:
    return re.findall(r"\w+", text.casefold())
