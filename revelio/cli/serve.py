"""``revelio serve``: the web page and the API."""

from __future__ import annotations

from typing import Annotated

import typer

from revelio.cli.engine import settings_with
from revelio.cli.output import Json, emit, say


def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; the one of the settings when not given.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = None,
    json: Json = False,
) -> None:
    """Serve the web page and the API until Ctrl-C.

    \b
    Examples:
      revelio serve
      revelio serve --port 9000
      REVELIO_DATABASE=sqlite:////tmp/revelio.db revelio serve
    """
    import uvicorn

    from webui.app import create_app

    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = settings_with().model_copy(update=given)
    app = create_app(settings)
    url = f"http://{settings.host}:{settings.port}"
    if json:
        emit({"url": url, "api": f"{url}/api/docs"})
    else:
        say(f"Revelio is on {url} (API: {url}/api/docs); Ctrl-C ends it")
    uvicorn.run(app, host=settings.host, port=settings.port, log_level="warning")
