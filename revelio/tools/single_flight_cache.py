"""A TTL cache in which concurrent callers of one missing key share a single request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from cachetools import TTLCache

T = TypeVar("T")


def _now() -> float:
    return time.monotonic()


class SingleFlightCache(Generic[T]):
    """At most ``maxsize`` values, each for ``ttl`` seconds. Safe to share between threads.

    cachetools keeps the values; sharing one request and its error between waiting callers is what it does not offer.
    """

    def __init__(self, maxsize: int, ttl: float) -> None:
        """Empty."""
        self._values: TTLCache[str, T] = TTLCache(maxsize, ttl, timer=_now)
        self._pending: dict[str, Future[T]] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        """The cached value; None when there is none or it has expired."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: str, value: T) -> None:
        """Cache a value; the least recently used one is evicted when the cache is full."""
        with self._lock:
            self._values[key] = value

    def get_or_call(self, key: str, call: Callable[[], T], *, keep: bool = True) -> T:
        """The cached value, else what ``call`` returns or raises, called once for all concurrent callers.

        ``keep`` says whether the value is cached for later callers.
        """
        with self._lock:
            if key in self._values:
                return self._values[key]
            pending = self._pending.get(key)
            if pending is None:
                own = self._pending[key] = Future()
        return pending.result() if pending is not None else self._call(key, own, call, keep)

    def _call(self, key: str, future: Future[T], call: Callable[[], T], keep: bool) -> T:
        try:
            value = call()
            if keep:
                self.put(key, value)
            future.set_result(value)
        except BaseException as error:  # every waiting caller gets it
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._pending[key]
        return value
