"""Faults of clocks: a service believes that it is another day."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import ClassVar

import httpx

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.probe import must_run
from fault_injection.mechanisms.process_clock import skew
from fault_injection.spec import Change, Effect, Fault, FaultKind
from fault_injection.steps import memory_step


class ClockSkew(FaultKind):
    """A service's time of day is wrong."""

    name = "clock_skew"
    category = "clock"
    mechanism = "clock"
    explanation = "The clock that the service reads is days behind, or weeks ahead, of everybody else's."
    strengths: ClassVar = {"behind": {"skew_s": -3 * 86400}, "ahead": {"skew_s": 40 * 86400}}

    def places(self, app: App) -> tuple[str, ...]:
        """Every service of ours. What stores keep would stay wrong for long after their clocks were put right."""
        return app.services

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Other code where the process asks for the time; then the code that was there."""
        must_run(fault.place, engine)
        after, before = skew(engine.pid(fault.place), int(self.strengths[fault.strength]["skew_s"]))
        return Change(
            do=(memory_step(engine, fault.place, after),),
            undo=(memory_step(engine, fault.place, before, undoes=True),),
            parameters=tuple(self.strengths[fault.strength].items()),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The date on a page that it serves."""
        wrong = _wrong_by(app, fault, engine)
        active = wrong is not None and abs(wrong - float(self.strengths[fault.strength]["skew_s"])) < 60
        return Effect(active, _words(fault, wrong))

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """That date is right again."""
        wrong = _wrong_by(app, fault, engine)
        return Effect(wrong is not None and abs(wrong) < 60, _words(fault, wrong))


def _wrong_by(app: App, fault: Fault, engine: Engine) -> float | None:
    """Seconds that the date of a served page is ahead of this machine's; None when it serves none."""
    try:
        page = httpx.get(f"http://{engine.address(fault.place)}:{app.service_port}/healthz", timeout=2.0)
        return parsedate_to_datetime(page.headers["Date"]).timestamp() - time.time()
    except (httpx.HTTPError, KeyError, ValueError):
        return None


def _words(fault: Fault, wrong: float | None) -> str:
    return (
        f"{fault.place} serves no page" if wrong is None else f"a page of {fault.place} is dated {wrong / 3600:+.1f} h from now"
    )
