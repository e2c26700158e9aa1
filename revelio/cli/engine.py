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
    from revelio.types import Incident

SystemOption = Annotated[str | None, typer.Option("--system", help="A live system of the settings, asked now.")]
IncidentOption = Annotated[str | None, typer.Option("--incident", help="A recorded incident (`revelio incidents list`).")]
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
            there = ", ".join(service.systems) or "none is set up"
            raise typer.BadParameter(f"name a live --system ({there}) or a recorded --incident")
        return service.systems[0], None
    return system, incident


def look(service: Service, system: str | None, incident: str | None) -> Incident:
    """What can be seen there: the recorded incident, or the live system now."""
    import time

    from revelio.types import Incident

    if incident:
        return service.incidents.get(incident).incident()
    now = time.time()
    return Incident("live", system or "", "", now, service.system(system or "").snapshot(now))


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
