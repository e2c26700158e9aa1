"""The latest few answers, kept for a little while, each asked for once however many want it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """At most ``most`` values, each for ``seconds``. Safe to share between threads."""

    def __init__(self, most: int, seconds: float) -> None:
        """Empty."""
        self._most = most
        self._seconds = seconds
        self._kept: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._awaited: dict[str, Future[T]] = {}
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

    def shared(self, key: str, ask: Callable[[], T], *, keep: bool = True) -> T:
        """The value kept under that key, else what ``ask`` answers or raises: once for all who want it meanwhile.

        ``keep`` is whether the answer is worth keeping for those who come later.
        """
        with self._lock:
            self._forget()
            if key in self._kept:
                return self._kept[key][1]
            awaited = self._awaited.get(key)
            if awaited is None:
                mine = self._awaited[key] = Future()
        return awaited.result() if awaited is not None else self._fulfilled(key, mine, ask, keep)

    def _fulfilled(self, key: str, promise: Future[T], ask: Callable[[], T], keep: bool) -> T:
        try:
            value = ask()
            if keep:
                self.put(key, value)
            promise.set_result(value)
        except BaseException as error:  # whatever it is, it belongs to all who wait
            promise.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._awaited[key]
        return value

    def _forget(self) -> None:
        oldest = time.monotonic() - self._seconds
        while self._kept and (len(self._kept) > self._most or next(iter(self._kept.values()))[0] < oldest):
            self._kept.popitem(last=False)
