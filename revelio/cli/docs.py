"""``revelio docs``: the documentation of this version, without a network."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from revelio.cli.output import Json, console, emit, table


def docs(
    page: Annotated[str | None, typer.Argument(help="A page or file; without one, all are listed.")] = None,
    json: Json = False,
) -> None:
    """Print a page of the documentation that came with this version, or list all pages.

    \b
    Examples:
      revelio docs
      revelio docs accounts
      revelio docs grafana-dashboard.json > dashboard.json
    """
    from revelio.support.documentation import page as find
    from revelio.support.documentation import pages, title

    if page is None:
        listed = [{"page": name, "title": title(path)} for name, path in pages().items()]
        if json:
            emit(listed)
        else:
            table("", ("page", "title"), [tuple(one.values()) for one in listed])
        return
    path = find(page)
    text = path.read_text(encoding="utf-8")
    if json:
        emit({"page": page, "text": text})
    elif path.suffix == ".md" and sys.stdout.isatty():
        from rich.markdown import Markdown

        console().print(Markdown(text))
    else:
        typer.echo(text, nl=False)
