"""Draws pairs of faults for runs in which two are active at once, so that each hurts users of its own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from fault_injection.apps import App
from fault_injection.kinds import kind_named
from fault_injection.spec import Fault

Pair = tuple[Fault, Fault]
Pairing = frozenset[str]
"""Two categories."""


def pairing(pair: Pair) -> Pairing:
    """The categories of a pair's kinds."""
    return frozenset(kind_named(fault.kind).category for fault in pair)


def draw_pairs(
    app: App, faults: Sequence[Fault], count: int, seed: str, held: Collection[Pairing] = (), *, only: bool = False
) -> list[Pair]:
    """So many different pairs, all kinds about as often, whichever comes first; fewer where there are no more.

    No pairing of ``held`` is among them; with ``only``, no other.
    Both are of different categories and at parts of their own, and not both burden the machine. Parts that call each other are
    paired only once there are no others.
    """
    rng = random.Random(seed)
    mixed = [fault for fault in rng.sample(faults, len(faults)) if _alone_felt(app, fault)]
    used: Counter[str] = Counter()
    drawn: list[Pair] = []
    while len(drawn) < count:
        rarest_first = sorted(mixed, key=lambda fault: used[fault.kind])
        pair = _next_pair(app, rarest_first, drawn, lambda pair: (pairing(pair) in held) == only)
        if pair is None:
            break
        used.update(fault.kind for fault in pair)
        drawn.append(pair if rng.random() < 0.5 else (pair[1], pair[0]))
    return drawn


def _next_pair(app: App, faults: Sequence[Fault], drawn: Collection[Pair], allowed: Callable[[Pair], bool]) -> Pair | None:
    taken = {frozenset(pair) for pair in drawn}
    for strict in (True, False):
        for number, one in enumerate(faults):
            for other in faults[number + 1 :]:
                pair = one, other
                if frozenset(pair) not in taken and _fit(app, *pair, strict) and allowed(pair):
                    return pair
    return None


def _fit(app: App, one: Fault, other: Fault, strict: bool) -> bool:
    kinds = kind_named(one.kind), kind_named(other.kind)
    if kinds[0].category == kinds[1].category or all(kind.burdens_host for kind in kinds):
        return False
    mine, theirs = _own_parts(app, one.place), _own_parts(app, other.place)
    calls = any((a, b) in app.edges or (b, a) in app.edges for a in mine for b in theirs)
    return not mine & theirs and not (strict and calls)


def _alone_felt(app: App, fault: Fault) -> bool:
    """Whether users of some features feel it and others do not: not at what all features need, unless it is in one's code."""
    needed_by_all = fault.place in (app.entrance, *app.stores) or not _own_parts(app, fault.place)
    return kind_named(fault.kind).category == "code" or not needed_by_all


def _own_parts(app: App, place: str) -> frozenset[str]:
    """The parts that a place is about: of a call between two, those that not everybody needs; a table is one by itself."""
    ends = frozenset(place.split("->"))
    return ends if len(ends) == 1 else ends - {app.entrance, *app.stores}
