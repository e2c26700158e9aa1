"""How often one caller may do something.

The in-memory storage of the `limits` package keeps every key until it expires and starts a thread per burst; this one is
bounded by a number of callers and has no thread.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from cachetools import LRUCache

MAX_KEYS = 10_000
"""Callers tracked at once; the least recently seen is dropped first."""


class RateLimit:
    """Allows ``burst`` calls at once and one more every ``every_s`` seconds, per key (generic cell rate algorithm).

    Safe to share between threads.
    """

    def __init__(self, burst: int, every_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` in seconds."""
        self._every, self._tolerance, self._clock = every_s, (burst - 1) * every_s, clock
        self._due: LRUCache[str, float] = LRUCache(MAX_KEYS)
        self._lock = threading.Lock()

    def wait(self, key: str) -> int:
        """0 when this call may pass, and is counted; otherwise the whole seconds until the next one may."""
        with self._lock:
            now = self._clock()
            due = max(self._due.get(key, now), now)
            if due - now > self._tolerance:
                return max(1, math.ceil(due - now - self._tolerance))
            self._due[key] = due + self._every
            return 0


class SignInRateLimit:
    """Slows down password guessing: per name and address, per address, and per name from everywhere."""

    def __init__(self) -> None:
        """The last limit is generous, or strangers could lock a user out."""
        self._both, self._address, self._name = RateLimit(5, 20.0), RateLimit(20, 10.0), RateLimit(100, 5.0)

    def wait(self, name: str, address: str) -> int:
        """0 when the attempt may be made; otherwise the seconds to wait."""
        name = name[:100].casefold()
        return self._address.wait(address) or self._both.wait(f"{address} {name}") or self._name.wait(name)
