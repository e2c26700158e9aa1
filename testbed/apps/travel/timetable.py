"""timetable: stations, departure boards, and what a train does between two of its stops."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.schema import Tables
from apps.travel.signatures import sign
from apps.travel.trip import Trip, moment_of, station_of, trip_of
from kit.cache import Cache, Store, cache
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

BOARD = 20
"""Departures on one board."""
CACHE_SECONDS = 15
_BOARD = """
SELECT s.run, s.departs, s.platform, l.name AS line, l.category, c.calls
FROM stops s JOIN runs r ON r.id = s.run JOIN lines l ON l.id = r.line,
  LATERAL (SELECT array_agg(n.station ORDER BY n.position) AS calls FROM stops n
           WHERE n.run = s.run AND n.position > s.position) c
WHERE s.station = $1 AND s.departs >= $2 AND s.departs < $2 + interval '1 day' ORDER BY s.departs, s.run LIMIT $3"""
_LEGS = """
SELECT a.run, a.station AS origin, b.station AS destination, a.departs, b.arrives, b.km - a.km AS km, a.platform,
  b.position - a.position - 1 AS between, l.name AS line, l.category, r.coaches
FROM unnest($1::int[], $2::text[], $3::text[]) AS w (run, origin, destination)
  JOIN stops a ON a.run = w.run AND a.station = w.origin JOIN stops b ON b.run = w.run AND b.station = w.destination
  JOIN runs r ON r.id = w.run JOIN lines l ON l.id = r.line
WHERE a.position < b.position"""


class Timetable:
    """Reads the timetable; boards and legs are cached for a short while."""

    def __init__(self, database: Database, boards: Cache, legs: Cache) -> None:
        self.database, self.boards, self.kept_legs = database, boards, legs

    async def names(self) -> dict[str, str]:
        """All stations' names by code."""
        return dict(await self.boards.get_or("stations", self._names))

    async def board(self, code: str, day: str, clock: str) -> dict[str, Any]:
        """The next departures of a station; 404 when there is no such station."""
        moment = moment_of(day, clock)
        names = await self.names()
        if code not in names:
            raise HTTPException(404, f"there is no station {code}")

        async def load() -> list[dict[str, Any]]:
            async with self.database.connection() as connection:
                rows = await connection.fetch(_BOARD, code, moment, BOARD)
            return [dict(row) | {"departs": row["departs"].isoformat()} for row in rows]

        departures = await self.boards.get_or(f"{code}:{moment.isoformat()}", load)
        shown = [_departure(departure, code, names) for departure in departures]
        return {"station": code, "name": names[code], "departures": shown, "seal": sign(f"{code}/{moment}/{len(shown)}", 12)}

    async def leg(self, trip: Trip) -> dict[str, Any]:
        """What the trip's train does between its two stops; 404 when it does not go there."""

        async def load() -> list[dict[str, Any]]:
            return await self.legs([trip])

        found: list[dict[str, Any]] = await self.kept_legs.get_or(str(trip), load)
        if not found:
            raise HTTPException(404, f"there is no trip {trip}")
        return found[0]

    async def legs(self, trips: list[Trip]) -> list[dict[str, Any]]:
        """The same for several trips; those that do not exist are left out."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                _LEGS, [t.run for t in trips], [t.origin for t in trips], [t.destination for t in trips]
            )
        return [
            dict(row)
            | {
                "trip": str(Trip(row["run"], row["origin"], row["destination"])),
                "departs": row["departs"].isoformat(),
                "arrives": row["arrives"].isoformat(),
            }
            for row in rows
        ]

    async def _names(self) -> dict[str, str]:
        async with self.database.connection() as connection:
            rows = await connection.fetch("SELECT code, name FROM stations ORDER BY code")
        return {row["code"]: row["name"] for row in rows}


def _departure(departure: dict[str, Any], code: str, names: dict[str, str]) -> dict[str, Any]:
    """A line of the board: where it goes, over which stations, and the trip to each."""
    calls = [{"station": c, "name": names[c], "trip": str(Trip(departure["run"], code, c))} for c in departure["calls"]]
    return departure | {"destination": calls[-1]["name"], "calls": calls}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    boards = cache(settings, store, "boards", seconds=CACHE_SECONDS)
    timetable = Timetable(database, boards, cache(settings, store, "legs", seconds=CACHE_SECONDS))

    async def stations(_: Request) -> Response:
        return JSONResponse({"stations": await timetable.names()})

    async def board(request: Request) -> Response:
        asked, query = request.path_params["code"], request.query_params
        return JSONResponse(
            await timetable.board(station_of(asked, "station"), query.get("date", ""), query.get("after", "") or "00:00")
        )

    async def leg(request: Request) -> Response:
        return JSONResponse(await timetable.leg(trip_of(request.path_params["trip"])))

    async def legs(request: Request) -> Response:
        wanted = [trip_of(text) for text in request.query_params.get("trips", "").split(",") if text]
        return JSONResponse({"legs": await timetable.legs(wanted), "seal": sign(f"legs/{len(wanted)}", 12)})

    routes = [
        Route("/stations", stations),
        Route("/boards/{code}", board),
        Route("/legs/{trip}", leg),
        Route("/legs", legs),
    ]
    return routes, [database, store, Tables(database)]


if __name__ == "__main__":
    run(make)
