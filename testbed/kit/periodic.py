"""Something that a service does again and again beside serving."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


class Periodic:
    """Acts at the start and every so many seconds. What fails is logged and tried again next time."""

    def __init__(self, name: str, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        self._name, self._seconds, self._act = name, seconds, act
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def hurry(self) -> None:
        """Act now rather than when it is time."""
        self._wanted.set()

    async def open(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            try:
                await self._act()
            except Exception:
                # A store that goes away in the middle of a word makes its client raise nearly anything; the work must go on.
                log.warning("%s failed; trying again in %.0f s", self._name, self._seconds, exc_info=True)
                await asyncio.sleep(self._seconds)
                continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), self._seconds)
            self._wanted.clear()
