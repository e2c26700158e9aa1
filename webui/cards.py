"""From a kept answer to the page that shows it."""

from __future__ import annotations

import math

from revelio.store import SavedAnswer
from revelio.types import Factor, Query, RankedQuery, fill
from revelio.workbench import NOT_RUN
from webui.contexts import AnswerPage, Card, Reason
from webui.desk import ABSTAINS, Desk
from webui.evidence import evidence_view

_FACTS = 3
_FACTORS = {
    "tool": ("Tool", "the right tool to look with"),
    "template": ("Question", "the right question for that tool"),
    "values": ("Place", "the right place to ask it of"),
}


def answer_page(desk: Desk, saved: SavedAnswer, failure: tuple[str, str] = ("", "")) -> AnswerPage:
    """The page of an answer; ``failure`` is (query id, what went wrong) of a query that was just run in vain."""
    answer = saved.recommendation
    evidence = answer.incident.evidence
    return AnswerPage(
        id=saved.id,
        report=answer.incident.report,
        system=answer.incident.system,
        recorded=saved.recorded,
        opened_at=answer.incident.opened_at,
        saved_at=saved.saved_at,
        window_s=evidence.window.seconds,
        baseline_s=evidence.baseline.seconds,
        model=answer.model,
        took_ms=answer.took_ms,
        abstain=answer.abstain,
        abstains=answer.abstain >= ABSTAINS,
        degraded=answer.degraded,
        cards=tuple(card(desk, saved, q, failure[1] if failure[0] == q.query.id else "") for q in answer.queries),
    )


def card(desk: Desk, saved: SavedAnswer, ranked: RankedQuery, failure: str = "") -> Card:
    """One query of a kept answer as its card."""
    query = ranked.query
    evidence = saved.recommendation.incident.evidence
    said = saved.said(query.id)
    result = ranked.result
    if result and result.summary.startswith(NOT_RUN):
        failure = failure or result.summary.removeprefix(NOT_RUN)
        result = None
    return Card(
        answer=saved.id,
        query_id=query.id,
        rank=ranked.rank,
        probability=ranked.probability,
        title=query.title,
        shows=fill(query.template.shows, query.bindings),
        tool=desk.tool_title(ranked),
        places=_places(query),
        text=ranked.text,
        link=ranked.link if ranked.link and ranked.link.startswith(("http://", "https://")) else None,
        reasons=tuple(_reason(f) for f in ranked.factors),
        evidence=evidence_view(result, evidence) if result else None,
        verdict=said.verdict if said else None,
        note=said.note if said else "",
        failure=failure,
    )


def _places(query: Query) -> tuple[str, ...]:
    bound = dict(query.bindings)
    return tuple(bound[b.name] for b in query.template.blanks if b.name in bound)


def _reason(factor: Factor) -> Reason:
    label, about = _FACTORS.get(factor.name, (factor.name.replace("_", " ").capitalize(), ""))
    return Reason(label, about, math.exp(min(factor.log_probability, 0.0)), factor.because[:_FACTS])
