"""Bookings as they are kept: one row each, moved from state to state by conditional updates only.

placing -> held -> paying -> paid -> ticketed
   |        |  ^-----'         '--------'-> cancelling -> cancelled
 failed   expired
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException

from apps.travel.fares import money
from apps.travel.layout import spoken
from apps.travel.refunds import refund
from kit.database import Database
from kit.paging import Page

STALE_SECONDS = 10
"""Longer than any request works on a booking: what is older was left half done."""
UNTICKETED_SECONDS = 30
"""A paid booking without its ticket for so long is announced again."""
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CLAIM = """
INSERT INTO bookings (reference, account, key, state, name, trip, run, comfort, adults, children, card)
VALUES ($1, $2, $3, 'placing', $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (account, key) DO NOTHING RETURNING *"""
_PAGE = """
SELECT * FROM bookings WHERE account = $1 AND ($2::bigint IS NULL OR id < $2) AND state NOT IN ('placing', 'failed')
ORDER BY id DESC LIMIT $3"""
_LEFT_OVER = f"""
UPDATE bookings SET changed_at = now() WHERE id IN (
  SELECT id FROM bookings WHERE state IN ('placing', 'failed', 'held', 'paying', 'paid', 'cancelling')
    AND CASE state WHEN 'held' THEN expires_at <= now() WHEN 'paid' THEN changed_at < now() - interval '{UNTICKETED_SECONDS} s'
             ELSE changed_at < now() - interval '{STALE_SECONDS} s' END
  ORDER BY changed_at LIMIT 50 FOR UPDATE SKIP LOCKED) RETURNING *"""


@dataclass(frozen=True, slots=True)
class Order:
    """What a traveller asks for. ``key`` makes it one booking however often it is sent; no ``seats`` means the best ones."""

    account: int
    key: str
    name: str
    trip: str
    run: int
    comfort: int
    adults: int
    children: int
    card: str
    seats: tuple[int, ...]


class Bookings:
    """The table."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def claim(self, order: Order) -> tuple[asyncpg.Record, bool]:
        """The order's booking, and whether it is new; 409 while another request places it."""
        reference = "".join(secrets.choice(_LETTERS) for _ in range(8))
        asked = (order.account, order.key, order.name, order.trip, order.run, order.comfort, order.adults, order.children)
        async with self.database.connection() as connection:
            fresh = await connection.fetchrow(_CLAIM, reference, *asked, order.card)
            known = fresh or await connection.fetchrow(
                "SELECT * FROM bookings WHERE account = $1 AND key = $2", order.account, order.key
            )
        if known is None or (not fresh and known["state"] in ("placing", "failed")):
            raise HTTPException(409, "this booking is being made")
        return known, fresh is not None

    async def find(self, reference: str, account: int) -> asyncpg.Record:
        """The account's booking; 404 when it has none of that reference."""
        async with self.database.connection() as connection:
            row = await connection.fetchrow("SELECT * FROM bookings WHERE reference = $1 AND account = $2", reference, account)
        if row is None or row["state"] in ("placing", "failed"):
            raise HTTPException(404, f"you have no booking {reference}")
        return row

    async def page(self, account: int, wanted: Page) -> list[asyncpg.Record]:
        """An account's bookings, the newest first."""
        async with self.database.connection() as connection:
            return list(await connection.fetch(_PAGE, account, wanted.after, wanted.size))

    async def move(self, row: asyncpg.Record, to: str, **changes: Any) -> asyncpg.Record | None:
        """Change the state of a booking that is still as ``row`` has it; None when it is not any more."""
        async with self.database.connection() as connection:
            return await move(connection, row, to, **changes)

    async def forget(self, row: asyncpg.Record) -> None:
        """Drop a booking that came to nothing, so that its key may be used again."""
        async with self.database.connection() as connection:
            await connection.execute("DELETE FROM bookings WHERE id = $1 AND state = 'failed'", row["id"])

    async def left_over(self) -> list[asyncpg.Record]:
        """Bookings that were left half done or whose time has run out; nobody else is given them for a while."""
        async with self.database.connection() as connection:
            return list(await connection.fetch(_LEFT_OVER))


async def move(connection: PoolConnectionProxy, row: asyncpg.Record, to: str, **changes: Any) -> asyncpg.Record | None:
    """The same within the caller's transaction. State and attempt must both be what they were."""
    columns = "".join(f", {name} = ${i}" for i, name in enumerate(changes, start=5))
    return await connection.fetchrow(
        f"UPDATE bookings SET state = $4, changed_at = now(){columns} WHERE id = $1 AND state = $2 AND attempt = $3 RETURNING *",
        row["id"],
        row["state"],
        row["attempt"],
        to,
        *changes.values(),
    )


def shown(row: asyncpg.Record) -> dict[str, Any]:
    """A booking as its traveller sees it. ``refund_now``: what cancelling would give back at this moment."""
    paid = row["state"] in ("paid", "ticketed")
    return {
        "id": row["id"],
        "reference": row["reference"],
        "state": row["state"],
        "name": row["name"],
        "trip": row["trip"],
        "line": row["line"],
        "origin": row["origin"],
        "destination": row["destination"],
        "departs": row["departs"].isoformat(),
        "arrives": row["arrives"].isoformat(),
        "class": row["comfort"],
        "adults": row["adults"],
        "children": row["children"],
        "card": row["card"],
        "seats": row["seats"],
        "places": [spoken(seat) for seat in row["seats"]],
        "total": row["total"],
        "shown": money(row["total"]),
        "refund": row["refund"],
        "refund_now": refund(row["total"], datetime.now(UTC), row["departs"]) if paid else 0,
        "expires_at": row["expires_at"].isoformat() if row["expires_at"] else None,
    }


def event(kind: str, row: asyncpg.Record) -> dict[str, Any]:
    """What other services are told about a booking."""
    facts = {name: row[name] for name in ("account", "name", "line", "origin", "destination", "comfort", "seats", "total")}
    times = {name: row[name].isoformat() for name in ("departs", "arrives")}
    return {"event": kind, "booking": row["reference"], "refund": row["refund"] or 0, **facts, **times}
