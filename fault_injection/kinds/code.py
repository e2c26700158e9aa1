"""Faults of code: a service rolled out as a new version with a bug in it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import yaml

from fault_injection.apps import App
from fault_injection.deploy import next_version
from fault_injection.engine import Engine
from fault_injection.patch import insert
from fault_injection.reach import requests_served
from fault_injection.spec import Change, Effect, Fault, FaultKind
from fault_injection.steps import files_step
from revelio.errors import FaultError

STRENGTHS = ("all", "many", "some")


@dataclass(frozen=True, slots=True)
class Bug:
    """Statements, by strength, that raise on some inputs of one function in one file of a service's container."""

    service: str
    file: str
    function: str
    statements: tuple[tuple[str, str], ...]

    def patch(self, source: str, strength: str) -> str:
        """The source with the bug in it; ``FaultError`` when the function is not there any more."""
        return insert(source, self.function, dict(self.statements)[strength], where=self.file)


@cache
def bugs(app_name: str) -> tuple[Bug, ...]:
    """The bugs written for an application, in the order of their file."""
    path = Path(__file__).parents[1] / f"bugs_{app_name}.yaml"
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
    return tuple(
        Bug(e["service"], e["file"], e["function"], tuple((strength, e[strength]) for strength in STRENGTHS if strength in e))
        for e in entries
    )


class ExceptionOnInput(FaultKind):
    """A new version that raises on some inputs."""

    name = "exception_on_input"
    category = "code"
    explanation = "A new version of the service was rolled out, which raises an exception on some of its inputs."
    strengths: ClassVar = {"all": {"least_errors": 3}, "many": {"least_errors": 2}, "some": {"least_errors": 1}}
    settle_s = 16.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that has a bug written for it."""
        written = {bug.service for bug in bugs(app.name)}
        return tuple(s for s in app.services if s in written)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A patched file and a new version file, then a restart."""
        if engine.state(fault.place) != "running":
            raise FaultError(f"{fault.place} is {engine.state(fault.place)}, not running; bring the stack up first")
        written = [bug for bug in bugs(app.name) if bug.service == fault.place and fault.strength in dict(bug.statements)]
        bug = written[fault.variant % len(written)]
        stored = engine.read_file(fault.place, bug.file)
        version_before, version_after = next_version(engine, fault.place)
        patched = bug.patch(stored.content.decode(), fault.strength).encode()
        after = {bug.file: replace(stored, content=patched, mtime=float(int(time.time())))}
        return Change(
            do=(files_step(engine, fault.place, after | version_after),),
            undo=(files_step(engine, fault.place, {bug.file: stored} | version_before),),
            parameters=(("function", bug.function),),
        )

    def measure(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Server errors that the new version counted since it started."""
        try:
            failed, served = (requests_served(app, fault.place, engine, status) for status in ("5", ""))
        except FaultError as error:
            return Effect(False, str(error))
        enough = failed >= int(self.strengths[fault.strength]["least_errors"])
        return Effect(enough, f"{failed:.0f} of {served:.0f} requests to the new version failed")


KINDS: tuple[FaultKind, ...] = (ExceptionOnInput(),)
