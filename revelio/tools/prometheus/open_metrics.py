"""Metrics that no convention covers: a few queries on the server find the series furthest from their own past."""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from revelio.catalog.conventions import Profile
from revelio.catalog.conventions.rendering import SEPARATOR, quoted
from revelio.errors import SourceError
from revelio.support.telemetry import Workers
from revelio.tools.base import Scope
from revelio.tools.prometheus import promql
from revelio.tools.prometheus.answers import PromSeries
from revelio.tools.prometheus.open_series import OpenSeries, is_counter, label_of, where_of
from revelio.tools.prometheus.snapshot import AT_ONCE, Range
from revelio.types import Entity, Series

METRIC, KIND = "open.series", "open_series"
"""What the series are called in the evidence, and the kind of their entities."""

MOST_SERIES = 15_000
"""Series that are screened; the metrics with the fewest series come first."""

MOST_FOUND = 12
"""Series that one request gives."""

SIGMA = 6.0
"""How far a series has to lie from its own past: of many thousands some always lie far."""

KNOWN_S = 600.0
"""How long the list of metrics holds, in seconds."""

REQUESTS = 4
"""Requests that screen; two more read what was found, and as many again as gauges take find out which of them only grow."""

_GROWS = 4.0
"""What grows falls less often than every fourth time that it changes: only when its process starts again."""

_NAMES = 400
"""Metrics in one request."""

MOST_METRICS = REQUESTS * _NAMES // 2
"""Metrics that are screened."""

_FOUND, _MARK = "revelio_metric", "revelio_series"
_LEFT_OUT = (
    ".*_bucket|.*_created|.*_info|.*_timestamp_seconds|ALERTS.*|scrape_.*|up|prometheus_.*|promhttp_.*"
    "|process_.*|go_.*|python_gc_.*|nodejs_gc_.*|net_conntrack_.*|node_(memory|sockstat|netstat|softnet|schedstat|timex)_.*"
    "|.*_(exporter|collector)_.*|.*_scrape_(.*_)?(duration|error|collector).*"
)

log = logging.getLogger(__name__)

Instant = Callable[[str, float], list[tuple[dict[str, str], float]]]
"""Asks for the vector of a query at a moment."""


class OpenMetrics:
    """The open metrics of one Prometheus. Safe to share between threads."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self._known: tuple[float, tuple[str, ...]] = (-math.inf, ())
        self._grow: frozenset[str] = frozenset()
        self.note = ""
        self._lock = threading.Lock()

    def knowing(self, profile: Profile) -> Profile:
        """The profile with the metrics that were seen to only grow."""
        return replace(profile, counters=profile.counters | self._grow) if self._grow else profile

    def read(self, instant: Instant, ask: Range, profile: Profile, step_s: float, scope: Scope) -> tuple[Series, ...]:
        """The series that left their own past; empty, with a ``note``, where the server refuses or is too slow."""
        try:
            names = self._names(instant, profile, scope)
            profile = self.knowing(profile)
            found = _screened(instant, names, profile, scope)
        except SourceError as error:
            self.note = f"metrics that no convention covers are not screened: {error.reason}"
            log.info("%s", self.note)
            return ()
        label = label_of(profile)
        wanted = dict.fromkeys(OpenSeries(profile.identity.component(label, value), metric) for metric, value in found)
        return reread(ask, list(wanted)[:MOST_FOUND], profile, step_s, scope)

    def _names(self, instant: Instant, profile: Profile, scope: Scope) -> tuple[str, ...]:
        at = scope.window.end
        with self._lock:
            since, names = self._known
            if time.monotonic() - since < KNOWN_S:
                return names
            watchers = f'job!~"{quoted("|".join(profile.monitors))}"' if profile.monitors else ""
            matchers = ",".join(m for m in (where_of(profile), watchers, f'__name__!~"{_LEFT_OUT}",__name__=~".+"') if m)
            try:
                counted = instant(f"count by (__name__) ({{{matchers}}})", at)
            except SourceError:
                self._known = (time.monotonic(), ())  # not asked again for a while: it is too big
                raise
            followed = (profile.known[use.convention] for use in profile.uses if use.convention in profile.known)
            covered = {metric for convention in followed for metric in convention.metrics}
            chosen, total, left, large = list[str](), 0.0, 0, 0
            for count, name in sorted((count, labels.get("__name__", "")) for labels, count in counted):
                if not re.fullmatch(r"[a-zA-Z_]\w*", name) or name in covered:
                    continue
                if len(chosen) >= MOST_METRICS:
                    left += 1
                    continue
                if total + count > MOST_SERIES:
                    large += 1
                    continue
                total += count
                chosen.append(name)
            self.note = "; ".join(_left_out(left, large))
            self._grow |= _growing(instant, [n for n in chosen if not is_counter(n, profile)], profile, scope)
            self._known = (time.monotonic(), tuple(chosen))
            return self._known[1]


def _growing(instant: Instant, names: Sequence[str], profile: Profile, scope: Scope) -> frozenset[str]:
    """Metrics that only grew before the window: counters whose names do not say it, such as those of MySQL and nginx."""
    found: set[str] = set()
    for i in range(0, len(names), _NAMES):
        where = ",".join(m for m in (where_of(profile), f'__name__=~"{quoted("|".join(names[i : i + _NAMES]))}"') if m)
        value = f'label_replace({{{where}}}, "{_FOUND}", "$1", "__name__", "(.+)")'
        past = f"[{scope.baseline.seconds:.0f}s:{max(60.0, scope.baseline.seconds / 30):.0f}s] offset {scope.window.seconds:.0f}s"
        falls, changes = (f"sum by ({_FOUND}) ({of}({value}{past}))" for of in ("resets", "changes"))
        try:
            told = instant(f"{changes} > {_GROWS:g} and {changes} > {_GROWS:g} * {falls}", scope.window.end)
        except SourceError as error:  # too slow: they are screened as gauges
            log.info("which metrics grow is not known: %s", error.reason)
            continue
        found |= {labels.get(_FOUND, "") for labels, _ in told}
    return frozenset(found)


def _left_out(metrics: int, large: int) -> Iterator[str]:
    """Why metrics are not screened: there are too many of them, or they have too many series."""
    if metrics:
        yield f"{metrics:,} metrics are not screened: at most {MOST_METRICS:,} are, those with the fewest series first"
    if large:
        yield f"{large:,} metrics are not screened: all together have more than {MOST_SERIES:,} series"


def _screened(instant: Instant, names: Sequence[str], profile: Profile, scope: Scope) -> tuple[tuple[str, str], ...]:
    """Metric and value of the label of the series that lie furthest from their own past, the furthest first."""
    counters = [n for n in names if is_counter(n, profile)]
    gauges = [n for n in names if not is_counter(n, profile)]
    parts = [(some[i : i + _NAMES], some is counters) for some in (gauges, counters) for i in range(0, len(some), _NAMES)]
    label = label_of(profile)
    texts = [_screen(part, counter, label, profile, scope) for part, counter in parts[:REQUESTS]]
    if not texts:
        return ()
    with Workers(max_workers=AT_ONCE) as pool:
        rows = [row for found in pool.map(lambda text: instant(text, scope.window.end), texts) for row in found]
    ordered = sorted(rows, key=lambda row: -row[1] if math.isfinite(row[1]) else -1e9)
    return tuple((labels[_FOUND], labels[label]) for labels, _ in ordered[:MOST_FOUND] if _FOUND in labels and labels.get(label))


def _screen(names: Sequence[str], counter: bool, label: str, profile: Profile, scope: Scope) -> str:
    where = ",".join(m for m in (where_of(profile), f'__name__=~"{quoted("|".join(names))}"') if m)
    joined = "sum" if counter else "avg"
    value = f'label_replace({joined} by (__name__, {label}) ({{{where}}}), "{_FOUND}", "$1", "__name__", "(.+)")'
    window, baseline = max(60.0, scope.window.seconds), scope.baseline.seconds
    points = 2 if counter else 4  # a rate needs no more, and each point is a look at every series
    near = f"{window:.0f}s:{window / points:.0f}s"
    if counter:
        now, past = f"rate({value}[{near}])", f"rate({value}[{near}])[{baseline:.0f}s:{baseline / 6:.0f}s] offset {window:.0f}s"
    else:
        now, past = f"avg_over_time({value}[{near}])", f"{value}[{baseline:.0f}s:{baseline / 8:.0f}s] offset {window:.0f}s"
    usual, spread = f"avg_over_time({past})", f"stddev_over_time({past})"
    return f"topk({MOST_FOUND}, abs({now} - {usual}) / ({spread} + 0.05 * (abs({usual}) + abs({now}))) > {SIGMA:g})"


def reread(ask: Range, parts: Sequence[OpenSeries], profile: Profile, step_s: float, scope: Scope) -> tuple[Series, ...]:
    """Some open series, with one request; ``SourceError`` when it fails."""
    if not parts:
        return ()
    text = " or ".join(
        f'label_replace({promql.open_series(one, scope, profile, step_s)}, "{_MARK}", "{i}", "", "")'
        for i, one in enumerate(parts)
    )
    return tuple(_merged(parts, ask(text)))


def _merged(parts: Sequence[OpenSeries], answers: Iterable[PromSeries]) -> Iterable[Series]:
    """Of several names of a component the one with most points."""
    best: dict[int, PromSeries] = {}
    for answer in answers:
        index = int(answer.labels.get(_MARK, "-1"))
        if answer.times and len(answer.times) > len(best[index].times if index in best else ()):
            best[index] = answer
    for index, answer in sorted(best.items()):
        one = parts[index]
        yield Series(Entity(KIND, f"{one.component}{SEPARATOR}{one.metric}"), METRIC, "", answer.times, answer.values)
