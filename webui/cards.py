"""From a kept answer to the page that shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from revelio.store import SavedAnswer
from revelio.types import Factor, Query, fill
from revelio.workbench import NOT_RUN
from webui.contexts import AnswerPage, Card, Reason
from webui.desk import ABSTAINS, Desk
from webui.evidence import evidence_view
from webui.provenance import without_passwords
from webui.reranking import Standing, by_evidence, was_run

_FACTS = 3
_FACTORS = {
    "tool": ("Tool", "the right tool to look with"),
    "template": ("Question", "the right question for that tool"),
    "values": ("Place", "the right place to ask it of"),
}


def answer_page(desk: Desk, saved: SavedAnswer, *, reordered: bool = False, failure: tuple[str, str] = ("", "")) -> AnswerPage:
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
        ran=sum(was_run(q) for q in answer.queries),
        reordered=reordered,
        cards=tuple(
            card(desk, saved, s, failure[1] if failure[0] == s.ranked.query.id else "") for s in standings(saved, reordered)
        ),
    )


def standings(saved: SavedAnswer, reordered: bool) -> tuple[Standing, ...]:
    """The queries in the order of what came back, or in the model's own."""
    queries = saved.recommendation.queries
    return by_evidence(queries) if reordered else tuple(Standing(q, q.rank, "") for q in queries)


def card(desk: Desk, saved: SavedAnswer, standing: Standing, failure: str = "") -> Card:
    """One query of a kept answer as its card."""
    ranked = standing.ranked
    query = ranked.query
    evidence = saved.recommendation.incident.evidence
    said = saved.said(query.id)
    result = ranked.result
    if result and not was_run(ranked):
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
        reasons=reasons(ranked.factors),
        evidence=evidence_view(result, evidence) if result else None,
        verdict=said.verdict if said else None,
        note=said.note if said else "",
        place=standing.place,
        moved=standing.because,
        failure=without_passwords(failure),
    )


def reasons(factors: Sequence[Factor]) -> tuple[Reason, ...]:
    """Every factor, and in all the three facts that weighed most: the first of each, then the next of each."""
    chosen = sorted(((turn, i) for i, f in enumerate(factors) for turn in range(len(f.because))))[:_FACTS]
    told = {i: tuple(factors[i].because[turn] for turn, j in chosen if j == i) for i in range(len(factors))}
    return tuple(_reason(f, told[i]) for i, f in enumerate(factors))


def _places(query: Query) -> tuple[str, ...]:
    bound = dict(query.bindings)
    return tuple(bound[b.name] for b in query.template.blanks if b.name in bound)


def _reason(factor: Factor, facts: tuple[str, ...]) -> Reason:
    label, about = _FACTORS.get(factor.name, (factor.name.replace("_", " ").capitalize(), ""))
    return Reason(label, about, math.exp(min(factor.log_probability, 0.0)), facts)
