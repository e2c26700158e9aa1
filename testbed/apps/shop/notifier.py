"""notifier: writes a confirmation for every order that was placed, and keeps the inboxes."""

from __future__ import annotations

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.events import PLACED
from apps.shop.pricing import money, sign
from apps.shop.seed import prepare
from kit.bodies import body_of, number
from kit.cache import Store
from kit.database import Database
from kit.paging import Page, page
from kit.queue import Queue, Worker
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
LARGEST = 2**63 - 1
ATTEMPTS = 100
"""A database may be away for minutes; a confirmation is worth waiting for."""


class Inboxes:
    """Messages in Postgres, one an order."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def confirm(self, placed: dict[str, Any]) -> None:
        """Put the confirmation of an order into its customer's inbox; told again, it is there already."""
        order, text = placed["order"], letter(placed)
        async with self.database.connection() as connection:
            fresh = await connection.fetchval(
                "INSERT INTO messages (owner, order_id, subject, body, total) VALUES ($1, $2, $3, $4, $5)"
                " ON CONFLICT (order_id) DO NOTHING RETURNING id",
                placed["owner"],
                order,
                f"Your order {order}",
                text,
                placed["total"],
            )
        log.info("order %d is confirmed" if fresh else "order %d was confirmed before", order)

    async def inbox(self, owner: str, where: Page) -> dict[str, Any]:
        """A page of the customer's messages, the latest first, and how many are unread in all."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT * FROM messages WHERE owner = $1 AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3",
                owner,
                where.after,
                where.size,
            )
            unread = await connection.fetchval("SELECT count(*) FROM messages WHERE owner = $1 AND read_at IS NULL", owner)
        messages = [
            {"message": r["id"], "order": r["order_id"], "subject": r["subject"], "body": r["body"], "total": r["total"]}
            | {"at": r["at"].isoformat(), "read": r["read_at"] is not None}
            for r in rows
        ]
        return {"messages": messages, "unread": unread, "next": rows[-1]["id"] if len(rows) == where.size else None}

    async def unread(self, owner: str) -> int:
        """How many messages the customer has not read."""
        async with self.database.connection() as connection:
            count: int = await connection.fetchval("SELECT count(*) FROM messages WHERE owner = $1 AND read_at IS NULL", owner)
        return count

    async def read(self, owner: str, up_to: int) -> None:
        """Note that the customer has read all messages up to that one; 400 for what is no message's number."""
        if not 0 <= up_to <= LARGEST:
            raise HTTPException(400, "up_to must be the number of a message")
        async with self.database.connection() as connection:
            await connection.execute(
                "UPDATE messages SET read_at = now() WHERE owner = $1 AND read_at IS NULL AND id <= $2", owner, up_to
            )


def letter(placed: dict[str, Any]) -> str:
    """What the customer is told, sealed so that a receipt cannot be made up."""
    lines = [f"{x['quantity']} x product {x['product']} at {money(x['price'])}" for x in placed["lines"]]
    delivery = f"Delivery: {money(placed['shipping'])}, arriving on {placed['arrives']}"
    seal = sign(f"{placed['order']}/{placed['total']}")[:16]
    return "\n".join(["Thank you for your order.", *lines, delivery, f"Total: {money(placed['total'])}", f"Seal: {seal}"])


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    inboxes = Inboxes(database)

    async def inbox(request: Request) -> Response:
        found = await inboxes.inbox(request.path_params["owner"], page(request))
        return JSONResponse(found | {"seal": sign(f"{found['unread']}/{len(found['messages'])}")[:12]})

    async def unread(request: Request) -> Response:
        return JSONResponse({"unread": await inboxes.unread(request.path_params["owner"])})

    async def read(request: Request) -> Response:
        await inboxes.read(request.path_params["owner"], number(await body_of(request), "up_to"))
        return JSONResponse({})

    routes = [
        Route("/inboxes/{owner}", inbox),
        Route("/inboxes/{owner}/unread", unread),
        Route("/inboxes/{owner}/read", read, methods=["POST"]),
    ]
    worker = Worker(Queue(store, PLACED), inboxes.confirm, concurrency=4, attempts=ATTEMPTS)
    return routes, [database, store, inboxes, worker]


if __name__ == "__main__":
    run(make)
