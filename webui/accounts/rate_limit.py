"""How often somebody may do something."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_KEYS = 10_000
"""Callers that are remembered at once; whoever was seen longest ago is forgotten first, so that a crowd fills no memory."""


class RateLimit:
    """Lets ``burst`` through at once and one more every ``every_s`` seconds, for each key (the generic cell rate algorithm).

    Safe to share between threads. Takes no more than ``MOST_KEYS`` keys, and no thread of its own.
    """

    def __init__(self, burst: int, every_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` in seconds."""
        self._every, self._slack, self._clock = every_s, (burst - 1) * every_s, clock
        self._due: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, key: str) -> int:
        """0 when this one may pass, and is counted; otherwise the whole seconds until the next one may."""
        with self._lock:
            now = self._clock()
            due = max(self._due.get(key, now), now)
            if due - now > self._slack:
                return max(1, math.ceil(due - now - self._slack))
            self._due[key] = due + self._every
            self._due.move_to_end(key)
            if len(self._due) > MOST_KEYS:
                self._due.popitem(last=False)
            return 0
