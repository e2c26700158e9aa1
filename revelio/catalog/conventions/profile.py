"""A profile: what one system's Prometheus holds, and by which labels and at which cadence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, cached_property

from revelio.catalog.conventions.loader import conventions, signals
from revelio.catalog.conventions.model import Convention, Rule, Signal
from revelio.catalog.identity import Identity

PROJECT = 'project="${project}"'


@dataclass(frozen=True, slots=True)
class Use:
    """A convention as one system uses it.

    ``label`` names the component; ``where`` are matchers that narrow every series to this system, and ``only`` those that
    keep a component's own series apart from sums of them. ``rules`` names those whose metrics are there.
    """

    convention: str
    label: str
    rules: tuple[str, ...]
    where: str = ""
    only: str = ""


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a system is measured, and what follows from it. All in seconds."""

    scrape_s: float

    @property
    def window_s(self) -> float:
        """The length of an incident's window: ten minutes, but never fewer than ten scrapes, and ten where they are quick."""
        return 10.0 * self.scrape_s if self.scrape_s < 5.0 else max(600.0, 10.0 * self.scrape_s)

    @property
    def baseline_s(self) -> float:
        """The length of the baseline before it."""
        return 2.0 * self.window_s if self.scrape_s < 5.0 else 6.0 * self.window_s


@dataclass(frozen=True)
class Profile:
    """What a discovery found. ``notes`` are sentences for people about what it could not read."""

    product: str
    cadence: Cadence
    uses: tuple[Use, ...]
    identity: Identity = field(default_factory=Identity)
    notes: tuple[str, ...] = ()
    found_at: float = 0.0
    missing: tuple[tuple[str, str], ...] = field(default=())
    """Signals that were not found, and why."""
    own: tuple[Convention, ...] = field(default=())
    """Conventions that the metrics of this system's applications make."""
    counters: frozenset[str] = field(default=frozenset())
    """Metrics that only grow, though their names do not say it."""
    monitors: tuple[str, ...] = field(default=())
    """Jobs of what watches the system and is no part of it."""

    @cached_property
    def known(self) -> dict[str, Convention]:
        """Every convention by name, those of this system included."""
        return conventions() | {one.name: one for one in self.own}

    @cached_property
    def rules(self) -> dict[str, tuple[tuple[Use, Rule], ...]]:
        """By signal, each convention that has it here with its rule, in the order of preference."""
        known = self.known
        found: dict[str, list[tuple[Use, Rule]]] = {}
        for use in self.uses:
            for rule in known[use.convention].rules if use.convention in known else ():
                if rule.id in use.rules:
                    found.setdefault(rule.signal, []).append((use, rule))
        own = {name: [pair for pair in pairs if not pair[1].fallback] or pairs for name, pairs in found.items()}
        return {name: tuple(own[name]) for name in signals() if name in own}

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals that are there, in the order of the table."""
        return tuple(signals()[name] for name in self.rules)

    def rate_interval_s(self, step_s: float = 0.0) -> float:
        """The range of a rate: four scrapes, so that one that failed leaves a figure, and no gap between two points."""
        return max(4.0 * self.cadence.scrape_s, 10.0, step_s)

    def step_s(self, length_s: float, points: int) -> float:
        """The distance of points over a length of time: a scrape, or more where there would be too many."""
        return max(self.cadence.scrape_s, math.ceil(length_s / points))


@cache
def recorded_profile() -> Profile:
    """The profile of the applications that the bundled incidents were recorded in, which do not carry one."""

    def use(convention: str, label: str, *names: str) -> Use:
        return Use(convention, label, names or tuple(r.id for r in conventions()[convention].rules), PROJECT)

    edges = ("edge_rate", "edge_error_rate", "edge_latency_p95")
    containers = ("cpu", "cpu_throttled", "cpu_of_limit", "cpu_limit", "memory", "memory_of_limit", "oom_events")
    traffic = ("network_in", "network_out", "disk_write", "processes", "fds_of_limit", "disk_read")
    link = ("retransmits", "resets", "failed_connections", "link_backlog", "link_drops")
    return Profile(
        "Prometheus",
        Cadence(2.0),
        (
            use("opentelemetry-http", "service", "request_rate", "error_rate", "latency_p95", *edges),
            use("scrape", "service", "up"),
            use("process", "service", "uptime", "open_fds"),
            use("cadvisor", "container", *containers, *traffic),
            use("process", "service", "fds_of_limit"),
            use("node-exporter", "container", *link),
            use("testbed", "service"),
            use("postgres-exporter", "container", "db_scanned_rows"),
            use("testbed-postgres", "container"),
        ),
    )
