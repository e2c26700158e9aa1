"""When the question in progress has to be over: looking, ranking and running share one deadline."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_END: ContextVar[float] = ContextVar("revelio_deadline", default=float("inf"))


@contextmanager
def until(moment: float) -> Iterator[None]:
    """All that the block asks, in other threads too, has to be over at that moment of ``time.monotonic``, or before."""
    token = _END.set(min(moment, _END.get()))
    try:
        yield
    finally:
        _END.reset(token)


def end(seconds: float) -> float:
    """The moment in so many seconds, or the deadline where that comes first."""
    return min(time.monotonic() + seconds, _END.get())
