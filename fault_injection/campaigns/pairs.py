"""Draws pairs of faults for runs in which two are active at once, so that each hurts users of its own."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, product

from fault_injection.apps import App
from fault_injection.kinds import kind_named
from fault_injection.spec import Fault

Pair = tuple[Fault, Fault]
Pairing = frozenset[str]
"""Two categories."""


def pairing(pair: Pair) -> Pairing:
    """The categories of a pair's kinds."""
    return _categories(pair[0].kind, pair[1].kind)


def draw_pairs(
    app: App, faults: Sequence[Fault], count: int, seed: str, held: Collection[Pairing] = (), *, only: bool = False
) -> list[Pair]:
    """So many different pairs, all kinds about as often, whichever comes first; fewer where there are no more.

    No pairing of ``held`` is among them; with ``only``, no other.
    Both are of different categories and at parts of their own, and not both burden the machine. Parts that call each other are
    paired only once there are no others.
    """
    rng = random.Random(seed)
    of_kind: dict[str, list[Fault]] = defaultdict(list)
    for fault in rng.sample(faults, len(faults)):
        if _alone_felt(app, fault):
            of_kind[fault.kind].append(fault)
    couples = [couple for couple in combinations(of_kind, 2) if _differ(*couple) and (_categories(*couple) in held) == only]
    rng.shuffle(couples)
    used: Counter[str] = Counter()
    drawn: list[Pair] = []
    while len(drawn) < count:
        couples.sort(key=lambda couple: used[couple[0]] + used[couple[1]])
        pair = _next_pair(app, couples, of_kind, {frozenset(pair) for pair in drawn})
        if pair is None:
            break
        for fault in pair:
            used[fault.kind] += 1
            of_kind[fault.kind].remove(fault)
            of_kind[fault.kind].append(fault)
        drawn.append(pair if rng.random() < 0.5 else (pair[1], pair[0]))
    return drawn


def _next_pair(
    app: App, couples: Sequence[tuple[str, str]], of_kind: Mapping[str, Sequence[Fault]], taken: Collection[frozenset[Fault]]
) -> Pair | None:
    for strict in (True, False):
        for one, other in couples:
            for pair in product(of_kind[one], of_kind[other]):
                if frozenset(pair) not in taken and _apart(app, pair[0].place, pair[1].place, strict):
                    return pair
    return None


def _differ(one: str, other: str) -> bool:
    """Whether two kinds are of different categories, and the machine can bear both."""
    kinds = kind_named(one), kind_named(other)
    return kinds[0].category != kinds[1].category and not all(kind.burdens_host for kind in kinds)


def _categories(one: str, other: str) -> Pairing:
    return frozenset((kind_named(one).category, kind_named(other).category))


def _apart(app: App, one: str, other: str, strict: bool) -> bool:
    mine, theirs = own_parts(app, one), own_parts(app, other)
    calls = any((a, b) in app.edges or (b, a) in app.edges for a in mine for b in theirs)
    return not mine & theirs and not (strict and calls)


def _alone_felt(app: App, fault: Fault) -> bool:
    """Whether users of some features feel it and others do not: not at what all features need, unless it is in one's code."""
    needed_by_all = fault.place in (app.entrance, *app.stores) or not own_parts(app, fault.place)
    return kind_named(fault.kind).category == "code" or not needed_by_all


def own_parts(app: App, place: str) -> frozenset[str]:
    """The parts that a place is about: of a call between two, those that not everybody needs; a table is one by itself."""
    ends = frozenset(place.split("->"))
    return ends if len(ends) == 1 else ends - {app.entrance, *app.stores}
