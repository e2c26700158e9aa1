"""The interface of an index of vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from revelio.encoders.report import Floats


@dataclass(frozen=True, slots=True)
class Item:
    """A unit vector ``[D]`` under an id. ``group`` is what a search can be restricted to: the system of an incident."""

    id: str
    vector: Floats
    group: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One item that was found, and its cosine with what was searched."""

    id: str
    score: float


class VectorIndex(Protocol):
    """Unit vectors of one meaning (those of one model). Safe to share between threads.

    An index can be lost at any time: whoever fills it compares ``ids`` with what should be there, and adds what is missing.
    """

    def ids(self) -> frozenset[str]:
        """The ids of all items."""

    def add(self, items: Iterable[Item]) -> None:
        """Add items, in place of those with the same ids."""

    def remove(self, ids: Collection[str]) -> None:
        """Remove items; ids that are not there are ignored."""

    def rebuild(self, items: Iterable[Item]) -> None:
        """Replace everything. Until it is done, searches find what was there."""

    def search(self, vector: Floats, k: int, *, inside: str | None = None, outside: str | None = None) -> tuple[Hit, ...]:
        """The ``k`` items with the largest cosine, best first: of all groups, of one (``inside``), or of all but one."""

    def close(self) -> None:
        """Save what is not saved yet, and let go of connections."""
