"""One thing that a result or the snapshot shows, in words that every reader understands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

Words = tuple[str | float, ...]
"""A text in parts; a float is a moment in Unix seconds, which each place writes in the zone of its reader."""

_QUOTED = 110


@dataclass(frozen=True, slots=True)
class Fact:
    """What is wrong with a component, since when (Unix seconds, None where it is not known), and what to look at next."""

    kind: Literal["change", "log", "figure", "calls", "other"]
    component: str
    words: Words
    since: float | None
    step: str = ""


def written(words: Words, zone: tzinfo | None = UTC) -> str:
    """The words as one text, moments as times of day in ``zone`` (that of this machine when None), named once."""
    last = max((i for i, part in enumerate(words) if not isinstance(part, str)), default=-1)
    return "".join(part if isinstance(part, str) else _clock(part, zone, named=i == last) for i, part in enumerate(words))


def since(moment: float | None) -> Words:
    """`` since 19:21:09``; nothing where the moment is not known."""
    return () if moment is None else (" since ", moment)


def sentence(words: Words, names: frozenset[str] = frozenset()) -> Words:
    """The words as a sentence: with a full stop, and a capital unless they begin with one of the ``names`` of components."""
    first, last = words[0], words[-1]
    if isinstance(first, str) and first.split(" ", 1)[0] not in names:
        words = (f"{first[:1].upper()}{first[1:]}", *words[1:])
    return words if isinstance(last, str) and last.endswith((".", "!", "?")) else (*words, ".")


def lowered(title: str) -> str:
    """A title within a sentence: its capital stays only where it begins an abbreviation."""
    return f"{title[:1].lower()}{title[1:]}" if title[1:2].islower() or title[1:2] == " " else title


def times(count: float) -> str:
    """How often: once, twice, 26 times."""
    return {1: "once", 2: "twice"}.get(round(count), f"{round(count):,} times")


def quoted(text: str) -> str:
    """A text in quotation marks, on one line that is not too long."""
    flat = " ".join(text.split())
    return f"“{flat if len(flat) <= _QUOTED else f'{flat[: _QUOTED - 1]}…'}”"


def _clock(moment: float, zone: tzinfo | None, *, named: bool) -> str:
    at = datetime.fromtimestamp(moment, UTC).astimezone(zone)
    return f"{at:%H:%M:%S} {at:%Z}".rstrip() if named else f"{at:%H:%M:%S}"
