"""Requests, errors and latency under an application's own names: found by their shape, not by what they are called.

A counter whose name speaks of requests, a histogram or summary of how long they take, labels with few values that look like
status codes, methods and routes. What is found is a convention like any other, made for one prefix.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from revelio.catalog.conventions import Convention, Label, Rule, conventions
from revelio.errors import SourceError

PREFIX = "own-"
"""What the names of such conventions begin with."""

MOST_FAMILIES, MOST_SERIES = 12, 400
"""Families of metrics, and series of them, that are looked at."""

_REQUESTS = re.compile(r"(?:^|_)(?:http|https|api|web|rest|rpc|route|endpoint|handler|server)?_?(?:requests?|calls?|hits)(?:_|$)")
_TIMES = re.compile(r"(?:latency|duration|response_time|request_time|elapsed|processing_time|_seconds|_milliseconds|_ms)")
_ERRORS = re.compile(r"(?:errors?|failures?|failed|exceptions?)(?:_total)?$")
_NOT_SERVED = re.compile(r"client|outgoing|outbound|upstream|downstream|external|egress|in_flight|inflight|active|_size|_bytes")
_OTHERS = re.compile(
    r"(go|process|python|nodejs|jvm|node|container|machine|kube|kubelet|apiserver|etcd|prometheus|promhttp|net_conntrack|scrape"
    r"|redis|pg|postgres|mysql|mongodb|memcached|rabbitmq|kafka|elasticsearch|nginx|haproxy|traefik|envoy|istio|probe|loki|tempo"
    r"|jaeger|alertmanager|grafana|thanos|cortex|otelcol|promtail|pushgateway|windows|coredns|cadvisor|net)_.*"
)
"""Metrics of exporters, runtimes and the monitoring itself, which have conventions or are no application's."""

_PART = re.compile(r"_(?:bucket|count|sum|total)$")
_STATUS = re.compile(r"[1-5](?:\d\d|xx|XX)")
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})
_ROUTES = re.compile(r"route|path|endpoint|handler|uri|url|operation|view|action|method")
_ALIKE = 0.5
"""Counters of the same requests differ by no more than this share of the largest."""

_SAME = 0.05
"""By what share two counters of the same events differ at most."""

_FEW = 12
"""Values that a label of status codes or methods has at most."""

Vector = list[tuple[dict[str, str], float]]
Query = Callable[[str], Vector]
"""Asks for the vector of a query; raises ``SourceError``."""


@dataclass(frozen=True, slots=True)
class Family:
    """The metrics of one base name: a counter, or a histogram or summary with its parts."""

    base: str
    parts: frozenset[str]

    @property
    def counted(self) -> str:
        """The counter of its events."""
        return f"{self.base}_count" if "count" in self.parts else f"{self.base}_total" if "total" in self.parts else self.base

    @property
    def timed(self) -> bool:
        """Whether it says how long things take."""
        return {"count", "sum"} <= self.parts


def own_conventions(names: Iterable[str], query: Query) -> tuple[Convention, ...]:
    """The conventions that an application's own metrics make, with at most three requests; empty where there are none."""
    families = _families(names)
    if not families:
        return ()
    try:
        counted = "|".join(f.counted for f in families)
        rows = query(f'topk({MOST_SERIES}, {{__name__=~"{counted}"}})')
        scales = _scales([f for f in families if f.timed], query)
    except SourceError:
        return ()
    series: dict[str, Vector] = defaultdict(list)
    for labels, value in rows:
        series[labels.get("__name__", "")].append((labels, value))
    by_prefix: dict[str, list[Family]] = defaultdict(list)
    for family in families:
        by_prefix[family.base.partition("_")[0]].append(family)
    return tuple(c for prefix, some in by_prefix.items() if (c := _convention(prefix, some, series, scales)) is not None)


def _families(names: Iterable[str]) -> list[Family]:
    covered = {m for c in conventions().values() for m in c.metrics}
    parts: dict[str, set[str]] = defaultdict(set)
    for name in sorted(set(names) - covered):
        part = _PART.search(name)
        base = name[: part.start()] if part else name
        if _OTHERS.fullmatch(name) or _NOT_SERVED.search(base) or not re.fullmatch(r"[a-zA-Z]\w*", name):
            continue
        if _REQUESTS.search(base) or _TIMES.search(base):
            parts[base].add(part[0][1:] if part else "")
    found = [Family(base, frozenset(of)) for base, of in parts.items()]
    return [f for f in found if f.timed or "total" in f.parts][:MOST_FAMILIES]


def _scales(families: Sequence[Family], query: Query) -> dict[str, float]:
    """By how much the values of each family are divided to be seconds: as its name says, else as its buckets look."""
    found = {f.base: scale for f in families if (scale := _named_scale(f.base))}
    unsure = [f.base for f in families if f.base not in found and "bucket" in f.parts]
    if unsure:
        buckets = "|".join(f"{base}_bucket" for base in unsure)
        largest: dict[str, float] = {}
        for labels, _ in query(f'count by (__name__, le) ({{__name__=~"{buckets}",le!="+Inf"}})'):
            base = labels.get("__name__", "").removesuffix("_bucket")
            largest[base] = max(largest.get(base, 0.0), _number(labels.get("le", "")))
        found |= {base: 1000.0 if bound > _SECONDS else 1.0 for base, bound in largest.items()}
    return found


_SECONDS = 130.0
"""The largest bucket of a histogram in seconds; one in milliseconds reaches further."""


def _named_scale(base: str) -> float:
    if re.search(r"_(?:milliseconds|millis|ms)(?:_|$)", base):
        return 1e3
    if re.search(r"_(?:microseconds|us)(?:_|$)", base):
        return 1e6
    return 1.0 if re.search(r"_(?:seconds|s)(?:_|$)", base) else 0.0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the labels of a counter look like: the one with status codes, and those that tell kinds of requests apart."""

    status: str
    kinds: tuple[str, ...]


def _shape(rows: Vector) -> _Shape:
    values: dict[str, set[str]] = defaultdict(set)
    for labels, _ in rows:
        for name, value in labels.items():
            values[name].add(value)
    few = {name: held for name, held in values.items() if name != "__name__" and len(held) <= _FEW}
    status = next((name for name, held in few.items() if all(map(_STATUS.fullmatch, held))), "")
    methods = [name for name, held in few.items() if held <= _METHODS]
    routes = [name for name in values if name not in methods and name != status and _ROUTES.search(name)]
    return _Shape(status, tuple([*methods, *routes][:3]))


def _convention(
    prefix: str, families: Sequence[Family], series: Mapping[str, Vector], scales: Mapping[str, float]
) -> Convention | None:
    served = [f for f in families if series.get(f.counted) and _REQUESTS.search(f.base) and not _ERRORS.search(f.base)]
    timed = [f for f in families if f.timed and scales.get(f.base) and series.get(f.counted) and _TIMES.search(f.base)]
    shapes = {f.base: _shape(series[f.counted]) for f in {*served, *timed}}
    if not served and not any(_like_requests(shapes[f.base]) for f in timed):
        return None
    totals = {f.base: sum(value for _, value in series[f.counted]) for f in {*served, *timed}}
    enough = _ALIKE * max(totals.values())
    users = [f for f in (*served, *timed) if totals[f.base] >= enough]  # not those of an admin page beside them
    requests = max(users, key=lambda f: (bool(shapes[f.base].status), f in served, totals[f.base]))
    failing = next((f for f in families if _ERRORS.search(f.base) and _part_of(f, requests, series)), None)
    named = {f.base for f in timed if _like_requests(shapes[f.base]) or _REQUESTS.search(f.base)}
    slow = [f for f in users if f in timed and (f.base in named or _as_many(f, requests, totals))]
    latency = max(slow, key=lambda f: (f == requests, bool(_REQUESTS.search(f.base))), default=None)
    rules = [Rule("request_rate", _rate(requests.counted))]
    rules += _error_rules(requests, shapes[requests.base], failing)
    rules += _latency_rules(latency, shapes[latency.base], scales[latency.base]) if latency else []
    title = f"Requests under the application's own names (`{requests.counted}`)"
    return Convention(f"{PREFIX}{prefix}", title, (Label("service"), Label("app"), Label("job")), tuple(rules), "documentation")


def _as_many(timed: Family, requests: Family, totals: Mapping[str, float]) -> bool:
    """Whether as many were timed as requests were counted, give or take one scrape."""
    return abs(totals[timed.base] - totals[requests.base]) <= _SAME * totals[requests.base]


def _like_requests(shape: _Shape) -> bool:
    return bool(shape.status or shape.kinds)


def _part_of(errors: Family, requests: Family, series: Mapping[str, Vector]) -> bool:
    """Whether errors can be some of the requests: there are not more of them."""
    some, every = (sum(value for _, value in series.get(f.counted, ())) for f in (errors, requests))
    return bool(series.get(errors.counted)) and some <= every


def _rate(metric: str, more: str = "", by: str = "") -> str:
    return f"sum by (${{of}}{by}) (rate({metric}{{${{where}}{more}}}[${{rate_interval}}]))"


def _error_rules(requests: Family, shape: _Shape, failing: Family | None) -> Iterator[Rule]:
    by = "".join(f", {name}" for name in (*shape.kinds, shape.status) if name)
    none = f"or 0 * {_rate(requests.counted)}"
    if shape.status:
        failed = f',{shape.status}=~"5..|5XX"'
        yield Rule(
            "error_rate",
            f"{_rate(requests.counted, failed)} {none}",
            views=(("route", _rate(requests.counted, failed, by)),) if by else (),
        )
    elif failing is not None:
        yield Rule("error_rate", f"{_rate(failing.counted)} {none}")


def _latency_rules(family: Family, shape: _Shape, scale: float) -> Iterator[Rule]:
    def scaled(text: str) -> str:
        return text if scale == 1.0 else f"({text}) / {scale:g}"

    base, by = family.base, "".join(f", {name}" for name in shape.kinds)
    if "bucket" in family.parts:

        def quantile(by: str) -> str:
            return scaled(f"histogram_quantile(0.95, {_rate(f'{base}_bucket', by=by + ', le')})")

        yield Rule("latency_p95", quantile(""), views=(("route", quantile(by)),) if by else ())
    elif "" in family.parts:
        yield Rule("latency_p95", scaled(f'max by (${{of}}) ({base}{{${{where}},quantile=~"0.9|0.95|0.99"}})'))
    yield Rule("latency_mean", scaled(f"{_rate(f'{base}_sum')} / ({_rate(f'{base}_count')} > 0)"))
