"""Faults of code that every service shares: a service rolled out as a new version with a mistake in the kit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.deploy import next_version
from fault_injection.mechanisms.patch import insert
from fault_injection.mechanisms.probe import must_run
from fault_injection.spec import Change, Fault, FaultKind, Value
from fault_injection.steps import files_step


class KitVersion(FaultKind):
    """A new version with statements at the head of one function of the kit; in them, ``{name}`` is the strength's figure."""

    mechanism = "new_version"
    mechanism = "new_version"
    file: ClassVar[str]
    function: ClassVar[str]
    statements: ClassVar[str]
    settle_s: ClassVar[float] = 60.0

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A patched file and a new version file, then a restart."""
        must_run(fault.place, engine)
        strength: Mapping[str, Value] = self.strengths[fault.strength]
        stored = engine.read_file(fault.place, self.file)
        patched = insert(stored.content.decode(), self.function, self.statements.format(**strength), where=self.file)
        file = replace(stored, content=patched.encode(), mtime=float(int(time.time())))
        before, after = next_version(engine, fault.place)
        return Change(
            do=(files_step(engine, fault.place, after | {self.file: file}),),
            undo=(files_step(engine, fault.place, before | {self.file: stored}),),
            parameters=tuple(strength.items()),
        )
