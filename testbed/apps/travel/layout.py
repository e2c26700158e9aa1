"""Where the seats of a train are: a seat's number is 100 x coach + its place in the coach."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cache

FIRST, SECOND = 1, 2
_RAILCAR_PLACES, _FIRST_PLACES, _SECOND_PLACES = 24, 30, 48
_PITCH = 18


@dataclass(frozen=True, slots=True)
class Place:
    """One seat: row and letter as printed above it."""

    number: int
    coach: int
    row: int
    letter: str
    comfort: int

    @property
    def window(self) -> bool:
        """By the window."""
        return self.letter in "AD" or (self.comfort == FIRST and self.letter == "C")


@cache
def places(coaches: int) -> tuple[Place, ...]:
    """All seats of a train of so many coaches, by number. The first of several is first class; a railcar has none."""
    return tuple(place for coach in range(1, coaches + 1) for place in _coach(coach, coaches))


@cache
def numbers(coaches: int, comfort: int) -> frozenset[int]:
    """The seats of one class."""
    return frozenset(place.number for place in places(coaches) if place.comfort == comfort)


def capacity(coaches: int) -> int:
    """How many seats there are."""
    return len(places(coaches))


def spoken(seat: int) -> str:
    """214 is "coach 2 seat 14"."""
    return f"coach {seat // 100} seat {seat % 100}"


def pick(coaches: int, comfort: int, taken: Set[int], count: int) -> tuple[int, ...]:
    """The best free seats for so many people; () when there are too few. Side by side first, then by the window."""
    free = [place for place in places(coaches) if place.comfort == comfort and place.number not in taken]
    if len(free) < count:
        return ()
    # Where seats are side by side, the window that begins with the nearest neighbours wins.
    spreads = [(_spread(free[i : i + count]), i) for i in range(len(free) - count + 1)]
    best = min(spreads)[1]
    return tuple(place.number for place in free[best : best + count])


def drawing(coaches: int, taken: Set[int]) -> str:
    """The seat map as SVG: a box a seat, shaded when it is taken, coaches below one another."""
    boxes = list(_boxes(coaches, taken))
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {14 * _PITCH} {coaches * 6 * _PITCH}">{"".join(boxes)}</svg>'


def _boxes(coaches: int, taken: Set[int]) -> Iterator[str]:
    for place in places(coaches):
        x = place.row * _PITCH
        y = ((place.coach - 1) * 6 + "ABCD".index(place.letter) + (place.letter in "CD")) * _PITCH
        state = "taken" if place.number in taken else "free"
        title = f"{spoken(place.number)}, {state}"
        yield f'<rect class="{state}" x="{x}" y="{y}" width="16" height="16"><title>{title}</title></rect>'


def _spread(group: list[Place]) -> tuple[int, int]:
    """How far apart a group would sit, and how many of it away from a window."""
    first = group[0]
    apart = sum(10 * abs(p.coach - first.coach) + abs(p.row - first.row) for p in group)
    return apart, sum(not p.window for p in group)


def _coach(coach: int, coaches: int) -> Iterator[Place]:
    comfort = FIRST if coach == 1 and coaches > 1 else SECOND
    letters = "ABC" if comfort == FIRST else "ABCD"
    count = _RAILCAR_PLACES if coaches == 1 else _FIRST_PLACES if comfort == FIRST else _SECOND_PLACES
    for i in range(count):
        yield Place(100 * coach + i + 1, coach, i // len(letters) + 1, letters[i % len(letters)], comfort)
