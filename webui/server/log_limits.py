"""What clients can make the server log, one line a minute for each kind, with how many it stands for."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

EVERY_S = 60.0
LOUD = ("uvicorn.error", "asyncio", "webui.server.connections", "revelio.integrations.slack.bot")
"""Loggers that speak whenever a client or a backend does something odd."""


class OncePerMinute(logging.Filter):
    """Passes the first record of each message and every minute one more, which says how many were left out."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` in seconds."""
        super().__init__()
        self._clock, self._lock = clock, threading.Lock()
        self._last: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """True for a record that is to be written. Addresses and other details do not make a message another one."""
        kind = f"{record.name} {record.levelno} {str(record.msg)[:30]}"
        with self._lock:
            now = self._clock()
            if now - self._last.get(kind, float("-inf")) < EVERY_S:
                self._left_out[kind] = self._left_out.get(kind, 0) + 1
                return False
            self._last[kind] = now
            more = self._left_out.pop(kind, 0)
        if more:
            record.msg, record.args = f"{record.getMessage()} ({more} more like it since the last line)", None
        return True


def limit_logs() -> None:
    """For the rest of the process."""
    for name in LOUD:
        logging.getLogger(name).addFilter(OncePerMinute())
