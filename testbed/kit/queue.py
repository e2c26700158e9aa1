"""Queues between services: Redis streams, each with one group of workers. The trace travels in the message."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.instrumentation.utils import suppress_instrumentation
from redis import RedisError
from redis.exceptions import ResponseError

from kit.cache import Store
from kit.telemetry import PROCESS_SECONDS, QUEUE_DEPTH, QUEUE_OLDEST, QUEUE_PUBLISHED

log = logging.getLogger(__name__)
tracer = trace.get_tracer(__name__)
Message = tuple[str, dict[str, str]]
_GROUP = "workers"
_WAIT_MS = 1000
"""Below the socket's time-out, so that an empty queue is no error."""
_AGAIN_MS = 5_000
"""A message that nobody has acknowledged for so long is handed out again."""


class Queue:
    """A stream by name. What has been handled is deleted, so that its length is what is still to do."""

    def __init__(self, store: Store, name: str) -> None:
        self.name, self.key = name, f"queue:{name}"
        # The library's types of stream commands fit neither of its two protocols.
        self.client: Any = store.client

    async def publish(self, body: dict[str, Any], cause: Context | None = None) -> None:
        """Send a message, as part of the current trace or that of its ``cause``.

        Raises ``RedisError``: nothing was sent, or it is not known.
        """
        attributes = self.attributes("send")
        with tracer.start_as_current_span(f"{self.name} publish", cause, kind=trace.SpanKind.PRODUCER, attributes=attributes):
            fields = {"body": json.dumps(body)}
            propagate.inject(fields)
            try:
                with suppress_instrumentation():
                    await self.client.xadd(self.key, fields)
            except RedisError:
                QUEUE_PUBLISHED.labels(self.name, "failed").inc()
                raise
            QUEUE_PUBLISHED.labels(self.name, "sent").inc()

    def attributes(self, operation: str) -> dict[str, str]:
        """What OpenTelemetry says about messages on spans."""
        return {
            "messaging.system": "redis",
            "messaging.destination.name": self.name,
            "messaging.operation.type": operation,
        }


class Worker:
    """Handles a queue's messages, each at least once: the handler must bear to see one again.

    One that fails, or whose worker died, comes again after some seconds; after ``attempts`` it goes to ``<queue>.dead``.
    """

    def __init__(
        self, queue: Queue, handle: Callable[[dict[str, Any]], Awaitable[None]], concurrency: int = 1, attempts: int = 5
    ) -> None:
        self.queue, self.handle, self.concurrency, self.attempts = queue, handle, concurrency, attempts
        self._client = queue.client
        self._name = os.environ.get("HOSTNAME", "worker")
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop; what is in hand comes again later."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        again_at = 0.0
        while True:
            try:
                messages = await self._fresh()
                if time.monotonic() >= again_at:
                    messages += await self._left_over()
                    again_at = time.monotonic() + _AGAIN_MS / 2000
                await self._work(messages)
                await self._gauge()
            except Exception as error:
                # A store that goes away in the middle of a word makes its client raise nearly anything; work must go on.
                if "NOGROUP" in str(error):
                    await self._make_group()
                    continue
                log.warning("the queue %s does not answer", self.queue.name, exc_info=True)
                await asyncio.sleep(1.0)

    async def _make_group(self) -> None:
        with suppress_instrumentation(), contextlib.suppress(ResponseError):
            await self._client.xgroup_create(self.queue.key, _GROUP, id="0", mkstream=True)

    async def _fresh(self) -> list[Message]:
        with suppress_instrumentation():
            found = await self._client.xreadgroup(
                _GROUP, self._name, {self.queue.key: ">"}, count=self.concurrency, block=_WAIT_MS
            )
        return [message for _, messages in found or () for message in messages]

    async def _left_over(self) -> list[Message]:
        """What failed, and what another worker took and did not finish."""
        with suppress_instrumentation():
            _, messages, *_ = await self._client.xautoclaim(
                self.queue.key, _GROUP, self._name, min_idle_time=_AGAIN_MS, count=self.concurrency
            )
            return [message for message in messages if message[1]]

    async def _work(self, messages: list[Message]) -> None:
        for start in range(0, len(messages), self.concurrency):
            await asyncio.gather(*(self._one(*message) for message in messages[start : start + self.concurrency]))

    async def _one(self, number: str, fields: dict[str, str]) -> None:
        began, outcome = time.perf_counter(), "done"
        context = propagate.extract(fields)
        attributes = self.queue.attributes("process") | {"messaging.message.id": number}
        with tracer.start_as_current_span(
            f"{self.queue.name} process",
            context,
            kind=trace.SpanKind.CONSUMER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                await self.handle(json.loads(fields["body"]))
                await self._finish(number)
            except Exception as error:
                span.record_exception(error)
                span.set_status(trace.StatusCode.ERROR, str(error))
                outcome = await self._failed(number, fields)
        PROCESS_SECONDS.labels(self.queue.name, outcome).observe(time.perf_counter() - began)

    async def _failed(self, number: str, fields: dict[str, str]) -> str:
        """Leave the message for later, or put it aside when it failed too often."""
        with suppress_instrumentation():
            pending = await self._client.xpending_range(self.queue.key, _GROUP, min=number, max=number, count=1)
        tries = pending[0]["times_delivered"] if pending else 1
        if tries < self.attempts:
            log.exception("message %s of %s failed, try %d of %d", number, self.queue.name, tries, self.attempts)
            return "failed"
        log.exception("message %s of %s failed %d times and is put aside", number, self.queue.name, tries)
        with suppress_instrumentation():
            await self._client.xadd(f"{self.queue.key}.dead", {**fields, "number": number}, maxlen=1000, approximate=True)
        await self._finish(number)
        return "dead"

    async def _finish(self, number: str) -> None:
        with suppress_instrumentation():
            async with self._client.pipeline(transaction=True) as pipe:
                pipe.xack(self.queue.key, _GROUP, number)
                pipe.xdel(self.queue.key, number)
                await pipe.execute()

    async def _gauge(self) -> None:
        with suppress_instrumentation():
            async with self._client.pipeline(transaction=False) as pipe:
                pipe.xlen(self.queue.key)
                pipe.xrange(self.queue.key, count=1)
                depth, first = await pipe.execute()
        QUEUE_DEPTH.labels(self.queue.name).set(depth)
        age = time.time() - int(first[0][0].partition("-")[0]) / 1000 if first else 0.0
        QUEUE_OLDEST.labels(self.queue.name).set(max(0.0, age))
