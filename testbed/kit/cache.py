"""Redis as a resource of a service, and a cache in it."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from kit.settings import Settings
from kit.telemetry import CACHE_REQUESTS

log = logging.getLogger(__name__)


class Store:
    """A Redis client with short time-outs. A dropped connection is made anew once; a slow answer is not waited for twice."""

    def __init__(self, url: str, connections: int = 16) -> None:
        pool = redis.BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            timeout=1,
            socket_timeout=1.5,
            socket_connect_timeout=1.5,
            decode_responses=True,
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        )
        self.client = redis.Redis(connection_pool=pool)

    async def open(self) -> None:
        """Make sure that Redis answers."""
        await self.client.ping()

    async def close(self) -> None:
        """Close all connections."""
        await self.client.aclose(close_connection_pool=True)


class Cache:
    """JSON values with a lifetime in seconds; 0 turns the cache off. Without Redis everything is loaded."""

    def __init__(self, store: Store, name: str, seconds: int) -> None:
        self._store, self._name, self._seconds = store, name, seconds

    async def get_or(self, key: str, load: Callable[[], Awaitable[Any]]) -> Any:
        """The value kept under the key, or what ``load`` gives, which is then kept."""
        if not self._seconds:
            return await load()
        kept = await self._kept(key)
        if kept:
            return json.loads(kept)
        value = await load()
        # A store that has just not answered is not asked a second time.
        if kept is not None:
            await self._keep(key, value)
        return value

    async def forget(self, *keys: str) -> None:
        """Drop the values of keys; they are loaded anew. A store that does not answer lets them live out their time."""
        if not self._seconds or not keys:
            return
        try:
            await self._store.client.delete(*(f"{self._name}:{key}" for key in keys))
        except redis.RedisError:
            log.warning("the cache %s does not answer; %d values live out their time", self._name, len(keys), exc_info=True)

    async def _kept(self, key: str) -> str | None:
        """What the cache holds, "" for nothing; None when it does not answer."""
        try:
            kept = str(await self._store.client.get(f"{self._name}:{key}") or "")
        except redis.RedisError:
            log.warning("the cache %s does not answer; loading %s", self._name, key, exc_info=True)
            CACHE_REQUESTS.labels(self._name, "failed").inc()
            return None
        CACHE_REQUESTS.labels(self._name, "hit" if kept else "miss").inc()
        return kept

    async def _keep(self, key: str, value: Any) -> None:
        try:
            await self._store.client.set(f"{self._name}:{key}", json.dumps(value), ex=self._seconds)
        except redis.RedisError:
            log.warning("the cache %s does not take %s", self._name, key, exc_info=True)


def cache(settings: Settings, store: Store, name: str, seconds: int = 20) -> Cache:
    """A cache whose lifetime ``CACHE_SECONDS`` overrides."""
    return Cache(store, name, int(settings.number("CACHE_SECONDS", seconds)))
