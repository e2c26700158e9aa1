"""An LRU cache keyed by the identity of the arguments.

Comparing evidence or a thousand queries for equality would take as long as the cached work itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from cachetools import LRUCache, cached

P = ParamSpec("P")
V = TypeVar("V")


class ByIdentity:
    """A cache key that keeps its value alive, so that no other object can take over its ``id``."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __hash__(self) -> int:
        return id(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self._value is other._value


def cached_by_identity(function: Callable[P, V], size: int = 8) -> Callable[P, V]:
    """The function with its last ``size`` results cached; its arguments are positional and must not change.

    Safe to share between threads; concurrent calls with the same arguments may both compute.
    """
    kept: LRUCache[tuple[ByIdentity, ...], V] = LRUCache(size)
    return cached(kept, key=lambda *parts: tuple(map(ByIdentity, parts)), lock=threading.Lock())(function)
