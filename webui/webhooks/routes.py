"""Routes that other systems call: Slack, alert webhooks, MCP clients."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, FastAPI, HTTPException, Path, Request, Response
from pydantic import BaseModel, Field

from revelio.errors import InvalidInputError
from revelio.integrations import alertmanager, grafana, pagerduty
from revelio.integrations.alert_store import AlertIncident, Outcome
from revelio.integrations.alerts import Alert
from revelio.service import Service
from revelio.settings import Settings
from webui.api.paging import LINK, Cursor, Limit, cut, decode, encode, link_next
from webui.errors import Problem
from webui.webhooks.authentication import Source, authenticate
from webui.webhooks.mcp import McpEndpoint
from webui.webhooks.runtime import WebhookRuntime
from webui.webhooks.slack_install import add_slack_pages

T = TypeVar("T")

_ABOUT = {
    401: "The request does not carry the secret of this source",
    403: "The source has no secret in the settings, or the request came from another site",
    404: "No such alert",
    413: "The body is too large",
    422: "The body is no webhook of this source, or names no system; the detail says what",
    503: "The database fails; send it again",
}


class AlertView(BaseModel):
    """An incident opened by alerts. Times in Unix seconds."""

    id: int
    source: str
    title: str
    system: str
    opened_at: float
    repeats: int = Field(description="Number of repeats")
    resolved_at: float | None
    recommendation_id: str | None = Field(description="The answer, once it is there")
    failure: str | None = Field(description="Why there is no answer; the next repeat tries again")


class TakenView(BaseModel):
    """The outcome of a webhook."""

    outcome: Outcome
    incident: AlertView | None


def webhooks(settings: Settings, service: Service) -> APIRouter:
    """Every route of this file, with their runtime. It starts and ends with the application."""
    runtime = WebhookRuntime(settings, service)
    mcp = McpEndpoint(runtime.service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threading.Thread(target=runtime.alerts.resume, name="alerts-resume", daemon=True).start()
        async with mcp.running():
            yield
        await asyncio.to_thread(runtime.close)

    router = APIRouter(lifespan=lifespan, routes=[mcp.route])
    _add_slack(router, runtime)
    _add_alerts(router, runtime)
    return router


def _add_slack(router: APIRouter, runtime: WebhookRuntime) -> None:
    async def from_slack(request: Request) -> Response:
        bot = runtime.bot
        if bot is None:
            raise HTTPException(404, runtime.why_no_bot)
        from revelio.integrations.slack.transport import over_http  # noqa: PLC0415 -- as above

        body, headers = await request.body(), dict(request.headers)
        answer = await runtime.do(lambda: over_http(bot, body, headers))
        return Response(answer.body, answer.status, {k: v[0] for k, v in answer.headers.items()})

    for path in ("events", "commands", "actions"):
        router.add_api_route(f"/slack/{path}", from_slack, methods=["POST"], include_in_schema=False)
    add_slack_pages(router, runtime)


def _add_alerts(router: APIRouter, runtime: WebhookRuntime) -> None:
    async def from_source(source: Source, request: Request) -> TakenView:
        body = await request.body()
        authenticate(source, request, body, runtime.settings)
        alert = _alert(source, body, runtime.settings.alerts.system_label)
        if alert is None:
            return TakenView(outcome="ignored", incident=None)
        taken = await runtime.do(lambda: runtime.alerts.take(alert))
        return TakenView(outcome=taken.outcome, incident=_view(taken.incident) if taken.incident else None)

    for source in ("alertmanager", "pagerduty", "grafana"):
        router.add_api_route(
            f"/api/v1/webhooks/{source}",
            _bound(from_source, source),
            methods=["POST"],
            status_code=202,
            tags=["webhooks"],
            operation_id=f"{source}_webhook",
            summary=f"Take an alert of {source}",
            response_model=TakenView,
            response_description="Saved; the answer follows",
            responses=_error_responses(401, 403, 413, 422, 503),
            openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}},
        )

    async def list_alerts(request: Request, response: Response, limit: Limit = 50, cursor: Cursor = None) -> list[AlertView]:
        """Incidents opened by alerts, newest first."""
        place = decode(cursor, int)
        found = await runtime.do(lambda: runtime.alerts.store.latest(limit + 1, place[0] if place else None))
        shown, more = cut(found, limit)
        if more:
            link_next(request, response, encode(shown[-1].id))
        return [_view(i) for i in shown]

    async def show_alert(incident_id: Annotated[int, Path(ge=1, lt=2**63)]) -> AlertView:
        """One of them, with the id of its answer once that is there."""
        return _view(await runtime.do(lambda: runtime.alerts.store.get(incident_id)))

    router.add_api_route(
        "/api/v1/webhooks/incidents",
        list_alerts,
        tags=["webhooks"],
        operation_id="list_alerts",
        response_description="One page of them",
        responses=_error_responses(422, 503) | {200: LINK},
    )
    router.add_api_route(
        "/api/v1/webhooks/incidents/{incident_id}",
        show_alert,
        tags=["webhooks"],
        operation_id="show_alert",
        response_description="The incident",
        responses=_error_responses(404, 422, 503),
    )


def _bound(handler: Callable[[Source, Request], Any], source: Source) -> Callable[[Request], Any]:
    async def take(request: Request) -> TakenView:
        taken: TakenView = await handler(source, request)
        return taken

    take.__doc__ = "Note an alert; repeats and the resolution of an open incident are folded into it."
    return take


def _alert(source: Source, body: bytes, label: str) -> Alert | None:
    try:
        payload = json.loads(body)
        if source == "pagerduty":
            return pagerduty.read(payload)
        return alertmanager.read(payload, label) if source == "alertmanager" else grafana.read(payload, label)
    except RecursionError as error:
        raise InvalidInputError("the body is nested too deeply") from error
    except ValueError as error:
        raise InvalidInputError("the body is not JSON") from error


def _view(incident: AlertIncident) -> AlertView:
    return AlertView(
        id=incident.id,
        source=incident.source,
        title=incident.title,
        system=incident.system,
        opened_at=incident.opened_at,
        repeats=incident.repeats,
        resolved_at=incident.resolved_at,
        recommendation_id=incident.answer_id,
        failure=incident.failure,
    )


def _error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {s: {"description": _ABOUT[s], "model": Problem, "content": content} for s in statuses}
