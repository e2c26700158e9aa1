"""Answers: recommend, show, run queries, give feedback."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from revelio.presentation import MoveView, ResultView, recommendation_json, result_view
from revelio.service.request import RecommendRequest
from revelio.service.similar_incidents import Scope
from revelio.store import Feedback, SavedAnswer
from revelio.store.masking import masked_kinds
from revelio.systems.time_range import time_range
from webui.api.paging import LINK, Cursor, Limit, cut, decode, encode, link_next
from webui.api.replay import ReplayedRoute, idempotency_key
from webui.api.responses import error_responses
from webui.api.schemas import (
    AnswerView,
    FeedbackRequest,
    FeedbackView,
    HistoryView,
    IncidentView,
    RecommendationRequest,
    SaidView,
    SimilarView,
    SystemView,
)
from webui.deps import ServiceDep

api = APIRouter(prefix="/api/v1", tags=["api"], route_class=ReplayedRoute)
_ONCE = [Depends(idempotency_key)]
Order = Annotated[
    Literal["rank", "evidence"],
    Query(description="`evidence`: re-ranked with the results of the queries run so far; other queries can join"),
]
Panels = Annotated[bool, Query(description="Also return how each result is drawn")]


@api.post(
    "/recommendations",
    operation_id="recommend",
    response_description="The answer",
    responses=error_responses(400, 404, 409, 413, 422),
    dependencies=_ONCE,
)
def recommend(asked: RecommendationRequest, response: Response, service: ServiceDep) -> AnswerView:
    """Rank the queries that most likely show the root cause behind a report. Name a system or an incident, not both."""
    when = time_range(asked.since, asked.opened_at, asked.window_s, now=time.time())
    run = asked.k if asked.run else 0
    saved = service.recommend(RecommendRequest(asked.report, asked.system, asked.incident, asked.k, run, when))
    response.headers["Content-Location"] = f"/api/v1/recommendations/{saved.id}"
    return _view(saved)


@api.get(
    "/recommendations",
    operation_id="list_recommendations",
    response_description="One page of them",
    responses=error_responses(422) | {200: LINK},
)
def list_recommendations(
    request: Request, response: Response, service: ServiceDep, limit: Limit = 50, cursor: Cursor = None
) -> list[HistoryView]:
    """Earlier answers, newest first."""
    shown, more = cut(service.store.history(limit + 1, past=_place(cursor)), limit)
    if more:
        link_next(request, response, encode(shown[-1].saved_at, shown[-1].id))
    return [HistoryView.model_validate(entry, from_attributes=True) for entry in shown]


@api.get(
    "/recommendations/{recommendation_id}",
    operation_id="show",
    response_description="The answer",
    responses=error_responses(404, 422),
)
def show(recommendation_id: str, service: ServiceDep, panels: Panels = False, order: Order = "rank") -> AnswerView:
    """An earlier answer, with the results of its queries so far."""
    saved = service.answer(recommendation_id)
    if order == "rank":
        return _view(saved, panels=panels)
    reranked = service.rerank(saved.recommendation, saved.given)
    view = _view(replace(saved, recommendation=reranked.recommendation), panels=panels)
    for query, move in zip(view.queries, reranked.rank_changes, strict=True):
        query.moved = MoveView(before=move.before, because=move.because)
    return view


@api.get(
    "/recommendations/{recommendation_id}/similar",
    operation_id="list_similar",
    response_description="The most similar ones, best first",
    responses=error_responses(404, 422),
)
def list_similar(
    recommendation_id: str,
    service: ServiceDep,
    k: Annotated[int, Query(ge=1, le=50, description="How many at most")] = 3,
    scope: Annotated[Scope, Query(description="`system`: of the same system; `others`: of all others")] = "all",
) -> list[SimilarView]:
    """Past incidents like that of an answer, with their causes and the queries that showed them."""
    found = service.similar(service.answer(recommendation_id), k, scope)
    return [SimilarView.model_validate(one, from_attributes=True) for one in found]


@api.post(
    "/recommendations/{recommendation_id}/queries/{query_id}/run",
    operation_id="run_query",
    response_description="The result",
    responses=error_responses(404, 409, 422, 502),
    dependencies=_ONCE,
)
def run_query(recommendation_id: str, query_id: str, service: ServiceDep, panels: Panels = False) -> ResultView:
    """Run one query, read only, in an answer's window: one of the answer's own, or any that it could have had."""
    saved = service.run(service.answer(recommendation_id), query_id)
    return result_view(saved.result(query_id), saved.recommendation.incident.evidence, panels=panels)


@api.post(
    "/recommendations/{recommendation_id}/feedback",
    operation_id="give_feedback",
    status_code=201,
    response_description="Saved",
    responses=error_responses(400, 404, 409, 413, 422),
    dependencies=_ONCE,
)
def give_feedback(recommendation_id: str, said: FeedbackRequest, service: ServiceDep) -> FeedbackView:
    """Give feedback on a query. It is on disk when the reply arrives."""
    return _said(recommendation_id, service.feedback(recommendation_id, said.query_id, said.verdict, said.note))


@api.get(
    "/recommendations/{recommendation_id}/feedback",
    operation_id="list_feedback",
    response_description="All of it",
    responses=error_responses(404, 422),
)
def list_feedback(recommendation_id: str, service: ServiceDep) -> list[SaidView]:
    """All feedback on an answer, oldest first. For each query the latest counts."""
    said = service.answer(recommendation_id).feedback
    return [SaidView(**dict(_said(recommendation_id, one)), by=one.by) for one in said]


@api.get(
    "/incidents", operation_id="list_incidents", response_description="Of them", responses=error_responses(422) | {200: LINK}
)
def list_incidents(
    request: Request, response: Response, service: ServiceDep, limit: Limit | None = None, cursor: Cursor = None
) -> list[IncidentView]:
    """The recorded incidents, oldest first; all of them without ``limit``."""
    found = service.recorded()
    place = decode(cursor, str)
    if place:
        ids = [r.id for r in found]
        found = found[ids.index(place[0]) + 1 :] if place[0] in ids else ()
    shown, more = cut(found, limit or len(found))
    if more:
        link_next(request, response, encode(shown[-1].id))
    return [
        IncidentView(id=r.id, system=r.system, opened_at=r.opened_at, report=r.report, reports=list(r.reports)) for r in shown
    ]


@api.get("/systems", operation_id="list_systems", response_description="All of them", responses=error_responses())
def list_systems(service: ServiceDep) -> list[SystemView]:
    """The live systems."""
    settings = service.settings.systems
    return [SystemView(name=name, tools=sorted(settings[name].backends)) for name in service.systems]


def _view(saved: SavedAnswer, *, panels: bool = False) -> AnswerView:
    view = recommendation_json(saved.id, saved.recommendation, recorded=saved.recorded, panels=panels)
    return AnswerView.model_construct(**dict(view), masked=list(masked_kinds(view.report)))


def _said(recommendation_id: str, kept: Feedback) -> FeedbackView:
    return FeedbackView(
        recommendation_id=recommendation_id,
        query_id=kept.query_id,
        verdict=kept.verdict,
        note=kept.note,
        given_at=kept.given_at,
    )


def _place(cursor: str | None) -> tuple[float, str] | None:
    place = decode(cursor, float, str)
    return (place[0], place[1]) if place else None
