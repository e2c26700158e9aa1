"""The verdict strip: the suspect, since when, what changed, how sure, what was not seen, and the one next step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from revelio.anomaly import SIGNIFICANT, levels, split
from revelio.presentation import evidence_panels
from revelio.types import Evidence, RankedQuery, Recommendation, Result
from webui.i18n import gettext
from webui.views.timeline import Moment, changes

Kind = Literal["fault", "two_faults", "no_fault", "no_evidence"]
Step = Literal["run", "judge", "resolve", "sources", "none"]

_RIVAL = 0.5
"""A second suspect is named from this share of the first one's probability on."""
_CHANGES = 2
_SYMPTOMS = ("new error", "health", "health check")
_SLACK_S = 5.0
"""A change is recorded up to so many seconds after it took effect."""
_SURE, _LIKELY = 0.8, 0.5


@dataclass(frozen=True, slots=True)
class Suspect:
    """What looks wrong: a component, the query that says so, and what running it showed ("" before)."""

    component: str
    query_id: str
    title: str
    finding: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer says in one look. ``since`` is in Unix seconds; ``unseen`` are sentences on what was not seen."""

    kind: Kind
    suspects: tuple[Suspect, ...]
    probability: float
    confidence: str
    since: float | None
    changed: tuple[Moment, ...]
    unseen: tuple[str, ...]
    step: Step


def verdict(answer: Recommendation, *, to_run: int, found: bool, resolved: bool) -> Verdict:
    """The verdict of an answer in the order that is shown; ``to_run`` counts the queries without a result."""
    evidence = answer.incident.evidence
    suspects = _suspects(answer) if answer.outcome == "fault" else ()
    lead = next((q for q in answer.queries if suspects and q.query.id == suspects[0].query_id), None)
    kind: Kind = "two_faults" if len(suspects) > 1 else answer.outcome
    probability = answer.no_fault_probability if kind == "no_fault" else lead.probability if lead else 0.0
    significant = lead is not None and _significant(lead)
    since = _since(answer, lead)
    step: Step = "sources" if kind == "no_evidence" else "none" if resolved else "resolve" if found else "none"
    if step == "none" and not resolved:
        step = "judge" if significant else "run" if to_run else "none"
    return Verdict(
        kind=kind,
        suspects=suspects,
        probability=probability,
        confidence=_confidence(kind, probability),
        since=since,
        changed=_changed(evidence, tuple(s.component for s in suspects), since),
        unseen=_unseen(answer),
        step=step,
    )


def _suspects(answer: Recommendation) -> tuple[Suspect, ...]:
    """The target of the first query; and of another one that is nearly as probable, or anomalous too, elsewhere."""
    first = answer.queries[0]
    rivals = (
        q
        for q in answer.queries[1:]
        if _component(q) != _component(first)
        and _significant(q) == _significant(first)
        and q.probability >= _RIVAL * first.probability
    )
    named = (first, *(q for q in [next(rivals, None)] if q is not None))
    return tuple(Suspect(_component(q), q.query.id, q.query.title, _finding(q, answer.incident.evidence)) for q in named)


def _component(ranked: RankedQuery) -> str:
    entity = next(iter(ranked.query.entities), None)
    return entity.name.partition(": ")[0] if entity else ranked.query.title


def _significant(ranked: RankedQuery) -> bool:
    return ranked.answered and ranked.result is not None and ranked.result.signal >= SIGNIFICANT


def _finding(ranked: RankedQuery, evidence: Evidence) -> str:
    return evidence_panels(ranked.result, evidence).summary if ranked.result and _significant(ranked) else ""


def _confidence(kind: Kind, probability: float) -> str:
    if kind == "no_evidence":
        return "none"
    return "high" if probability >= _SURE else "fair" if probability >= _LIKELY else "low"


def _since(answer: Recommendation, lead: RankedQuery | None) -> float | None:
    """The onset of the answer where it has one, else when the first series of the leading result moved away for good."""
    onset = getattr(getattr(answer, "time", None), "onset", None)
    if onset is not None:
        return float(onset.at)
    return began(lead.result, answer.incident.evidence) if lead and lead.result and _significant(lead) else None


def began(result: Result, evidence: Evidence) -> float | None:
    """When the first series of a result came nearer to its figure now than to that before; None without such a step."""
    if not result.series:
        return None
    series = result.series[0]
    before, now = levels(*split(series.times, series.values, evidence.baseline, evidence.window))
    if before is None or now is None or before == now:
        return None
    points = [(t, v) for t, v in zip(series.times, series.values, strict=True) if math.isfinite(v) and t <= evidence.window.end]
    return next((t for t, v in points if t >= evidence.window.start and abs(v - now) < abs(v - before)), None)


def _changed(evidence: Evidence, components: tuple[str, ...], since: float | None) -> tuple[Moment, ...]:
    """What may have caused it: changes that are no symptom, before the onset, those of a suspect first, the latest first."""
    causes = [m for m in changes(evidence) if m.what not in _SYMPTOMS and (since is None or m.at <= since + _SLACK_S)]
    return tuple(sorted(causes, key=lambda m: (m.entity not in components, -m.at)))[:_CHANGES]


def _unseen(answer: Recommendation) -> tuple[str, ...]:
    evidence = answer.incident.evidence
    if not answer.degraded:
        return answer.not_asked
    silent = {"names": ", ".join(answer.degraded), "count": len(answer.degraded)}
    if evidence.sources is None:
        return (gettext("%(names)s did not answer: missing, not normal") % silent, *answer.not_asked)
    words = gettext("%(count)s of %(all)s data sources; %(names)s did not answer: missing, not normal")
    return (words % {**silent, "all": len(answer.degraded) + len(evidence.sources)}, *answer.not_asked)
