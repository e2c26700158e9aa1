"""On the real stack in health: a quick look at everything, and every question answered calmly."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator

import pytest

from fault_injection.testbed_system import system_of
from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.system import System, open_system
from revelio.tools.base import Scope
from revelio.types import Query, QueryTemplate, Window
from testbed.stack import parts_of
from tests.stack.stacks import Stacks
from tests.tools.conftest import HOSTILE_NAMES

pytestmark = pytest.mark.stack

SERVICES = set(parts_of("shop").services)
STORES = {"postgres", "redis"}
BACKENDS = {"jaeger", "prometheus", "elasticsearch", "cadvisor", "logshipper", "links", "capture", "events", "postgres-exporter"}


@pytest.fixture(scope="module")
def shop(stacks: Stacks) -> Iterator[System]:
    stacks.have("shop")
    system = open_system("shop", system_of("shop"), bundled_catalog(), 10.0)  # two processors are the application's, too
    down = [f"{s.tool}: {s.detail}" for s in system.ping() if not s.up]
    if down:
        pytest.skip(f"the stack is not up: {'; '.join(down)}")
    yield system
    system.close()


def test_a_snapshot_ends_within_the_time_limit_and_misses_nothing(shop: System) -> None:
    took = []
    for _ in range(5):
        began = time.monotonic()
        seen = shop.snapshot(time.time())
        took.append(time.monotonic() - began)
        assert set(seen.missing) <= {"tcpdump"}, "only packets, read by tshark on the same processors, can take longer than that"
        time.sleep(1.0)
    assert statistics.median(took) < 1.1 * shop.limits.seconds, took


def test_a_snapshot_names_the_application_and_nothing_else(shop: System) -> None:
    seen = shop.snapshot(time.time())
    by_kind = {kind: {e.name for e in seen.entities if e.kind == kind} for kind in ("service", "container", "edge", "log_source")}
    assert by_kind["service"] == SERVICES
    assert by_kind["container"] == SERVICES | STORES
    assert by_kind["log_source"] <= SERVICES | STORES
    assert {"gateway->cart", "cart->redis", "orders->postgres"} <= by_kind["edge"]
    assert {end for name in by_kind["edge"] for end in name.split("->")} <= SERVICES | STORES
    told = {name for e in seen.entities for name in (e.name, *e.name.split("->"), e.name.split(": ")[0])}
    assert not told & BACKENDS
    assert {s.metric for s in seen.series} >= {
        "request_rate",
        "latency_p95",
        "edge_latency_p95",
        "cpu",
        "cpu_throttled",
        "cpu_limit",
        "memory",
    }
    assert all(s.now.count or s.before.count for s in seen.spans)
    assert seen.logs


def test_every_question_is_answered_and_nearly_all_calmly(shop: System) -> None:
    seen = shop.snapshot(time.time() - 5.0)
    queries = candidates(shop.catalog, seen.entities)
    assert len(queries) > 200
    alarmed = [(q.title, r.reason) for q in queries if (r := shop.run(q, seen)).signal >= SIGNIFICANT]
    assert len(alarmed) < 0.05 * len(queries), alarmed


def test_prometheus_takes_a_hostile_name_as_a_name(shop: System) -> None:
    now = time.time()
    scope = Scope("revelio-shop", Window(now - 10, now), Window(now - 20, now - 10))
    template = QueryTemplate("t", "prometheus", "t", "", 'label_replace(vector(7), "told", "${service}", "", "")')
    for name in HOSTILE_NAMES:
        if "$" in name:  # a dollar sign means something in label_replace itself, which is why no template puts a name there
            continue
        [series] = shop.run(Query(template, (("service", name),)), scope).series
        clean = name.encode("utf-8", errors="replace").decode()
        assert (set(series.values), series.metric) == ({7.0}, f"value {clean}")


@pytest.mark.parametrize("tool", ["prometheus", "jaeger", "elasticsearch", "containers"])
def test_hostile_names_find_nothing_and_break_nothing(shop: System, tool: str) -> None:
    now = time.time()
    scope = Scope("revelio-shop", Window(now - 30, now), Window(now - 90, now - 30))
    templates = [t for t in shop.catalog.templates if t.tool == tool and t.blanks]
    for template in templates[:3]:
        for name in HOSTILE_NAMES:
            result = shop.run(Query(template, tuple(sorted((b.name, name) for b in template.blanks))), scope)
            assert not result.series, (template.id, name)
            assert not result.spans, (template.id, name)


def test_what_docker_says_on_the_command_line_is_what_the_tool_says(shop: System) -> None:
    query = Query(shop.catalog.template("containers.restarts"), (("container", "cart"),))
    now = time.time()
    scope = Scope("revelio-shop", Window(now - 30, now), Window(now - 90, now - 30))
    done = subprocess.run(["sh", "-c", shop.render(query, scope)], capture_output=True, text=True, check=True, env={**os.environ})
    [row] = shop.run(query, scope).rows
    assert done.stdout.split()[-1] == str(row[2])
    assert done.stdout.startswith(time.strftime("%Y-%m-%dT%H:%M", time.gmtime(float(row[1] or 0))))
