"""Faults of components: a container does not run as it should."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.deploy import next_version
from fault_injection.mechanisms.patch import insert
from fault_injection.mechanisms.probe import answers, must_run
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import files_step


class ContainerPause(FaultKind):
    """Every process of a container is frozen."""

    name = "container_pause"
    category = "component"
    mechanism = "frozen_or_ended"
    explanation = "Every process of the container is frozen: connections to it open, but nothing answers."
    strengths: ClassVar = {"whole": {}, "intermittent": {"on_s": 3.0, "off_s": 2.0}}
    settle_s = 10.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every container of the application."""
        return app.places

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Pause at once, or by turns in a background process."""
        must_run(fault.place, engine)
        container = engine.container_id(fault.place)
        unpause = Step("unpause", fault.place, container)
        if fault.strength == "whole":
            return Change(do=(Step("pause", fault.place, container),), undo=(unpause,))
        turns = tuple(self.strengths[fault.strength].items())
        start = Step("start_background", fault.place, container, (("act", "pause"), *turns))
        stop = Step("stop_background", fault.place, container)
        return Change(do=(start,), undo=(stop, unpause), parameters=turns)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The engine's word for its state, and a request that hangs."""
        state = engine.state(fault.place)
        waited = answers(app, fault.place, engine, seconds=1.0)
        hangs = waited is None
        words = "a request to it hung for 1.0 s" if hangs else f"a request to it took {waited:.2f} s"
        return Effect(state == "paused" and hangs, f"state {state}; {words}")


class ContainerStop(FaultKind):
    """A container was stopped and stays down."""

    name = "container_stop"
    category = "component"
    mechanism = "frozen_or_ended"
    explanation = "The container was stopped in good order and stays so: connections to it are refused."
    strengths: ClassVar = {"whole": {}}
    settle_s = 12.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every container that others wait for; a worker's end is another kind."""
        return tuple(place for place in app.places if place not in app.workers)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Stop it; start it again."""
        must_run(fault.place, engine)
        container = engine.container_id(fault.place)
        return Change(do=(Step("stop", fault.place, container),), undo=(Step("start", fault.place, container),))

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The engine's word for its state."""
        state = engine.state(fault.place)
        return Effect(state == "exited", f"state {state}")


class WorkerStopped(ContainerStop):
    """A queue's worker was stopped: the site answers, but what should follow does not."""

    name = "worker_stopped"
    explanation = "The container of a queue's worker was stopped: messages are accepted but not handled."

    def places(self, app: App) -> tuple[str, ...]:
        """The containers that handle a queue's messages."""
        return app.workers


class ContainerKill(FaultKind):
    """The first process dies again and again; the engine restarts it each time."""

    name = "container_kill"
    category = "component"
    mechanism = "frozen_or_ended"
    explanation = "The service's process is killed every few seconds, as by a crash; the engine starts it again each time."
    strengths: ClassVar = {"often": {"every_s": 5.0}, "now and then": {"every_s": 9.0}}
    settle_s = 12.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every container of the application."""
        return app.places

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A background process sends the signal."""
        must_run(fault.place, engine)
        strength = tuple(self.strengths[fault.strength].items())
        container = engine.container_id(fault.place)
        start = Step("start_background", fault.place, container, (("act", "kill"), *strength))
        undo = (Step("stop_background", fault.place, container), Step("start", fault.place, container))
        counted = ("restarts_before", engine.restarts(fault.place))
        return Change(do=(start,), undo=undo, parameters=(*strength, counted))

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Twice within some seconds: the engine started another first process."""
        before = engine.restarts(fault.place)
        deadline = time.monotonic() + float(self.strengths[fault.strength]["every_s"]) + 2.0
        while (now := engine.restarts(fault.place)) == before and time.monotonic() < deadline:
            time.sleep(0.2)
        return Effect(
            now > before, f"started again by the engine {now} times in its life, {before} times when it was looked at first"
        )


class CrashLoop(FaultKind):
    """A new version that ends as soon as it starts."""

    name = "crash_loop"
    category = "component"
    mechanism = "new_version"
    explanation = (
        "A new version of the service was rolled out that ends with an error while it starts; the engine tries again and again."
    )
    strengths: ClassVar = {"whole": {}}
    settle_s = 20.0
    FIRST_LINES = (
        'key = bytes.fromhex(settings.text("SIGNING_KEY", "unset"))',
        'limits = __import__("json").loads(settings.text("LIMITS", ""))',
        'region = settings.environ["REGION"]',
        'workers = int(settings.text("WORKERS", "auto"))',
    )
    """What the new version does first: each reads a setting that is not set."""

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that we build ourselves."""
        return app.services

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A patched file and a new version file, then a restart."""
        must_run(fault.place, engine)
        path = app.main_file(fault.place)
        stored = engine.read_file(fault.place, path)
        line = self.FIRST_LINES[fault.variant % len(self.FIRST_LINES)]
        patched = replace(
            stored, content=insert(stored.content.decode(), "make", line, where=path).encode(), mtime=float(int(time.time()))
        )
        before, after = next_version(engine, fault.place)
        return Change(
            do=(files_step(engine, fault.place, after | {path: patched}),),
            undo=(files_step(engine, fault.place, before | {path: stored}),),
            parameters=(("line", line),),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It does not answer, and the engine has started it again since it was rolled out."""
        restarts, state = engine.restarts(fault.place), engine.state(fault.place)
        waited = answers(app, fault.place, engine, seconds=0.5) if state == "running" else None
        return Effect(
            restarts >= 1 and waited is None,
            f"state {state}, started again {restarts} times, {'no answer' if waited is None else 'answers'}",
        )
