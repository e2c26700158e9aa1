"""The HTTP API, for programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from revelio.presentation import RecommendationView, ResultView, recommendation_json, result_view
from revelio.store import SavedAnswer
from webui.desk import Desk, Question
from webui.problems import Problem
from webui.schemas import FeedbackRequest, FeedbackView, Health, IncidentView, RecommendationRequest, SystemView


def desk_of(request: Request) -> Desk:
    """The application's desk."""
    desk: Desk = request.app.state.desk
    return desk


TheDesk = Annotated[Desk, Depends(desk_of)]

_ABOUT = {
    403: "The request came from another site",
    404: "No such answer, query, system or incident; the detail says what there is",
    413: "The body is too large",
    422: "Something in the request cannot be used; the detail says what",
    502: "The tool's backend did not answer",
    503: "No model can be loaded, or the database fails; the detail says what to do",
}


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {s: {"description": _ABOUT[s], "model": Problem, "content": content} for s in statuses}


api = APIRouter(prefix="/api/v1", tags=["api"])
probes = APIRouter(tags=["probes"])


@api.post(
    "/recommendations", operation_id="recommend", response_description="The answer", responses=_refusals(403, 404, 413, 422, 503)
)
def recommend(asked: RecommendationRequest, desk: TheDesk) -> RecommendationView:
    """Rank the queries that most likely show the root cause behind a report. Name a system or an incident, not both."""
    return _view(desk.ask(Question(asked.report, asked.system, asked.incident, asked.k, asked.run, asked.opened_at)))


@api.get(
    "/recommendations/{recommendation_id}",
    operation_id="show",
    response_description="The answer",
    responses=_refusals(404, 422, 503),
)
def show(recommendation_id: str, desk: TheDesk) -> RecommendationView:
    """An earlier answer, with the results that its queries have given since."""
    return _view(desk.answer(recommendation_id))


@api.post(
    "/recommendations/{recommendation_id}/queries/{query_id}/run",
    operation_id="run_query",
    response_description="The result",
    responses=_refusals(403, 404, 422, 502, 503),
)
def run_query(recommendation_id: str, query_id: str, desk: TheDesk) -> ResultView:
    """Run one query of an answer, read only, in that answer's window."""
    return result_view(desk.run(recommendation_id, query_id))


@api.post(
    "/recommendations/{recommendation_id}/feedback",
    operation_id="give_feedback",
    status_code=201,
    response_description="Kept",
    responses=_refusals(403, 404, 413, 422, 503),
)
def give_feedback(recommendation_id: str, said: FeedbackRequest, desk: TheDesk) -> FeedbackView:
    """Say whether a query showed the cause. It is on disk when this answers."""
    kept = desk.feedback(recommendation_id, said.query_id, said.verdict, said.note)
    return FeedbackView(
        recommendation_id=recommendation_id,
        query_id=kept.query_id,
        verdict=kept.verdict,
        note=kept.note,
        given_at=kept.given_at,
    )


@api.get("/incidents", operation_id="list_incidents", response_description="All of them", responses=_refusals(503))
def list_incidents(desk: TheDesk) -> list[IncidentView]:
    """The recorded incidents that can be asked about, oldest first."""
    return [
        IncidentView(id=r.id, system=r.system, opened_at=r.opened_at, report=r.report, reports=list(r.reports))
        for r in desk.recorded()
    ]


@api.get("/systems", operation_id="list_systems", response_description="All of them")
def list_systems(desk: TheDesk) -> list[SystemView]:
    """The systems that can be asked about live."""
    settings = desk.bench.settings.systems
    return [SystemView(name=name, tools=sorted(settings[name].backends)) for name in desk.bench.systems]


@probes.get("/healthz", operation_id="healthz", response_description="Up")
def healthz() -> Health:
    """The process is up."""
    return Health(status="ok")


@probes.get(
    "/readyz",
    operation_id="readyz",
    response_description="Ready",
    responses={503: {"model": Health, "description": "Not ready, and why"}},
)
def readyz(desk: TheDesk, response: Response) -> Health:
    """Model and database are usable."""
    troubles = desk.troubles()
    if troubles:
        response.status_code = 503
    return Health(status="not ready" if troubles else "ready", troubles=list(troubles))


@probes.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus text format", "content": {"text/plain": {}}}},
)
def metrics(desk: TheDesk) -> Response:
    """The server's own figures, for Prometheus."""
    return Response(desk.figures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _view(saved: SavedAnswer) -> RecommendationView:
    return recommendation_json(saved.id, saved.recommendation, recorded=saved.recorded)
