"""How a simulated system is watched: which figures there are, what they are called, which sources and questions exist."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from revelio.catalog import Catalog, ToolSpec, bundled_catalog
from revelio.catalog.conventions import conventions, signals
from revelio.training.simulation.vocabulary import messages, wording
from revelio.types import Direction, QueryTemplate, Reading

WORDINGS = 5
"""Ways in which each template may be worded, beside the bundled one; the last is held out."""
_STORES = ("postgres-exporter", "mysqld-exporter", "mongodb-exporter", "redis-exporter", "elasticsearch-exporter")
_QUEUES = (("rabbitmq-broker", "rabbitmq-totals"), ("kafka-topics", "kafka-consumers", "kafka-exporter", "kafka-jmx"))
_KUBERNETES = ("kube-deployments", "kube-statefulsets", "kube-pods", "kube-nodes", "kube-quotas", "kube-autoscalers", "kube-jobs")
_REQUESTS: Mapping[str, tuple[str, ...]] = {
    "testbed": ("http-histogram", "testbed", "testbed-postgres", "scrape", "process"),
    "mesh": ("istio", "istio-edges"),
    "spans": ("span-metrics", "tempo-service-graph"),
    "opentelemetry": ("opentelemetry-http", "opentelemetry-db", "opentelemetry-messaging", "opentelemetry-nodejs"),
    "rpc": ("opentelemetry-rpc", "grpc", "go-runtime", "process"),
    "java": ("micrometer", "jvm-client", "scrape"),
    "python": ("django", "celery-exporter", "process", "scrape"),
    "go": ("http-histogram", "go-runtime", "process", "scrape"),
    "proxy": ("envoy", "envoy-listener", "scrape"),
    "balancer": ("haproxy", "scrape"),
    "php": ("php-fpm", "nginx-exporter", "scrape"),
    "none": (),
}
HELD_OUT_DIALECTS = frozenset({"spans", "balancer"})
"""Ways to watch requests that are never trained on."""
_CADENCES = ((1.0, 18, 16), (1.0, 18, 16), (5.0, 24, 36), (15.0, 40, 60), (30.0, 20, 60), (60.0, 15, 60))
"""Seconds between samples, and how many there are in window and baseline."""
_PRODUCTS = {
    "elasticsearch": ("elasticsearch", "opensearch", "loki"),
    "jaeger": ("jaeger", "tempo"),
    "containers": ("containers", "kubernetes"),
    "prometheus": ("prometheus", "victoriametrics", "mimir"),
}
_SERVER_TOOLS = ("postgres", "mysql", "redis")
_MASKS = ("<n>", "<n>", "<*>", "<NUM>", "{}")
_LEVELS = ("upper", "upper", "upper", "lower", "lower", "none")


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of one kind of entity. ``called`` is its name in this dialect; ``zero`` says that it is 0 while all is well."""

    name: str
    kind: str
    unit: str
    floor: float
    direction: Direction
    zero: bool
    presence: bool
    called: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """``requests`` is how requests are watched; ``measures`` are the figures by kind of entity; ``sources`` as in ``Evidence``.

    ``step`` is in seconds, ``now`` and ``before`` are numbers of samples in window and baseline. ``rough`` is how much figures
    vary, ``unrest`` the share of figures that leave their baseline for no reason. ``summed`` says that there are ready-made
    figures instead of series. ``wording`` is 0 for bundled templates.
    """

    requests: str
    measures: Mapping[str, tuple[Measure, ...]]
    sources: tuple[str, ...] | None
    catalog: Catalog
    wording: int
    foreign: bool
    step: float
    now: int
    before: int
    rough: float
    unrest: float
    logs: bool
    traces: bool
    changes: bool
    packets: bool
    summed: bool
    with_baseline: bool
    log_history: bool
    mask: str
    levels: str
    sampling: float
    noise: Mapping[str, float]


@lru_cache(maxsize=1)
def bundled() -> Catalog:
    """The bundled catalog, whatever the settings say."""
    return bundled_catalog()


@lru_cache(maxsize=1)
def _measures() -> Mapping[str, Measure]:
    presence = {name for name, s in signals().items() if s.presence}
    return {
        m.name: Measure(m.name, m.entity, m.unit, m.noise_floor, m.direction, m.absent_is_zero, m.name in presence, m.name)
        for tool in bundled().tools
        for m in tool.metrics
    }


def draw_dialect(rng: random.Random, *, held_out: bool = False) -> Dialect:
    """A dialect; with ``held_out`` one that is never trained on."""
    choices = [r for r in _REQUESTS if (r in HELD_OUT_DIALECTS) == held_out]
    requests = rng.choice(choices)
    testbed = requests == "testbed"
    logs, traces, changes = rng.random() < 0.85, rng.random() < (0.95 if requests == "none" else 0.75), rng.random() < 0.8
    used = _used(rng, requests)
    known = {rule.signal for name in used for rule in conventions()[name].rules}
    servers = [t for t in _SERVER_TOOLS if rng.random() < (0.8 if testbed else 0.3)]
    packets = rng.random() < (0.8 if testbed else 0.1)
    of_tools = {m.name for t in bundled().tools if t.name in (*servers, *(("tcpdump",) if packets else ())) for m in t.metrics}
    measures = {name: m for name, m in _measures().items() if name in known | of_tools}
    if packets:  # captures call components hosts, machines are then not watched
        measures = {name: m for name, m in measures.items() if m.kind != "host" or name in of_tools}
    number = WORDINGS if held_out else rng.choice((0, 0, 0, *range(1, WORDINGS)))
    foreign = number > 0 and not testbed and rng.random() < 0.4
    if foreign:
        measures = _foreign(measures, _renamed(used, number))
    tools = [t for t, there in (("elasticsearch", logs), ("jaeger", traces), ("containers", changes)) if there]
    tools += [*servers, *(("tcpdump",) if packets else ()), *(("prometheus",) if measures else ())]
    sources = tuple(_tool_name(t, number) if number else rng.choice(_PRODUCTS.get(t, (t,))) for t in tools)
    step, now, before = rng.choice(_CADENCES)
    by_kind: dict[str, list[Measure]] = {}
    for m in measures.values():
        by_kind.setdefault(m.kind, []).append(m)
    return Dialect(
        requests=requests,
        measures={kind: tuple(some) for kind, some in by_kind.items()},
        sources=None if testbed and number == 0 else sources,
        catalog=_catalog(rng, number, frozenset(tools), {n: m.called for n, m in measures.items()}, foreign),
        wording=number,
        foreign=foreign,
        step=step,
        now=now,
        before=before,
        rough=rng.choice((0.1, 0.2, 0.3)) if step == 1.0 else rng.choice((0.03, 0.08, 0.15)),
        unrest=rng.betavariate(1.2, 8.0),
        logs=logs,
        traces=traces,
        changes=changes,
        packets=packets,
        summed=foreign and rng.random() < 0.35,
        with_baseline=rng.random() < 0.7,
        log_history=rng.random() < 0.9,
        mask=rng.choice(_MASKS),
        levels=rng.choice(_LEVELS),
        sampling=rng.choice((1.0, 1.0, 0.5, 0.1)),
        noise={} if foreign else {m.name: m.floor for m in measures.values()},
    )


def _used(rng: random.Random, requests: str) -> list[str]:
    """The conventions that are followed."""
    used = list(_REQUESTS[requests])
    if rng.random() < 0.85:
        used += ["cadvisor"] if rng.random() < 0.7 else ["docker-engine"]
    if requests == "testbed":
        used += ["node-exporter"] if rng.random() < 0.2 else []
        return used
    if rng.random() < 0.5:
        used += _KUBERNETES
    if rng.random() < 0.5:
        used += ["node-exporter"]
    used += [name for name in _STORES if rng.random() < 0.5]
    used += rng.choice(_QUEUES) if rng.random() < 0.6 else ()
    used += ["blackbox-exporter"] if rng.random() < 0.3 else []
    return used


def _renamed(used: Sequence[str], number: int) -> dict[str, str]:
    """What signals are called where no convention is known to be followed: usual names, or those of metrics that store them."""
    pools = {signal: list(usual) for signal, usual in messages()["renamed"].items()}
    for name in used:
        for rule in conventions()[name].rules:
            pools.setdefault(rule.signal, []).extend(m for m in rule.metrics if m not in pools.get(rule.signal, ()))
    return {signal: str(pool[number % len(pool)]) for signal, pool in pools.items() if pool}


def _foreign(measures: Mapping[str, Measure], called: Mapping[str, str]) -> dict[str, Measure]:
    """The measures by these names; of two of one kind with one name, the second has another."""
    found: dict[str, Measure] = {}
    taken: set[tuple[str, str]] = set()
    for name, measure in measures.items():
        new = called.get(name, f"{name}_value")
        new = f"{name}_value" if (measure.kind, new) in taken else new
        taken.add((measure.kind, new))
        found[name] = replace(measure, called=new)
    return found


def _tool_name(tool: str, number: int) -> str:
    return str(wording()["tools"][tool][number - 1]) if number else tool


def _catalog(rng: random.Random, number: int, tools: frozenset[str], called: Mapping[str, str], foreign: bool) -> Catalog:
    """The tools that are there, without some of their templates; those whose figures this dialect lacks are left out.

    Half of the foreign catalogs do not declare what their templates read.
    """
    stays = rng.uniform(0.45, 1.0)
    silent = foreign and rng.random() < 0.5
    return Catalog(
        tuple(
            replace(
                tool,
                templates=tuple(
                    _reading(t, called, silent) for t in tool.templates if rng.random() < stays and _there(t, called)
                ),
            )
            for tool in bundled_words(number)
            if tool.name in {_tool_name(t, number) for t in tools}
        )
    )


def _there(template: QueryTemplate, called: Mapping[str, str]) -> bool:
    series = [r.metric for r in template.reads if r.source == "series"]
    return not series or any(metric in called for metric in series)


def _reading(template: QueryTemplate, called: Mapping[str, str], silent: bool) -> QueryTemplate:
    """The template with the names of this dialect; ``reads_of`` finds what a ``silent`` one reads."""
    if silent:
        return replace(template, reads=())
    reads = tuple(replace(r, metric=called.get(r.metric, r.metric)) if r.source == "series" else r for r in template.reads)
    return template if reads == template.reads else replace(template, reads=reads)


def reads_of(template: QueryTemplate, dialect: Dialect) -> tuple[Reading, ...]:
    """What a template reads, declared or not, by the names of this dialect."""
    called = {m.name: m.called for some in dialect.measures.values() for m in some}
    return _reading(replace(template, reads=_declared(dialect.wording)[template.id]), called, silent=False).reads


@lru_cache(maxsize=16)
def _declared(number: int) -> Mapping[str, tuple[Reading, ...]]:
    every = (t for tool in bundled_words(number) for t in (*tool.templates, *(t for p in tool.products for t in p.templates)))
    return {t.id: t.reads for t in every}


@lru_cache(maxsize=16)
def bundled_words(number: int) -> tuple[ToolSpec, ...]:
    """The bundled tools in other words, always the same for one number."""
    if not number:
        return bundled().tools
    return tuple(
        replace(
            tool,
            name=_tool_name(tool.name, number),
            title=_tool_name(tool.name, number).replace("_", " "),
            templates=tuple(_reworded(t, number) for t in (*tool.templates, *(t for p in tool.products for t in p.templates))),
            products=(),
            forms={},
        )
        for tool in bundled().tools
    )


def _reworded(template: QueryTemplate, number: int) -> QueryTemplate:
    words = wording()
    rng = random.Random(f"{number}/{template.id}")
    title = template.title
    for what, others in words["synonyms"].items():
        pool = others if number == WORDINGS else others[:-1]
        title = re.sub(what, pool[-1] if number == WORDINGS else rng.choice(pool), title)
    tool = _tool_name(template.tool, number)
    if number == 2:  # as functions for an assistant: a name, hardly a text
        name = "_".join(re.findall(r"[a-z0-9]+", re.sub(r"\$\{\w+\}", "", title).lower()))
        kinds = "_".join(b.kind for b in template.blanks)
        return replace(template, id=f"{tool}.get_{name}_{kinds}".rstrip("_"), tool=tool, title=f"get {title}", shows="", body="")
    title = rng.choice(words["frames_of_titles"]).format(title="{0}").format(title)
    shows = template.shows if rng.random() < 0.6 else ""
    return replace(template, id=f"{tool}.{template.id.split('.', 1)[1]}", tool=tool, title=title, shows=shows)
