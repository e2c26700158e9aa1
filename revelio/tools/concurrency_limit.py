"""Limits the concurrent requests to one source; each runs in a daemon thread that callers may stop waiting for."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from revelio.errors import SourceError
from revelio.telemetry import span

MAX_CONCURRENT = 8
"""Concurrent requests to one source; further ones wait."""

T = TypeVar("T")


class ConcurrencyLimit:
    """Runs requests in daemon threads, at most ``max_concurrent`` at a time. Safe to share between threads.

    The caller decides how long to wait for the result. A request that hangs keeps its slot, so that their number stays
    bounded, and does not keep the process from exiting.
    """

    def __init__(self, source: str, seconds: float, max_concurrent: int = MAX_CONCURRENT) -> None:
        """``seconds`` is the longest wait for a free slot."""
        self._source = source
        self._seconds = seconds
        self._max_concurrent = max_concurrent
        self._slots = threading.BoundedSemaphore(max_concurrent)

    def submit(self, request: Callable[[], T]) -> Future[T]:
        """A future of what ``request`` returns or raises; of ``SourceError`` when no slot became free in time."""
        future: Future[T] = Future()
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._run, request, future), name=f"ask-{self._source}", daemon=True)
        thread.start()
        return future

    def _run(self, request: Callable[[], T], future: Future[T]) -> None:
        if not self._slots.acquire(timeout=self._seconds):
            why = f"has not answered {self._max_concurrent} earlier requests; is it overloaded?"
            future.set_exception(SourceError(self._source, why))
            return
        try:
            with span("revelio.ask", tool=self._source):
                result = request()
            future.set_result(result)
        except BaseException as error:  # the caller waiting on the future gets it
            future.set_exception(error)
        finally:
            self._slots.release()
