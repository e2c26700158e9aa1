"""What each data source does while a question is answered, and whether the answer is still wanted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeVar

from revelio.errors import CancelledError, SourceError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """One data source: ``seconds`` is how long it has been asked so far, over all rounds."""

    name: str
    state: Literal["asking", "answered", "silent"]
    seconds: float


class Progress:
    """The progress of one question. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._cancelled = False
        self._began: dict[str, float] = {}
        self._done: dict[str, SourceProgress] = {}

    @property
    def sources(self) -> tuple[SourceProgress, ...]:
        """Every data source that was asked, by name."""
        with self._lock:
            now = self._clock()
            asking = {n: SourceProgress(n, "asking", self._seconds(n) + now - at) for n, at in self._began.items()}
            return tuple(one for _, one in sorted({**self._done, **asking}.items()))

    def cancel(self) -> None:
        """Ask nothing more, and keep no answer."""
        self._cancelled = True

    def check(self) -> None:
        """Raise ``CancelledError`` when the answer is not wanted any more."""
        if self._cancelled:
            raise CancelledError("cancelled; no answer was kept")

    def asked(self, names: Collection[str]) -> None:
        """A round begins."""
        with self._lock:
            self._began |= dict.fromkeys(names, self._clock())

    def ended(self, name: str, state: Literal["answered", "silent"]) -> None:
        """A data source is done in this round; what comes after that is too late to count."""
        with self._lock:
            began = self._began.pop(name, None)
            if began is not None:
                self._done[name] = SourceProgress(name, state, self._seconds(name) + self._clock() - began)

    def _seconds(self, name: str) -> float:
        return self._done[name].seconds if name in self._done else 0.0


_FOLLOWED: ContextVar[Progress | None] = ContextVar("revelio_progress", default=None)


@contextmanager
def followed(progress: Progress | None) -> Iterator[None]:
    """``progress`` records every request of the block."""
    token = _FOLLOWED.set(progress)
    try:
        yield
    finally:
        _FOLLOWED.reset(token)


def stop_if_cancelled() -> None:
    """Raise ``CancelledError`` when the question in progress was cancelled."""
    progress = _FOLLOWED.get()
    if progress is not None:
        progress.check()


@contextmanager
def report_progress(asks: Mapping[str, Callable[[], T]]) -> Iterator[Mapping[str, Callable[[], T]]]:
    """The same requests, which tell the question in progress how they end; what is open after the block is silent."""
    progress = _FOLLOWED.get()
    if progress is None:
        yield asks
        return
    progress.check()
    progress.asked(asks)
    try:
        yield {name: _telling(progress, name, ask) for name, ask in asks.items()}
    finally:
        for name in asks:
            progress.ended(name, "silent")


def _telling(progress: Progress, name: str, ask: Callable[[], T]) -> Callable[[], T]:
    def asked() -> T:
        try:
            answer = ask()
        except SourceError:
            progress.ended(name, "silent")
            raise
        progress.ended(name, "answered")
        return answer

    return asked
