"""Redis as a resource of a service."""

from __future__ import annotations

import redis.asyncio as redis


class Store:
    """A Redis client with short time-outs."""

    def __init__(self, url: str, connections: int = 16) -> None:
        pool = redis.BlockingConnectionPool.from_url(
            url, max_connections=connections, timeout=1, socket_timeout=1.5, socket_connect_timeout=1.5, decode_responses=True
        )
        self.client = redis.Redis(connection_pool=pool)

    async def open(self) -> None:
        """Make sure that Redis answers."""
        await self.client.ping()

    async def close(self) -> None:
        """Close all connections."""
        await self.client.aclose()
