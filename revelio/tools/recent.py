"""The latest few answers, kept for a little while."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """At most ``most`` values, each for ``seconds``. Safe to share between threads."""

    def __init__(self, most: int, seconds: float) -> None:
        """Empty."""
        self._most = most
        self._seconds = seconds
        self._kept: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        """The value kept under that key, unless it is too old."""
        with self._lock:
            self._forget()
            kept = self._kept.get(key)
            return None if kept is None else kept[1]

    def put(self, key: str, value: T) -> None:
        """Keep a value; the oldest one goes when there are too many."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = (time.monotonic(), value)
            self._forget()

    def _forget(self) -> None:
        oldest = time.monotonic() - self._seconds
        while self._kept and (len(self._kept) > self._most or next(iter(self._kept.values()))[0] < oldest):
            self._kept.popitem(last=False)
