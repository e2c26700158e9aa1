"""The railway: stations on a map and the lines between them, the same ones every time."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from functools import cache

_NAMES = (
    "Abbotsford", "Aldgate", "Amberley", "Ashbourne", "Banbury", "Beckwith", "Birchwood", "Bolsover", "Bramley", "Burford",
    "Calder", "Carleon", "Chelford", "Clayton", "Corbridge", "Crofton", "Dalton", "Denholm", "Dorley", "Eastwick",
    "Edgeworth", "Elmstead", "Fairford", "Fenwick", "Foxley", "Garsdale", "Glenmoor", "Grayling", "Halford", "Heathfield",
    "Holmby", "Hurst", "Ilsley", "Inverley", "Kelby", "Kingsmere", "Lambourne", "Ledbury", "Linwood", "Lowick", "Marden",
    "Melbury", "Milford", "Norbury", "Oakham", "Orton", "Pelham", "Penrith", "Radley", "Redmere", "Rothbury", "Saxby",
    "Selwood", "Stanton", "Tarvin", "Thornby", "Uppingham", "Wareham", "Westerby", "Yarrow",
)  # fmt: skip
LINES = 40
_CORRIDOR_KM = 42.0
_MOST_STOPS = 9
_DWELL_MINUTES = 2


@dataclass(frozen=True, slots=True)
class Station:
    """``x`` and ``y`` are kilometres on the map."""

    code: str
    name: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of train. ``coaches`` is how many one has; ``kmh`` how fast it goes between stops."""

    name: str
    coaches: int
    kmh: int
    nearest: int
    farthest: int


@dataclass(frozen=True, slots=True)
class Stop:
    """``minutes`` from the start of the line to the arrival, ``km`` likewise."""

    station: str
    minutes: int
    km: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line in its outward direction."""

    number: int
    name: str
    category: Category
    stops: tuple[Stop, ...]


CATEGORIES = (
    Category("IC", 4, 130, 260, 480),
    Category("RE", 3, 95, 150, 320),
    Category("RE", 2, 95, 120, 260),
    Category("RB", 1, 70, 60, 170),
)


@cache
def stations() -> tuple[Station, ...]:
    """All stations, each in a field of its own of a 10 x 6 grid."""
    rng = random.Random(7)
    places = [(60 * column + rng.randint(5, 45), 60 * row + rng.randint(5, 45)) for row in range(6) for column in range(10)]
    rng.shuffle(places)
    return tuple(Station(name[:3].upper(), name, x, y) for name, (x, y) in zip(_NAMES, places, strict=True))


@cache
def lines() -> tuple[Line, ...]:
    """All lines; each begins where fewest lines have stopped so far, so that every station has several."""
    rng = random.Random(11)
    served = {station.code: 0 for station in stations()}
    made: list[Line] = []
    while len(made) < LINES:
        category = CATEGORIES[len(made) % len(CATEGORIES)]
        start = min(stations(), key=lambda s: (served[s.code], s.code))
        ends = [s for s in stations() if category.nearest <= _km(start, s) <= category.farthest]
        path = _thinned(_between(start, rng.choice(ends)))
        number = len(made) + 1
        made.append(Line(number, f"{category.name} {10 * (number % 9 + 1) + number}", category, _timed(path, category)))
        for station in path:
            served[station.code] += 1
    return tuple(made)


def _between(start: Station, end: Station) -> list[Station]:
    """Both ends and the stations near the way, in order."""
    whole = _km(start, end)
    near: list[tuple[float, Station]] = []
    for station in stations():
        along = ((station.x - start.x) * (end.x - start.x) + (station.y - start.y) * (end.y - start.y)) / whole
        aside = abs((station.x - start.x) * (end.y - start.y) - (station.y - start.y) * (end.x - start.x)) / whole
        if 15 < along < whole - 15 and aside < _CORRIDOR_KM:
            near.append((along, station))
    return [start, *(station for _, station in sorted(near, key=lambda pair: pair[0])), end]


def _thinned(path: list[Station]) -> list[Station]:
    """At most so many stops, evenly chosen, both ends among them."""
    if len(path) <= _MOST_STOPS:
        return path
    return [path[round(i * (len(path) - 1) / (_MOST_STOPS - 1))] for i in range(_MOST_STOPS)]


def _timed(path: list[Station], category: Category) -> tuple[Stop, ...]:
    stops, minutes, km = [Stop(path[0].code, 0, 0)], 0, 0
    for before, station in itertools.pairwise(path):
        leg = max(5, round(_km(before, station) * 1.15))
        minutes += math.ceil(60 * leg / category.kmh) + (_DWELL_MINUTES if len(stops) > 1 else 0)
        km += leg
        stops.append(Stop(station.code, minutes, km))
    return tuple(stops)


def _km(one: Station, other: Station) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)
