"""How a route gets hold of the service."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from revelio.service import Service


async def get_service(request: Request) -> Service:
    """The application's service. Asynchronous, because a plain function would be called in a thread of its own."""
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(get_service)]
