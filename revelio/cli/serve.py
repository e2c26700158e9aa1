"""``revelio serve``: the web page and the API."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import settings_with
from revelio.cli.output import Json, emit, say
from revelio.errors import RevelioError

if TYPE_CHECKING:
    from revelio.settings import Settings


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on (default: from the settings).")] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Offer the bundled recorded incidents, whatever folder the settings name.")
    ] = False,
    json: Json = False,
) -> None:
    """Serve the web page and the API until Ctrl-C.

    \b
    Examples:
      revelio serve
      revelio serve --demo
      revelio serve --port 9000
      REVELIO_DATABASE=sqlite:////tmp/revelio.db revelio serve
    """
    from revelio.settings import BUNDLED

    incidents = BUNDLED / "incidents" if demo else None
    given = {k: v for k, v in (("host", host), ("port", port), ("incidents", incidents)) if v is not None}
    run_server(settings_with().model_copy(update=given), json=json)


def run_server(settings: Settings, *, demo: bool = False, json: bool = False, at_end: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal ends it, and do ``at_end``. Raises ``RevelioError`` when it cannot start."""
    from revelio.support.telemetry import start_traces
    from revelio.support.telemetry_logs import start_logs
    from webui.app import create_app
    from webui.server.run import serve as serve_until_ended

    start_logs(settings.telemetry.log_format)
    end_traces = start_traces(settings.telemetry.otlp_endpoint)
    app = create_app(settings, demo=demo)
    listening = _listen(settings.host, settings.port)
    url = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{settings.port}"
    if json:
        emit({"url": url, "api": f"{url}/api/docs"})
    else:
        say(f"Revelio is on {url} (API: {url}/api/docs); press Ctrl-C to stop")

    def end() -> None:
        end_traces()
        at_end()

    serve_until_ended(app, listening, trusted_proxies=[str(one) for one in settings.trusted_proxies], at_end=end)


def _listen(host: str, port: int) -> socket.socket:
    """Taken before the server starts, so that an address that cannot be had is an error like any other."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise RevelioError(f"cannot listen on {host}:{port}: {reason}; choose another with --port or --host") from error
    # asyncio does this only for sockets that it made itself. Without it the body of an answer waits 40 ms for the client to
    # confirm the headers; what is accepted inherits it.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
