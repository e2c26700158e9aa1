"""How many requests a service takes in a second."""

from __future__ import annotations

import time
from collections.abc import Callable


class RateLimit:
    """A token bucket that holds one second's worth. 0 is no limit."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._tokens, self._last = max(1.0, per_second), clock()

    def take(self) -> bool:
        """Whether one more request is within the limit."""
        if not self._rate:
            return True
        now = self._clock()
        self._tokens = min(max(1.0, self._rate), self._tokens + (now - self._last) * self._rate)
        self._last = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
