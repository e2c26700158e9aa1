"""seats: which seats of a train are taken, held for a booking or sold. No seat is ever sold twice."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.layout import capacity, drawing, numbers, pick, places, spoken
from apps.travel.schema import Tables
from apps.travel.signatures import sign
from kit.bodies import body_of, number, word
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
_TAKEN = "SELECT seat FROM taken WHERE run = $1 AND (state = 'sold' OR until > now())"
_FREE = """
SELECT r.id, r.coaches, count(t.seat) AS gone FROM runs r
LEFT JOIN taken t ON t.run = r.id AND (t.state = 'sold' OR t.until > now())
WHERE r.id = ANY($1::int[]) GROUP BY r.id, r.coaches"""
_HOLD = """
INSERT INTO taken (run, seat, booking, state, until) SELECT $1, unnest($2::int[]), $3, 'held', $4
ON CONFLICT (run, seat) DO UPDATE SET booking = excluded.booking, until = excluded.until
WHERE taken.state = 'held' AND taken.until <= now() RETURNING seat"""


class Seats:
    """Seats that are not free, in Postgres: one row a seat, which its key keeps from being anybody else's."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def map(self, train: int) -> dict[str, Any]:
        """All seats of a train, and whether each is free; 404 when there is no such train."""
        async with self.database.connection() as connection:
            coaches = await self._coaches(connection, train)
            taken = {row["seat"] for row in await connection.fetch(_TAKEN, train)}
        seats = [
            {
                "seat": p.number,
                "coach": p.coach,
                "row": p.row,
                "letter": p.letter,
                "class": p.comfort,
                "free": p.number not in taken,
            }
            for p in places(coaches)
        ]
        best = {str(count): pick(coaches, 2, taken, count) for count in range(1, 5)}
        drawn = drawing(coaches, taken)
        return {
            "run": train,
            "seats": seats,
            "free": len(seats) - len(taken),
            "suggested": best,
            "drawing": drawn,
            "seal": sign(drawn, 12),
        }

    async def free(self, trains: list[int]) -> dict[str, int]:
        """How many seats are free on each train."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(_FREE, trains)
        return {str(row["id"]): capacity(row["coaches"]) - row["gone"] for row in rows}

    async def hold(
        self, booking: str, train: int, comfort: int, seats: list[int], count: int, until: datetime
    ) -> tuple[int, ...]:
        """Keep seats for a booking until then: those named, or the best of the class. Asked again, the same seats.

        400 for seats that are not of this class, 409 when they are taken or too few are left.
        """
        async with self.database.connection() as connection, connection.transaction():
            coaches = await self._coaches(connection, train, lock=True)
            held = await connection.fetch("SELECT seat FROM taken WHERE booking = $1 ORDER BY seat", booking)
            if held:
                return tuple(row["seat"] for row in held)
            if not set(seats) <= numbers(coaches, comfort):
                raise HTTPException(400, "these seats are not there in this class")
            taken = {row["seat"] for row in await connection.fetch(_TAKEN, train)}
            wanted = tuple(sorted(seats)) or pick(coaches, comfort, taken, count)
            if not wanted:
                raise HTTPException(409, "there are not enough free seats")
            for seat in wanted:
                if seat in taken:
                    raise HTTPException(409, f"{spoken(seat)} is taken")
            got = await connection.fetch(_HOLD, train, wanted, booking, until)
            if len(got) < len(wanted):
                raise HTTPException(409, "these seats were taken just now")
        log.info("held %s of train %d for %s", _listed(wanted), train, booking)
        return wanted

    async def sell(self, booking: str, seats: Sequence[int]) -> None:
        """Make the booking's held seats its own for good; 409 unless all of them are still held or sold for it."""
        async with self.database.connection() as connection, connection.transaction():
            sold = await connection.fetch(
                "UPDATE taken SET state = 'sold', until = NULL WHERE booking = $1 RETURNING seat", booking
            )
            if {row["seat"] for row in sold} != set(seats):
                raise HTTPException(409, "the seats are no longer held")
        log.info("sold %s for %s", _listed(seats), booking)

    async def release(self, booking: str) -> int:
        """Make all seats of a booking free; how many there were."""
        async with self.database.connection() as connection:
            freed = await connection.fetch("DELETE FROM taken WHERE booking = $1 RETURNING seat", booking)
        log.info("freed %d seats of %s", len(freed), booking)
        return len(freed)

    async def _coaches(self, connection: PoolConnectionProxy, train: int, lock: bool = False) -> int:
        """How long the train is. ``lock``: nobody else holds seats on it until the transaction ends."""
        query = f"SELECT coaches FROM runs WHERE id = $1{' FOR NO KEY UPDATE' if lock else ''}"
        coaches: int | None = await connection.fetchval(query, train)
        if coaches is None:
            raise HTTPException(404, f"there is no train {train}")
        return coaches


def _listed(seats: Sequence[int]) -> str:
    return ", ".join(map(spoken, seats))


def _seats_of(body: dict[str, Any]) -> list[int]:
    """A list of seat numbers, perhaps empty; 400 when it is something else."""
    seats = body.get("seats", [])
    if not isinstance(seats, list) or not all(isinstance(s, int) and 0 < s < 10_000 for s in seats):
        raise HTTPException(400, "seats must be a list of seat numbers")
    return seats


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings)
    seats = Seats(database)

    async def seat_map(request: Request) -> Response:
        return JSONResponse(await seats.map(request.path_params["run"]))

    async def free(request: Request) -> Response:
        runs = request.query_params.get("runs", "")
        return JSONResponse({"free": await seats.free([int(r) for r in runs.split(",") if r]), "seal": sign(runs, 12)})

    async def hold(request: Request) -> Response:
        body = await body_of(request)
        until = datetime.fromisoformat(word(body, "until"))
        wanted, reference = _seats_of(body), request.path_params["booking"]
        held = await seats.hold(reference, number(body, "run"), number(body, "class"), wanted, number(body, "count"), until)
        return JSONResponse({"seats": held, "seal": sign(f"{reference}/{held}", 12)})

    async def sell(request: Request) -> Response:
        reference = request.path_params["booking"]
        await seats.sell(reference, _seats_of(await body_of(request)))
        return JSONResponse({"seal": sign(f"{reference}/sold", 12)})

    async def release(request: Request) -> Response:
        return JSONResponse({"freed": await seats.release(request.path_params["booking"])})

    routes = [
        Route("/runs/{run:int}", seat_map),
        Route("/free", free),
        Route("/holds/{booking}", hold, methods=["PUT"]),
        Route("/holds/{booking}", release, methods=["DELETE"]),
        Route("/holds/{booking}/sale", sell, methods=["POST"]),
    ]
    return routes, [database, Tables(database)]


if __name__ == "__main__":
    run(make)
