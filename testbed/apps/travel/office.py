"""What a booking goes through: each step asked of others may be asked twice, and what is half done is ended later."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException

from apps.travel.bookings import Bookings, Order, event, move, shown
from apps.travel.refunds import refund
from kit.outbox import Outbox
from kit.peers import Peer, PeerError

log = logging.getLogger(__name__)
_GRACE = timedelta(minutes=1)
"""Seats are held a little longer than the booking, so that what is paid at the last moment still has them."""
_LOOKS = 3
_WAIT = "this booking is just being changed, wait a moment"
_ENDED = {"expired": "the time to pay has run out", "cancelled": "this booking is cancelled"}


class Office:
    """Leads a booking from state to state; whatever it asks of others may be asked twice."""

    def __init__(self, bookings: Bookings, outbox: Outbox, pricing: Peer, seats: Peer, payment: Peer, hold: timedelta) -> None:
        self.bookings, self.outbox, self.hold = bookings, outbox, hold
        self.pricing, self.seats, self.payment = pricing, seats, payment

    async def book(self, order: Order) -> dict[str, Any]:
        """Hold seats at the fare. The same key gives the same booking; what fails is taken back, and its key is free again."""
        row, fresh = await self.bookings.claim(order)
        if not fresh:
            return shown(row)
        try:
            return shown(await self._place(row, order))
        except Exception:
            failed = await self.bookings.move(row, "failed")
            if failed:
                await self.give_up(failed)
            raise

    async def pay(self, reference: str, account: int, card: str) -> dict[str, Any]:
        """Capture the money, keep the seats for good, announce it. A booking that is paid stays as it is."""
        row = await self.bookings.find(reference, account)
        if row["state"] in ("paid", "ticketed"):
            return shown(row)
        if row["state"] == "held" and row["expires_at"] <= datetime.now(UTC):
            raise HTTPException(409, _ENDED["expired"])
        paying = await self.bookings.move(row, "paying") if row["state"] == "held" else None
        if paying is None:
            raise HTTPException(409, _ENDED.get(row["state"], _WAIT))
        entry = {"booking": reference, "account": account, "amount": row["total"], "card": card}
        try:
            await self.payment.put(f"/payments/{_payment(paying)}", entry)
        except PeerError as error:
            # Refused for good: another card may be tried. Anything else may have been captured, and is left to the sweep.
            if error.status < 500:
                await self.bookings.move(paying, "held", attempt=paying["attempt"] + 1)
            raise
        await self.complete(paying)
        return shown(await self.bookings.find(reference, account))

    async def complete(self, row: asyncpg.Record) -> None:
        """The money is there: sell the seats and announce the booking. Without the seats the money goes back."""
        try:
            await self.seats.post(f"/holds/{row['reference']}/sale", {"seats": row["seats"]})
        except PeerError as error:
            if error.status != 409:
                raise
            log.error("the seats of %s were lost while it was paid for; giving the money back", row["reference"])
            cancelling = await self.bookings.move(row, "cancelling", refund=row["total"])
            if cancelling:
                await self.take_back(cancelling)
            raise HTTPException(409, "the seats are no longer free; the money goes back") from error
        async with self.bookings.database.connection() as connection, connection.transaction():
            paid = await move(connection, row, "paid")
            if paid:
                await self._put(connection, event("booking-paid", paid))
        self.outbox.hurry()
        log.info("%s is paid", row["reference"])

    async def cancel(self, reference: str, account: int) -> dict[str, Any]:
        """Cancel and refund by the time left; 409 once the train has left. A cancelled booking stays as it is."""
        row = await self._cancelling(reference, account)
        if row["state"] == "cancelling":
            await self.take_back(row)
        return shown(await self.bookings.find(reference, account))

    async def take_back(self, row: asyncpg.Record) -> None:
        """End a cancellation: the refund, the seats, the announcement."""
        if row["refund"]:
            entry = {"booking": row["reference"], "account": row["account"], "amount": row["refund"]}
            await self.payment.put(f"/payments/{_payment(row)}/refund", entry)
        await self.seats.delete(f"/holds/{row['reference']}")
        async with self.bookings.database.connection() as connection, connection.transaction():
            cancelled = await move(connection, row, "cancelled")
            if cancelled:
                await self._put(connection, event("booking-cancelled", cancelled))
        self.outbox.hurry()
        log.info("%s is cancelled", row["reference"])

    async def give_up(self, row: asyncpg.Record) -> None:
        """End a booking that could not be made; what cannot be done now is left to the sweep."""
        try:
            await self.seats.delete(f"/holds/{row['reference']}")
        except PeerError:
            log.warning("%s came to nothing; its seats are still to be given back", row["reference"], exc_info=True)
            return
        await self.bookings.forget(row)

    async def end(self, row: asyncpg.Record) -> None:
        """End, for the sweep, what was left half done: forward where money was taken, else back."""
        match row["state"]:
            case "placing":
                failed = await self.bookings.move(row, "failed")
                if failed:
                    await self.give_up(failed)
            case "failed":
                await self.give_up(row)
            case "held":
                if await self.bookings.move(row, "expired"):
                    await self.seats.delete(f"/holds/{row['reference']}")
            case "paying":
                entry = {"booking": row["reference"], "account": row["account"]}
                if (await self.payment.put(f"/payments/{_payment(row)}/withdrawal", entry))["captured"]:
                    await self.complete(row)
                else:
                    await self.bookings.move(row, "held", attempt=row["attempt"] + 1)
            case "paid":
                async with self.bookings.database.connection() as connection, connection.transaction():
                    await self._put(connection, event("booking-paid", row))
                self.outbox.hurry()
            case "cancelling":
                await self.take_back(row)

    async def ticketed(self, reference: str) -> None:
        """The ticket is issued."""
        async with self.bookings.database.connection() as connection:
            await connection.execute(
                "UPDATE bookings SET state = 'ticketed', changed_at = now() WHERE reference = $1 AND state = 'paid'", reference
            )

    async def _cancelling(self, reference: str, account: int) -> asyncpg.Record:
        """The booking with its refund decided once and for all; one whose ticket is issued meanwhile is looked at again."""
        for _ in range(_LOOKS):
            row, now = await self.bookings.find(reference, account), datetime.now(UTC)
            state = row["state"]
            if state in ("cancelling", "cancelled"):
                return row
            if state not in ("held", "paid", "ticketed"):
                raise HTTPException(409, _ENDED.get(state, _WAIT))
            if row["departs"] <= now:
                raise HTTPException(409, "this train has left")
            back = 0 if state == "held" else refund(row["total"], now, row["departs"])
            moved = await self.bookings.move(row, "cancelling", refund=back)
            if moved:
                return moved
        raise HTTPException(409, _WAIT)

    async def _place(self, row: asyncpg.Record, order: Order) -> asyncpg.Record:
        """Price and seats at the same time; both must be known before either is given up."""
        expires = datetime.now(UTC) + self.hold
        hold = {"run": order.run, "class": order.comfort, "seats": order.seats, "count": order.adults + order.children}
        party: dict[str, Any] = {
            "class": order.comfort,
            "adults": order.adults,
            "children": order.children,
            "card": order.card,
        }
        priced: Any
        held: Any
        priced, held = await asyncio.gather(
            self.pricing.get(f"/fares/{order.trip}", **party),
            self.seats.put(f"/holds/{row['reference']}", hold | {"until": (expires + _GRACE).isoformat()}),
            return_exceptions=True,
        )
        if isinstance(priced, BaseException):
            raise priced
        if isinstance(held, BaseException):
            raise held
        leg = priced["leg"]
        departs, arrives = datetime.fromisoformat(leg["departs"]), datetime.fromisoformat(leg["arrives"])
        if departs <= datetime.now(UTC):
            raise HTTPException(409, "this train has left")
        facts = {name: leg[name] for name in ("line", "origin", "destination")}
        seats, total = held["seats"], priced["total"]
        kept = await self.bookings.move(
            row, "held", **facts, departs=departs, arrives=arrives, seats=seats, total=total, expires_at=expires
        )
        if kept is None:
            raise HTTPException(503, "this booking took too long; try again")
        log.info("%s holds %s for %s", row["reference"], order.trip, priced["shown"])
        return kept

    async def _put(self, connection: PoolConnectionProxy, body: dict[str, Any]) -> None:
        """Both readers of an event have a queue of their own."""
        for queue in ("tickets", "notices"):
            await self.outbox.put(connection, queue, body)


def _payment(row: asyncpg.Record) -> str:
    """Each attempt to pay has a name of its own, so that one that failed never counts later."""
    return f"{row['reference']}-{row['attempt']}"
