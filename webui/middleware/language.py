"""Each page in the language that the reader's browser asks for."""

from __future__ import annotations

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from webui.errors import for_program
from webui.i18n import ENGLISH, accepted_language, set_language


class AcceptLanguage:
    """Chooses the language of a page from ``Accept-Language``; programs are always answered in English."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, which has a context of its own."""
        if scope["type"] == "http":
            request = Request(scope)
            set_language(ENGLISH if for_program(request) else accepted_language(request.headers.get("accept-language", "")))
        await self.app(scope, receive, send)
