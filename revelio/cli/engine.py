"""The workbench for verbs that ask or run queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from revelio.settings import Settings
    from revelio.store import Store
    from revelio.types import Incident
    from revelio.workbench import Workbench

SystemOption = Annotated[str | None, typer.Option("--system", help="A live system of the settings, asked now.")]
IncidentOption = Annotated[str | None, typer.Option("--incident", help="A recorded incident (`revelio incidents list`).")]
ModelOption = Annotated[Path | None, typer.Option("--model", help="Model folder; the one of the settings when not given.")]


def settings_with(model: Path | None = None) -> Settings:
    """The settings, with what an option overrides."""
    from revelio.settings import load_settings

    settings = load_settings()
    return settings.model_copy(update={"model": model}) if model else settings


def open_workbench(model: Path | None = None) -> Workbench:
    """A workbench on the settings."""
    from revelio.workbench import Workbench

    return Workbench(settings_with(model))


def choose_place(bench: Workbench, system: str | None, incident: str | None) -> tuple[str | None, str | None]:
    """Exactly one of system and incident; the only live system when neither is named. Raises ``BadParameter``."""
    if system and incident:
        raise typer.BadParameter("name --system or --incident, not both")
    if not system and not incident:
        if len(bench.systems) != 1:
            there = ", ".join(bench.systems) or "none is set up"
            raise typer.BadParameter(f"name a live --system ({there}) or a recorded --incident")
        return bench.systems[0], None
    return system, incident


def look(bench: Workbench, system: str | None, incident: str | None) -> Incident:
    """What can be seen there: the recorded incident, or the live system now."""
    import time

    from revelio.types import Incident

    if incident:
        return bench.incidents.get(incident).incident()
    now = time.time()
    return Incident("live", system or "", "", now, bench.system(system or "").snapshot(now))


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
