"""Asks a Prometheus what it holds, with a few requests whatever its size, and makes a profile of the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Protocol

from revelio.catalog.conventions import Convention, Profile, Rule, Use, conventions, signals
from revelio.errors import SourceError
from revelio.settings.profile import ProfileSettings
from revelio.support.clock_skew import disagreement
from revelio.tools.discovery.cadence import cadence
from revelio.tools.discovery.labels import SYSTEM_LABELS, Census, narrow
from revelio.tools.discovery.own_metrics import own_conventions
from revelio.tools.discovery.uses import uses_of

LOOKBACK_S = 900.0
"""Only what was measured in this time counts as there, in seconds."""

NOTHING = "nothing that measures it is there"
"""Why a signal is missing where no convention that has it was found; what to add may follow."""

ONLY_EXPORTERS = "only exporters tell it, of themselves"
"""Likewise, where nothing but what watches the system has it."""

HINTS = 3
"""The most ways to get a signal that a message lists."""

_MONITORS = re.compile(
    r"(prometheus|alertmanager|grafana|jaeger|loki|tempo|thanos|mimir|cortex|promtail|pushgateway|victoriametrics)_build_info"
    r"|otelcol_process_uptime(_total|_seconds_total)?"
)
"""Metrics by which a program is known to keep or collect what others tell: it is no part of the system."""

WATCHES = re.compile(rf"{_MONITORS.pattern}|((\w+_)?exporter|kube_state_metrics)_build_info|flower_worker_online")
"""Metrics by which a program is known to watch others: its own memory and threads are no part of what it watches."""

_PART = re.compile(r"_(bucket|count|sum)$")
"""What a histogram adds to its own name, by which its type is told."""

_AT_ONCE = 6
"""Conventions that one request asks about."""


class PrometheusApi(Protocol):
    """The HTTP API of one Prometheus. Both raise ``SourceError``."""

    def get(self, path: str, params: Mapping[str, str]) -> object:
        """The JSON that ``GET path?params`` answers."""

    def post(self, path: str, form: Mapping[str, str]) -> object:
        """The JSON that ``path`` answers to a form."""


def discover(ask: PrometheusApi, settings: ProfileSettings, project: str, now: float) -> Profile:
    """The profile of the system that is called ``project`` there; ``SourceError`` when it does not answer as it should.

    Ten to twenty requests: its product, the names of its metrics, the labels of those that conventions need (some of them in
    each request), its scrape interval, the types of its metrics, and its clock.
    """
    product = _product(ask)
    names = _names(ask, now)
    own = () if settings.conventions else own_conventions(names, lambda query: _vector(ask, query))
    known = conventions() | {c.name: c for c in own}
    wanted = {c.name: found for c in (*_candidates(settings), *own) if (found := _rules(c, names))}
    census, notes = _census(ask, wanted, known, settings)
    where = narrow(census, project, settings.selector, known)
    exporters = _jobs_of(ask, {c.exporter for c in conventions().values()} & names | _matching(WATCHES, names), where.everywhere)
    monitors = _jobs_of(ask, _matching(_MONITORS, names), where.everywhere)
    used = uses_of(wanted, known, census, where, exporters, settings)
    types = _types(ask)
    beat, told = cadence(ask, settings, next(iter([*("up",) * ("up" in names), *_probes(wanted)]), ""))
    two = _of_two_types(types, used.uses, known)
    profile = Profile(
        product,
        beat,
        tuple(used.uses),
        used.identity(wanted, settings),
        tuple(dict.fromkeys([*notes, *used.notes, *where.notes, *told, *two, *_clock(ask, now)])),
        now,
        own=own,
        counters=frozenset(metric for metric, kinds in types.items() if kinds == {"counter"}),
        monitors=tuple(monitors),
    )
    return replace(profile, missing=tuple(_missing(profile, names, used.by_exporters)))


def _product(ask: PrometheusApi) -> str:
    data = _data(ask.get("/api/v1/status/buildinfo", {}))
    version = data.get("version") if isinstance(data, dict) else None
    return f"Prometheus {version}" if isinstance(version, str) else "Prometheus"


def _names(ask: PrometheusApi, now: float) -> frozenset[str]:
    """The names of its metrics; of a backend that has too many of them, those that some convention knows."""
    try:
        found = _data(ask.get("/api/v1/label/__name__/values", {"start": f"{now - LOOKBACK_S:.0f}", "end": f"{now:.0f}"}))
    except SourceError:
        known = "|".join(sorted({m for c in conventions().values() for m in c.metrics}))
        rows = _vector(ask, f'count by (__name__) ({{__name__=~"{known}"}})')
        return frozenset(labels.get("__name__", "") for labels, _ in rows)
    if not isinstance(found, list):
        raise SourceError("prometheus", "did not answer with the names of its metrics; is its url right?")
    return frozenset(map(str, found))


def _candidates(settings: ProfileSettings) -> list[Convention]:
    chosen = settings.conventions
    unknown = set(chosen) - set(conventions())
    if unknown:
        raise SourceError("prometheus", f"there is no convention {sorted(unknown)[0]!r}; `revelio docs conventions` lists them")
    return [c for name, c in conventions().items() if not chosen or name in chosen]


def _rules(convention: Convention, names: frozenset[str]) -> tuple[Rule, ...]:
    """Of each signal the first variant whose metrics are there."""
    found: dict[str, Rule] = {}
    for rule in convention.rules if not convention.marker or convention.marker in names else ():
        if names.issuperset(rule.metrics):
            found.setdefault(rule.signal, rule)
    return tuple(found.values())


def _probes(wanted: Mapping[str, tuple[Rule, ...]]) -> list[str]:
    return [rules[0].metrics[0] for rules in wanted.values()]


def _census(
    ask: PrometheusApi, wanted: Mapping[str, tuple[Rule, ...]], known: Mapping[str, Convention], settings: ProfileSettings
) -> tuple[Census, list[str]]:
    """By convention, how many series have which labels; and what could not be counted."""
    counted: dict[str, list[tuple[dict[str, str], float]]] = {name: [] for name in wanted}
    notes = []
    waiting = iter(wanted.items())
    while some := dict(islice(waiting, _AT_ONCE)):
        queries = {name: _count(known[name], rules[0].metrics[0], settings) for name, rules in some.items()}
        try:
            _sort(_vector(ask, " or ".join(queries.values())), counted)
        except SourceError:
            for name, query in queries.items():
                try:
                    _sort(_vector(ask, query), counted)
                except SourceError as error:
                    notes.append(f"{known[name].title}: left out, its series cannot be counted: {error.reason}")
    return Census({name: rows for name, rows in counted.items() if rows}), notes


def _count(convention: Convention, metric: str, settings: ProfileSettings) -> str:
    labels = [*(c.name for c in convention.components), "job", "instance", *SYSTEM_LABELS, settings.component]
    by = ", ".join(dict.fromkeys(label for label in labels if label))
    selector = "{" + settings.selector + "}" if settings.selector else ""
    return f'label_replace(count by ({by}) ({metric}{selector}), "revelio_convention", "{convention.name}", "", "")'


def _sort(rows: list[tuple[dict[str, str], float]], into: dict[str, list[tuple[dict[str, str], float]]]) -> None:
    for labels, count in rows:
        name = labels.pop("revelio_convention", "")
        if name in into:
            into[name].append((labels, count))


def _matching(pattern: re.Pattern[str], names: frozenset[str]) -> set[str]:
    return set(filter(pattern.fullmatch, names))


def _jobs_of(ask: PrometheusApi, told: set[str], where: str) -> list[str]:
    """Jobs whose processes speak of another program, or watch the system as Prometheus itself does, by metrics that tell it."""
    if not told:
        return []
    metrics = "|".join(sorted(told))
    rows = _vector(ask, f'count by (job) ({{__name__=~"{metrics}"{"," + where if where else ""}}})')
    return sorted({labels["job"].replace("|", ".") for labels, _ in rows if labels.get("job")})


def _types(ask: PrometheusApi) -> dict[str, set[str]]:
    """The types of each metric; nothing where it does not tell them."""
    try:
        found = _data(ask.get("/api/v1/metadata", {"limit_per_metric": "4"}))
    except SourceError:
        return {}
    told = found if isinstance(found, dict) else {}
    return {
        str(metric): {str(one.get("type")) for one in kinds if isinstance(one, dict)} - {"unknown", "None"}
        for metric, kinds in told.items()
        if isinstance(kinds, list)
    }


def _of_two_types(types: Mapping[str, set[str]], uses: list[Use], known: Mapping[str, Convention]) -> list[str]:
    """A sentence on each metric that is of two types: its rate is right for one of them only."""
    needed = {m for use in uses for r in known[use.convention].rules if r.id in use.rules for m in r.metrics}
    told = []
    for metric in sorted({m if m in types else _PART.sub("", m) for m in needed} & set(types)):
        if len(kinds := types[metric]) > 1:
            told.append(f"{metric} is of several types ({', '.join(sorted(kinds))}): its figures are right for one of them only")
    return told


def _clock(ask: PrometheusApi, now: float) -> list[str]:
    """A sentence where its clock and that of this machine disagree."""
    try:
        data = _data(ask.post("/api/v1/query", {"query": "time()"}))
        ahead = float(data["result"][1]) - now  # type: ignore[index]
    except (SourceError, KeyError, TypeError, ValueError, IndexError):
        return []
    told = disagreement(ahead)
    return [told] if told else []


def _missing(profile: Profile, names: frozenset[str], watchers: set[str]) -> list[tuple[str, str]]:
    """Why each signal that is not there is missing; ``watchers`` are conventions that exporters alone follow."""
    told = []
    for signal in signals():
        if signal in profile.rules:
            continue
        known = [(c, r) for c in conventions().values() for r in c.rules if r.signal == signal]
        near = [(c, sorted(set(r.metrics) - names)) for c, r in known if c.name in {u.convention for u in profile.uses}]
        if near:
            convention, lacking = near[0]
            reason = f"{convention.title} is there without {lacking[0]}" if lacking else f"{convention.title} has no series of it"
        else:
            hints = list(dict.fromkeys(c.hint for c, _ in known if c.hint))[:HINTS]
            nothing = ONLY_EXPORTERS if any(c.name in watchers for c, _ in known) else NOTHING
            reason = "; ".join([nothing, *([" or ".join(hints)] if hints else [])])
        told.append((signal, reason))
    return told


def _vector(ask: PrometheusApi, query: str) -> list[tuple[dict[str, str], float]]:
    data = _data(ask.post("/api/v1/query", {"query": query}))
    if not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise SourceError("prometheus", "did not answer a query with a vector; is its url right?")
    try:
        return [({str(k): str(v) for k, v in one["metric"].items()}, float(one["value"][1])) for one in data["result"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError("prometheus", f"answered in a form that is not Prometheus': {type(error).__name__}") from error


def _data(answer: object) -> object:
    return answer.get("data") if isinstance(answer, dict) else None
