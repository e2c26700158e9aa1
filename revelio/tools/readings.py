"""What a store says of itself now, remembered: its own statistics are counters and momentary figures without a past."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from revelio.errors import SourceError

EVERY_S = 2.0
KEPT_S = 600.0
APART_S = 1.0
"""How far apart the two readings are that stand in for a past that nobody watched."""

_FRESH_S = 1.0
_BROKEN_OFF_S = 15.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Every figure by (metric, name) at one moment (Unix seconds). Counters have counted for ``counting_s`` seconds."""

    at: float
    values: Mapping[tuple[str, str], float]
    counting_s: float = 0.0


class Watch:
    """Takes a reading every two seconds in a thread of its own, from the first question until it is closed."""

    def __init__(self, name: str, look: Callable[[float], Reading], seconds: float) -> None:
        """``look`` takes one reading before a moment of ``time.monotonic``, ``seconds`` from now, or raises ``SourceError``."""
        self._name = name
        self._seconds = seconds
        self._look = look
        self._kept: deque[Reading] = deque()
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def readings(self, deadline: float) -> tuple[Reading, ...]:
        """All that are remembered, oldest first; the last is at most a second old. ``SourceError`` when it cannot be had.

        Where nobody watched so far there are two, taken a second apart, or less where the deadline asks for it.
        """
        if not self._asking.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise SourceError(self._name, f"gave no answer within {self._seconds:g} s; is it overloaded?")
        try:
            latest = self._latest()
            now = time.time()
            if latest is None or not 0.0 <= now - latest.at <= _FRESH_S:
                broken_off = latest is None or not 0.0 <= now - latest.at <= _BROKEN_OFF_S
                self._keep(self._look(deadline))
                if broken_off:
                    self._closing.wait(min(APART_S, max(0.0, deadline - time.monotonic()) / 3))
                    self._keep(self._look(deadline))
            self._keep_watching()
        finally:
            self._asking.release()
        with self._lock:
            return tuple(self._kept)

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _latest(self) -> Reading | None:
        with self._lock:
            return self._kept[-1] if self._kept else None

    def _keep(self, reading: Reading) -> None:
        with self._lock:
            if self._kept and reading.at <= self._kept[-1].at:
                return  # the clock was set back, or two looked at once
            self._kept.append(reading)
            while self._kept[0].at < reading.at - KEPT_S:
                self._kept.popleft()

    def _keep_watching(self) -> None:
        if not self._closing.is_set() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._watch, name=f"watch-{self._name}", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while not self._closing.wait(EVERY_S):
            with contextlib.suppress(SourceError):  # every question asks the store itself and reports what is wrong with it
                self._keep(self._look(time.monotonic() + self._seconds))
