"""Compresses what is worth it."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SMALLEST = 1024
"""Bytes from which compression pays."""


class Compression:
    """Starlette's gzip, past which messages that are no part of a response go unchanged: it would lose them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def inner(scope: Scope, receive: Receive, compress: Send) -> None:
            async def sort(message: Message) -> None:
                await (send if message["type"] == "http.response.debug" else compress)(message)

            await self.app(scope, receive, sort)

        await GZipMiddleware(inner, minimum_size=_SMALLEST)(scope, receive, send)
