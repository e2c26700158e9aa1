"""What goes wrong in a simulated system: mechanisms, and faults drawn from them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic import TypeAdapter

from revelio.training.simulation.flow import Disturbance, Flow, Place, flow
from revelio.training.simulation.system import SERVICES, Component, System
from revelio.training.simulation.vocabulary import names, read

Shape = Literal["at_once", "growing", "now_and_then"]
_SETTINGS = (
    *(("MAX_CONNECTIONS", "100", "1"), ("FEATURE_NEW_FLOW", "off", "on"), ("BATCH_SIZE", "500", "5"), ("REGION", "eu", "us")),
    *(("BACKEND_URL", "http://old:8080", "http://new:8081"), ("LOG_LEVEL", "info", "debug"), ("SCHEMA", "v1", "v2")),
    *(("CACHE_TTL", "300", "0"), ("PAGE_SIZE", "50", "0"), ("STRICT_MODE", "false", "true"), ("CURRENCY", "EUR", "USD")),
)
"""Settings, with values before and after."""
_TRIES = 12
_SLOWER, _SLOWER_MS, _FAILING = 2.0, 300.0, 0.03
"""What users notice: so many times as slow and by so many ms, or this share of failures."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a figure of the place becomes: a value (``to``), ``times`` what it was, or so many noise floors more (``plus``)."""

    how: Literal["to", "times", "plus"]
    low: float
    high: float
    grade: int

    def value(self, before: float, floor: float, part: float) -> float:
        """``part`` in [0, 1] lies between low and high."""
        drawn = self.low + (self.high - self.low) * part
        return drawn if self.how == "to" else before * drawn if self.how == "times" else before + floor * drawn


@dataclass(frozen=True, slots=True)
class ChangeSpec:
    """A discrete change of the place, with the probability ``sure`` that it is there."""

    field: str
    before: str
    after: str
    grade: int
    sure: float


@dataclass(frozen=True, slots=True)
class LineSpec:
    """A log line, one of ``text``, written by the place or by its callers."""

    level: str
    text: tuple[str, ...]
    grade: int
    sure: float
    by: Literal["place", "callers"] = "place"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One kind of fault, as ``vocabulary/mechanisms.yaml`` describes it."""

    name: str
    at: tuple[str, ...]
    felt: tuple[str, ...]
    flow: Mapping[str, Any]
    figures: Mapping[str, Effect] = field(default_factory=dict)
    changes: tuple[ChangeSpec, ...] = ()
    logs: tuple[LineSpec, ...] = ()
    tells: Mapping[str, int] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    shape: Shape = "at_once"
    one_caller: bool = False
    later: bool = False
    held_out: bool = False

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012


@dataclass(frozen=True, slots=True)
class Fault:
    """A mechanism in force at a place from ``onset`` on, a share of the window.

    ``place`` is a component, a host or a call (caller, callee); ``parts`` says where in its range each figure lies. ``changes``
    and ``lines`` are those that are there, with words filled in; ``features`` are the numbers of the features whose users notice.
    """

    mechanism: Mechanism
    place: Place
    onset: float
    disturbances: Mapping[Place, tuple[Disturbance, ...]]
    load: float
    parts: Mapping[str, float]
    changes: tuple[ChangeSpec, ...]
    lines: tuple[LineSpec, ...]
    features: tuple[int, ...]

    @property
    def component(self) -> str:
        """The component or host that is at fault; of a call the one that is called."""
        return self.place if isinstance(self.place, str) else self.place[1]


@lru_cache(maxsize=1)
def mechanisms() -> Mapping[str, Mechanism]:
    """All mechanisms by name."""
    return {name: _mechanism(name, row) for name, row in read("mechanisms").items()}


def _mechanism(name: str, row: Mapping[str, Any]) -> Mechanism:
    figures = {}
    for metric, effect in row.get("figures", {}).items():
        how = next(h for h in ("to", "times", "plus") if h in effect)
        low, high = effect[how]
        figures[metric] = {"how": how, "low": low, "high": high, "grade": effect["grade"]}
    return TypeAdapter(Mechanism).validate_python({**row, "name": name, "figures": figures})


def draw_fault(
    rng: random.Random, system: System, healthy: Flow, among: Sequence[Mechanism], apart: Sequence[Fault] = ()
) -> Fault | None:
    """A fault that users of some feature notice, at another place than those ``apart``; None if none was found."""
    taken = {f.component for f in apart} | {f.mechanism.name for f in apart}
    for _ in range(_TRIES):
        mechanism = rng.choice(among)
        places = [p for p in _places(system, mechanism) if _at(p) not in taken]
        if mechanism.name in taken or not places:
            continue
        fault = _strike(rng, system, mechanism, rng.choice(places), healthy)
        if fault.features:
            return fault
    return None


def _at(place: Place) -> str:
    return place if isinstance(place, str) else place[1]


def _places(system: System, mechanism: Mechanism) -> list[Place]:
    places: list[Place] = []
    if "edge" in mechanism.at:
        places += system.edges
    if "host" in mechanism.at:
        places += sorted({c.host for c in system.components if c.host})
    places += [c.name for c in system.components if c.role in mechanism.at]
    return places


def _strike(rng: random.Random, system: System, mechanism: Mechanism, place: Place, healthy: Flow) -> Fault:
    does = mechanism.flow
    visits = [v for v in system.visits if v.component == place]
    operations = sorted({v.operation for v in visits})
    callers = system.callers.get(str(place), ())
    callees = [b for a, b in system.edges if a == place and system.component(b).role in mechanism.calls]
    one = Disturbance(
        slow=_drawn(rng, does.get("slow", (1.0, 1.0))),
        add=_drawn(rng, does.get("add", (0.0, 0.0))),
        fail=min(1.0, _drawn(rng, does.get("fail", (0.0, 0.0)))),
        gone=does.get("gone", False),
        more=_drawn(rng, does.get("more", (1.0, 1.0))) if callees else 1.0,
        to=rng.choice(callees) if callees else "",
        operation=rng.choice(operations) if operations and rng.random() < does.get("one", 0.0) else "",
        caller=rng.choice(callers) if mechanism.one_caller and callers else "",
    )
    on_host = [c.name for c in system.components if c.host == place]
    at: list[Place] = [place, *on_host]
    if "host" in mechanism.at and on_host:
        at = list(on_host)
    load = _drawn(rng, does.get("load", (1.0, 1.0)))
    disturbances: dict[Place, tuple[Disturbance, ...]] = dict.fromkeys(at, (one,))
    shown = flow(system, disturbances, load)
    fill = _words(rng, _at(place))
    return Fault(
        mechanism=mechanism,
        place=place,
        onset=0.0 if rng.random() < 0.1 else rng.uniform(0.02, 0.6),
        disturbances=disturbances,
        load=load,
        parts={metric: rng.random() for metric in mechanism.figures},
        changes=tuple(
            ChangeSpec(c.field, _filled(c.before, fill), _filled(c.after, fill), c.grade, c.sure)
            for c in mechanism.changes
            if rng.random() < c.sure
        ),
        lines=tuple(
            LineSpec(x.level, (rng.choice(x.text),), x.grade, x.sure, x.by) for x in mechanism.logs if rng.random() < x.sure
        ),
        features=_noticed(system, mechanism, set(at), healthy, shown),
    )


def _noticed(system: System, mechanism: Mechanism, at: set[Place], healthy: Flow, shown: Flow) -> tuple[int, ...]:
    found = []
    for number, feature in enumerate(system.features):
        (before, lost), (now, loses) = healthy.felt[number], shown.felt[number]
        if mechanism.later:
            felt = feature.worker in at or bool(feature.worker and any(system.component(str(p)).role == "broker" for p in at))
        elif not mechanism.flow:  # silent: whoever comes through it sees what is wrong
            felt = any(v.component in at for v in feature.request.all())
        else:
            felt = loses - lost > _FAILING or (now > _SLOWER * before and now - before > _SLOWER_MS)
        if felt:
            found.append(number)
    return tuple(found)


def _drawn(rng: random.Random, span: Sequence[float]) -> float:
    """Log-uniform where both ends are positive."""
    low, high = span
    return float(low * (high / low) ** rng.random()) if low > 0 else float(low + (high - low) * rng.random())


def _words(rng: random.Random, component: str) -> dict[str, str]:
    major, minor, patch = rng.randint(0, 5), rng.randint(0, 40), rng.randint(0, 9)
    setting, old, new = rng.choice(_SETTINGS)
    return {
        "image": component,
        "old": f"{major}.{minor}.{patch}",
        "new": f"{major}.{minor}.{patch + 1}" if rng.random() < 0.7 else f"{major}.{minor + 1}.0",
        "setting": setting,
        "old_value": old,
        "new_value": new,
        "topic": rng.choice(names()["topics"]),
    }


def _filled(text: str, words: Mapping[str, str]) -> str:
    for name, value in words.items():
        text = text.replace("{" + name + "}", value)
    return text


def released(rng: random.Random, component: Component) -> ChangeSpec:
    """A release that changes nothing for the worse, as other teams make them all day."""
    words = _words(rng, component.name)
    if component.role in SERVICES and rng.random() < 0.7:
        return ChangeSpec("config", f"image {component.name}:{words['old']}", f"image {component.name}:{words['new']}", 0, 1.0)
    return ChangeSpec("config", f"{words['setting']}={words['old_value']}", f"{words['setting']}={words['new_value']}", 0, 1.0)
