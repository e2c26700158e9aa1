"""Redis as a resource of a service."""

from __future__ import annotations

import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff


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
        await self.client.aclose()
