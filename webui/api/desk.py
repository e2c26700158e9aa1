"""How a route gets hold of the desk."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from webui.desk import Desk


async def desk_of(request: Request) -> Desk:
    """The application's desk. Asynchronous, because a plain function would be called in a thread of its own."""
    desk: Desk = request.app.state.desk
    return desk


TheDesk = Annotated[Desk, Depends(desk_of)]
