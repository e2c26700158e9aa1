"""``revelio doctor``: what is usable here, and what to do about the rest."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import typer

from revelio.cli.engine import settings_with
from revelio.cli.output import Json, console, emit
from revelio.errors import RevelioError
from revelio.errors.redaction import redact_address
from revelio.support.extras import how_to_install

if TYPE_CHECKING:
    from revelio.service import Service
    from revelio.settings import Settings
    from revelio.systems.coverage import Coverage

State = Literal["good", "absent", "broken"]
_LOOK_S = 15.0
"""How long all live systems together are looked at: with the start of the program and the model, at most 20 s."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. ``absent`` limits what can be done.

    ``broken`` keeps Revelio from answering, or from answering about a system that the settings name.
    """

    what: str
    state: State
    detail: str
    remedy: str = ""


@dataclass(slots=True)
class Examined:
    """All that was looked at, and by live system what can be seen of it."""

    findings: list[Check] = field(default_factory=list)
    systems: dict[str, Coverage] = field(default_factory=dict)


def doctor(json: Json = False) -> None:
    """Look at settings, model, incidents, live systems and optional parts. Exits with 1 when anything is broken: settings
    that cannot work, no model, a live system of which nothing can be asked.

    Of each live system it says which sources answer, which signals they hold, how many questions can be asked, why the
    others cannot, and what to set up to see more.

    \b
    Examples:
      revelio doctor
      revelio doctor --json | jq '.findings[] | select(.state != "good")'
      revelio doctor --json | jq '.systems[].templates'
    """
    examined = Examined()
    for finding in _examine(examined):
        examined.findings.append(finding)
    findings = examined.findings
    if json:
        emit(examined)
    else:
        _print(findings)
        for name, seen in examined.systems.items():
            print_coverage(name, seen)
    if any(f.state == "broken" for f in findings):
        raise typer.Exit(1)


def _examine(examined: Examined) -> Iterator[Check]:
    from revelio.service import Service

    yield Check("python", "good", f"{sys.version.split()[0]} at {sys.executable}")
    try:
        settings = settings_with()
    except RevelioError as error:
        yield Check("settings", "broken", str(error), "correct it; `revelio docs settings` lists every setting")
        return
    yield Check("settings", "good", f"listens on {settings.host}:{settings.port}, stores in {redact_address(settings.database)}")
    service = Service(settings)
    yield _try(
        "catalog", lambda: f"{len(service.catalog.tools)} tools, {len(service.catalog.templates)} templates", "correct the file"
    )
    yield from _plugins()
    yield _try(
        "model",
        lambda: f"{service.recommender.model} in {settings.model}",
        "revelio train, or set REVELIO_MODEL to a model folder",
    )
    yield _incidents(service, settings)
    if not service.systems:
        remedy = "`revelio init` finds backends; `revelio testbed up shop` starts an application to try"
        yield Check("live systems", "absent", "none is set up", remedy)
    else:
        yield from _live_systems(service, examined)
    yield from _optional_parts()


def _plugins() -> Iterator[Check]:
    from revelio.catalog.plugins import announced

    for one in announced():
        if one.spec is None:
            remedy = f"correct or uninstall {one.distribution}; everything else goes on without it"
            yield Check(f"plug-in {one.name}", "absent", one.trouble, remedy)
        else:
            yield Check(f"plug-in {one.name}", "good", f"{one.distribution}, {len(one.spec.templates)} templates")


def _try(what: str, look: Callable[[], str], remedy: str) -> Check:
    try:
        return Check(what, "good", look())
    except RevelioError as error:
        return Check(what, "broken", str(error), remedy)


def _incidents(service: Service, settings: Settings) -> Check:
    there = service.incidents.ids()
    if not settings.incidents.is_dir():
        return Check("incidents", "broken", f"{settings.incidents} is no folder", "correct the setting `incidents`")
    try:
        for incident in there:
            service.incidents.get(incident)
    except RevelioError as error:
        return Check("incidents", "absent", str(error), "mend or remove that file")
    if not there:
        return Check("incidents", "absent", f"none in {settings.incidents}", "revelio incidents import FILE --to DIR")
    return Check("incidents", "good", f"{len(there)} in {settings.incidents}")


def _live_systems(service: Service, examined: Examined) -> Iterator[Check]:
    from revelio.systems.coverage import coverage_of_all

    looked = coverage_of_all({name: service.system(name) for name in service.systems}, _LOOK_S)
    for name, seen in looked.items():
        if seen is None:
            told = f"not looked at within {_LOOK_S:g} s: {', '.join(service.system(name).tools) or 'no sources'}"
            yield Check(name, "broken", told, "see which of its backends hangs; a smaller timeout_s gives up sooner")
        else:
            yield from _backends(name, seen, examined)


def _backends(system: str, seen: Coverage, examined: Examined) -> Iterator[Check]:
    from testbed.stack.project import ORDER

    examined.systems[system] = seen
    remedy = f"`revelio testbed up {system}` brings it up" if system in ORDER else ""
    failing: State = "absent" if seen.templates.usable else "broken"
    if not seen.sources:
        remedy = f"name one in revelio.toml, under [systems.{system}.backends.prometheus], or let `revelio init` find them"
        yield Check(system, failing, "has no data source", remedy)
    for tool, source in seen.sources.items():
        good = source.state == "good"
        told = f"{source.detail}; {source.usable} of {source.of} questions can be asked" if good else source.detail
        state: State = "good" if good else "broken" if source.state == "broken" else failing
        yield Check(f"{system}: {tool}", state, told, "" if good else remedy)


def print_coverage(system: str, seen: Coverage) -> None:
    """What can be seen of a system, for a person."""
    from rich.text import Text

    from revelio.systems.coverage import reasons

    screen = console()
    signals, templates = seen.signals, seen.templates
    head = (
        f"{system}: {templates.usable} of {templates.of} questions can be asked, {signals.found} of {signals.of} signals are seen"
    )
    screen.print(Text(head, "bold"))
    for note in seen.notes:
        screen.print(Text(f"  {note}", "yellow"))
    for reason, count in templates.why_not.items():
        if not reason.endswith("is not connected"):  # what to connect stands below
            screen.print(Text(f"  {count} questions cannot be asked: {reason}", "dim"))
    if told := reasons(signals):
        screen.print(Text("  To see more with what is connected:"))
    for sentence in told:
        screen.print(Text(f"    {sentence}", "dim"))
    if seen.to_connect:
        screen.print(Text("  To see more, connect (`revelio init --out more.toml` looks for them here):"))
    for sentence in seen.to_connect:
        screen.print(Text(f"    {sentence}", "dim"))


def _optional_parts() -> Iterator[Check]:
    for part, module, verbs in (("training", "torch", "revelio train"), ("load generator", "locust", "revelio testbed")):
        if find_spec(module) is None:
            extra = "train" if module == "torch" else "testbed"
            told = f"{module} is not installed; only `{verbs}` needs it"
            yield Check(part, "absent", told, how_to_install(extra))
        else:
            yield Check(part, "good", f"{module} is installed")
    docker = shutil.which("docker")
    yield Check(
        "docker command",
        "good" if docker else "absent",
        docker or "not found; only the testbed and its faults need it",
        "" if docker else "install Docker",
    )


def _print(findings: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    style = {"good": "green", "absent": "yellow", "broken": "bold red"}
    grid = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        grid.add_column(overflow="fold")
    for finding in findings:
        grid.add_row(Text(finding.state, style[finding.state]), Text(finding.what), Text(finding.detail))
        if finding.remedy:
            grid.add_row("", "", Text(f"→ {finding.remedy}", "dim"))
    console().print(grid)
