"""Remembers what was made of the last few large values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar, TypeVarTuple, Unpack

A = TypeVarTuple("A")
V = TypeVar("V")


class Recent(Generic[*A, V]):
    """A function that remembers its last ``size`` results. Safe to share between threads.

    Arguments are recognised by identity: comparing evidence or a thousand queries would take as long as the work itself.
    They must be frozen, and are kept alive as long as they are remembered.
    """

    def __init__(self, make: Callable[[Unpack[A]], V], size: int = 8) -> None:
        """``make`` may run twice for the same arguments when two threads ask at once."""
        self._make = make
        self._size = size
        self._kept: OrderedDict[tuple[int, ...], tuple[object, V]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, *parts: *A) -> V:
        """The result for these arguments."""
        key = tuple(map(id, parts))
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept[1]
        made = self._make(*parts)
        with self._lock:
            self._kept[key] = parts, made
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return made
