"""The application service for verbs that recommend or run queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from revelio.service import Service
    from revelio.settings import Settings
    from revelio.store import Store
    from revelio.systems.time_range import TimeRange
    from revelio.types import Incident

SystemOption = Annotated[str | None, typer.Option("--system", help="A live system of the settings, asked now.")]
IncidentOption = Annotated[str | None, typer.Option("--incident", help="A recorded incident (`revelio incidents list`).")]
SinceOption = Annotated[str, typer.Option("--since", metavar="TIME", help="The window begins here: 14:20, 30m ago, ISO 8601.")]
AtOption = Annotated[str, typer.Option("--at", metavar="TIME", help="When the problem was noticed: the window ends here.")]
WindowOption = Annotated[str, typer.Option("--window", metavar="LENGTH", help="How long the window is: 10m, 1h30m, 600.")]
ModelOption = Annotated[Path | None, typer.Option("--model", help="Model folder; the one of the settings when not given.")]


def settings_with(model: Path | None = None) -> Settings:
    """The settings, with what an option overrides."""
    from revelio.settings import load_settings

    settings = load_settings()
    return settings.model_copy(update={"model": model}) if model else settings


def open_service(model: Path | None = None) -> Service:
    """The service of the settings."""
    from revelio.service import Service

    return Service(settings_with(model))


def choose_place(service: Service, system: str | None, incident: str | None) -> tuple[str | None, str | None]:
    """Exactly one of system and incident; the only live system when neither is named. Raises ``BadParameter``."""
    if system and incident:
        raise typer.BadParameter("name --system or --incident, not both")
    if not system and not incident:
        if len(service.systems) != 1:
            there = ", ".join(service.systems) or "none is set up; `revelio init` does it"
            raise typer.BadParameter(
                f"name a recorded --incident (`revelio incidents list` shows them) or a live --system ({there})"
            )
        return service.systems[0], None
    return system, incident


def asked_time(since: str, at: str, window: str) -> TimeRange:
    """The time that the options name, on this machine's clock; ``InvalidInputError`` when they name none."""
    import time

    from revelio.systems.time_range import parse_time_range

    return parse_time_range(since, at, window, now=time.time(), zone=None)


def take_snapshot(service: Service, system: str | None, incident: str | None, asked: TimeRange | None = None) -> Incident:
    """What can be seen there: the recorded incident, or the live system at the time that was asked, else now."""
    import time

    from revelio.systems.time_range import TimeRange
    from revelio.types import Incident

    if incident:
        return service.incidents.get(incident).incident()
    place = service.system(system or "")
    evidence = place.snapshot_at(asked or TimeRange(), time.time())
    return Incident("live", system or "", "", evidence.window.end, evidence)


@contextmanager
def opened_store() -> Iterator[Store]:
    """The store of the settings, for the length of the block."""
    from revelio.store import Store

    settings = settings_with()
    store = Store(settings.database, masked=settings.mask)
    try:
        yield store
    finally:
        store.close()
