"""The answer page's view of a saved answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from revelio.catalog.aliases import shows_text
from revelio.errors import RevelioError
from revelio.presentation.times import proposal_line, time_words
from revelio.service import Service
from revelio.store import SavedAnswer
from revelio.store.masking import masked_kinds
from revelio.types import Factor, Query, RankedQuery, Recommendation
from webui.i18n import gettext, gettext_noop
from webui.views.answer_contexts import AnswerPage, Card, Reason
from webui.views.evidence import evidence_view
from webui.views.filters import decimal, masked_words
from webui.views.markdown import summary
from webui.views.service_map import service_map
from webui.views.similar import similar
from webui.views.timeline import incident_timeline
from webui.views.verdict import verdict

_FACTS = 3
_NEXT = 3
"""So many queries are run at once."""
_FACTORS = {
    "tool": (gettext_noop("Data source"), gettext_noop("right data source")),
    "template": (gettext_noop("Query"), gettext_noop("right query for this data source")),
    "values": (gettext_noop("Target"), gettext_noop("right target for this query")),
    "results": (gettext_noop("Unexplained"), gettext_noop("no result so far shows the cause")),
}
_ADDED = gettext_noop("Added by re-ranking")


@dataclass(frozen=True, slots=True)
class OrderedAnswer:
    """An answer in the order that is shown. ``moved`` says of each query why it stands there; "" where nothing has to be said.

    ``trouble`` is why re-ranking failed; "" otherwise.
    """

    recommendation: Recommendation
    moved: tuple[str, ...]
    reordered: bool = False
    trouble: str = ""


def shown(service: Service, saved: SavedAnswer, reordered: bool) -> OrderedAnswer:
    """The answer in its original order, or re-ranked with results."""
    answer, trouble = saved.recommendation, ""
    if reordered:
        try:
            reranked = service.rerank(saved.recommendation, saved.given)
            return OrderedAnswer(reranked.recommendation, tuple(m.because for m in reranked.rank_changes), reordered=True)
        except RevelioError as error:
            trouble = str(error)
    moved = tuple(gettext(_ADDED) if q.rank > saved.given else "" for q in answer.queries)
    return OrderedAnswer(answer, moved, trouble=trouble)


def answer_page(
    service: Service,
    saved: SavedAnswer,
    server: str,
    *,
    original: bool = False,
    selected: str = "",
    failure: tuple[str, str] = ("", ""),
    may_change: bool = True,
    with_similar: bool = True,
) -> AnswerPage:
    """The page of an answer; ``failure`` is (query id, what went wrong) of a query that was just run in vain.

    ``server`` is the address of this server, ``with_similar`` shows answers to others.
    """
    order = shown(service, saved, reordered=not original and any(q.answered for q in saved.recommendation.queries))
    answer = order.recommendation
    evidence = answer.incident.evidence
    ran = sum(q.answered for q in answer.queries)
    cards = tuple(
        card(service, saved, q, moved, failure[1] if failure[0] == q.query.id else "")
        for q, moved in zip(answer.queries, order.moved, strict=True)
    )
    found = next((c for c in cards if c.verdict == "found"), None)
    resolution = service.store.resolutions.get(saved.id)
    to_run = sum(q.result is None for q in answer.queries)
    said = verdict(answer, to_run=to_run, found=found is not None, resolved=resolution is not None)
    suspects = tuple(s.component for s in said.suspects)
    known = {c.query_id for c in cards}
    chosen = next((i for i in (selected, failure[0], *(s.query_id for s in said.suspects)) if i in known), "")
    page = AnswerPage(
        id=saved.id,
        address=f"{server.rstrip('/')}/r/{saved.id}",
        revision=service.store.resolutions.revision(saved.id),
        verdict=said,
        selected=chosen or (cards[0].query_id if cards else ""),
        timeline=incident_timeline(evidence, suspects),
        map=service_map(evidence, suspects, answer.queries),
        similar=similar(service, saved) if with_similar else (),
        resolution=resolution,
        found=found,
        may_change=may_change,
        run_now=tuple(q.query.id for q in answer.queries[:_NEXT] if q.result is None) if may_change and not ran else (),
        report=answer.incident.report,
        masked=masked_words(masked_kinds(answer.incident.report)),
        system=answer.incident.system,
        recorded=saved.recorded,
        opened_at=answer.incident.opened_at,
        saved_at=saved.saved_at,
        times=(*time_words(answer), *((proposal_line(p),) for p in answer.time.proposals)),
        window_s=evidence.window.seconds,
        baseline_s=evidence.baseline.seconds,
        model=answer.model,
        took_ms=answer.took_ms,
        no_fault=answer.no_fault_probability,
        no_fault_likely=answer.no_fault_likely,
        report_effect=saved.recommendation.report_effect,
        degraded=answer.degraded,
        mostly_missing=evidence.mostly_missing,
        sources_up=len(evidence.sources or ()),
        ran=ran,
        next_up=min(_NEXT, to_run),
        original=original,
        reordered=order.reordered,
        trouble=order.trouble,
        cards=cards,
    )
    return replace(page, summary=summary(page))


def card(service: Service, saved: SavedAnswer, ranked: RankedQuery, moved: str, failure: str = "") -> Card:
    """One query of a saved answer as a card."""
    query = ranked.query
    evidence = saved.recommendation.incident.evidence
    said = saved.said(query.id)
    result = ranked.result
    if result and not ranked.answered:
        failure = failure or result.error or ""
        result = None
    return Card(
        answer=saved.id,
        query_id=query.id,
        rank=ranked.rank,
        probability=ranked.probability,
        title=query.title,
        shows=shows_text(query, evidence),
        tool=service.tool_title(ranked),
        targets=_targets(query),
        text=ranked.text,
        link=_link(service, saved, ranked),
        reasons=reasons(ranked.factors),
        product=" × ".join(decimal(_share(f), 2) for f in ranked.factors),
        evidence=evidence_view(result, evidence) if result else None,
        verdict=said.verdict if said else None,
        note=said.note if said else "",
        by=said.by if said else "",
        moved=moved,
        failure=failure,
    )


def _link(service: Service, saved: SavedAnswer, ranked: RankedQuery) -> str | None:
    """The query's address in its data source's own page. A recording has one only while that data source answers."""
    if not ranked.link or not ranked.link.startswith(("http://", "https://")):
        return None
    name = saved.recommendation.incident.system
    if saved.recorded is None:
        return ranked.link
    if name not in service.systems:
        return None
    states = service.health.known((name,))[name].tools
    return ranked.link if any(t.up for t in states if t.tool == ranked.query.template.tool) else None


def reasons(factors: Sequence[Factor]) -> tuple[Reason, ...]:
    """Every factor, and in all the three facts that weighed most: the first of each, then the next of each."""
    chosen = sorted(((turn, i) for i, f in enumerate(factors) for turn in range(len(f.because))))[:_FACTS]
    told = {i: tuple(factors[i].because[turn] for turn, j in chosen if j == i) for i in range(len(factors))}
    return tuple(_reason(f, told[i]) for i, f in enumerate(factors))


def _targets(query: Query) -> tuple[str, ...]:
    bound = dict(query.bindings)
    return tuple(bound[b.name] for b in query.template.blanks if b.name in bound)


def _reason(factor: Factor, facts: tuple[str, ...]) -> Reason:
    if factor.name not in _FACTORS:
        return Reason(factor.name.replace("_", " ").capitalize(), "", _share(factor), facts)
    label, about = _FACTORS[factor.name]
    return Reason(gettext(label), gettext(about), _share(factor), facts)


def _share(factor: Factor) -> float:
    return math.exp(min(factor.log_probability, 0.0))
