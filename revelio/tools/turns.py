"""Questions to one source, a few at once, each in a thread that nobody has to wait for."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from revelio.errors import SourceError
from revelio.telemetry import span

AT_ONCE = 8
"""Questions that one source is asked at the same time. More wait for their turn."""

T = TypeVar("T")


class Turns:
    """Begins questions; how long to wait for an answer is the asker's business. Safe to share between threads.

    A backend may hold a thread for as long as it likes to: such a thread keeps its turn, so that there are never more of
    them, and does not keep the process from ending.
    """

    def __init__(self, source: str, seconds: float, at_once: int = AT_ONCE) -> None:
        """``seconds`` is the longest wait for a turn."""
        self._source = source
        self._seconds = seconds
        self._at_once = at_once
        self._free = threading.BoundedSemaphore(at_once)

    def begin(self, ask: Callable[[], T]) -> Future[T]:
        """The answer to come, or what ``ask`` raised; ``SourceError`` when there was no turn to be had."""
        answer: Future[T] = Future()
        context = contextvars.copy_context()
        work = threading.Thread(target=context.run, args=(self._ask, ask, answer), name=f"ask-{self._source}", daemon=True)
        work.start()
        return answer

    def _ask(self, ask: Callable[[], T], answer: Future[T]) -> None:
        if not self._free.acquire(timeout=self._seconds):
            why = f"still owes the answers to {self._at_once} earlier questions; is it overloaded?"
            answer.set_exception(SourceError(self._source, why))
            return
        try:
            with span("revelio.ask", tool=self._source):
                told = ask()
            answer.set_result(told)
        except BaseException as error:  # whatever it is, it belongs to whoever asked
            answer.set_exception(error)
        finally:
            self._free.release()
