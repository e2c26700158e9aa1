"""What a request is answered with: the service, and its backends where they may be asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import Depends, Request

from revelio.service import Service
from revelio.systems.health import Health
from webui.forms import begun_elsewhere


async def get_service(request: Request) -> Service:
    """The application's service. Asynchronous, because a plain function would be called in a thread of its own."""
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(get_service)]


def health_of(request: Request, service: Service, names: Iterable[str], wait_s: float) -> dict[str, Health]:
    """Whether backends answer. They are asked only for this site's own pages, never for a link or a picture on another."""
    return service.health.known(names) if begun_elsewhere(request) else service.health.look(names, wait_s)
