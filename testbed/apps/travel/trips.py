"""trips: which trains, or pairs of trains, lead from one station to another."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.schema import Tables
from apps.travel.signatures import sign
from apps.travel.trip import Trip, moment_of, station_of
from kit.cache import Cache, Store, cache
from kit.database import Database
from kit.peers import Peer, peer
from kit.service import Resource, run
from kit.settings import Settings

HOURS = 6
"""How far ahead one search looks for a first train."""
MOST_DIRECT, MOST_CHANGES = 30, 10
CACHE_SECONDS = 20
_DIRECT = """
SELECT a.run, a.departs, b.arrives FROM stops a JOIN stops b ON b.run = a.run AND b.position > a.position AND b.station = $2
WHERE a.station = $1 AND a.departs >= $3 AND a.departs < $4 ORDER BY a.departs, a.run LIMIT $5"""
_CHANGING = """
SELECT a.run, a.departs, c.station, c.arrives AS changes, n.run AS next_run, n.departs AS next_departs, n.arrives
FROM stops a JOIN stops c ON c.run = a.run AND c.position > a.position AND c.station <> $2 AND c.departs IS NOT NULL,
  LATERAL (
    SELECT d.run, d.departs, e.arrives
    FROM stops d JOIN stops e ON e.run = d.run AND e.position > d.position AND e.station = $2
    WHERE d.station = c.station AND d.departs >= c.arrives + interval '5 min' AND d.departs < c.arrives + interval '75 min'
    ORDER BY d.departs LIMIT 1) n
WHERE a.station = $1 AND a.departs >= $3 AND a.departs < $4 AND n.run <> a.run"""


@dataclass(frozen=True, slots=True)
class Connection:
    """One way to go: a trip, or two with a change between."""

    departs: datetime
    arrives: datetime
    trips: tuple[Trip, ...]

    def is_better(self, other: Connection) -> bool:
        """Leaves no earlier, arrives no later, changes no more often, and not the same in all."""
        no_worse = self.departs >= other.departs and self.arrives <= other.arrives and len(self.trips) <= len(other.trips)
        return no_worse and (self.departs, self.arrives, len(self.trips)) != (other.departs, other.arrives, len(other.trips))


class Search:
    """Finds connections; they are cached for a short while, the free seats on them are not."""

    def __init__(self, database: Database, found: Cache, timetable: Peer, seats: Peer) -> None:
        self.database, self.found, self.timetable, self.seats = database, found, timetable, seats

    async def find(self, origin: str, destination: str, start: datetime) -> list[dict[str, Any]]:
        """Connections in the order of departure, with times, trains and free seats."""

        async def load() -> list[list[dict[str, Any]]]:
            return await self._described(await self._connections(origin, destination, start))

        found = await self.found.get_or(f"{origin}:{destination}:{start.isoformat()}", load)
        runs = sorted({leg["run"] for legs in found for leg in legs})
        free = (await self.seats.get("/free", runs=",".join(map(str, runs))))["free"] if runs else {}
        return [_shown([leg | {"free": free.get(str(leg["run"]), 0)} for leg in legs]) for legs in found]

    async def _connections(self, origin: str, destination: str, start: datetime) -> list[Connection]:
        """All direct trains, and the changes that are better than what else there is."""
        end = start + timedelta(hours=HOURS)
        async with self.database.connection() as connection:
            direct = await connection.fetch(_DIRECT, origin, destination, start, end, MOST_DIRECT)
            changing = await connection.fetch(_CHANGING, origin, destination, start, end)
        ways = [Connection(r["departs"], r["arrives"], (Trip(r["run"], origin, destination),)) for r in direct]
        ways += _best([_changed(row, origin, destination) for row in changing], ways)[:MOST_CHANGES]
        return sorted(ways, key=lambda c: (c.departs, c.arrives, len(c.trips), c.trips[0].run))

    async def _described(self, ways: list[Connection]) -> list[list[dict[str, Any]]]:
        """Each connection's legs as the timetable has them."""
        wanted = sorted({str(trip) for way in ways for trip in way.trips})
        if not wanted:
            return []
        legs = {leg["trip"]: leg for leg in (await self.timetable.get("/legs", trips=",".join(wanted)))["legs"]}
        return [[legs[str(trip)] for trip in way.trips] for way in ways if all(str(trip) in legs for trip in way.trips)]


def _changed(row: asyncpg.Record, origin: str, destination: str) -> Connection:
    first, second = Trip(row["run"], origin, row["station"]), Trip(row["next_run"], row["station"], destination)
    return Connection(row["departs"], row["arrives"], (first, second))


def _best(candidates: list[Connection], others: list[Connection]) -> list[Connection]:
    """Those that nothing else beats, the quickest first; of equal ones the first."""
    kept: dict[tuple[datetime, datetime], Connection] = {}
    for candidate in candidates:
        kept.setdefault((candidate.departs, candidate.arrives), candidate)
    rivals = [*kept.values(), *others]
    left = [way for way in kept.values() if not any(rival.is_better(way) for rival in rivals)]
    return sorted(left, key=lambda way: (way.arrives - way.departs, way.departs))


def _shown(legs: list[dict[str, Any]]) -> dict[str, Any]:
    departs, arrives = legs[0]["departs"], legs[-1]["arrives"]
    took = datetime.fromisoformat(arrives) - datetime.fromisoformat(departs)
    return {
        "departs": departs,
        "arrives": arrives,
        "minutes": int(took.total_seconds()) // 60,
        "changes": len(legs) - 1,
        "legs": legs,
    }


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    timetable, seats = peer(settings, "timetable"), peer(settings, "seats")
    search = Search(database, cache(settings, store, "connections", seconds=CACHE_SECONDS), timetable, seats)

    async def trips(request: Request) -> Response:
        query = request.query_params
        origin, destination = station_of(query.get("from", ""), "from"), station_of(query.get("to", ""), "to")
        start = moment_of(query.get("date", ""), query.get("after", "") or "06:00")
        if origin == destination:
            raise HTTPException(400, "from and to must be two stations")
        names, found = await asyncio.gather(timetable.get("/stations"), search.find(origin, destination, start))
        for code in (origin, destination):
            if code not in names["stations"]:
                raise HTTPException(404, f"there is no station {code}")
        return JSONResponse(
            {
                "from": names["stations"][origin],
                "to": names["stations"][destination],
                "connections": found,
                "until": (start + timedelta(hours=HOURS)).isoformat(),
                "seal": sign(f"{origin}/{destination}/{start}", 12),
            }
        )

    return [Route("/trips", trips)], [database, store, Tables(database), timetable, seats]


if __name__ == "__main__":
    run(make)
