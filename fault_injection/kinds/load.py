"""Faults of load: more is asked than can be answered."""

from __future__ import annotations

import json
import re
import time
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.kinds.configuration import Misconfigured
from fault_injection.mechanisms.load import PAGES, dated
from fault_injection.mechanisms.probe import must_run
from fault_injection.mechanisms.service_metrics import metrics, requests_served
from fault_injection.spec import Category, Change, Effect, Fault, FaultKind, Step
from revelio.errors import FaultError

SAMPLE_S = 2.0
ORDINARY_CONNECTIONS = 60
"""What an entrance has with its ordinary visitors."""
FLOODED = {
    "shop": {
        "gateway": PAGES["shop"],
        "products": ("/products/11", "/products/12", "/products/13", "/products/14", "/products/15"),
        "search": ("/search?q=shirt", "/search?q=bowl", "/search?q=lamp", "/search?q=chair", "/search?q=wool"),
        "cart": ("/cart",),
    },
    "forum": {
        "web": PAGES["forum"],
        "search": ("/search?q=timber", "/search?q=bread", "/search?q=maps", "/search?q=grammar"),
    },
    "travel": {
        "gateway": PAGES["travel"],
        "timetable": (
            "/stations/BIR/departures?date={day}",
            "/stations/ALD/departures?date={day}",
            "/stations/EAS/departures?date={day}",
        ),
        "trips": ("/trips?from=BIR&to=CAR&date={day}", "/trips?from=ALD&to=EAS&date={day}", "/trips?from=BAN&to=DAL&date={day}"),
    },
}
"""Pages that a crowd looks at, by application and the service that has most of the work with them."""


class TrafficFlood(FaultKind):
    """A crowd comes."""

    name = "traffic_flood"
    category = "load and queue"
    mechanism = "visitors"
    burdens_host = True
    explanation = "Far more visitors than usual come to the site or to some of its pages, more than the service can answer."
    strengths: ClassVar = {"hard": {"visitors": 800, "seconds": 120.0}, "moderate": {"visitors": 650, "seconds": 120.0}}
    settle_s = 12.0
    LEAST_RATE = 20.0
    """Requests a second, some times as many as the ordinary visitors make."""

    def places(self, app: App) -> tuple[str, ...]:
        """The entrance, and services behind pages that anybody may look at."""
        return tuple(FLOODED[app.name])

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A background process visits pages."""
        must_run(fault.place, engine)
        strength = tuple(self.strengths[fault.strength].items())
        container = engine.container_id(fault.place)
        pages = ("pages", json.dumps(dated(FLOODED[app.name][fault.place])))
        start = Step("start_background", fault.place, container, (("act", "crowd"), pages, *strength))
        return Change(do=(start,), undo=(Step("stop_background", fault.place, container),), parameters=strength)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Requests that the service answers; where it answers hardly any more, the visitors who wait at the entrance."""
        waiting = _connected(app, engine)
        try:
            rate = _rate(app, fault, engine)
        except FaultError as error:
            return Effect(waiting >= self._crowd(fault), f"{waiting} connections open at {app.entrance}; {error}")
        figures = f"{rate:.1f} requests a second at {fault.place}, {waiting} connections open at {app.entrance}"
        return Effect(rate >= self.LEAST_RATE or waiting >= self._crowd(fault), figures)

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Requests are few again, and no request waits."""
        waiting = _connected(app, engine)
        try:
            rate = _rate(app, fault, engine)
        except FaultError as error:
            return Effect(False, str(error))
        figures = f"{rate:.1f} requests a second at {fault.place}, {waiting} connections open at {app.entrance}"
        return Effect(rate < self.LEAST_RATE and waiting < self._crowd(fault), figures)

    def _crowd(self, fault: Fault) -> int:
        """Connections with the entrance that only a crowd explains."""
        return int(self.strengths[fault.strength]["visitors"]) // 2 + ORDINARY_CONNECTIONS


class RetryStorm(Misconfigured):
    """A service that asks its peers again and again."""

    name = "retry_storm"
    category: ClassVar[Category] = "load and queue"
    burdens_host = True
    explanation = "The service gives its calls up too early and repeats them many times without a pause, which floods its peers."
    strengths: ClassVar = {"hard": {"retries": 30, "timeout_s": 0.005}, "moderate": {"retries": 12, "timeout_s": 0.007}}
    settle_s = 30.0
    CALLERS: ClassVar = {
        "shop": ("gateway", "cart", "orders"),
        "forum": ("web",),
        "travel": ("gateway", "trips", "pricing", "booking"),
    }
    """Services that read from their peers whenever they are asked, by application."""

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that reads from its peers while a user waits."""
        return self.CALLERS[app.name]

    def settings(self, fault: Fault, environment: dict[str, str]) -> dict[str, str]:
        """A short time-out and many further tries."""
        strength = self.strengths[fault.strength]
        return {"PEER_RETRIES": f"{strength['retries']}", "PEER_TIMEOUT_SECONDS": f"{strength['timeout_s']:g}"}

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The setting is applied, and the service makes several times the calls that failed not."""
        told = super().active(app, fault, engine)
        if not told.confirmed:
            return told
        try:
            before = _calls(metrics(app, fault.place, engine))
            time.sleep(SAMPLE_S)
            after = _calls(metrics(app, fault.place, engine))
        except FaultError as error:
            return Effect(False, str(error))
        made, good = after[0] - before[0], after[1] - before[1]
        return Effect(
            made >= 10 and made >= 2 * good, f"{told.figures}; {made:.0f} calls to peers in {SAMPLE_S:.0f} s, {good:.0f} answered"
        )


def _rate(app: App, fault: Fault, engine: Engine) -> float:
    first, began = requests_served(app, fault.place, engine), time.monotonic()
    time.sleep(SAMPLE_S)
    return (requests_served(app, fault.place, engine) - first) / (time.monotonic() - began)


def _connected(app: App, engine: Engine) -> int:
    """Connections with the entrance, those included that it has had no time to take."""
    ours = ("ss", "-H", "-n", "-t", "state", "established", f"sport = :{app.service_port}")
    return len(engine.in_network(app.entrance, *ours).splitlines())


def _calls(page: str) -> tuple[float, float]:
    """Calls to peers that were made, and those among them that were answered."""
    found = re.findall(r"^http_client_request_duration_seconds_count\{(.*)\} (\S+)$", page, re.MULTILINE)
    made = sum(float(value) for _, value in found)
    return made, sum(float(value) for labels, value in found if 'error_type=""' in labels)
