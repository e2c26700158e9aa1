"""Which noise goes on around a run: drawn from its id, at parts that its faults are not about."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fault_injection.apps import App
from fault_injection.campaigns.pairs import own_parts
from fault_injection.kinds import kinds
from fault_injection.spec import Fault
from revelio.errors import InvalidInputError

NEW = ("new_fault", "new_app")
"""Splits whose noise is of kinds that training has not seen."""
ANY = ("no_fault",)


class Noise:
    """All kinds of noise, some of them held out."""

    def __init__(self, held_out: Sequence[str]) -> None:
        """``InvalidInputError`` when there is no such kind."""
        self._kinds = [kind for kind in kinds() if kind.category == "noise"]
        if unknown := set(held_out) - {kind.name for kind in self._kinds}:
            there = ", ".join(kind.name for kind in self._kinds)
            raise InvalidInputError(f"noise: no kind {', '.join(sorted(unknown))}; there are: {there}")
        self._held_out = frozenset(held_out)

    def around(self, app: App, run: str, split: str, faults: Sequence[Fault], share: float) -> Fault | None:
        """The noise of one run; None for all but a share of the runs, and where no kind can be elsewhere than the faults."""
        rng = random.Random(run)
        if rng.random() >= share:
            return None
        taken = frozenset[str]().union(*(own_parts(app, fault.place) for fault in faults))
        possible = [kind for kind in self._kinds if split in ANY or (kind.name in self._held_out) == (split in NEW)]
        for kind in rng.sample(possible, len(possible)):
            if places := [place for place in kind.places(app) if not own_parts(app, place) & taken]:
                place = rng.choice(places)
                return Fault(kind.name, place, rng.choice(kind.strengths_at(app, place)), rng.randrange(1000))
        return None
