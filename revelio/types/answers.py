"""An incident, and the ranked queries that answer it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from revelio.types.evidence import Evidence
from revelio.types.queries import Query
from revelio.types.question_time import QuestionTime
from revelio.types.results import Finding, Result


@dataclass(frozen=True, slots=True)
class Incident:
    """A report and what the tools saw when it came. ``candidates`` given here replace catalog x inventory.

    ``findings`` are what was learned since, by running queries.
    """

    id: str
    system: str
    report: str
    opened_at: float
    evidence: Evidence
    candidates: tuple[Query, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Factor:
    """One conditional probability of the product, with the facts that weighed most."""

    name: str
    log_probability: float
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A query with its place in the ranking. The factors' log-probabilities add up to the log of ``probability``.

    ``source`` is the title of what answers it, where that is not what its tool is named after: Loki, for a question about logs.
    """

    query: Query
    rank: int
    probability: float
    factors: tuple[Factor, ...]
    text: str = ""
    link: str | None = None
    result: Result | None = None
    source: str = ""

    @property
    def answered(self) -> bool:
        """Whether it was run and its backend answered."""
        return self.result is not None and self.result.error is None

    @property
    def anomalous(self) -> bool:
        """Whether it was run, and its result is significant."""
        return self.answered and self.result is not None and self.result.signal >= SIGNIFICANT


SIGNIFICANT = 0.5
"""Signals of results from this value on count as significant."""

NO_FAULT_THRESHOLD = 0.5
"""From this probability of no fault on, an answer says so first."""

NO_FAULT_DESPITE = 0.9
"""From this probability of no fault on, it does so even where a query that was run shows something anomalous."""

Outcome = Literal["fault", "no_fault", "no_evidence"]
"""What an answer says: something points at a fault, probably nothing does, or too little could be seen to tell."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer. ``no_fault_probability``: that the evidence shows no fault; ``degraded`` names sources that did not answer.

    ``not_asked`` says in sentences which questions could not be asked there, and why, ``report_effect`` what the report changed.
    """

    incident: Incident
    queries: tuple[RankedQuery, ...]
    no_fault_probability: float
    model: str
    degraded: tuple[str, ...] = ()
    took_ms: float = 0.0
    not_asked: tuple[str, ...] = ()
    report_effect: str = ""
    time: QuestionTime = field(default_factory=QuestionTime)

    @property
    def outcome(self) -> Outcome:
        """What the answer says, the same everywhere, with what its queries showed when they were run.

        It never calls a system healthy that it mostly could not see, or of which it saw nothing that users feel.
        """
        evidence = self.incident.evidence
        anomalous = any(q.anomalous for q in self.queries)
        unseen = not evidence.shows or evidence.mostly_missing or evidence.blind
        if not self.queries or not (evidence.shows or anomalous):
            return "no_evidence"
        if self.no_fault_probability < (NO_FAULT_DESPITE if anomalous else NO_FAULT_THRESHOLD) or (anomalous and unseen):
            return "fault"
        return "no_evidence" if unseen else "no_fault"

    @property
    def no_fault_likely(self) -> bool:
        """Whether the answer says that there is no fault."""
        return self.outcome == "no_fault"
