"""notifier: tells travellers in their inbox what became of their bookings."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.fares import money
from apps.travel.layout import spoken
from apps.travel.schema import Tables
from apps.travel.signatures import sign
from kit.cache import Store
from kit.database import Database
from kit.paging import Page, page
from kit.queue import Queue, Worker
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
_ENTER = """
INSERT INTO messages (account, booking, kind, body) VALUES ($1, $2, $3, $4) ON CONFLICT (booking, kind) DO NOTHING RETURNING id"""


class Inbox:
    """Messages in Postgres, one of each kind a booking: an event that comes twice is told once."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def handle(self, event: dict[str, Any]) -> None:
        """Write the message that an event calls for."""
        body = letter(event)
        async with self.database.connection() as connection:
            number = await connection.fetchval(_ENTER, event["account"], event["booking"], event["event"], body)
        log.info("%s of %s: %s", event["event"], event["booking"], "told" if number else "had been told before")

    async def show(self, account: int, wanted: Page) -> dict[str, Any]:
        """An account's messages, the newest first; ``next`` is where the next page begins."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT id, booking, kind, body, at FROM messages WHERE account = $1 AND ($2::bigint IS NULL OR id < $2)"
                " ORDER BY id DESC LIMIT $3",
                account,
                wanted.after,
                wanted.size,
            )
        messages = [dict(row) | {"at": row["at"].isoformat()} for row in rows]
        return {"messages": messages, "next": rows[-1]["id"] if len(rows) == wanted.size else None}


def letter(event: dict[str, Any]) -> str:
    """What the traveller reads, signed by the office."""
    day = datetime.fromisoformat(event["departs"])
    journey = f"{event['line']} from {event['origin']} to {event['destination']} on {day:%d %B %Y at %H:%M}"
    places = ", ".join(spoken(seat) for seat in event["seats"])
    if event["event"] == "booking-paid":
        text = f"Dear {event['name']},\nthank you for {money(event['total'])}. You travel with {journey}: {places}."
    else:
        text = f"Dear {event['name']},\nyour booking for {journey} is cancelled. You get {money(event['refund'])} back."
    return f"{text}\nYour booking's reference is {event['booking']}.\n{sign(text, 16)}"


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    inbox = Inbox(database)

    async def show(request: Request) -> Response:
        return JSONResponse(await inbox.show(request.path_params["account"], page(request)))

    worker = Worker(Queue(store, "notices"), inbox.handle)
    return [Route("/accounts/{account:int}/messages", show)], [database, store, Tables(database), worker]


if __name__ == "__main__":
    run(make)
