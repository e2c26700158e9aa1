"""Faults of disks: one is full, or takes its time."""

from __future__ import annotations

from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.kinds.disk_writes import slow_writes
from fault_injection.mechanisms import database, redis_server
from fault_injection.mechanisms.probe import longest_wait, must_run
from fault_injection.mechanisms.small_disk import is_full
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from revelio.errors import FaultError

FOLDERS = {"postgres": "/var/lib/postgresql/data", "redis": "/data"}
"""Where a store keeps its data in its container."""
LOOKS_S = 2.0
"""So long is looked for an answer that waits."""


class DiskSlow(FaultKind):
    """A store's disk takes few writes a second."""

    name = "disk_slow"
    category = "resource"
    mechanism = "store_disk"
    explanation = "The store's disk takes only a few writes a second, and clients of the store wait until it has written."
    strengths: ClassVar = {"hard": {"writes": 4, "least_s": 0.15}, "moderate": {"writes": 10, "least_s": 0.05}}
    settle_s = 16.0

    def places(self, app: App) -> tuple[str, ...]:
        """The stores that write to disk before they answer, but for the database, whose slow disk is another kind."""
        return tuple(store for store in app.stores if store != "postgres")

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A limit on its control group's writes to that disk."""
        must_run(fault.place, engine)
        writes = int(self.strengths[fault.strength]["writes"])
        do, undo = slow_writes(engine, fault.place, FOLDERS[fault.place], writes)
        return Change(do=(do,), undo=(undo,), parameters=(("writes_per_second", writes),))

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The longest wait for an answer in two seconds."""
        longest = longest_wait(app, fault.place, engine, patience=2.0, looks_s=LOOKS_S)
        return Effect(
            longest >= float(self.strengths[fault.strength]["least_s"]), f"{fault.place} took up to {longest:.2f} s to answer"
        )

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It answers at once."""
        longest = longest_wait(app, fault.place, engine, patience=2.0, looks_s=LOOKS_S)
        return Effect(longest < 0.15, f"{fault.place} took up to {longest:.2f} s to answer")


class DiskFull(FaultKind):
    """A store's disk is full."""

    name = "disk_full"
    category = "resource"
    mechanism = "store_disk"
    explanation = "The disk with the store's data is full: a large file was left there, and the store cannot write any more."
    strengths: ClassVar = {"whole": {}}
    settle_s = 30.0
    counts_once_settled = True

    def places(self, app: App) -> tuple[str, ...]:
        """Every store."""
        return app.stores

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Stop it, give it a small disk, fill that, start it; then the way back."""
        must_run(fault.place, engine)
        volume = ("volume", str(engine.volume(fault.place, FOLDERS[fault.place])))

        def step(action: str) -> Step:
            return Step(action, fault.place, "", (volume,) if action.endswith("_disk") else ())

        return Change(
            do=(step("stop"), step("carry_over_disk"), step("fill_disk"), step("start")),
            undo=(step("stop"), step("carry_back_disk"), step("start")),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """There is no space, and the store says that it cannot write, or does not answer any more."""
        full = is_full(engine.volume(fault.place, FOLDERS[fault.place]))
        trouble = _trouble(app, fault, engine)
        refused = bool(trouble) and "LOADING" not in trouble
        return Effect(full and refused, f"{'no' if full else 'some'} space left at {fault.place}; {trouble or 'it writes'}")

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It writes again."""
        trouble = _trouble(app, fault, engine)
        return Effect(not trouble, trouble or "it writes")


def _trouble(app: App, fault: Fault, engine: Engine) -> str:
    """Why the store does not write; empty when it does."""
    if fault.place != "postgres":
        return redis_server.refusal(app, engine)
    try:
        database.take_space(app)
    except FaultError as error:
        return str(error) or type(error).__name__
    return ""
