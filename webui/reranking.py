"""The order of an answer once some of its queries were run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from revelio.anomaly import PRESENT
from revelio.types import RankedQuery
from revelio.workbench import NOT_RUN

_SHOWS, _UNKNOWN, _SHOWS_NOTHING = range(3)


@dataclass(frozen=True, slots=True)
class Standing:
    """A query and its place (from 1) after the results; ``because`` says in words why it stands there."""

    ranked: RankedQuery
    place: int
    because: str


def by_evidence(queries: Sequence[RankedQuery]) -> tuple[Standing, ...]:
    """Queries whose result shows something, then those without a result, then those whose result shows nothing.

    Within each of the three the model's order stays. Probabilities are left as they were before anything was run: this is a
    plain rule, no new estimate.
    """
    ordered = sorted(queries, key=lambda q: (_group(q), q.rank))
    return tuple(Standing(q, place, _because(q, place)) for place, q in enumerate(ordered, 1))


def was_run(query: RankedQuery) -> bool:
    """Whether a backend answered it: a run that failed leaves only its reason."""
    return query.result is not None and not query.result.summary.startswith(NOT_RUN)


def _group(query: RankedQuery) -> int:
    if query.result is None or not was_run(query):
        return _UNKNOWN
    return _SHOWS if query.result.signal >= PRESENT else _SHOWS_NOTHING


def _because(query: RankedQuery, place: int) -> str:
    moved = f"up from {query.rank}" if place < query.rank else f"down from {query.rank}" if place > query.rank else "same place"
    came_back = {_SHOWS: "its result stands out", _SHOWS_NOTHING: "its result shows nothing unusual", _UNKNOWN: "no result yet"}
    return f"{moved.capitalize()}: {came_back[_group(query)]}"
