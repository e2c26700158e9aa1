"""``revelio init``: settings for the backends that are there."""

from __future__ import annotations

import json as jsonlib
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.output import Json, emit, say, table
from revelio.errors import InvalidInputError, NotFoundError
from revelio.private_file import private
from revelio.redaction import checked_address, public_address, redact_address, remember_address

if TYPE_CHECKING:
    from revelio.catalog import Catalog
    from revelio.cli.discovery import Found, Project
    from revelio.coverage import Coverage

_HEAD = """# Settings of Revelio, written by `revelio init`. All there are: revelio docs settings.
# The environment wins over this file: REVELIO_PORT=9000, REVELIO_SYSTEMS__NAME__WINDOW_S=60.

# host = "127.0.0.1"
# port = 8000
# database = "sqlite:///var/revelio.db"

[systems.{name}]
"""
_TIMES = """# window_s = 600.0      # seconds before a report that count as the incident; by the scrape interval when not set
# baseline_s = 3600.0   # seconds before those that count as normal; likewise
"""
_PROFILE = """# Discovery finds these out; set one where it is wrong, below [systems.{name}.backends.prometheus.profile]:
# scrape_interval_s = 15.0   component = "service"   selector = 'namespace="shop"'   names = {{"10.0.3.7" = "cart"}}
"""

SHOWN = 5
"""Projects that are listed where it is not sure which is meant."""


def init(
    source: Annotated[
        list[str] | None, typer.Option("--source", metavar="NAME=URL", help="A source, such as loki=http://loki:3100.")
    ] = None,
    prometheus: Annotated[str | None, typer.Option("--prometheus", metavar="URL", help="Where Prometheus is.")] = None,
    jaeger: Annotated[str | None, typer.Option("--jaeger", metavar="URL", help="Where Jaeger's query service is.")] = None,
    elasticsearch: Annotated[str | None, typer.Option("--elasticsearch", metavar="URL", help="Where Elasticsearch is.")] = None,
    system: Annotated[str | None, typer.Option("--system", help="What to call the system; its project when not given.")] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="The project that its parts carry, when guessed wrongly.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; revelio.toml when not given.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    json: Json = False,
) -> None:
    """Find backends, write a revelio.toml that works at once, and say what can be seen with it.

    Where no address is given, this machine is looked at: usual ports, the ports that containers publish, a Kubernetes
    context, a Grafana and its data sources. Nothing is sent but questions.

    \b
    Examples:
      revelio init
      revelio init --prometheus http://prometheus:9090 --system shop
      revelio init --source loki=http://loki:3100 --source loki-payments=http://loki.payments:3100
      revelio init --jaeger http://jaeger:16686 --out /etc/revelio.toml --force
    """
    from revelio.catalog import bundled_catalog
    from revelio.cli.discovery import Finder, Project, project_of
    from revelio.plugins import with_plugins

    path = out or Path(os.environ.get("REVELIO_CONFIG") or "revelio.toml")
    if path.exists() and not force:
        raise InvalidInputError(f"{path} is there already; --force replaces it, --out writes elsewhere")
    given = _given(source or [], {"prometheus": prometheus, "jaeger": jaeger, "elasticsearch": elasticsearch})
    catalog = with_plugins(bundled_catalog())
    finder = Finder(catalog)
    found = [finder.at(name, url) for name, url in given.items()] if given else finder.here()
    if not json:
        rows = [("found" if f.up else "absent", f.name, redact_address(f.url), f.detail) for f in found]
        table("", ("", "source", "address", ""), rows)
    wrong = [f for f in found if given and not f.up]
    if wrong or not any(f.up for f in found):
        places = [(redact_address(f.url), f.detail) for f in wrong]
        told = "; ".join(detail if place in detail else f"{place} {detail}" for place, detail in places)
        named = told or "no backend answers at its usual port on this machine"
        raise NotFoundError(
            f"{named.rstrip('?.')}. Nothing was written; name the addresses, such as --prometheus http://HOST:9090"
        )
    chosen = Project(project, "given") if project is not None else _chosen(project_of(found, catalog), ask=not json)
    carried = chosen.name
    name = system or _name(carried) or "mine"
    _write(path, settings_text(name, carried, found, chosen.reason), force=force)
    if json:
        shown = [replace(f, url=redact_address(f.url)) for f in found]
        emit(
            {"file": str(path), "system": name, "project": carried, "backends": shown, "coverage": _coverage(path, name, catalog)}
        )
        return
    if not carried:
        say("No backend names a project, so everything that they hold is taken for one system; --project NAME narrows it.")
    else:
        say(f"Project {carried}: {chosen.reason}.")
    if chosen.others:
        say(f"Others there: {', '.join(chosen.others[:SHOWN])}; --project NAME chooses.")
    _print_coverage(name, _coverage(path, name, catalog))
    say(f'Wrote {path}. Now: revelio recommend "what a user noticed"')


def _chosen(found: Project, *, ask: bool) -> Project:
    """The project; a person at a terminal is asked where it could be another."""
    from revelio.cli.discovery import Project

    if not found.others or not ask or not sys.stdin.isatty():
        return found
    listed = ", ".join((found.name, *found.others[:SHOWN]))
    answer = typer.prompt(f"Several projects are there ({listed}); which is meant?", default=found.name)
    return found if answer == found.name else Project(answer.strip(), "chosen", tuple(o for o in found.others if o != answer))


def _given(sources: Sequence[str], named: Mapping[str, str | None]) -> dict[str, str]:
    """Addresses that were given, by the name of the backend."""
    found = {name: url for name, url in named.items() if url is not None}
    for one in sources:
        name, equals, url = one.partition("=")
        if not equals or not name or not url:
            raise InvalidInputError(f"--source {one} is not NAME=URL, such as loki=http://loki:3100")
        found[name] = url
    for name, url in found.items():
        try:
            remember_address(checked_address(url))
        except ValueError as error:
            raise InvalidInputError(f"{name} {redact_address(url)}: {error}") from None
    return found


def _coverage(path: Path, name: str, catalog: Catalog) -> Coverage:
    """What the settings just written let Revelio see."""
    from revelio.coverage import coverage
    from revelio.settings import SystemSettings
    from revelio.systems import open_system

    written = tomllib.loads(path.read_text(encoding="utf-8"))["systems"][name]
    system = open_system(name, SystemSettings.model_validate(written), catalog)
    try:
        return coverage(system)
    finally:
        system.close()


def _print_coverage(name: str, seen: Coverage) -> None:
    from revelio.cli.doctor import print_coverage

    print_coverage(name, seen)


def settings_text(name: str, project: str, found: Sequence[Found], reason: str = "") -> str:
    """The file. Backends that were not found, or that lack something, stand in it as comments."""
    lines = [_HEAD.format(name=quoted(name))]
    about = "a project or namespace in Prometheus narrows to it; logs are in the index logs-PROJECT"
    why = f"# {_one_line(reason)}\n" if reason else ""
    lines.append(f"{why}project = {quoted(project or name)}   # {about}\n{_TIMES}")
    for one in found:
        mark = "" if one.up else "# "
        note = one.detail if one.up else f"{one.detail} when this was written"
        lines.append(f"\n# {_one_line(note)}\n{mark}[systems.{quoted(name)}.backends.{one.name}]\n")
        lines += [f"{mark}{setting}\n" for setting in _settings(one)]
        if one.tool == "prometheus":
            lines.append(_PROFILE.format(name=quoted(name)))
    return "".join(lines)


def _settings(one: Found) -> Iterator[str]:
    yield f"url = {quoted(one.url)}"
    if one.page:
        yield f"link = {quoted(public_address(one.url))}   # as a browser reaches it, for links"
    for setting, value in one.settings.items():
        told = "" if value else "   # the uid of the data source; Grafana wants a login before it tells"
        yield f"{'' if value else '# '}{setting} = {quoted(value)}{told}"


def quoted(text: str) -> str:
    """A string as TOML writes it."""
    return jsonlib.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _name(project: str) -> str:
    name = project.removeprefix("revelio-")
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else ""


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        with open(path, "w" if force else "x", encoding="utf-8", opener=private) as file:
            file.write(text)
    except FileExistsError as error:
        raise InvalidInputError(f"{path} is there already; --force replaces it") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror}") from error
