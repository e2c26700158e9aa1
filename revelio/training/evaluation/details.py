"""The result of the model on each report of each incident, as ``revelio eval --details`` writes it."""

from __future__ import annotations

from dataclasses import dataclass

from revelio.training.evaluation.method import Example
from revelio.training.evaluation.metrics import Outcome


@dataclass(frozen=True, slots=True)
class Detail:
    """One incident with one report. ``rank`` is the first query of grade 3, ``accepted_rank`` the first accepted one.

    Both are None without such a candidate, or when the method raised. ``first`` is the id of the query ranked first and
    ``probability`` its probability, None without candidates or when the method raised.
    """

    id: str
    split: str
    report: str
    writer: str
    rank: int | None
    accepted_rank: int | None
    first: str | None
    probability: float | None
    no_fault_probability: float | None
    candidates: int
    failed: bool = False


def detail(split: str, example: Example, outcome: Outcome) -> Detail:
    """Of one example of an incident in ``split``."""
    first = outcome.first[0].id if outcome.first else None
    return Detail(
        id=example.incident.id,
        split=split,
        report=example.incident.report,
        writer=example.writer,
        rank=_within(outcome.rank, outcome.candidates),
        accepted_rank=_within(outcome.accepted_rank, outcome.candidates),
        first=first,
        probability=None if first is None else outcome.confidence,
        no_fault_probability=None if outcome.failed else outcome.abstain,
        candidates=outcome.candidates,
        failed=outcome.failed,
    )


def _within(rank: int, candidates: int) -> int | None:
    return rank if rank <= candidates else None
