"""pricing: what a trip costs for a party, by distance, train, day, class and discount card."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.fares import CARDS, CLASSES, MOST_PASSENGERS, Journey, comparison, fare, money
from apps.travel.trip import trip_of
from kit.cache import Cache, Store, cache
from kit.peers import Peer, peer
from kit.service import Resource, run
from kit.settings import Settings

CACHE_SECONDS = 60


class Pricing:
    """Fares; where a trip leads is the timetable's to say, and cached, for trains do not move."""

    def __init__(self, timetable: Peer, legs: Cache) -> None:
        self.timetable, self.legs = timetable, legs

    async def quote(self, trip: str, comfort: int, adults: int, children: int, card: str) -> dict[str, Any]:
        """The fare with all that it depends on; 400 for a party, class or card that there is not, 404 for no such trip."""
        if comfort not in CLASSES:
            raise HTTPException(400, "class must be 1 or 2")
        if card not in CARDS:
            raise HTTPException(400, f"card must be one of {', '.join(CARDS)}")
        if adults < 1 or children < 0 or adults + children > MOST_PASSENGERS:
            raise HTTPException(400, f"a party has 1 to {MOST_PASSENGERS} passengers, at least one of them an adult")

        async def load() -> Any:
            return await self.timetable.get(f"/legs/{trip_of(trip)}")

        leg = await self.legs.get_or(trip, load)
        if comfort == 1 and leg["coaches"] == 1:
            raise HTTPException(400, "this train has no first class")
        journey = Journey(leg["km"], leg["category"], datetime.fromisoformat(leg["departs"]).date())
        priced = fare(journey, comfort, adults, children, card)
        lines = [asdict(line) for line in priced.lines]
        others = comparison(journey, adults, children)
        return {"trip": trip, "leg": leg, "lines": lines, "total": priced.total, "shown": money(priced.total), "others": others}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    store, timetable = Store(settings.redis), peer(settings, "timetable")
    pricing = Pricing(timetable, cache(settings, store, "priced-legs", seconds=CACHE_SECONDS))

    async def quote(request: Request) -> Response:
        query = request.query_params

        def asked(name: str, default: int) -> int:
            text = query.get(name, "") or str(default)
            if not (text.isascii() and text.isdigit() and len(text) < 4):
                raise HTTPException(400, f"{name} must be a small whole number")
            return int(text)

        comfort, adults, children = asked("class", 2), asked("adults", 1), asked("children", 0)
        card = query.get("card", "") or "none"
        return JSONResponse(await pricing.quote(request.path_params["trip"], comfort, adults, children, card))

    return [Route("/fares/{trip}", quote)], [store, timetable]


if __name__ == "__main__":
    run(make)
