"""The bounded words that systems, lines and reports are made of, so that a cache of text vectors serves many of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

_FOLDER = Path(__file__).parent / "vocabulary"
_LISTS = frozenset(
    {"helpers", "outside", "gateways", "workers", "sql", "documents", "caches", "brokers", "search", "hosts", "tables", "topics"}
)


@dataclass(frozen=True, slots=True)
class FeatureWords:
    """What users ``said`` of a feature, names of the ``service`` behind it, and its ``paths``, that of users first.

    ``later`` says that a part of the work is done by a worker afterwards. ``corpus`` names the features of a corpus of reports
    that are the like, ``mention`` is a pattern of how those texts speak of it.
    """

    said: tuple[str, ...]
    service: tuple[str, ...]
    paths: tuple[str, ...]
    later: bool = False
    corpus: tuple[str, ...] = ()
    mention: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A log line that is not about a fault."""

    level: str
    text: str


def read(name: str) -> Any:
    """A file of the vocabulary."""
    return yaml.load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)


@lru_cache(maxsize=1)
def trades() -> Mapping[str, tuple[FeatureWords, ...]]:
    """Features by trade; those of ``shared`` are found in any."""
    rows = {trade: rows for trade, rows in read("features").items() if trade not in _LISTS}
    return TypeAdapter(dict[str, tuple[FeatureWords, ...]]).validate_python(rows)


@lru_cache(maxsize=1)
def names() -> Mapping[str, Sequence[str]]:
    """Names of components by role, of tables, topics and hosts."""
    return {key: tuple(value) for key, value in read("features").items() if key in _LISTS}


@lru_cache(maxsize=1)
def messages() -> Mapping[str, Any]:
    """Lines and names of figures."""
    return dict(read("messages"))


@lru_cache(maxsize=8)
def lines(kind: str) -> tuple[Line, ...]:
    """Lines of a kind: ``usual``, ``standing``, ``nightly`` or ``started``."""
    return tuple(Line(**row) for row in messages()[kind])


@lru_cache(maxsize=1)
def wording() -> Mapping[str, Any]:
    """Frames of complaints and other words for templates."""
    return dict(read("wording"))
