"""Something that a service does again and again beside serving."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


class Periodic:
    """Acts at the start, every so many seconds, and at once when woken. What fails is logged and tried again next time."""

    def __init__(self, name: str, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        self._name, self._seconds, self._act = name, seconds, act
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """There is something to do now."""
        self._woken.set()

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
            self._woken.clear()
            try:
                await self._act()
            except Exception:
                log.exception("%s failed; trying again in %.0f s", self._name, self._seconds)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._seconds)
