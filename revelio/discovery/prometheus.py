"""Asks a Prometheus what it holds, with a few requests whatever its size, and makes a profile of the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Protocol

from revelio.clock_skew import disagreement
from revelio.conventions import Convention, Profile, Rule, Use, conventions, signals
from revelio.discovery.cadence import cadence
from revelio.discovery.labels import SYSTEM_LABELS, Census, choose_labels, narrow
from revelio.discovery.own_metrics import own_conventions
from revelio.errors import SourceError
from revelio.identity import KIND_OF_LABEL, NAMES, Identity, Naming, naming_of, pairs_of
from revelio.profile_settings import ProfileSettings

LOOKBACK_S = 900.0
"""Only what was measured in this time counts as there, in seconds."""

NOTHING = "nothing that measures it is there"
"""Why a signal is missing where no convention that has it was found; what to add may follow."""

ONLY_EXPORTERS = "only exporters tell it, of themselves"
"""Likewise, where nothing but what watches the system has it."""

HINTS = 3
"""The most ways to get a signal that a message lists."""

WATCHES = re.compile(
    r"((\w+_)?exporter|prometheus|alertmanager|grafana|jaeger|loki|tempo|thanos|mimir|cortex|promtail|pushgateway"
    r"|victoriametrics|kube_state_metrics)_build_info|otelcol_process_uptime(_total|_seconds_total)?|flower_worker_online"
)
"""Metrics by which a program is known to watch others: its own memory and threads are no part of what it watches."""

_PART = re.compile(r"_(bucket|count|sum)$")
"""What a histogram adds to its own name, by which its type is told."""

_AT_ONCE = 6
"""Conventions that one request asks about."""


class Ask(Protocol):
    """The HTTP API of one Prometheus. Both raise ``SourceError``."""

    def get(self, path: str, params: Mapping[str, str]) -> object:
        """The JSON that ``GET path?params`` answers."""

    def post(self, path: str, form: Mapping[str, str]) -> object:
        """The JSON that ``path`` answers to a form."""


def discover(ask: Ask, settings: ProfileSettings, project: str, now: float) -> Profile:
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
    exporters = _exporter_jobs(ask, names, where.everywhere)
    uses, named, pairs, watchers = [], dict[str, set[str]](), set[tuple[str, str]](), set[str]()
    for name, rules in wanted.items():
        convention = known[name]
        rows = where.rows(name, census)
        if (
            convention.of_process
            and rows.rows
            and {labels.get("job", "").replace("|", ".") for labels, _ in rows.rows} <= {*exporters}
        ):
            watchers.add(name)
            continue
        labels, why = choose_labels(convention, rows, settings.component)
        notes += [why] if why else []
        told = [c.name for c in convention.components if c.name in NAMES]
        pairs |= set(pairs_of([r for r, _ in rows.rows], labels[0].name, told)) if labels and labels[0].name in NAMES else set()
        watched = [f'job!~"{"|".join(exporters)}"'] if convention.of_process and exporters else []
        for label in labels:
            only = ",".join(([label.only] if label.only else []) + watched)
            uses.append(Use(name, label.name, tuple(r.id for r in rules), where.matchers(name), only))
            named.setdefault(label.name, set()).update(rows.values(label.name))
    peers = {x for use in uses for r in wanted[use.convention] for x in r.labels if x in KIND_OF_LABEL} - named.keys()
    namings = [n for label, values in named.items() if (n := naming_of(label, values))]
    namings += [Naming(label, KIND_OF_LABEL[label]) for label in sorted(peers)]
    beat, told = cadence(ask, settings, next(iter([*("up",) * ("up" in names), *_probes(wanted)]), ""))
    profile = Profile(
        product,
        beat,
        tuple(uses),
        _identity(namings, pairs, {value for values in named.values() for value in values}, settings),
        tuple(dict.fromkeys([*notes, *where.notes, *told, *_types(ask, uses, known), *_clock(ask, now)])),
        now,
        own=own,
    )
    return replace(profile, missing=tuple(_missing(profile, names, watchers)))


def _identity(namings: list[Naming], pairs: set[tuple[str, str]], there: set[str], settings: ProfileSettings) -> Identity:
    """The rules of names, with the pairs that labels on one series tell, those of the settings first."""
    derived = {(name, component) for name, component in pairs if any(n.component(name) == component for n in namings)}
    same = {name: component for name, component in pairs - derived if name in there}
    return Identity(tuple(namings), tuple(sorted({**same, **settings.names}.items())), tuple(sorted(pairs)))


def _product(ask: Ask) -> str:
    data = _data(ask.get("/api/v1/status/buildinfo", {}))
    version = data.get("version") if isinstance(data, dict) else None
    return f"Prometheus {version}" if isinstance(version, str) else "Prometheus"


def _names(ask: Ask, now: float) -> frozenset[str]:
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
    ask: Ask, wanted: Mapping[str, tuple[Rule, ...]], known: Mapping[str, Convention], settings: ProfileSettings
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


def _exporter_jobs(ask: Ask, names: frozenset[str], where: str) -> list[str]:
    """Jobs whose processes speak of another program, or watch the system as Prometheus itself does."""
    told = sorted({c.exporter for c in conventions().values() if c.exporter} & names | set(filter(WATCHES.fullmatch, names)))
    if not told:
        return []
    metrics = "|".join(told)
    rows = _vector(ask, f'count by (job) ({{__name__=~"{metrics}"{"," + where if where else ""}}})')
    return sorted({labels["job"].replace("|", ".") for labels, _ in rows if labels.get("job")})


def _types(ask: Ask, uses: list[Use], known: Mapping[str, Convention]) -> list[str]:
    """A sentence on each metric that is of two types: its rate is right for one of them only."""
    try:
        found = _data(ask.get("/api/v1/metadata", {"limit_per_metric": "4"}))
    except SourceError:
        return []
    needed = {m for use in uses for r in known[use.convention].rules if r.id in use.rules for m in r.metrics}
    told = []
    if not isinstance(found, dict):
        return []
    for metric in sorted({m if m in found else _PART.sub("", m) for m in needed} & set(found)):
        kinds = {str(one.get("type")) for one in found[metric] if isinstance(one, dict)} - {"unknown", "None"}
        if len(kinds) > 1:
            told.append(f"{metric} is of several types ({', '.join(sorted(kinds))}): its figures are right for one of them only")
    return told


def _clock(ask: Ask, now: float) -> list[str]:
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


def _vector(ask: Ask, query: str) -> list[tuple[dict[str, str], float]]:
    data = _data(ask.post("/api/v1/query", {"query": query}))
    if not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise SourceError("prometheus", "did not answer a query with a vector; is its url right?")
    try:
        return [({str(k): str(v) for k, v in one["metric"].items()}, float(one["value"][1])) for one in data["result"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError("prometheus", f"answered in a form that is not Prometheus': {type(error).__name__}") from error


def _data(answer: object) -> object:
    return answer.get("data") if isinstance(answer, dict) else None
