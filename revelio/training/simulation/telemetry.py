"""What is measured of a simulated system: the evidence, from what flows through it and what goes wrong there."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revelio.training.simulation.dialect import Dialect, Measure
from revelio.training.simulation.faults import Fault
from revelio.training.simulation.flow import Flow
from revelio.training.simulation.places import Watched
from revelio.types import Entity, Feature, Series, SpanFigures, SpanStat, Window

Doubles = NDArray[np.float64]
_IN_SECONDS = 1e-3
_COUNTED = frozenset({"", "conditions", "alarms", "pods", "consumers", "generations", "versions", "days"})
"""Units of figures that change by whole steps only."""
_SET = frozenset({"cpu_limit", "uptime", "host_uptime", "quota_used", "autoscaler_at_max", "certificate_expiry"})
"""Figures that do not vary by themselves."""
_STEADY = frozenset(
    {"memory", "memory_of_limit", "host_memory", "disk_used", "inodes_used", "volume_claim_used", "db_size", "cache_memory"}
    | {"cache_memory_of_limit", "broker_disk_free", "search_disk", "host_fds", "open_fds", "fds_of_limit"}
)
"""Figures that hardly vary."""


@dataclass(slots=True)
class Figure:
    """One measure of one entity: its usual value, that under the faults, and which fault it follows (-1: all)."""

    watched: Watched
    measure: Measure
    before: float
    now: float
    follows: int = -1


def usual(measure: Measure, rng: random.Random) -> float:
    """The value of a figure that does not follow from requests, while all is well."""
    if measure.presence:
        return 1.0 if measure.direction == "down" else 0.0
    if measure.unit in ("", "conditions"):
        return 0.0
    if measure.zero or measure.name in ("clock_offset", "host_clock_offset"):
        return 0.0 if rng.random() < 0.9 else measure.floor * rng.uniform(0.5, 3.0)
    if measure.name.endswith(("_lag", "_drops", "_backlog")):
        return measure.floor * rng.uniform(0.0, 0.5)
    if measure.unit.startswith("of ") or measure.unit == "per core":
        return rng.uniform(0.75, 0.98) if measure.direction == "down" else rng.uniform(0.03, 0.6)
    if measure.unit == "days":
        return rng.uniform(20.0, 300.0)
    if measure.name.endswith("uptime"):
        return float(10 ** rng.uniform(4.0, 6.5))
    if measure.unit in ("pods", "consumers", "versions", "generations"):
        return float(rng.choice((1, 1, 2, 3, 4)))
    return float(measure.floor * rng.lognormvariate(1.6, 0.9))


def flowing(watched: Watched, of: Flow, tail: float) -> dict[str, float]:
    """Figures of an entity that follow from requests, by name; ``tail`` is how far the 95th percentile is above the mean."""
    figures = of.calls.get(watched.edge) if watched.edge else of.components.get(watched.owners[0]) if watched.owners else None
    if figures is None:
        return {}
    rate, errors, mean = figures.rate, figures.errors, figures.mean_ms * _IN_SECONDS
    kind = watched.entity.kind
    if kind == "edge":
        return {"edge_rate": rate, "edge_error_rate": errors, "edge_latency_p95": mean * tail, "tcp_first_byte_p95": mean * tail}
    if kind in ("service", "backend", "worker", "probe"):
        return {
            **dict.fromkeys(("request_rate", "rpc_rate", "backend_rate", "handling_rate"), rate),
            **dict.fromkeys(("error_rate", "rpc_error_rate", "backend_error_rate", "handling_failures"), errors),
            **dict.fromkeys(("latency_p95", "rpc_latency_p95", "handling_p95"), mean * tail),
            **dict.fromkeys(("latency_mean", "backend_latency", "probe_duration"), mean),
            "requests_in_flight": rate * mean,
            "log_errors": errors,
        }
    if kind in ("database", "cache", "search_cluster", "redis_server"):
        own = figures.self_ms * _IN_SECONDS
        return {
            **dict.fromkeys(("db_transactions", "cache_commands", "redis_commands"), rate),
            **dict.fromkeys(("db_latency", "search_latency"), own),
        }
    return {}


_WITH_LOAD = {"cpu": 0.7, "cpu_of_limit": 0.7, "network_in": 1.0, "network_out": 1.0, "flow_bytes": 1.0, "db_call_rate": 1.0}
_WITH_WAITING = {"pool_used": 0.5, "db_sessions": 0.3, "db_active": 0.5, "runtime_threads": 0.15, "pg_sessions_active": 0.3}


def following(watched: Watched, measure: Measure, before: float, healthy: Flow, shown: Flow) -> float:
    """A resource's figure under the load and the waiting that faults elsewhere bring."""
    if not watched.owners or (measure.name not in _WITH_LOAD and measure.name not in _WITH_WAITING):
        return before
    a, b = healthy.components.get(watched.owners[0]), shown.components.get(watched.owners[0])
    if a is None or a.rate <= 0:
        return before
    rate = b.rate / a.rate if b else 0.0
    if share := _WITH_LOAD.get(measure.name, 0.0):
        return before * (1.0 - share + share * rate)
    if (share := _WITH_WAITING.get(measure.name, 0.0)) and b is not None and a.mean_ms > 0:
        crowd = min(20.0, max(1.0, rate * b.mean_ms / a.mean_ms))
        value = before * (1.0 + share * (crowd - 1.0))
        return min(1.0, value) if measure.unit.startswith("of ") else value
    return before


def courses(faults: Sequence[Fault], now: int, rng: np.random.Generator) -> Doubles:
    """``[faults + 1, now]``: how far each fault is in force at each sample of the window; the last row has any of them."""
    at = (np.arange(now) + 0.5) / now
    rows = []
    for fault in faults:
        begun = at >= fault.onset
        row = begun.astype(float)
        if fault.mechanism.shape == "growing":
            row = np.clip((at - fault.onset) / max(1e-6, 1.0 - fault.onset), 0.0, 1.0) * begun
        elif fault.mechanism.shape == "now_and_then":
            row = begun * (np.repeat(rng.random(now // 3 + 1), 3)[:now] < 0.6)
            row = row if row.any() else begun.astype(float)
        rows.append(row)
    return np.array([*rows, np.max([np.zeros(now), *rows], axis=0)])


def series(
    figures: Sequence[Figure], course: Doubles, dialect: Dialect, window: Window, baseline: Window, rng: np.random.Generator
) -> tuple[Series, ...]:
    """A series of each figure, with its noise."""
    if not figures:
        return ()
    size, total = len(figures), dialect.before + dialect.now
    before = np.array([f.before for f in figures])[:, None]
    now = np.array([f.now for f in figures])[:, None]
    floor = np.array([f.measure.floor for f in figures])[:, None]
    follows = np.array([f.follows for f in figures])
    force = np.concatenate([np.zeros((size, dialect.before)), course[follows]], axis=1)
    steady = np.array([f.measure.name in _STEADY for f in figures])[:, None]
    rough = dialect.rough * rng.lognormal(0.0, 0.6, (size, 1)) * np.where(steady, 0.1, 1.0)
    restless = (rng.random((size, 1)) < dialect.unrest) & ~steady
    drift = np.where(restless, rng.normal(0.0, 0.5, (size, 1)), 0.0)
    lucky = rng.random((size, 1)) < 0.6  # without a known noise floor the slightest figure of an idle one would be huge
    calm = np.where(dialect.foreign, before <= floor, (before <= 0.0) & lucky)
    spike = np.where(restless & ~calm & (rng.random((size, 1)) < 0.5), floor * rng.lognormal(1.0, 1.0, (size, 1)), 0.0)
    later = np.concatenate([np.zeros(dialect.before), np.ones(dialect.now)])[None]
    exact = np.array([f.measure.presence or f.measure.unit in _COUNTED or f.measure.name in _SET for f in figures])[:, None]
    idle = before <= 0.0
    level = before + (now - before) * force
    noisy = level * (1.0 + rough * rng.standard_normal((size, total))) * np.exp(drift * later)
    jitter = np.where(idle | steady | (dialect.rough <= 0.05), 0.0, 0.25 * floor)
    noisy += jitter * rng.standard_normal((size, total)) + spike * later
    values = np.where(exact, level, noisy)
    share = np.array([f.measure.unit.startswith("of ") for f in figures])[:, None]
    signed = np.array([f.measure.name.endswith("offset") or f.measure.unit == "days" for f in figures])[:, None]
    values = np.where(signed, values, np.maximum(values, 0.0))
    values = np.where(share, np.minimum(values, 1.0), values)
    clock = (*np.linspace(baseline.start, baseline.end, dialect.before, endpoint=False).tolist(),)
    clock += (*np.linspace(window.start, window.end, dialect.now, endpoint=False).tolist(),)
    return tuple(
        Series(f.watched.entity, f.measure.called, f.measure.unit, clock, tuple(row))
        for f, row in zip(figures, values.tolist(), strict=True)
    )


def summaries(some: Sequence[Series], dialect: Dialect) -> tuple[Feature, ...]:
    """Ready-made figures in place of series, with the usual value or without."""
    found = []
    for one in some:
        past, present = one.values[: dialect.before], sorted(one.values[dialect.before :])
        half = len(present) // 2
        middle = sorted(past)[len(past) // 2]
        high, low = sum(present[half:]) / len(present[half:]), sum(present[:half]) / max(1, half)
        value = high if high - middle >= middle - low else low
        found.append(Feature(one.entity, one.metric, value, middle if dialect.with_baseline else None))
    return tuple(found)


def spans(
    watched: Sequence[Watched], healthy: Flow, shown: Flow, course: Doubles, dialect: Dialect, rng: np.random.Generator
) -> Iterator[SpanStat]:
    """Figures of operations and calls, now and before."""
    force = float(course[-1].mean()) if course.size else 0.0
    seconds, past = dialect.step * dialect.now, dialect.step * dialect.before
    for one in watched:
        if one.edge:
            before, now = healthy.calls.get(one.edge), shown.calls.get(one.edge)
            service = one.edge[0]
        elif one.operation:
            before, now = healthy.operations.get(one.operation), shown.operations.get(one.operation)
            service = one.operation[0]
        else:
            continue
        if before is None:
            continue
        rate = before.rate if now is None else before.rate * (1.0 - force) + now.rate * force
        rate = rate if now is not None else before.rate * (1.0 - force)
        failed = (now.errors * force / rate if now is not None and rate > 0 else 0.0) + before.failed * (1.0 - force)
        mean = before.mean_ms if now is None else now.mean_ms
        own = before.self_ms if now is None else now.self_ms
        tail = 1.5 + 1.5 * rng.random()
        figures = []
        for much, lost, time, self_ms, length in (
            (rate, failed, mean, own, seconds),
            (before.rate, before.failed, before.mean_ms, before.self_ms, past),
        ):
            count = int(rng.poisson(min(1e6, much * length * dialect.sampling)))
            if not count:
                figures.append(SpanFigures())
                continue
            part = force if time > 1.5 * before.mean_ms else 1.0
            median = time if part > 0.5 else before.mean_ms
            spread = np.exp(min(0.4, 1.5 / np.sqrt(count)) * rng.standard_normal(3))
            figures.append(
                SpanFigures(
                    count,
                    int(rng.binomial(count, min(1.0, max(0.0, lost)))),
                    round(median * 0.8 * float(spread[0]), 3),
                    round((time if part > 0.05 else before.mean_ms) * tail * float(spread[1]), 3),
                    round((self_ms * part + before.self_ms * (1.0 - part)) * float(spread[2]), 3),
                )
            )
        yield SpanStat(one.entity, service, figures[0], figures[1])


def entities(watched: Sequence[Watched], more: Sequence[Entity]) -> tuple[Entity, ...]:
    """Everything that can be asked about, in order."""
    return tuple(sorted({*(w.entity for w in watched), *more}))


def with_first_errors(some: Sequence[SpanStat], at: float) -> tuple[SpanStat, ...]:
    """Spans with the time of their first error where there is one."""
    return tuple(replace(s, first_error_at=at) if s.now.errors else s for s in some)


def measured(
    watched: Sequence[Watched],
    dialect: Dialect,
    faults: Sequence[Fault],
    healthy: Flow,
    shown: Flow,
    rng: random.Random,
) -> list[Figure]:
    """All figures of all entities. The draws are the same whatever the faults are."""
    found = []
    for one in watched:
        tail = rng.uniform(1.4, 3.0)
        before, after = flowing(one, healthy, tail), flowing(one, shown, tail)
        for measure in dialect.measures.get(one.entity.kind, ()):
            if not one.has(measure.name):
                continue
            base = usual(measure, rng)
            if measure.name in before:
                figure = Figure(one, measure, before[measure.name], after.get(measure.name, 0.0))
            else:
                figure = Figure(one, measure, base, following(one, measure, base, healthy, shown))
            for number, fault in enumerate(faults):
                effect = fault.mechanism.figures.get(measure.name)
                if effect is not None and one.belongs_to(fault, measure.name):
                    part = fault.parts[measure.name]
                    figure.now = effect.value(figure.now, measure.floor, part)
                    figure.follows = number
            found.append(figure)
    return found
