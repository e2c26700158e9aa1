"""Samples of a store's statistics over time: the store itself reports counters and gauges without history."""

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
"""Seconds between the two samples that are taken where none exist yet."""

_FRESH_S = 1.0
_BROKEN_OFF_S = 15.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Every figure by (metric, name) at one moment (Unix seconds). Counters have counted for ``counting_s`` seconds."""

    at: float
    values: Mapping[tuple[str, str], float]
    counting_s: float = 0.0


class Sampler:
    """Samples every two seconds in a background thread, from the first query until it is closed."""

    def __init__(self, name: str, look: Callable[[float], Sample], seconds: float) -> None:
        """``look`` takes one sample before a moment of ``time.monotonic``, ``seconds`` from now, or raises ``SourceError``."""
        self._name = name
        self._seconds = seconds
        self._look = look
        self._kept: deque[Sample] = deque()
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def samples(self, deadline: float) -> tuple[Sample, ...]:
        """All samples kept, oldest first; the last is at most a second old. ``SourceError`` when the store does not answer.

        Where none exist yet, two are taken a second apart, or less where the deadline is close.
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
            self._keep_sampling()
        finally:
            self._asking.release()
        with self._lock:
            return tuple(self._kept)

    def close(self) -> None:
        """Stop the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _latest(self) -> Sample | None:
        with self._lock:
            return self._kept[-1] if self._kept else None

    def _keep(self, sample: Sample) -> None:
        with self._lock:
            if self._kept and sample.at <= self._kept[-1].at:
                return  # the clock was set back, or two samples were taken at once
            self._kept.append(sample)
            while self._kept[0].at < sample.at - KEPT_S:
                self._kept.popleft()

    def _keep_sampling(self) -> None:
        if not self._closing.is_set() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, name=f"sample-{self._name}", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(EVERY_S):
            with contextlib.suppress(SourceError):  # the next query asks the store itself and reports the error
                self._keep(self._look(time.monotonic() + self._seconds))
