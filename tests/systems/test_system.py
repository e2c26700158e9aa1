"""Live systems: all tools at once, and silent ones named."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from revelio.catalog import Catalog, bundled_catalog, load_catalog
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.systems.merged import merge
from revelio.systems.system import INVENTORY_S, System, open_system
from revelio.tools.base import Limits, Scope
from revelio.types import (
    Alias,
    Blank,
    Entity,
    Evidence,
    LogPattern,
    Query,
    QueryTemplate,
    Result,
    Series,
    StateChange,
    Window,
)

SCOPE = Scope("shop", Window(970.0, 1000.0), Window(910.0, 970.0))
SEEN = Evidence(SCOPE.window, SCOPE.baseline)
CART, ORDERS = Entity("service", "cart"), Entity("service", "orders")
SETTINGS = SystemSettings(project="revelio-shop", window_s=20, baseline_s=40)


@dataclass
class FakeTool:
    """A tool that sees what it is given, or does what it is told to."""

    name: str
    sees: Evidence = field(default_factory=lambda: Evidence(SCOPE.window, SCOPE.baseline))
    does: Callable[[], None] = lambda: None
    asked: list[Scope] = field(default_factory=list)
    retrospective: bool = True

    def ping(self) -> str:
        self.does()
        return f"{self.name} 1.0"

    def snapshot(self, scope: Scope) -> Evidence:
        self.asked.append(scope)
        self.does()
        return self.sees

    def render(self, query: Query, scope: Scope) -> str:
        about = "".join(f" of {name}" for _, name in query.bindings)
        return f"{self.name}: {query.template.body}{about} in {scope.project}"

    def link(self, query: Query, scope: Scope) -> str | None:
        return f"http://{self.name}/"

    def run(self, query: Query, scope: Scope) -> Result:
        self.asked.append(scope)
        self.does()
        return Result("ran", 0.7, "because")


def fail() -> None:
    raise SourceError("metrics", "is down; start it")


def hang() -> None:
    time.sleep(4.0)


def query(tool: str, body: str = "up") -> Query:
    return Query(QueryTemplate(f"{tool}.t", tool, "t", "", body))


def system(*tools: FakeTool, seconds: float = 5.0) -> System:
    return System("shop", SETTINGS, Catalog(()), {t.name: t for t in tools}, Limits(seconds=seconds))


def test_a_snapshot_joins_what_all_tools_see() -> None:
    logs = FakeTool("logs", Evidence(SCOPE.window, SCOPE.baseline, (CART,), logs=(LogPattern(CART, "ERROR", "x", 1, 0, 980.0),)))
    metrics = FakeTool(
        "metrics", Evidence(SCOPE.window, SCOPE.baseline, (ORDERS, CART), (Series(CART, "cpu", "", (1.0,), (2.0,)),))
    )
    seen = system(logs, metrics).snapshot(SCOPE)
    assert seen.entities == (CART, ORDERS)
    assert (len(seen.logs), len(seen.series), seen.missing) == (1, 1, ())
    assert (seen.window, seen.baseline) == (SCOPE.window, SCOPE.baseline)


def test_a_component_has_one_name_and_each_source_is_asked_by_its_own() -> None:
    driver, own = Entity("container", "driver"), Entity("service", "own-driver")
    engine = FakeTool("engine", replace(SEEN, entities=(driver,), aliases=(Alias(driver, "own-driver"),)))
    traces = FakeTool("traces", replace(SEEN, entities=(own,)))
    both = system(engine, traces)
    seen = both.snapshot(SCOPE)
    assert {e.name for e in seen.entities} == {"driver"}
    about = QueryTemplate("traces.t", "traces", "t", "", "spans of ${service}", (Blank("service", "service"),))
    assert (
        both.render(Query(about, (("service", "driver"),)), seen) == "traces: spans of ${service} of own-driver in revelio-shop"
    )
    engine.does = fail
    assert {e.name for e in both.snapshot(SCOPE).entities} == {"driver"}, "names do not change where the engine is silent"


def test_a_source_that_knows_the_present_alone_says_so_of_the_past() -> None:
    engine, metrics = FakeTool("engine", retrospective=False), FakeTool("metrics")
    past, now = SCOPE, Scope("shop", Window(time.time() - 30.0, time.time()), SCOPE.baseline)
    both = system(engine, metrics)
    assert "as of now" in both.run(query("engine"), past).summary
    assert both.run(query("engine"), now).summary == both.run(query("metrics"), past).summary == "ran"


def test_the_shortest_history_of_a_kind_of_evidence_counts() -> None:
    young = Evidence(SCOPE.window, Window(950.0, 970.0), logs=(LogPattern(CART, "ERROR", "x", 1, 0, 980.0),))
    old = Evidence(SCOPE.window, SCOPE.baseline, series=(Series(CART, "cpu", "", (915.0, 980.0), (2.0, 2.0)),))
    seen = system(FakeTool("logs", young), FakeTool("metrics", old)).snapshot(SCOPE)
    assert seen.history == (("logs", 950.0),)
    assert (seen.baseline_of("logs"), seen.baseline_of("series")) == (Window(950.0, 970.0), SCOPE.baseline)


def test_a_tool_that_fails_is_named_and_the_others_still_count() -> None:
    metrics = FakeTool("metrics", does=fail)
    logs = FakeTool("logs", Evidence(SCOPE.window, SCOPE.baseline, (CART,)))
    seen = system(metrics, logs).snapshot(SCOPE)
    assert (seen.missing, seen.entities) == (("metrics",), (CART,))


def test_what_a_silent_tool_named_before_is_still_there_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = FakeTool("logs", Evidence(SCOPE.window, SCOPE.baseline, (CART,)))
    metrics = FakeTool("metrics", Evidence(SCOPE.window, SCOPE.baseline, (ORDERS,)))
    both = system(logs, metrics)
    assert both.snapshot(SCOPE).entities == (CART, ORDERS)
    metrics.does = fail
    seen = both.snapshot(SCOPE)
    assert (seen.entities, seen.missing) == ((CART, ORDERS), ("metrics",))
    assert both.snapshot(Scope("other", SCOPE.window, SCOPE.baseline)).entities == (CART,)
    later = time.monotonic() + INVENTORY_S + 1.0
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert both.snapshot(SCOPE).entities == (CART,)


def test_a_tool_that_hangs_is_named_when_the_time_is_up() -> None:
    began = time.monotonic()
    seen = system(FakeTool("slow", does=hang), FakeTool("logs"), seconds=0.2).snapshot(SCOPE)
    assert time.monotonic() - began < 3.5
    assert seen.missing == ("slow",)


def test_a_query_whose_tool_hangs_is_given_up_when_the_time_is_up() -> None:
    began = time.monotonic()
    with pytest.raises(SourceError, match=r"slow: no answer within 0\.2 s"):
        system(FakeTool("slow", does=hang), seconds=0.2).run(query("slow"), SCOPE)
    assert time.monotonic() - began < 3.5


def test_a_mistake_in_a_tool_is_not_taken_for_silence() -> None:
    def slip() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        system(FakeTool("logs", does=slip)).snapshot(SCOPE)


def test_a_moment_stands_for_the_window_that_ends_there() -> None:
    tool = FakeTool("logs")
    shop = system(tool)
    shop.snapshot(1000.0)
    shop.snapshot(1000.0, window_s=10, baseline_s=30)
    assert tool.asked == [
        Scope("revelio-shop", Window(980.0, 1000.0), Window(940.0, 980.0)),
        Scope("revelio-shop", Window(990.0, 1000.0), Window(960.0, 990.0)),
    ]


def test_a_query_runs_where_the_evidence_was_seen() -> None:
    tool = FakeTool("logs")
    shop = system(tool)
    seen = shop.snapshot(1000.0)
    result = shop.run(query("logs"), seen)
    assert (result.signal, tool.asked[-1]) == (0.7, shop.scope(seen))
    assert result.took_ms > 0
    assert shop.render(query("logs"), seen) == "logs: up in revelio-shop"
    assert shop.link(query("logs"), seen) == "http://logs/"


def test_ping_tells_of_every_tool() -> None:
    states = {s.tool: (s.up, s.detail) for s in system(FakeTool("logs"), FakeTool("metrics", does=fail)).ping()}
    assert states == {"logs": (True, "logs 1.0"), "metrics": (False, "is down; start it")}


def test_a_project_without_a_name_is_called_like_the_system() -> None:
    assert System("forum", SystemSettings(), Catalog(()), {}).project == "forum"


FOREIGN = """
tool: pager
title: Pager
templates:
  - {id: pager.alerts, title: "Alerts of ${service}", body: "get_alerts(${service})", blanks: {service: service}}
"""


@pytest.fixture
def foreign(tmp_path: Path) -> Catalog:
    path = tmp_path / "pager.yaml"
    path.write_text(FOREIGN)
    return load_catalog(path)


def test_a_foreign_tool_can_be_shown_but_not_run(foreign: Catalog) -> None:
    shop = open_system("shop", SystemSettings(backends={"pager": Backend(url="http://pager")}), foreign)
    asked = Query(foreign.template("pager.alerts"), (("service", "cart"),))
    seen = shop.snapshot(1000.0)
    assert shop.tools == {}
    assert shop.render(asked, seen) == "get_alerts(cart)"
    assert shop.link(asked, seen) is None
    with pytest.raises(SourceError, match=r"pager: no backend .*systems\.shop\.backends\.pager"):
        shop.run(asked, seen)


def test_opening_a_system_takes_the_tools_that_have_a_backend_and_connects_to_none() -> None:
    backends = {"jaeger": Backend(url="http://127.0.0.1:9"), "containers": Backend(url="unix:///no/such")}
    shop = open_system("shop", SystemSettings(backends=backends), bundled_catalog(), 0.3)
    assert sorted(shop.tools) == ["containers", "jaeger"]
    assert shop.snapshot(1000.0).missing == ("containers", "jaeger")
    shop.close()


def test_a_tool_without_a_backend_still_renders() -> None:
    shop = open_system("shop", SystemSettings(), bundled_catalog())
    asked = Query(bundled_catalog().template("prometheus.up"), (("service", "cart"),))
    seen = shop.snapshot(1000.0)
    assert shop.render(asked, seen) == 'up{project="shop",service="cart"}'
    assert shop.link(asked, seen) is None


def test_merging_sorts_changes_by_time_whoever_saw_them() -> None:
    late, early = (StateChange(CART, at, "state", "running", "paused") for at in (990.0, 975.0))
    merged = merge(SCOPE, [Evidence(SCOPE.window, SCOPE.baseline, changes=(c,)) for c in (late, early)], ("x",))
    assert merged.changes == (early, late)
    assert merged.missing == ("x",)
