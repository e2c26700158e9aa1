"""shipping: what delivery costs and when it arrives."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.carriage import Zone, arrival, cost
from apps.shop.pricing import price_tag, sign
from apps.shop.seed import prepare
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
MOST_GRAMS = 10_000_000
MOST_CENTS = 2**40


class Tariffs:
    """Zones and their tariffs in Postgres."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def zone(self, country: str) -> Zone:
        """The zone of a country; 404 when nothing is sent there."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT country, free_from, days, cut_off, up_to, cost FROM zones JOIN tariffs USING (zone)"
                " WHERE country = $1 ORDER BY up_to",
                country.replace("\0", ""),
            )
        if not rows:
            raise HTTPException(404, "we do not deliver to this country")
        first = rows[0]
        tariff = tuple((r["up_to"], r["cost"]) for r in rows)
        return Zone(first["country"], first["free_from"], first["days"], first["cut_off"], tariff)

    async def quote(self, country: str, grams: int, goods: int) -> dict[str, Any]:
        """Cost and day of arrival for goods of that weight and worth, ordered now. The same goods always cost the same."""
        zone = await self.zone(country)
        cents = cost(zone, grams, goods)
        arrives = arrival(zone, dt.datetime.now(dt.UTC)).isoformat()
        log.info("%d g to %s cost %d", grams, zone.country, cents)
        return {"country": zone.country, "grams": grams, "goods": goods, "cost": cents, "due": goods + cents, "arrives": arrives}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings, size=4)
    tariffs = Tariffs(database)

    async def quote(request: Request) -> Response:
        asked = request.query_params
        grams, goods = _whole(asked.get("grams", ""), "grams", MOST_GRAMS), _whole(asked.get("goods", ""), "goods", MOST_CENTS)
        quoted = await tariffs.quote(asked.get("country", ""), grams, goods)
        seal = sign(f"{quoted['country']}/{quoted['due']}")[:12]
        return JSONResponse(quoted | {"tag": price_tag("delivery", quoted["cost"]), "seal": seal})

    return [Route("/quotes", quote)], [database, tariffs]


def _whole(text: str, name: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise HTTPException(400, f"{name} must be a whole number up to {most}")
    return int(text)


if __name__ == "__main__":
    run(make)
