"""Which edition of a post's thread is the latest.

Caches keep threads by edition, so that one who read before a change and keeps it after cannot bring the old thread back.
"""

from __future__ import annotations

import logging

from redis import RedisError

from kit.cache import Store

log = logging.getLogger(__name__)
_KEEP_SECONDS = 300
"""Longer than any thread stays in a cache: after that the count may begin anew."""


class Editions:
    """Counts in Redis, one a post."""

    def __init__(self, store: Store) -> None:
        self._client = store.client

    async def latest(self, post: int) -> str:
        """The edition's number as text; where Redis does not answer, that of a post that nobody has touched."""
        try:
            return str(await self._client.get(f"edition:{post}") or "0")
        except RedisError:
            log.warning("the edition of post %d is not known", post, exc_info=True)
            return "0"

    async def new(self, post: int) -> None:
        """The post's thread has changed. Raises ``RedisError``: the change may show only when cached threads run out."""
        async with self._client.pipeline(transaction=True) as pipe:
            pipe.incr(f"edition:{post}")
            pipe.expire(f"edition:{post}", _KEEP_SECONDS)
            await pipe.execute()
