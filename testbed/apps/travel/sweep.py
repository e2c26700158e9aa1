"""Ends what was left half done, at the start and every few seconds."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import asyncpg
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation

from kit.periodic import Periodic

log = logging.getLogger(__name__)
tracer = trace.get_tracer(__name__)
EVERY_SECONDS = 3.0


class Sweep(Periodic):
    """Looks for bookings that somebody must see to, and has each of them ended; one that cannot be is tried again later."""

    def __init__(
        self, left_over: Callable[[], Awaitable[list[asyncpg.Record]]], end: Callable[[asyncpg.Record], Awaitable[None]]
    ) -> None:
        super().__init__("looking through the bookings", EVERY_SECONDS, self._all)
        self._left_over, self._end = left_over, end

    async def _all(self) -> None:
        # A look that finds nothing is not worth a trace.
        with suppress_instrumentation():
            rows = await self._left_over()
        for row in rows:
            await self._one(row)

    async def _one(self, row: asyncpg.Record) -> None:
        with tracer.start_as_current_span("booking sweep", attributes={"booking.state": row["state"]}) as span:
            try:
                await self._end(row)
                log.info("%s was left %s and is seen to", row["reference"], row["state"])
            except Exception as error:
                span.record_exception(error)
                span.set_status(trace.StatusCode.ERROR, str(error))
                log.warning("%s was left %s and cannot be ended now", row["reference"], row["state"], exc_info=True)
