"""Makes a fault and unmakes it: validate, journal, act, verify; undo whatever happened, verify that it recovered."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.journal import Journal, OpenFault
from fault_injection.kinds import kind_named, validate
from fault_injection.mechanisms.probe import answers
from fault_injection.spec import Effect, Fault, FaultKind, Value
from fault_injection.steps import perform, revert
from revelio.errors import FaultError, RevelioError

RECOVERY_S = 45.0


@dataclass(frozen=True, slots=True)
class Injection:
    """An active fault and the measurement that confirmed it.

    ``began`` (Unix seconds) was taken before its first act; from ``at`` on its consequences count, which is the same
    unless the kind counts once settled. ``settled`` is when it was verified.
    """

    id: str
    fault: Fault
    began: float
    at: float
    settled: float
    verified_by: str
    parameters: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Undone:
    """A fault that was undone; ``notes`` tell of steps that were moot, ``recovered_after`` how long its place took."""

    fault: Fault
    notes: tuple[str, ...]
    recovered_after: float


def inject(app: App, fault: Fault, engine: Engine, *, keep: bool = False) -> Injection:
    """Inject one fault and confirm that it is active. Faults that are still active are undone first, unless ``keep`` is set.

    Raises ``FaultError`` when it cannot be made or is not active; whatever was done, kept faults among it, is undone by then.
    """
    kind = validate(app, fault)
    if not keep:
        undo(app, engine)
    journal = Journal(app.state)
    with journal.alone():
        change = kind.change(app, fault, engine)
        fault_id = uuid.uuid4().hex[:12]
        journal.planned(fault_id, fault, change.undo)
        began = time.time()
        try:
            for step in change.do:
                perform(step, app, engine, journal, fault_id)
            journal.note(fault_id, "injected")
            effect = _verify(kind, app, fault, engine)
            journal.note(fault_id, "verified", effect.figures)
        except BaseException as error:
            journal.note(fault_id, "failed", str(error))
            _undo_all(app, engine, journal)
            raise
    settled = time.time()
    at = settled if kind.counts_once_settled else began
    return Injection(fault_id, fault, began, at, settled, effect.figures, change.parameters)


def undo(app: App, engine: Engine) -> tuple[Undone, ...]:
    """Undo every fault that the journal shows as open, the latest first, and see that their places answer again.

    Raises ``FaultError`` when one cannot be undone: the journal keeps it, so that undoing can be tried again.
    """
    journal = Journal(app.state)
    with journal.alone():
        return _undo_all(app, engine, journal)


def open_faults(app: App) -> tuple[Fault, ...]:
    """The active faults according to the journal."""
    return tuple(f.fault for f in Journal(app.state).open_faults())


@contextmanager
def injected(app: App, fault: Fault, engine: Engine, *, keep: bool = False) -> Iterator[Injection]:
    """The fault, with ``keep`` beside those that are active, while the block lasts; however it ends, all faults are undone."""
    injection = inject(app, fault, engine, keep=keep)
    try:
        yield injection
    finally:
        undo(app, engine)


def _undo_all(app: App, engine: Engine, journal: Journal) -> tuple[Undone, ...]:
    done: list[Undone] = []
    failed: list[str] = []
    for entry in journal.open_faults():
        try:
            done.append(_undo_one(entry, app, engine, journal))
        except RevelioError as error:
            journal.note(entry.id, "failed", str(error))
            failed.append(f"{entry.fault.kind} at {entry.fault.place}: {error}")
    if failed:
        raise FaultError("undoing failed: " + "; ".join(failed))
    return tuple(done)


def _undo_one(entry: OpenFault, app: App, engine: Engine, journal: Journal) -> Undone:
    journal.note(entry.id, "undoing")
    notes = [note for step in entry.undo if (note := revert(step, app, engine, journal, entry.id))]
    journal.note(entry.id, "undone", "; ".join(notes))
    started = time.monotonic()
    kind = kind_named(entry.fault.kind)
    container = kind.stands_on(app, entry.fault)
    if container:
        _until(lambda: _recovered(app, container, engine), RECOVERY_S, f"{container} did not recover")
    _until(lambda: kind.cleared(app, entry.fault, engine), RECOVERY_S, f"{entry.fault.place} did not recover")
    took = time.monotonic() - started
    journal.note(entry.id, "recovered", f"after {took:.1f} s")
    return Undone(entry.fault, tuple(notes), took)


def _verify(kind: FaultKind, app: App, fault: Fault, engine: Engine) -> Effect:
    return _until(lambda: kind.active(app, fault, engine), kind.settle_s, f"{kind.name} at {fault.place} is not active")


def _recovered(app: App, place: str, engine: Engine) -> Effect:
    state = engine.state(place)
    waited = answers(app, place, engine, seconds=1.0) if state == "running" else None
    return Effect(waited is not None, f"state {state}, " + ("no answer" if waited is None else f"answered in {waited:.2f} s"))


def _until(measure: Callable[[], Effect], seconds: float, failure: str) -> Effect:
    deadline = time.monotonic() + seconds
    while not (effect := measure()).confirmed:
        if time.monotonic() > deadline:
            raise FaultError(f"{failure}: {effect.figures}")
        time.sleep(0.2)
    return effect
