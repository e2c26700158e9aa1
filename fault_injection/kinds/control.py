"""Controls: nothing is wrong, yet something may look unusual."""

from __future__ import annotations

import time
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.deploy import next_version
from fault_injection.mechanisms.probe import answers, must_run
from fault_injection.mechanisms.service_metrics import requests_served
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import files_step

NOWHERE = "-"


class Nothing(FaultKind):
    """A run in which nothing is done."""

    name = "none"
    category = "control"
    explanation = "Nothing is done: an ordinary stretch of time."
    strengths: ClassVar = {"none": {}}

    def places(self, app: App) -> tuple[str, ...]:
        """Nowhere."""
        return (NOWHERE,)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """No steps."""
        return Change(do=(), undo=())

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """There is nothing to measure."""
        return Effect(True, "nothing was done")


class BenignSpike(FaultKind):
    """More visitors for a while, which the application can well serve."""

    name = "benign_spike"
    category = "control"
    mechanism = "visitors"
    explanation = "A burst of extra visitors, within what the application can serve."
    strengths: ClassVar = {"small": {"rate": 8.0, "seconds": 30.0}, "large": {"rate": 16.0, "seconds": 30.0}}

    def places(self, app: App) -> tuple[str, ...]:
        """The public entrance."""
        return (app.entrance,)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A background process visits pages."""
        strength = tuple(self.strengths[fault.strength].items())
        container = engine.container_id(fault.place)
        start = Step("start_background", fault.place, container, (("act", "burst"), *strength))
        return Change(do=(start,), undo=(Step("stop_background", fault.place, container),), parameters=strength)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Requests that the entrance served in two seconds."""
        first = requests_served(app, fault.place, engine)
        time.sleep(2.0)
        rate = (requests_served(app, fault.place, engine) - first) / 2.0
        return Effect(rate >= float(self.strengths[fault.strength]["rate"]), f"{rate:.1f} requests a second at {fault.place}")


class BenignDeploy(FaultKind):
    """A new version of a service that does nothing differently."""

    name = "benign_deploy"
    category = "control"
    mechanism = "new_version"
    explanation = "A new version of the service is rolled out; nothing is wrong with it."
    strengths: ClassVar = {"usual": {}}
    counts_once_settled = True

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that we build ourselves."""
        return app.services

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Another version file, then a restart."""
        must_run(fault.place, engine)
        before, after = next_version(engine, fault.place)
        return Change(do=(files_step(engine, fault.place, after),), undo=(files_step(engine, fault.place, before),))

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It answers again."""
        waited = answers(app, fault.place, engine, seconds=1.0)
        return Effect(waited is not None, "no answer yet" if waited is None else f"answered in {waited:.2f} s as a new version")
