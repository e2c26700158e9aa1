"""Ends what was left half done, at the start and every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

import asyncpg
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation

log = logging.getLogger(__name__)
tracer = trace.get_tracer(__name__)
EVERY_SECONDS = 3.0


class Sweep:
    """Looks for bookings that somebody must see to, and has each of them ended; one that cannot be is tried again later."""

    def __init__(
        self, left_over: Callable[[], Awaitable[list[asyncpg.Record]]], end: Callable[[asyncpg.Record], Awaitable[None]]
    ) -> None:
        self._left_over, self._end = left_over, end
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop; the next start goes on."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            try:
                # A look that finds nothing is not worth a trace.
                with suppress_instrumentation():
                    rows = await self._left_over()
            except Exception:
                log.warning("the bookings cannot be looked through now", exc_info=True)
                rows = []
            for row in rows:
                await self._one(row)
            await asyncio.sleep(EVERY_SECONDS)

    async def _one(self, row: asyncpg.Record) -> None:
        with tracer.start_as_current_span("booking sweep", attributes={"booking.state": row["state"]}) as span:
            try:
                await self._end(row)
                log.info("%s was left %s and is seen to", row["reference"], row["state"])
            except Exception as error:
                span.record_exception(error)
                span.set_status(trace.StatusCode.ERROR, str(error))
                log.warning("%s was left %s and cannot be ended now", row["reference"], row["state"], exc_info=True)
