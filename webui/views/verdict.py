"""The verdict strip: the cause in a sentence, how sure, what changed before, what was not seen, and the one next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from revelio.presentation import CauseKind, cause
from revelio.presentation.facts import Words
from revelio.types import Evidence, Recommendation
from webui.i18n import gettext
from webui.views.timeline import Moment, changes

Step = Literal["run", "look", "resolve", "sources", "none"]

_CHANGES = 2
_SYMPTOMS = ("new error", "health", "health check")
_SLACK_S = 5.0
"""A change is recorded up to so many seconds after it took effect."""
_SURE, _LIKELY = 0.8, 0.5


@dataclass(frozen=True, slots=True)
class Suspect:
    """What looks wrong, or where to look first: a component and the query that is about it."""

    component: str
    query_id: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer says in one look: a sentence, and the next step in words and as a button.

    Moments in ``words``, and ``since``, are in Unix seconds; ``unseen`` are sentences on what was not seen.
    """

    kind: CauseKind
    words: Words
    advice: str
    suspects: tuple[Suspect, ...]
    probability: float
    confidence: str
    since: float | None
    changed: tuple[Moment, ...]
    unseen: tuple[str, ...]
    step: Step


def verdict(answer: Recommendation, *, to_run: int, found: bool, resolved: bool) -> Verdict:
    """The verdict of an answer in the order that is shown; ``to_run`` counts the queries without a result."""
    said = cause(answer)
    names = said.components
    probability = answer.no_fault_probability if said.kind == "no_fault" else said.queries[0].probability if said.queries else 0.0
    explained = any(f.kind == "change" for f in said.facts)
    return Verdict(
        kind=said.kind,
        words=said.words,
        advice=said.step,
        suspects=tuple(Suspect(name, q.query.id) for name, q in zip(names, said.queries, strict=True)),
        probability=probability,
        confidence=_confidence(said.kind, probability),
        since=said.since,
        changed=() if explained or not said.facts else _changed(answer.incident.evidence, names, said.since),
        unseen=_unseen(answer),
        step=_step(answer, said.kind, to_run=to_run, found=found, resolved=resolved),
    )


def _step(answer: Recommendation, kind: CauseKind, *, to_run: int, found: bool, resolved: bool) -> Step:
    if kind == "no_evidence":
        return "sources"
    if resolved or found:
        return "none" if resolved else "resolve"
    shown = any(q.anomalous for q in answer.queries)
    if kind in ("fault", "two_faults") and shown:
        return "look"
    return "run" if to_run else "none"


def _confidence(kind: CauseKind, probability: float) -> str:
    if kind == "no_evidence":
        return "none"
    return "high" if probability >= _SURE else "fair" if probability >= _LIKELY else "low"


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
