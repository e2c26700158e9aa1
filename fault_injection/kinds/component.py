"""Faults of components: a container does not run as it should."""

from __future__ import annotations

from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.reach import answers
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from revelio.errors import FaultError


class ContainerPause(FaultKind):
    """Every process of a container is frozen."""

    name = "container_pause"
    category = "component"
    explanation = "Every process of the container is frozen: connections to it open, but nothing answers."
    strengths: ClassVar = {"whole": {}, "intermittent": {"on_s": 3.0, "off_s": 2.0}}
    settle_s = 10.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every container of the application."""
        return app.places

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Pause at once, or by turns in a process of its own."""
        state = engine.state(fault.place)
        if state != "running":
            raise FaultError(f"{fault.place} is {state}, not running; undo what was done to it first")
        container = engine.container_id(fault.place)
        unpause = Step("unpause", fault.place, container)
        if fault.strength == "whole":
            return Change(do=(Step("pause", fault.place, container),), undo=(unpause,))
        turns = tuple(self.strengths[fault.strength].items())
        start = Step("start_background", fault.place, container, (("act", "pause"), *turns))
        stop = Step("stop_background", fault.place, container)
        return Change(do=(start,), undo=(stop, unpause), parameters=turns)

    def measure(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The engine's word for its state, and a request that hangs."""
        state = engine.state(fault.place)
        waited = answers(app, fault.place, engine, seconds=1.0)
        hangs = waited is None
        words = "a request to it hung for 1.0 s" if hangs else f"a request to it took {waited:.2f} s"
        return Effect(state == "paused" and hangs, f"state {state}; {words}")


KINDS: tuple[FaultKind, ...] = (ContainerPause(),)
