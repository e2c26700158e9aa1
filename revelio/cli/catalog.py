"""``revelio catalog``: what can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import settings_with
from revelio.cli.output import Json, emit, say, table

if TYPE_CHECKING:
    from revelio.catalog import Catalog

Files = Annotated[list[Path] | None, typer.Argument(help="Catalog files; the ones of the settings when none is given.")]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Tools and their query templates.", no_args_is_help=True, rich_markup_mode=None)
    app.command("check")(check)
    app.command("list")(show)
    return app


def settings_catalog(files: list[Path] | None = None) -> Catalog:
    """The catalog of these files, else of the settings, else the bundled one."""
    from revelio.catalog import bundled_catalog, load_catalog

    chosen = files or settings_with().catalog
    return load_catalog(*chosen) if chosen else bundled_catalog()


def check(files: Files = None, json: Json = False) -> None:
    """Validate catalog files; a mistake is shown as file:line.

    \b
    Examples:
      revelio catalog check
      revelio catalog check my-tools.yaml
    """
    catalog = settings_catalog(files)
    found = {"tools": len(catalog.tools), "templates": len(catalog.templates), "digest": catalog.digest}
    if json:
        emit(found)
    else:
        say(f"good: {found['tools']} tools, {found['templates']} templates, digest {found['digest']}")


def show(files: Files = None, json: Json = False) -> None:
    """List every template.

    \b
    Examples:
      revelio catalog list
      revelio catalog list --json | jq '.[].id'
    """
    templates = settings_catalog(files).templates
    if json:
        emit(
            [
                {"id": t.id, "tool": t.tool, "title": t.title, "shows": t.shows, "blanks": {b.name: b.kind for b in t.blanks}}
                for t in templates
            ]
        )
        return
    rows = [(t.id, t.tool, t.title, ", ".join(f"{b.name}:{b.kind}" for b in t.blanks)) for t in templates]
    table("", ("template", "tool", "asks", "blanks"), rows)
