"""Limits the concurrent requests to one source; each runs in a daemon thread that callers may stop waiting for."""

from __future__ import annotations

import contextvars
import logging
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from revelio.errors import RevelioError, SourceError
from revelio.support.telemetry import span

log = logging.getLogger(__name__)

MAX_CONCURRENT = 8
"""Concurrent requests to one source; further ones wait."""

_STUMBLES = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError)
"""What a backend whose answers have another form than its own makes a tool, or a library, raise."""

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
        """A future of what ``request`` returns or raises; of ``SourceError`` when it stumbles over an answer, or gets no slot."""
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
        except RevelioError as error:
            future.set_exception(error)
        except _STUMBLES as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            log.warning("%s: %s at %s:%s", self._source, type(error).__name__, Path(frame.filename).name, frame.lineno)
            why = f"answered in a form that is not its own ({type(error).__name__}); is its url right?"
            future.set_exception(SourceError(self._source, why))
        except BaseException as error:  # a mistake of ours: the caller waiting on the future gets it
            future.set_exception(error)
        finally:
            self._slots.release()
