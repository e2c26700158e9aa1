"""Requests through a system: rates, times and failures of every operation and call, and how trouble spreads to callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from revelio.training.simulation.system import System, Visit

REFUSED, TIMEOUT, ERROR = "refused", "timeout", "error"
_REFUSED_MS = 2.0
"""A refused call comes back at once."""
_LONGEST_MS = 60_000.0

Place = str | tuple[str, str]
"""A component, or a call from one to another."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What happens to requests at a place: own time times ``slow`` plus ``add`` ms, a share that ``fail``s, or all refused
    (``gone``), ``more`` calls of each kind that it makes to ``to``; only for one ``operation``, or only for one ``caller``."""

    slow: float = 1.0
    add: float = 0.0
    fail: float = 0.0
    gone: bool = False
    more: float = 1.0
    to: str = ""
    operation: str = ""
    caller: str = ""


@dataclass(slots=True)
class Figures:
    """Sums over requests a second: how many, how many failed, and times in ms weighted by them."""

    rate: float = 0.0
    errors: float = 0.0
    time: float = 0.0
    own: float = 0.0
    reason: str = ""

    def add(self, rate: float, failed: float, time: float, own: float = 0.0) -> None:
        """Requests a second of which this share failed."""
        self.rate += rate
        self.errors += rate * failed
        self.time += rate * time
        self.own += rate * own

    @property
    def mean_ms(self) -> float:
        """Mean time of a request."""
        return self.time / self.rate if self.rate > 0 else 0.0

    @property
    def self_ms(self) -> float:
        """Mean own time of a request."""
        return self.own / self.rate if self.rate > 0 else 0.0

    @property
    def failed(self) -> float:
        """Share of failed requests."""
        return self.errors / self.rate if self.rate > 0 else 0.0


@dataclass(slots=True)
class Flow:
    """Figures by operation, by component and by call; of each feature the time in ms and the share that fails."""

    operations: dict[tuple[str, str], Figures] = field(default_factory=dict)
    components: dict[str, Figures] = field(default_factory=dict)
    calls: dict[tuple[str, str], Figures] = field(default_factory=dict)
    felt: list[tuple[float, float]] = field(default_factory=list)
    worked: dict[str, Figures] = field(default_factory=dict)


def flow(system: System, disturbances: Mapping[Place, Sequence[Disturbance]], load: float = 1.0) -> Flow:
    """What flows when these disturbances are in force at once; ``load`` multiplies the requests of users."""
    found = Flow()
    for feature in system.features:
        time, failed = _visit(found, feature.request, feature.rate * load, "", disturbances)
        found.felt.append((time, failed))
    for queue, rate, visit in system.background:
        time, failed = _visit(found, visit, rate * load, "", disturbances)
        found.worked.setdefault(queue, Figures()).add(rate * load, failed, time)
    return found


def _visit(
    found: Flow, visit: Visit, rate: float, caller: str, disturbances: Mapping[Place, Sequence[Disturbance]]
) -> tuple[float, float]:
    """Mean time in ms and share of failures, as the caller sees them before the network."""
    own, failed = visit.self_ms, 0.0
    more: dict[str, float] = {}
    for one in disturbances.get(visit.component, ()):
        if (one.operation and one.operation != visit.operation) or (one.caller and one.caller != caller):
            continue
        if one.gone:
            return _REFUSED_MS, 1.0
        own, failed = own * one.slow + one.add, _either(failed, one.fail)
        if one.more != 1.0:
            more[one.to] = more.get(one.to, 1.0) * one.more
    time = own
    for call in visit.calls:
        callee = call.to.component
        count = call.count * more.get(callee, 1.0)
        took, lost = _visit(found, call.to, rate * (1.0 - failed) * count, visit.component, disturbances)
        reason = REFUSED if lost >= 1.0 and took <= _REFUSED_MS else ERROR
        for one in disturbances.get((visit.component, callee), ()):
            took, lost = took + one.add, _either(lost, one.fail)
        if took > call.timeout_ms:
            took, lost, reason = call.timeout_ms, max(lost, 0.9), TIMEOUT
        edge = found.calls.setdefault((visit.component, callee), Figures())
        edge.add(rate * (1.0 - failed) * count, lost, took)
        if lost > 0.0:
            edge.reason = reason
        time += took * count
        failed = _either(failed, call.loss * lost)
    time = min(time, _LONGEST_MS)
    for figures in (
        found.operations.setdefault((visit.component, visit.operation), Figures()),
        found.components.setdefault(visit.component, Figures()),
    ):
        figures.add(rate, failed, time, own)
    return time, failed


def _either(a: float, b: float) -> float:
    return 1.0 - (1.0 - a) * (1.0 - b)
