"""Noise around the services: jobs, other visitors and other teams' clients, within what the application can bear."""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import CpuLimit, Engine
from fault_injection.mechanisms import database, redis_server
from fault_injection.mechanisms.load import dated
from fault_injection.mechanisms.probe import must_run
from fault_injection.mechanisms.service_metrics import requests_served
from fault_injection.spec import Category, Change, Effect, Fault, FaultKind, Step, Value
from fault_injection.steps import cpu_step
from revelio.errors import FaultError

SAMPLE_S = 3.0
HOURS_S = 14_400.0
"""A job that a campaign leaves alone ends by itself after this time."""
Arguments = tuple[tuple[str, Value], ...]


class NoisyJob(FaultKind):
    """Something that a background process does for as long as it is wanted."""

    category: ClassVar[Category] = "noise"
    settle_s: ClassVar[float] = 40.0

    @abstractmethod
    def arguments(self, app: App, fault: Fault, engine: Engine) -> Arguments:
        """The act and its figures."""

    def restoring(self, fault: Fault, engine: Engine) -> tuple[Step, ...]:
        """What is to be put right once it has ended."""
        return ()

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Start the process; end it."""
        must_run(fault.place, engine)
        container = engine.container_id(fault.place)
        lasting = (*self.arguments(app, fault, engine), ("lasts_s", HOURS_S))
        start = Step("start_background", fault.place, container, lasting)
        undo = (Step("stop_background", fault.place, container), *self.restoring(fault, engine))
        return Change(do=(start,), undo=undo, parameters=tuple(self.strengths[fault.strength].items()))


class Visitors(NoisyJob):
    """Other clients that request pages."""

    mechanism = "visitors"
    strengths: ClassVar = {"busy": {"rate": 5.0}, "calm": {"rate": 2.0}}
    PAGES: ClassVar[dict[str, tuple[str, ...]]]
    status: ClassVar[str]
    """What they are answered."""

    def places(self, app: App) -> tuple[str, ...]:
        """The public entrance."""
        return (app.entrance,)

    def arguments(self, app: App, fault: Fault, engine: Engine) -> Arguments:
        """Pages in turn at a steady rate."""
        pages = json.dumps(dated(self.PAGES[app.name]))
        return (("act", "burst"), ("rate", self.strengths[fault.strength]["rate"]), ("seconds", HOURS_S), ("pages", pages))

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Requests that the entrance answers, with the status that these visitors get."""
        try:
            first = requests_served(app, fault.place, engine, status=self.status)
            time.sleep(SAMPLE_S)
            rate = (requests_served(app, fault.place, engine, status=self.status) - first) / SAMPLE_S
        except FaultError as error:
            return Effect(False, str(error))
        return Effect(rate >= float(self.strengths[fault.strength]["rate"]) / 2, f"{rate:.1f} answers {self.status} a second")


class BotTraffic(Visitors):
    """Bots that look for what is not there."""

    name = "bot_traffic"
    explanation = "Bots ask for pages that the site does not have, as they do on every public address."
    status = "404"
    MISSING = ("/wp-login.php", "/.env", "/admin/config.php", "/robots.txt", "/xmlrpc.php", "/.git/config")
    PAGES: ClassVar = dict.fromkeys(("shop", "forum", "travel"), MISSING)


class CacheWarmUp(Visitors):
    """A job that asks for one page after the other, so that caches are warm."""

    name = "cache_warm_up"
    explanation = "A warm-up job asks for one page after the other, so that they are in the caches."
    status = "200"
    PAGES: ClassVar = {
        "shop": tuple(f"/products/{number}" for number in range(1, 60)),
        "forum": tuple(f"/posts/{number}" for number in range(30_001, 30_060)),
        "travel": tuple(f"/stations/{code}/departures?date={{day}}" for code in ("BIR", "ALD", "EAS", "CAR", "BAN", "DAL")),
    }


class Statements(NoisyJob):
    """A client of the database that runs a statement again and again."""

    mechanism = "database_session"
    STATEMENT: ClassVar[str]

    def places(self, app: App) -> tuple[str, ...]:
        """The tables that visits use."""
        return app.tables

    def stands_on(self, app: App, fault: Fault) -> str:
        """The database's container."""
        return "postgres"

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Start the client; end it."""
        must_run("postgres", engine)
        container = engine.container_id("postgres")
        start = Step("start_background", "postgres", container, (*self.arguments(app, fault, engine), ("lasts_s", HOURS_S)))
        undo = (Step("stop_background", "postgres", container),)
        return Change(do=(start,), undo=undo, parameters=tuple(self.strengths[fault.strength].items()))

    def arguments(self, app: App, fault: Fault, engine: Engine) -> Arguments:
        """The statement about that table."""
        statement = self.STATEMENT.format(table=fault.place)
        return (("act", "repeat"), ("statement", statement), *self.strengths[fault.strength].items())

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Calls of the statement that the database has counted."""
        first = self._calls(app, fault)
        time.sleep(SAMPLE_S)
        calls = self._calls(app, fault)
        return Effect(calls > 0 and calls >= first, f"{calls} runs of it so far, {calls - first} in {SAMPLE_S:.0f} s")

    def _calls(self, app: App, fault: Fault) -> int:
        words = self.STATEMENT.format(table=fault.place)[:36]
        rows = database.ask(app, "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE starts_with(query, %s)", words)
        return int(rows[0][0])


class SlowReport(Statements):
    """A batch report that takes its time."""

    name = "slow_report"
    explanation = "A batch report sorts and adds up a whole table of the database again and again."
    strengths: ClassVar = {"often": {"every_s": 3.0}, "seldom": {"every_s": 8.0}}
    STATEMENT = "SELECT count(*), min(line), max(line) FROM (SELECT md5(t::text) AS line FROM {table} t LIMIT 40000) x"


class Backup(Statements):
    """The nightly backup."""

    name = "nightly_backup"
    explanation = "A backup reads the rows of a table of the database, as it does every night."
    strengths: ClassVar = {"often": {"every_s": 4.0}, "seldom": {"every_s": 10.0}}
    STATEMENT = "SELECT sum(length(t::text)) FROM {table} t"


class TableMaintenance(Statements):
    """Vacuum and new statistics."""

    name = "table_maintenance"
    explanation = "A maintenance job vacuums a table of the database and collects its statistics."
    strengths: ClassVar = {"often": {"every_s": 6.0}, "seldom": {"every_s": 15.0}}
    STATEMENT = "VACUUM (ANALYZE) {table}"


class CacheScan(NoisyJob):
    """A client that walks through the keys of the cache."""

    name = "cache_scan"
    mechanism = "redis_session"
    explanation = "A monitoring client looks at some keys of Redis every second."
    strengths: ClassVar = {"often": {"every_s": 0.5}, "seldom": {"every_s": 1.5}}
    SCRIPT = """
    local seen = 0
    for _, key in ipairs(redis.call('SCAN', '0', 'COUNT', ARGV[1])[2]) do
      seen = seen + (redis.call('MEMORY', 'USAGE', key) or 0)
    end
    return seen
    """

    def places(self, app: App) -> tuple[str, ...]:
        """Redis."""
        return ("redis",)

    def arguments(self, app: App, fault: Fault, engine: Engine) -> Arguments:
        """A short script."""
        return (("act", "evaluate"), ("script", self.SCRIPT), ("argument", "500"), *self.strengths[fault.strength].items())

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Scripts that Redis has evaluated meanwhile."""
        first = redis_server.calls(app, "eval")
        time.sleep(SAMPLE_S)
        made = redis_server.calls(app, "eval") - first
        return Effect(made > 0, f"{made} scripts in {SAMPLE_S:.0f} s")


class ReplicationStream(NoisyJob):
    """Traffic that has its place beside the requests."""

    name = "replication_stream"
    mechanism = "packets"
    explanation = "A stream of datagrams to another container uses some of the link's capacity, as replication or media do."
    strengths: ClassVar = {"wide": {"bytes_per_s": 120_000}, "narrow": {"bytes_per_s": 50_000}}

    def places(self, app: App) -> tuple[str, ...]:
        """Every service."""
        return app.services

    def arguments(self, app: App, fault: Fault, engine: Engine) -> Arguments:
        """A stream to the database's container, or whichever is another one."""
        sink = next(place for place in (*app.stores, app.entrance) if place != fault.place)
        return (("act", "stream"), ("to", sink), *self.strengths[fault.strength].items())

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Bytes that the container sends."""
        first = _sent(fault.place, engine)
        time.sleep(SAMPLE_S)
        rate = (_sent(fault.place, engine) - first) / SAMPLE_S
        least = int(self.strengths[fault.strength]["bytes_per_s"]) * 0.7
        return Effect(rate >= least, f"sends {rate / 1000:.0f} kB/s")


class Autoscaling(NoisyJob):
    """CPU limits that follow the load."""

    name = "autoscaling"
    mechanism = "engine_limit"
    explanation = (
        "An autoscaler raises the container's CPU limit above the usual one and lowers it again, as load comes and goes."
    )
    strengths: ClassVar = {"often": {"every_s": 12.0}, "seldom": {"every_s": 40.0}}
    settle_s = 90.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every service."""
        return app.services

    def arguments(self, app: App, fault: Fault, engine: Engine) -> Arguments:
        """By turns half as much again, and the usual limit."""
        return (("act", "scale"), ("nano_cpus", engine.cpu_limit(fault.place).nano_cpus), *self.strengths[fault.strength].items())

    def restoring(self, fault: Fault, engine: Engine) -> tuple[Step, ...]:
        """The usual limit."""
        return (cpu_step(engine, fault.place, CpuLimit(nano_cpus=engine.cpu_limit(fault.place).nano_cpus)),)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Start it; end it and apply the usual limit."""
        if not engine.cpu_limit(fault.place).nano_cpus:
            raise FaultError(f"{fault.place} has no CPU limit that could be scaled")
        return super().change(app, fault, engine)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Whether the limit is another one by now than some seconds ago."""
        first = engine.cpu_limit(fault.place).nano_cpus
        time.sleep(SAMPLE_S)
        second = engine.cpu_limit(fault.place).nano_cpus
        return Effect(first != second, f"limit {first / 1e9:g} CPUs, then {second / 1e9:g}")


def _sent(service: str, engine: Engine) -> int:
    shown = json.loads(engine.in_network(service, "ip", "-s", "-j", "link", "show", "dev", "eth0"))
    return int(shown[0]["stats64"]["tx"]["bytes"])
