"""Tables and first data, made once by whichever service comes first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asyncpg.pool import PoolConnectionProxy

SEED_SECONDS = 120.0


async def prepare(
    connection: PoolConnectionProxy,
    lock: int,
    schema: str,
    is_seeded: str,
    seed: Callable[[PoolConnectionProxy], Awaitable[None]],
) -> None:
    """Make the tables and, unless the query ``is_seeded`` gives something true, their first data.

    Safe when several services start at once: one does it under the advisory lock, the others wait for it.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", lock, timeout=SEED_SECONDS)
        await connection.execute(schema, timeout=SEED_SECONDS)
        if not await connection.fetchval(is_seeded):
            await seed(connection)
