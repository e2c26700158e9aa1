"""Simulated systems: components, who calls whom, and what users do with them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from revelio.training.simulation.vocabulary import FeatureWords, names, trades

RUNTIMES = ("go", "java", "python", "node", "php", "dotnet")
STORES = frozenset({"sql", "documents", "cache", "broker", "search"})
SERVICES = frozenset({"entry", "service", "worker"})
_STYLES = ("{}", "{}", "{}", "{}-service", "{}-svc", "{}service", "app-{}")
_SELF_MS = {
    "entry": (1.0, 6.0),
    "service": (2.0, 40.0),
    "worker": (5.0, 80.0),
    "sql": (0.5, 15.0),
    "documents": (0.5, 10.0),
    "cache": (0.2, 2.0),
    "broker": (0.5, 5.0),
    "search": (5.0, 40.0),
    "outside": (30.0, 250.0),
}
_MOST_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a system: its ``role``, the ``host`` it runs on ("" where it is outside), its runtime and number of replicas."""

    name: str
    role: str
    host: str = ""
    runtime: str = ""
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Visit:
    """One operation of one component as part of a request: its own time in ms, and what it calls."""

    component: str
    operation: str
    self_ms: float
    calls: tuple[Call, ...] = ()

    def all(self) -> Iterator[Visit]:
        """Itself and all below."""
        yield self
        for call in self.calls:
            yield from call.to.all()


@dataclass(frozen=True, slots=True)
class Call:
    """``count`` calls a request; ``loss`` is the probability that a failed one fails the caller; it waits ``timeout_ms``."""

    to: Visit
    count: float
    loss: float
    timeout_ms: float


@dataclass(frozen=True, slots=True)
class Feature:
    """What users do: how they speak of it, requests a second, and the request. ``worker`` finishes the work later."""

    words: FeatureWords
    said: str
    rate: float
    request: Visit
    worker: str = ""


@dataclass(frozen=True)
class System:
    """``features`` of users, and ``background`` requests of workers by the queue that feeds them."""

    name: str
    components: tuple[Component, ...]
    features: tuple[Feature, ...]
    background: tuple[tuple[str, float, Visit], ...]
    hosts: tuple[str, ...]

    def component(self, name: str) -> Component:
        """The component of that name."""
        return self.by_name[name]

    @cached_property
    def by_name(self) -> Mapping[str, Component]:
        """Components by name."""
        return {c.name: c for c in self.components}

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """Every operation of every request."""
        roots = (*(f.request for f in self.features), *(visit for _, _, visit in self.background))
        return tuple(v for root in roots for v in root.all())

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All pairs of caller and callee, in order."""
        return tuple(sorted({(v.component, c.to.component) for v in self.visits for c in v.calls}))

    @cached_property
    def callers(self) -> Mapping[str, tuple[str, ...]]:
        """What calls each component."""
        return {name: tuple(a for a, b in self.edges if b == name) for name in self.by_name}

    @cached_property
    def path(self) -> Mapping[str, str]:
        """One operation of each component, "" for none."""
        return {v.component: v.operation for v in reversed(self.visits)}

    def queues(self) -> tuple[tuple[str, Component, str], ...]:
        """Name of each queue, the broker or cache that keeps it, and its worker."""
        keepers = sorted((c for c in self.components if c.role in ("broker", "cache")), key=lambda c: c.role)
        return tuple((queue, keepers[0], visit.component) for queue, _, visit in self.background if keepers)


def draw_system(rng: random.Random, name: str) -> System:
    """A system of 5 to 60 components."""
    return _Builder(rng).build(name)


@dataclass(slots=True)
class _Builder:
    rng: random.Random
    components: dict[str, Component] = field(default_factory=dict)
    needs: dict[str, list[tuple[str, float, float]]] = field(default_factory=dict)
    paths: dict[str, list[str]] = field(default_factory=dict)

    def build(self, name: str) -> System:
        rng = self.rng
        hosts = self._hosts()
        style, words = rng.choice(_STYLES), self._features()
        entries = self._add("entry", rng.choice(names()["gateways"]), "{}")
        services = [(w, self._add("service", rng.choice(w.service), style)) for w in words]
        for w, service in services:
            self.paths.setdefault(service, []).extend(p for p in w.paths if p not in self.paths.get(service, []))
        size = min(50, max(1, round(rng.lognormvariate(1.6, 1.0))))
        helpers = [
            self._add("service", h, style) for h in rng.sample(list(names()["helpers"]), min(size, len(names()["helpers"])))
        ]
        self._wire([s for _, s in services], helpers)
        topics, features = rng.sample(list(names()["topics"]), 5), []
        background: list[tuple[str, str]] = []
        queue_at = self._store_of("broker") or self._store_of("cache")
        for number, (w, service) in enumerate(services):
            worker = ""
            if w.later and queue_at and rng.random() < 0.7 and len(background) < len(topics):
                topic = topics[len(background)]
                worker = self._worker(service)
                self.needs[service].append((queue_at, 1.0, 0.8))
                background.append((topic, worker))
            request = Visit(entries, w.paths[0], self._self_ms("entry"), (self._call(service, w.paths[0], 1.0, 1.0, 1),))
            features.append(Feature(w, rng.choice(w.said), rng.lognormvariate(0.5, 1.2) + 0.3 / (1 + number), request, worker))
        rates = [f.rate for f in features if f.worker]
        later = tuple(
            (topic, rate, self._visit(worker, f"{topic} process", 1))
            for (topic, worker), rate in zip(background, rates, strict=True)
        )
        placed = tuple(self._placed(c, hosts) for c in self.components.values())
        used = {v.component for root in (*(f.request for f in features), *(v for *_, v in later)) for v in root.all()}
        return System(name, tuple(c for c in placed if c.name in used), tuple(features), later, hosts)

    def _hosts(self) -> tuple[str, ...]:
        base, count = self.rng.choice(names()["hosts"]), self.rng.choice((1, 2, 3, 3, 5, 8))
        return tuple(f"{base}-{n + 1}" for n in range(count))

    def _features(self) -> list[FeatureWords]:
        rng, by_trade = self.rng, trades()
        trade = rng.choice([t for t in by_trade if t != "shared"])
        own, shared = list(by_trade[trade]), list(by_trade["shared"])
        chosen = rng.sample(own, rng.randint(2, len(own))) + rng.sample(shared, rng.randint(1, 4))
        rng.shuffle(chosen)
        return chosen

    def _add(self, role: str, name: str, style: str) -> str:
        full = style.format(name)
        if full in self.components and role != self.components[full].role:
            full = f"{full}-{role}"
        runtime = self.rng.choice(RUNTIMES) if role in SERVICES else ""
        self.components.setdefault(full, Component(full, role, "", runtime, self.rng.choice((1, 1, 2, 2, 3, 4))))
        self.needs.setdefault(full, [])
        return full

    def _store_of(self, role: str) -> str:
        return next((c.name for c in self.components.values() if c.role == role), "")

    def _wire(self, services: Sequence[str], helpers: Sequence[str]) -> None:
        """Calls go to later components only, so that there are no circles."""
        rng = self.rng
        order = [*dict.fromkeys(services), *helpers]
        fans = rng.random() < 0.3
        for place, name in enumerate(order):
            later = order[place + 1 :]
            # Fans call many from few places, trees call some from each.
            wanted = rng.randint(2, 8) if fans and place < 2 else rng.choice((0, 0, 1, 1, 2))
            for callee in rng.sample(later, min(wanted, len(later))):
                self.needs[name].append((callee, rng.choice((1.0, 1.0, 1.0, 2.0, 0.4)), rng.choice((1.0, 1.0, 1.0, 0.5, 0.0))))
        for helper in helpers:  # each is called by something
            if not any(helper == callee for calls in self.needs.values() for callee, *_ in calls):
                above = order[: order.index(helper)]
                self.needs[rng.choice(above)].append((helper, 1.0, rng.choice((1.0, 1.0, 0.3))))
        self._add_stores(order)

    def _add_stores(self, services: Sequence[str]) -> None:
        rng, known = self.rng, names()
        shared = [self._add("sql", n, "{}") for n in rng.sample(list(known["sql"]), rng.choice((1, 1, 1, 2)))]
        own = rng.random()  # the share of services with a database of their own
        caches = [self._add("cache", n, "{}") for n in rng.sample(list(known["caches"]), rng.choice((0, 1, 1, 1, 2)))]
        documents = [self._add("documents", rng.choice(known["documents"]), "{}")] if rng.random() < 0.3 else []
        outside = [self._add("outside", n, "{}") for n in rng.sample(list(known["outside"]), rng.choice((0, 0, 1, 2)))]
        if rng.random() < 0.6:
            self._add("broker", rng.choice(known["brokers"]), "{}")
        search = self._add("search", rng.choice(known["search"]), "{}") if rng.random() < 0.4 else ""
        for name in services:
            calls = self.needs[name]
            if rng.random() < 0.75:
                store = (
                    self._add("sql", f"{name}-db", "{}") if own > 0.7 and rng.random() < own else rng.choice(shared + documents)
                )
                calls.append((store, rng.choice((1.0, 2.0, 3.0)), 1.0))
            if caches and rng.random() < 0.4:
                calls.append((rng.choice(caches), rng.choice((1.0, 1.0, 3.0)), rng.choice((1.0, 0.2, 0.0))))
            if outside and rng.random() < 0.15:
                calls.append((rng.choice(outside), 1.0, rng.choice((1.0, 0.5))))
            if search and ("search" in name or rng.random() < 0.1):
                calls.append((search, 1.0, 1.0))

    def _worker(self, service: str) -> str:
        existing = [c.name for c in self.components.values() if c.role == "worker"]
        if existing and self.rng.random() < 0.3:
            return self.rng.choice(existing)
        worker = self._add("worker", f"{service}-{self.rng.choice(names()['workers'])}", "{}")
        stores = [(s, c, loss) for s, c, loss in self.needs[service] if self.components[s].role in STORES]
        self.needs[worker].extend(stores[:2])
        return worker

    def _self_ms(self, role: str) -> float:
        low, high = _SELF_MS[role]
        return float(low * (high / low) ** self.rng.random())

    def _visit(self, name: str, operation: str, depth: int) -> Visit:
        needs = self.needs[name] if depth < _MOST_DEPTH else [n for n in self.needs[name] if self.components[n[0]].role in STORES]
        kept = [n for place, n in enumerate(needs) if place == 0 or self.rng.random() < 0.85]
        calls = tuple(self._call(callee, "", count, loss, depth + 1) for callee, count, loss in kept)
        return Visit(name, operation, self._self_ms(self.components[name].role), calls)

    def _call(self, name: str, operation: str, count: float, loss: float, depth: int) -> Call:
        role = self.components[name].role
        if not operation and role in SERVICES:
            noun = next(p for p in (*name.removesuffix("service").split("-"), name) if p not in ("app", "svc", ""))
            known = self.paths.setdefault(name, [f"GET /{noun}/{{id}}", f"POST /{noun}"])
            operation = self.rng.choice(known)
        return Call(self._visit(name, operation, depth), count, loss, self.rng.choice((1000.0, 3000.0, 5000.0, 10000.0, 30000.0)))

    def _placed(self, component: Component, hosts: Sequence[str]) -> Component:
        host = "" if component.role == "outside" else self.rng.choice(hosts)
        return Component(component.name, component.role, host, component.runtime, component.replicas)
