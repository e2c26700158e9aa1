"""``revelio demo``: the web page on recorded incidents, fit for visitors from anywhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from revelio.cli.engine import settings_with
from revelio.cli.output import Json
from revelio.cli.serve import run_server


def demo(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = 8000,
    json: Json = False,
) -> None:
    """Serve a demo on recorded incidents until Ctrl-C. It needs no settings, reaches no backend and keeps nothing.

    Visitors need no account and see only their own answers, which are deleted within an hour. Of the settings, only
    `names` (host names of the server), `trusted_proxies` and `rate_limit` apply.

    \b
    Examples:
      revelio demo
      revelio demo --host 0.0.0.0 --port 8080
    """
    from webui.demo import demo_settings

    folder = tempfile.TemporaryDirectory(prefix="revelio-demo-")
    with folder:
        settings = settings_with().model_copy(update={"host": host, "port": port})
        # The signal that ends the server ends the process before the block does.
        run_server(demo_settings(settings, Path(folder.name)), demo=True, json=json, at_end=folder.cleanup)
