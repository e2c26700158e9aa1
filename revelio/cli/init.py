"""``revelio init``: settings for the backends that are there."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from revelio.cli.output import Json, emit, say, table
from revelio.errors import InvalidInputError, NotFoundError
from revelio.errors.redaction import checked_address, redact_address, remember_address

if TYPE_CHECKING:
    from revelio.catalog import Catalog
    from revelio.cli.discovery import BackendFinder, FoundBackend, NamedProject
    from revelio.systems.coverage import Coverage

SHOWN = 5
"""Projects that are listed where several are there."""


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
    only: Annotated[bool, typer.Option("--only", help="Take the sources that are named, and look for no others.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; revelio.toml when not given.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    json: Json = False,
) -> None:
    """Find backends, write a revelio.toml that works at once, and say what can be seen with it.

    This machine is looked at: usual ports, the ports that containers publish, a Kubernetes context, a Grafana and its data
    sources. Where sources are named, what runs beside them is found too. Nothing is sent but questions. A file that is there
    keeps all that it says, and gets what it lacks.

    \b
    Examples:
      revelio init
      revelio init --prometheus http://prometheus:9090 --system shop
      revelio init --source loki=http://loki:3100 --source loki-payments=http://loki.payments:3100 --only
      revelio init --jaeger http://jaeger:16686 --out /etc/revelio.toml --force
    """
    from revelio.catalog import bundled_catalog
    from revelio.catalog.plugins import with_plugins
    from revelio.cli import settings_file
    from revelio.cli.discovery import BackendFinder, NamedProject, projects_of

    path = out or Path(os.environ.get("REVELIO_CONFIG") or "revelio.toml")
    text, systems = ("", {}) if force or not path.exists() else settings_file.read(path)
    given = _given(source or [], {"prometheus": prometheus, "jaeger": jaeger, "elasticsearch": elasticsearch})
    catalog = with_plugins(bundled_catalog())
    found = _found(BackendFinder(catalog), given, only=only)
    if not json:
        rows = [("found" if f.up else "absent", f.name, redact_address(f.url), _told(f)) for f in found]
        table("", ("", "source", "address", ""), rows)
    _refuse_absent(found, given)
    named = projects_of(found, catalog)
    known = _known_system(path, systems, system, project, named)
    if known:
        chosen = NamedProject(str(systems[known].get("project", "") or known), f"kept from {path}")
    elif project is not None:
        chosen = NamedProject(project, "given")
    else:
        chosen = _chosen(named, ask=not json)
    name = known or system or _name(chosen.name) or "mine"
    if text:
        extended = settings_file.extended(text, systems, name, chosen, found)
        whole, done = extended.text, extended.done
    else:
        whole, done = settings_file.settings_text(name, chosen, found), {}
    if whole != text:
        settings_file.write(path, whole)
    others = [one for one in named if one.name != chosen.name]
    if json:
        shown = [replace(f, url=redact_address(f.url)) for f in found]
        told = {"file": str(path), "system": name, "project": chosen.name, "reason": chosen.reason, "others": others}
        emit(told | {"backends": shown, "done": done, "coverage": _coverage(path, name, catalog)})
        return
    _print_choices(chosen, others, done)
    _print_coverage(name, _coverage(path, name, catalog))
    say(f'{"Nothing to add to" if whole == text else "Wrote"} {path}. Now: revelio recommend "what a user noticed"')


def _print_choices(chosen: NamedProject, others: Sequence[NamedProject], done: Mapping[str, str]) -> None:
    """The project with its reason, other applications with how to add them, and what became of each source."""
    if not chosen.name:
        say("No backend names a project, so everything that they hold is taken for one system; --project NAME narrows it.")
    else:
        say(f"Project {chosen.name}: {chosen.reason}.")
    for one in others[:SHOWN]:
        say(f"There is also {one.name}, {one.reason}: --system {_name(one.name) or 'NAME'} --project {one.name} adds it.")
    for source, what in done.items():
        say(f"{source}: {what}.")


def _found(finder: BackendFinder, given: Mapping[str, str], *, only: bool) -> list[FoundBackend]:
    """The sources that are named, and what is found beside them; what is here where none is named."""
    if not given:
        return finder.here()
    named = [finder.at(name, url) for name, url in given.items()]
    return named if only else [*named, *finder.beside(named)]


def _told(one: FoundBackend) -> str:
    return f"{one.detail}; {one.why}" if one.up and one.why else one.detail


def _refuse_absent(found: Sequence[FoundBackend], given: Mapping[str, str]) -> None:
    """Nothing is written where a source that is named does not answer, or none answers at all."""
    wrong = [f for f in found if f.name in given and not f.up]
    if wrong or not any(f.up for f in found):
        places = [(redact_address(f.url), f.detail) for f in wrong]
        told = "; ".join(detail if place in detail else f"{place} {detail}" for place, detail in places)
        named = told or "no backend answers at its usual port on this machine"
        raise NotFoundError(
            f"{named.rstrip('?.')}. Nothing was written; name the addresses, such as --prometheus http://HOST:9090"
        )


def _known_system(
    path: Path, systems: Mapping[str, Any], system: str | None, project: str | None, named: Sequence[NamedProject]
) -> str:
    """The system of a file that is there that is meant; "" for a new one."""
    if system is not None:
        return system if system in systems else ""
    carried = {str(one.get("project", "") or name): name for name, one in systems.items()}
    if project is not None:
        return carried.get(project, "")
    if len(systems) < 2:
        return next(iter(systems), "")
    meant = [carried[one.name] for one in named if one.name in carried]
    if len(meant) != 1:
        raise InvalidInputError(f"{path} has the systems {', '.join(systems)}; --system NAME says which is meant")
    return meant[0]


def _chosen(named: Sequence[NamedProject], *, ask: bool) -> NamedProject:
    """The project; a person at a terminal is asked where several applications share the sources."""
    from revelio.cli.discovery import NamedProject

    if not named:
        return NamedProject("")
    if len(named) == 1 or not ask or not sys.stdin.isatty():
        return named[0]
    say("Several applications share these sources:")
    for one in named[:SHOWN]:
        say(f"  {one.name}: {one.reason}")
    answer = ""
    while answer not in [one.name for one in named]:
        answer = str(typer.prompt("Which is meant?", default=named[0].name, err=True)).strip()
    return NamedProject(answer, "chosen")


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
    from revelio.settings import SystemSettings
    from revelio.systems.coverage import coverage
    from revelio.systems.system import open_system

    written = tomllib.loads(path.read_text(encoding="utf-8"))["systems"][name]
    system = open_system(name, SystemSettings.model_validate(written), catalog)
    try:
        return coverage(system)
    finally:
        system.close()


def _print_coverage(name: str, seen: Coverage) -> None:
    from revelio.cli.doctor import print_coverage

    print_coverage(name, seen)


def _name(project: str) -> str:
    name = project.removeprefix("revelio-")
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else ""
