"""A Postgres pool with its gauges."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from kit.settings import Settings
from kit.telemetry import POOL_CONNECTIONS, POOL_MAX, POOL_WAITING


class Database:
    """A bounded pool (``DB_POOL_SIZE``). ``connection`` waits at most two seconds for a free one."""

    def __init__(self, settings: Settings, size: int = 8) -> None:
        self._url, self._service = settings.database, settings.service
        size = self._size = max(1, int(settings.number("DB_POOL_SIZE", size)))
        self._pool: asyncpg.Pool | None = None
        POOL_MAX.labels("postgres").set(size)
        POOL_CONNECTIONS.labels("postgres", "used").set_function(self._used)
        POOL_CONNECTIONS.labels("postgres", "idle").set_function(self._idle)

    async def open(self) -> None:
        """Connect. Sessions bear the service's name, so that the database can tell who holds what."""
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=min(2, self._size),
            max_size=self._size,
            command_timeout=4,
            timeout=4,
            reset=_as_it_is,
            server_settings={"application_name": self._service},
        )

    async def close(self) -> None:
        """Disconnect."""
        if self._pool:
            await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PoolConnectionProxy]:
        """One connection of the pool."""
        if self._pool is None:
            raise RuntimeError("the database is not open")
        waiting = POOL_WAITING.labels("postgres")
        waiting.inc()
        try:
            connection = await self._pool.acquire(timeout=2)
        finally:
            waiting.dec()
        try:
            yield connection
        finally:
            await self._pool.release(connection)

    def _used(self) -> int:
        return self._pool.get_size() - self._pool.get_idle_size() if self._pool else 0

    def _idle(self) -> int:
        return self._pool.get_idle_size() if self._pool else 0


async def _as_it_is(_: asyncpg.Connection) -> None:
    """Sessions keep no state here, so a released connection needs no resetting round trip."""
