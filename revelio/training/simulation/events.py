"""Log lines and discrete changes: those of the faults, of calls that fail for them, and of what always goes on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from revelio.training.simulation.dialect import Dialect
from revelio.training.simulation.faults import Fault, LineSpec, released
from revelio.training.simulation.flow import ERROR, Flow
from revelio.training.simulation.places import Watched
from revelio.training.simulation.system import SERVICES, STORES, System
from revelio.training.simulation.vocabulary import Line, lines, messages, names
from revelio.types import Entity, LogPattern, StateChange, Window

_LOUD = 40.0
"""Most failures a second that a component logs."""
_SELDOM = 0.02
"""Share of failing requests below which nothing is logged of them."""


@dataclass(frozen=True, slots=True)
class Chatter:
    """What a component writes without any fault: each line with its number a second, now and before."""

    component: str
    line: Line
    now: float
    before: float


def chatter(system: System, rng: random.Random) -> tuple[Chatter, ...]:
    """Usual lines of all components, standing problems, and what nightly jobs write."""
    found = []
    for one in system.components:
        if one.role in ("outside", "cache") or (one.role not in SERVICES and rng.random() < 0.6):
            continue
        path = system.path[one.name]
        for line in rng.sample(lines("usual" if one.role in SERVICES else "usual_of_stores"), rng.choice((0, 0, 1, 1, 2, 3))):
            rate = rng.lognormvariate(-1.5, 1.2)
            found.append(Chatter(one.name, _about(line, rng, path), rate, rate))
        if one.role in SERVICES and rng.random() < 0.25:
            rate = rng.lognormvariate(-3.0, 1.0)
            found.append(Chatter(one.name, _about(rng.choice(lines("standing")), rng, path), rate, rate))
        if rng.random() < 0.06:  # something new that means nothing
            ever = (*lines("standing"), *lines("usual")) if one.role in SERVICES else lines("usual_of_stores")
            line = rng.choice((*ever, *lines("nightly")))
            found.append(Chatter(one.name, _about(line, rng, path), rng.lognormvariate(-3.0, 1.0), 0.0))
    return tuple(found)


def _about(line: Line, rng: random.Random, path: str) -> Line:
    return Line(line.level, line.text.format(path=path, topic=rng.choice(names()["topics"]), peer="upstream"))


@dataclass(frozen=True, slots=True)
class Written:
    """A line that is there because of trouble; ``fault`` is the number of the one that writes it, -1 for its consequences."""

    component: str
    level: str
    text: str
    rate: float
    fault: int
    grade: int = 0


def written(system: System, faults: Sequence[Fault], shown: Flow, rng: random.Random) -> tuple[Written, ...]:
    """Lines of the faults, and of calls and requests that fail."""
    found = []
    for number, fault in enumerate(faults):
        for line in fault.lines:
            callers = (fault.place[0],) if isinstance(fault.place, tuple) else system.callers.get(fault.component, ())
            for at in callers if line.by == "callers" else _writers(system, fault):
                found.append(_of_fault(system, fault, number, line, at, shown, rng))
    said = {f.component for f in faults for line in f.lines if line.by == "callers"}
    for (caller, callee), figures in sorted(shown.calls.items()):
        runtime = system.component(caller).runtime
        if figures.failed > _SELDOM and runtime and callee not in said and rng.random() < 0.8:
            reason = figures.reason or ERROR
            stored = system.component(callee).role in STORES
            text = rng.choice(messages()["to_stores"][reason] if stored else messages()["calls"][reason][runtime])
            level = "error" if rng.random() < 0.8 else "warning"
            found.append(
                Written(caller, level, text.format(peer=callee, path=system.path[caller]), min(_LOUD, figures.errors), -1)
            )
    for at, operation in sorted(shown.operations):
        figures = shown.operations[at, operation]
        runtime = system.component(at).runtime
        if figures.failed > _SELDOM and runtime and rng.random() < 0.5:
            text = rng.choice(messages()["own"][runtime]).format(path=operation)
            found.append(Written(at, "error", text, min(_LOUD, figures.errors), -1))
    return tuple(found)


def _writers(system: System, fault: Fault) -> list[str]:
    if "host" not in fault.mechanism.at:
        return [fault.component]
    return [c.name for c in system.components if c.host == fault.place and c.role in SERVICES][:4]


def _of_fault(system: System, fault: Fault, number: int, line: LineSpec, at: str, shown: Flow, rng: random.Random) -> Written:
    text = line.text[0].format(peer=fault.component, path=system.path.get(at, ""), topic=rng.choice(names()["topics"]))
    figures = shown.components.get(at)
    rate = figures.errors if figures is not None and figures.errors > 0 else rng.lognormvariate(-2.0, 1.0)
    return Written(at, line.level, text, min(_LOUD, max(0.02, rate)), number, line.grade)


def log_patterns(
    watched: Sequence[Watched],
    usual: Sequence[Chatter],
    trouble: Sequence[Written],
    course: NDArray[np.float64],
    dialect: Dialect,
    window: Window,
    rng: np.random.Generator,
) -> Iterator[LogPattern]:
    """What a log store counts in window and baseline, in the form of this dialect."""
    there = {w.entity.name: w.entity for w in watched if w.entity.kind == "log_source"}
    seconds, past = window.seconds, dialect.step * dialect.before
    seen: set[tuple[str, str]] = set()
    for one in usual:
        now, before = int(rng.poisson(one.now * seconds)), int(rng.poisson(one.before * past))
        if one.component in there and now + before and (one.component, one.line.text) not in seen:
            seen.add((one.component, one.line.text))
            yield _pattern(there[one.component], one.line.level, one.line.text, now, before, window.start, dialect)
    for line in trouble:
        force = course[line.fault]
        count = int(rng.poisson(line.rate * seconds * float(force.mean())))
        if line.component in there and (count or line.grade) and (line.component, line.text) not in seen:
            seen.add((line.component, line.text))
            first = window.start + float(force.argmax()) / len(force) * seconds
            yield _pattern(there[line.component], line.level, line.text, max(1, count), 0, first, dialect)


def _pattern(entity: Entity, level: str, text: str, now: int, before: int, first: float, dialect: Dialect) -> LogPattern:
    said = {"upper": level.upper(), "none": "unknown"}.get(dialect.levels, level)
    return LogPattern(entity, said, text.replace("<n>", dialect.mask), now, before, first)


def changes(
    system: System, faults: Sequence[Fault], window: Window, dialect: Dialect, rng: random.Random
) -> tuple[tuple[StateChange, int, int], ...]:
    """All changes in order of time, each with the number of its fault and its grade; -1 and 0 for those that mean nothing."""
    if not dialect.changes:
        return ()
    found: list[tuple[StateChange, int, int]] = []
    usual = random.Random(rng.getrandbits(64))
    for one in system.components:
        if one.role == "outside":
            continue
        if usual.random() < 0.02:  # another team's release
            change, at = released(usual, one), usual.uniform(window.start - window.seconds, window.end)
            found.append((StateChange(Entity("container", one.name), at, change.field, change.before, change.after), -1, 0))
            found.append((StateChange(Entity("container", one.name), at + 1.0, "started", "not running", "running"), -1, 0))
        if usual.random() < 0.01:  # a check that flaps all day
            for part in range(usual.randint(3, 9)):
                at = window.start - window.seconds + part * window.seconds / 4
                states = ("passing", "failing") if part % 2 else ("failing", "passing")
                found.append((StateChange(Entity("container", one.name), at, "health", *states), -1, 0))
    for number, fault in enumerate(faults):
        entity = Entity("host" if fault.component in system.hosts else "container", fault.component)
        at = window.start + fault.onset * window.seconds
        for place, change in enumerate(fault.changes):
            when = at + place * 0.02 * window.seconds
            found.append((StateChange(entity, when, change.field, change.before, change.after), number, change.grade))
    return tuple(sorted(found, key=lambda c: (c[0].at, c[0].entity, c[0].field)))


def counted(some: Sequence[LogPattern]) -> Mapping[str, int]:
    """Lines by component, for reading by eye."""
    return Counter(p.entity.name for p in some)
