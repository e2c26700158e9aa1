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
        self._task: asyncio.Task[None] | None = None

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
                log.exception("%s failed; trying again in %.0f s", self._name, self._seconds)
            await asyncio.sleep(self._seconds)
