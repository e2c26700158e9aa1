"""Reads every signal of a profile at once: some signals in each request, and one by one where a backend refuses that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from revelio.catalog import Metric
from revelio.catalog.conventions import Profile, Rule, Signal, Use, signals
from revelio.catalog.conventions.rendering import SEPARATOR, entity_labels, overview
from revelio.errors import SourceError
from revelio.support.telemetry import Workers
from revelio.tools.base import Scope
from revelio.tools.prometheus import promql
from revelio.tools.prometheus.answers import PromSeries
from revelio.types import Entity, Query, QueryTemplate, Series

REQUESTS = 12
"""About how many requests a snapshot takes, however many signals there are."""

AT_ONCE = 4
_SIGNAL = "revelio_reading"

Range = Callable[[str], list[PromSeries]]
"""Asks for the series of a query over baseline and window."""


@dataclass(frozen=True, slots=True)
class SnapshotQuery:
    """One query of a snapshot: what it gives and, for a signal, by which rule."""

    metric: str
    entity: str
    unit: str
    text: str
    labels: tuple[str, ...]
    merge: str = "max"


def readings(profile: Profile, own: Iterable[Metric], scope: Scope, step_s: float) -> list[SnapshotQuery]:
    """What a snapshot asks: the signals of the profile, and the metrics of one's own catalog that bring a query."""
    found = [
        _reading(profile, signals()[name], use, rule, scope, step_s)
        for name, pairs in profile.rules.items()
        for use, rule in pairs
    ]
    return found + [
        SnapshotQuery(m.name, m.entity, m.unit, promql.filled(_query(m.name, m.query), scope), (m.label,)) for m in own if m.query
    ]


def read(
    ask: Range, wanted: Sequence[SnapshotQuery], profile: Profile, requests: int = REQUESTS
) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """The series of all readings, and sentences on those that are left out; ``SourceError`` when none of them can be had.

    Of an entity the first convention holds.
    """
    answered = _asked(lambda some: _patiently(ask, some), wanted, requests)
    failed = {reading.metric: answer for reading, answer in answered if isinstance(answer, SourceError)}
    if answered and all(isinstance(answer, SourceError) for _, answer in answered):
        raise next(iter(failed.values()))
    reasons: dict[str, list[str]] = {}
    for metric, error in failed.items():
        reasons.setdefault(error.reason, []).append(metric)
    told = tuple(f"{', '.join(metrics)}: left out, because it {reason}" for reason, metrics in reasons.items())
    return _series(answered, profile), told


def zero_filled(series: Sequence[Series]) -> tuple[Series, ...]:
    """The series with zeros where a count that was not there was none: as far as anything else of their entity was measured."""
    grids: dict[str, set[float]] = {}
    for one in series:
        grids.setdefault(_component(one.entity), set()).update(one.times)
    every = set[float]().union(*grids.values())
    return tuple(_filled(one, grids, every) for one in series)


def _filled(one: Series, grids: Mapping[str, set[float]], every: set[float]) -> Series:
    if one.metric not in signals() or not signals()[one.metric].absent_is_zero:
        return one
    grid = grids[_component(one.entity)]
    known = dict(zip(one.times, one.values, strict=True))
    if len(grid) == len(known):  # nothing else tells since when it was measured
        grid = every
    times = tuple(sorted(grid))
    return replace(one, times=times, values=tuple(known.get(t, 0.0) for t in times))


def _component(entity: Entity) -> str:
    return entity.name.partition("->")[0].partition(SEPARATOR)[0]


def reread(ask: Range, wanted: Sequence[SnapshotQuery], profile: Profile, requests: int) -> tuple[Series, ...]:
    """The series of readings that gave data before, at another time; ``SourceError`` when one of the requests fails."""
    return _series(_asked(lambda some: _together(ask, some), wanted, requests), profile)


_Answered = list[tuple[SnapshotQuery, list[PromSeries] | SourceError]]


def _asked(ask: Callable[[Sequence[SnapshotQuery]], _Answered], wanted: Sequence[SnapshotQuery], requests: int) -> _Answered:
    """All readings, some in each request."""
    size = max(1, math.ceil(len(wanted) / requests))
    parts = [wanted[i : i + size] for i in range(0, len(wanted), size)]
    with Workers(max_workers=AT_ONCE) as pool:
        return [pair for part in pool.map(ask, parts) for pair in part]


def _series(answered: _Answered, profile: Profile) -> tuple[Series, ...]:
    found: dict[tuple[str, Entity], Series] = {}
    for reading, answer in answered:
        if isinstance(answer, SourceError):
            continue
        for entity, times, values in _by_entity(reading, answer, profile):
            found.setdefault((reading.metric, entity), Series(entity, reading.metric, reading.unit, times, values))
    return tuple(found.values())


def _reading(profile: Profile, signal: Signal, use: Use, rule: Rule, scope: Scope, step_s: float) -> SnapshotQuery:
    text = promql.filled(_query(signal.name, overview(profile, use, rule, step_s)), scope)
    return SnapshotQuery(signal.name, signal.entity, signal.unit, text, entity_labels(use, rule), signal.merge)


def _query(name: str, text: str) -> Query:
    return Query(QueryTemplate(name, "prometheus", name, "", text))


def _patiently(ask: Range, some: Sequence[SnapshotQuery]) -> _Answered:
    if len(some) > 1:
        try:
            return _together(ask, some)
        except SourceError:
            pass  # which of them it is shows when each is asked alone
    return [(reading, _alone(ask, reading)) for reading in some]


def _together(ask: Range, some: Sequence[SnapshotQuery]) -> _Answered:
    marked = " or ".join(f'label_replace({r.text}, "{_SIGNAL}", "{i}", "", "")' for i, r in enumerate(some))
    answers = ask(marked)
    return [(r, [a for a in answers if a.labels.get(_SIGNAL) == str(i)]) for i, r in enumerate(some)]


def _alone(ask: Range, reading: SnapshotQuery) -> list[PromSeries] | SourceError:
    try:
        return ask(reading.text)
    except SourceError as error:
        return error


def _by_entity(
    reading: SnapshotQuery, answers: Iterable[PromSeries], profile: Profile
) -> Iterable[tuple[Entity, tuple[float, ...], tuple[float, ...]]]:
    """The answers by the entity that their labels name; several names of one entity are merged."""
    named: dict[str, list[PromSeries]] = {}
    for answer in answers:
        parts = [profile.identity.component(label, answer.labels.get(label, "")) for label in reading.labels]
        if answer.times and all(parts):
            named.setdefault(("->" if reading.entity == "edge" else SEPARATOR).join(parts), []).append(answer)
    for name, some in named.items():
        entity = Entity(reading.entity, name)
        if len(some) == 1:
            yield entity, some[0].times, some[0].values
        else:
            points: dict[float, list[float]] = {}
            for answer in some:
                for at, value in zip(answer.times, answer.values, strict=True):
                    points.setdefault(at, []).append(value)
            joined = sum if reading.merge == "sum" else max
            times = tuple(sorted(points))
            yield entity, times, tuple(float(joined(points[at])) for at in times)
