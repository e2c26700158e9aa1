"""What a list shows of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import exists

from revelio.store.tables import RecommendationRow, ResolutionRow
from revelio.types import Outcome

Verdict = Literal["found", "helpful", "not_useful"]

ENTRY_COLUMNS = (
    RecommendationRow.id,
    RecommendationRow.saved_at,
    RecommendationRow.system,
    RecommendationRow.recorded,
    RecommendationRow.report,
    RecommendationRow.abstain,
    RecommendationRow.top_title,
    RecommendationRow.top_probability,
    RecommendationRow.outcome,
    RecommendationRow.suspect,
    exists().where(ResolutionRow.recommendation_id == RecommendationRow.id).label("resolved"),
)
"""What ``Store.entry`` makes a line of the history of."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One line of the history. ``verdict`` is the best that was said of any of its queries.

    ``outcome`` is what the answer said, ``suspect`` the target of its first query.
    """

    id: str
    saved_at: float
    system: str
    recorded: str | None
    report: str
    abstain: float
    top_title: str
    top_probability: float
    verdict: Verdict | None
    outcome: Outcome = "fault"
    suspect: str = ""
    resolved: bool = False


def best_verdict(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The best of several verdicts; None without any."""
    order: tuple[Verdict, ...] = ("found", "helpful", "not_useful")
    return next((v for v in order if v in verdicts), None)
