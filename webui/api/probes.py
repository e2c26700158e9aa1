"""Health probes and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Response

from webui.api.schemas import Health
from webui.deps import ServiceDep

probes = APIRouter(tags=["probes"])


@probes.get("/healthz", operation_id="healthz", response_description="Up")
async def healthz() -> Health:
    """The process is running."""
    return Health(status="ok")


@probes.get(
    "/readyz",
    operation_id="readyz",
    response_description="Ready",
    responses={503: {"model": Health, "description": "Not ready, and why"}},
)
def readyz(service: ServiceDep, response: Response) -> Health:
    """Model and database are usable."""
    troubles = service.troubles()
    if troubles:
        response.status_code = 503
    return Health(status="not ready" if troubles else "ready", troubles=list(troubles))


@probes.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus text format", "content": {"text/plain": {}}}},
)
def metrics(service: ServiceDep) -> Response:
    """The server's metrics, for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
