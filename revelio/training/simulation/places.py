"""What of a simulated system can be asked about: the entities of each kind, and the components that each belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from revelio.catalog.conventions import signals
from revelio.training.simulation.dialect import Dialect
from revelio.training.simulation.faults import Fault
from revelio.training.simulation.system import SERVICES, STORES, Component, System
from revelio.training.simulation.vocabulary import names
from revelio.types import Entity

_MYSQL = ("mysql", "maria")
_ONLY_OF: dict[str, frozenset[str]] = {
    **dict.fromkeys(("gc_share", "heap_of_limit", "heap_used"), frozenset({"java", "go", "node", "dotnet"})),
    "event_loop_lag": frozenset({"node"}),
    "proxy_connections": frozenset({"entry"}),
    **dict.fromkeys(("pool_used", "pool_waiting", "db_call_rate", "db_call_latency_p95"), frozenset({"client"})),
    **dict.fromkeys(
        ("db_lock_waits", "db_scanned_rows", "db_row_lock_waits", "db_deadlocks", "db_temp_bytes"), frozenset({"sql"})
    ),
    **dict.fromkeys(("db_has_leader", "db_leader_changes"), frozenset({"documents"})),
    **dict.fromkeys(("db_slow_queries", "db_rollbacks", "db_replication_broken"), frozenset({"sql"})),
    **dict.fromkeys(("autoscaler_at_max", "quota_used"), frozenset({"entry", "service", "worker"})),
    **dict.fromkeys(("pg_sessions", "pg_sessions_active", "pg_sessions_waiting"), frozenset({"client"})),
    **dict.fromkeys(("pg_sessions_idle_in_transaction", "pg_sessions_blocked_by_it"), frozenset({"client"})),
    "jobs_failed": frozenset({"worker"}),
    "certificate_expiry": frozenset({"entry", "outside", "service"}),
}
"""Figures that only some components have, by role or runtime; a client has a database."""


@dataclass(frozen=True, slots=True)
class Watched:
    """An entity, and the components (or the host) that it belongs to, with their traits and hosts.

    Of a call ``edge`` is caller and callee, of an operation ``operation`` is component and name.
    """

    entity: Entity
    owners: tuple[str, ...] = ()
    edge: tuple[str, str] | None = None
    operation: tuple[str, str] | None = None
    traits: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()

    def has(self, metric: str) -> bool:
        """Whether such an entity has such a figure."""
        only = _ONLY_OF.get(metric)
        return only is None or bool(only & self.traits)

    def belongs_to(self, fault: Fault, metric: str) -> bool:
        """Whether a fault acts on this figure directly."""
        place = fault.place
        if self.edge or not isinstance(place, str):
            return self.edge == place or (not self.edge and fault.component in self.owners and self.entity.kind == "link")
        if place in self.owners:
            return True
        of_host = self.entity.kind == "host" and (metric not in signals() or signals()[metric].entity == "host")
        return place in self.hosts if "host" in fault.mechanism.at else of_host and place in self.traits


def watched(system: System, dialect: Dialect) -> tuple[Watched, ...]:
    """Every entity of a system that this dialect knows, in an order that depends on both alone."""
    return tuple(dict.fromkeys((*_parts(system, dialect), *_between(system, dialect), *_machines(system, dialect))))


def _parts(system: System, dialect: Dialect) -> Iterator[Watched]:
    measures, calls = dialect.measures, system.edges
    for one in system.components:
        sql = [b for a, b in calls if a == one.name and system.component(b).role == "sql"]
        traits = frozenset({one.role, one.runtime, *(("client",) if sql else ())})
        for kind in _kinds(one, dialect, bool(sql)):
            if kind in measures or kind in ("service", "log_source", "container"):
                yield Watched(Entity(kind, one.name), (one.name,), traits=traits, hosts=frozenset({one.host}))
        if one.role == "sql" and "table" in measures and not one.name.startswith(_MYSQL):
            for table in names()["tables"][: 3 + len(one.name) % 5]:
                yield Watched(Entity("table", f"{one.name}: {table}"), (one.name,), traits=traits)
    for queue, broker, worker in system.queues():
        for kind in ("broker_queue", "consumer_group") if broker.role == "broker" else ("queue",):
            if kind in measures:
                yield Watched(Entity(kind, f"{broker.name}: {queue}"), (worker, broker.name))


def _kinds(one: Component, dialect: Dialect, client: bool) -> Iterator[str]:
    role, packets = one.role, dialect.packets
    if role in SERVICES or (role in STORES and dialect.requests in ("mesh", "none")):
        yield "service"
    if role != "outside":
        if dialect.logs and role != "cache":
            yield "log_source"
        if dialect.changes or "container" in dialect.measures:
            yield "container"
        yield from ("workload", "link", "disk")
        yield from ("host",) if packets else ()
    stores = {
        "cache": ("cache", *(() if one.name == "memcached" else ("redis_server",))),
        "broker": ("broker",),
        "search": ("search_cluster",),
        "documents": ("database",),
    }
    yield from stores.get(role, ())
    if role == "sql":
        yield "database"
        yield "mysql_server" if one.name.startswith(_MYSQL) else "postgres_server"
    if role in STORES:
        yield "volume"
    if role == "worker":
        yield "worker"
    if role in SERVICES:
        yield "clock"
        yield from ("db_client",) if client else ()
        yield from ("rate_limit",) if role != "worker" else ()
    if role in ("entry", "outside"):
        yield "probe"
    if role == "service":
        yield "backend"


def _between(system: System, dialect: Dialect) -> Iterator[Watched]:
    if dialect.traces or "edge" in dialect.measures:
        for a, b in system.edges:
            yield Watched(Entity("edge", f"{a}->{b}"), (b,), edge=(a, b))
    if dialect.traces:
        for at, operation in sorted({(v.component, v.operation) for v in system.visits if v.operation}):
            yield Watched(Entity("operation", f"{at}: {operation}"), (at,), operation=(at, operation))
    for one in system.components:
        caches = [b for a, b in system.edges if a == one.name and system.component(b).role == "cache"]
        if caches and "cacher" in dialect.measures:
            yield Watched(Entity("cacher", one.name), (one.name,))


def _machines(system: System, dialect: Dialect) -> Iterator[Watched]:
    if dialect.packets or "host" not in dialect.measures:
        return
    for host in system.hosts:
        on_it = frozenset(c.name for c in system.components if c.host == host)
        if on_it:
            yield Watched(Entity("host", host), (host,), traits=on_it, hosts=frozenset({host}))
