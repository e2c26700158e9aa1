"""The MCP server at ``/mcp``, over streamable HTTP. It needs the same permissions and tokens as the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from revelio.service import Service
from webui.errors import problem_response

NOT_INSTALLED = "The MCP server needs a package that is not installed: that of the extra `mcp`."


class McpEndpoint:
    """An ASGI endpoint. The SDK is imported at the first request, because importing takes a second."""

    def __init__(self, service: Service) -> None:
        """Nothing is imported yet."""
        self._service = service
        self._wanted = asyncio.Event()
        self._ready: asyncio.Future[Starlette] | None = None

    @property
    def route(self) -> Route:
        """Where it is reached."""
        # No GET: without sessions there is nothing to stream, and every open stream would hold a connection.
        return Route("/mcp", endpoint=self, methods=["POST", "DELETE"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if find_spec("mcp") is None or self._ready is None:
            await problem_response(Request(scope), 404, NOT_INSTALLED)(scope, receive, send)
            return
        self._wanted.set()
        app = await asyncio.shield(self._ready)
        await app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """As long as the server runs."""
        self._wanted = asyncio.Event()
        self._ready = asyncio.get_running_loop().create_future()
        holding = asyncio.create_task(self._hold(self._ready))
        try:
            yield
        finally:
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)

    async def _hold(self, ready: asyncio.Future[Starlette]) -> None:
        # One task enters and leaves what the SDK opens, as its task group wants.
        await self._wanted.wait()
        try:
            app = await asyncio.to_thread(self._build)
            async with app.router.lifespan_context(app):
                ready.set_result(app)
                await asyncio.Event().wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    def _build(self) -> Starlette:
        from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415 -- see above

        from revelio.integrations.mcp import mcp_server  # noqa: PLC0415 -- see above

        # The server's own guards look at Host and Origin already, and know the names that it has.
        trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        return mcp_server(self._service).streamable_http_app(stateless_http=True, json_response=True, transport_security=trusting)
