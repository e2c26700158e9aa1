"""``revelio catalog``: what can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import settings_with
from revelio.cli.output import Json, emit, say, table
from revelio.support.numbers import format_count

if TYPE_CHECKING:
    from revelio.catalog import Catalog
    from revelio.catalog.imports.files import ImportedFile

_MOST_PROBLEMS = 20
Files = Annotated[list[Path] | None, typer.Argument(help="Catalog files; the ones of the settings when none is given.")]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Tools and their query templates.", no_args_is_help=True, rich_markup_mode=None)
    app.command("check")(check)
    app.command("list")(show)
    app.command("import")(import_)
    app.command("imports")(imports)
    app.command("refresh")(refresh)
    app.command("remove")(remove)
    return app


def settings_catalog(files: list[Path] | None = None) -> Catalog:
    """The catalog of these files, else of the settings, else the bundled one."""
    from revelio.catalog import load_catalog
    from revelio.catalog.imports.files import with_imports
    from revelio.catalog.plugins import own_catalog

    settings = settings_with()
    if files:
        return load_catalog(*files)
    own = own_catalog(settings)
    return with_imports(own, settings.imports.folder)[0]


class ImportKind(StrEnum):
    """What is imported."""

    rules = "rules"
    grafana = "grafana"
    runbooks = "runbooks"
    searches = "searches"


def import_(
    kind: Annotated[ImportKind, typer.Argument(help="What SOURCE holds.")],
    source: Annotated[str, typer.Argument(help="A file, a folder, or the address of a Prometheus (rules) or a Grafana.")],
    name: Annotated[str, typer.Option("--name", help="The name to keep it under; that of the source when not given.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Only write a catalog file, and keep nothing.")] = None,
    json: Json = False,
) -> None:
    """Make questions of your own rules, dashboards, runbooks or saved searches. They are ranked beside the bundled ones.

    An import under the same name replaces the earlier one. Where a source needs a token, name it in revelio.toml under
    [imports.sources.NAME].

    \b
    Examples:
      revelio catalog import rules /etc/prometheus/rules
      revelio catalog import rules http://prometheus:9090
      revelio catalog import grafana dashboards/ --name team-dashboards
      revelio catalog import runbooks runbooks
      revelio catalog import searches export.ndjson --out searches.yaml
    """
    from revelio.catalog.imports.files import ImportedFile, save, text
    from revelio.errors.redaction import redact_address
    from revelio.service.import_sources import default_name, import_questions, read_source

    settings = settings_with()
    if out is None:
        _tell([import_questions(settings, kind.value, source, name)], json)
        return
    found = read_source(settings, kind.value, source, name)
    save(out, text(name or default_name(kind.value, source), found.questions))
    _tell([ImportedFile(str(out), kind.value, redact_address(source), 0.0, len(found.questions), found.problems)], json)


def imports(json: Json = False) -> None:
    """List what was imported, with what could not be read.

    \b
    Examples:
      revelio catalog imports
    """
    from revelio.catalog.imports.files import listed

    _tell(listed(settings_with().imports.folder), json)


def refresh(
    names: Annotated[list[str] | None, typer.Argument(help="Imports to read again; all when none is given.")] = None,
    json: Json = False,
) -> None:
    """Read imports again from where they came from, and what [imports.sources] declares. The server does so every day.

    \b
    Examples:
      revelio catalog refresh
      revelio catalog refresh team-dashboards
    """
    from revelio.service.import_sources import refresh as read_again

    _tell(tuple(read_again(settings_with(), tuple(names or ()))), json)


def remove(name: Annotated[str, typer.Argument(help="The name of an import.")], json: Json = False) -> None:
    """Forget an import.

    \b
    Examples:
      revelio catalog remove team-dashboards
    """
    from revelio.catalog.imports.files import remove as forget

    forget(settings_with().imports.folder, name)
    if json:
        emit({"removed": name})
    else:
        say(f"removed {name}")


def _tell(files: Sequence[ImportedFile], as_json: bool) -> None:
    if as_json:
        emit([asdict(file) for file in files])
        return
    if not files:
        say("nothing was imported yet; see revelio catalog import --help")
    for file in files:
        say(f"{file.name}: {format_count(file.questions, 'question')} from {file.kind} at {file.source}")
        for problem in file.problems[:_MOST_PROBLEMS]:
            say(f"  {problem}")
        if len(file.problems) > _MOST_PROBLEMS:
            say(f"  … and {len(file.problems) - _MOST_PROBLEMS} more; --json prints all")


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
