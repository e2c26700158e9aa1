"""Whatever a backend does, each tool answers in time, and says of which source it is."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from revelio.catalog import bundled_catalog
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.systems.system import System
from revelio.tools.registry import PRODUCTS, TOOLS, make_tool
from tests.tools.conftest import QUICK, SCOPE, bound, spec
from tests.tools.ill_server import BEHAVIOURS, BOMBS, ill_server

ADDRESSES = {
    "prometheus": "http://{}",
    "victoriametrics": "http://{}",
    "opensearch": "http://{}",
    "loki": "http://{}",
    "tempo": "http://{}",
    "kubernetes": "http://{}",
    "jaeger": "http://{}",
    "elasticsearch": "http://{}",
    "containers": "tcp://{}",
    "mysql": "mysql://observer@{}/shop",
    "postgres": "postgresql://observer@{}/shop",
    "redis": "redis://{}/0",
    "tcpdump": "docker://{}/capture",
}
QUESTIONS = {
    "prometheus": bound("prometheus.up", service="cart"),
    "jaeger": bound("jaeger.slow_spans", service="cart"),
    "elasticsearch": bound("elasticsearch.errors", service="cart"),
    "tempo": bound("jaeger.slow_spans", service="cart"),
    "kubernetes": bound("containers.state", container="cart"),
    "victoriametrics": bound("prometheus.up", service="cart"),
    "opensearch": bound("elasticsearch.errors", service="cart"),
    "loki": bound("elasticsearch.errors", service="cart"),
    "containers": bound("containers.all_events"),
    "mysql": bound("mysql.blocking", database="mysql"),
    "postgres": bound("postgres.sessions", database="postgres"),
    "redis": bound("redis.memory", cache="redis"),
    "tcpdump": bound("tcpdump.flows", capture="tcpdump", host="cart"),
}
IN_TIME_S = 20.0
"""Far more than any limit here, and far less than for ever; machines may be busy."""


def system(tool: str, address: str) -> System:
    product = bundled_catalog().product(tool)
    assert product is not None
    made = make_tool(spec(product.tool), Backend(url=ADDRESSES[tool].format(address)), QUICK, tool, tool)
    assert made is not None
    return System("shop", SystemSettings(), bundled_catalog(), {tool: made}, QUICK)


def test_every_tool_is_tried_here() -> None:
    """Products that one class asks need one of them here."""
    assert set(ADDRESSES) == set(QUESTIONS)
    every = TOOLS | PRODUCTS
    assert {every[name] for name in ADDRESSES} == set(every.values())


@pytest.mark.parametrize("how", BEHAVIOURS)
@pytest.mark.parametrize("tool", ADDRESSES)
def test_a_backend_that_behaves_ill_is_an_error_of_its_source_in_time(tool: str, how: str) -> None:
    with ill_server(BEHAVIOURS[how]) as address, closing(system(tool, address)) as asked:
        began = time.monotonic()
        with pytest.raises(SourceError) as caught:
            asked.run(QUESTIONS[tool], SCOPE)
        assert caught.value.source == tool
        assert asked.snapshot(SCOPE).missing == (tool,)
        [state] = asked.ping()
        assert not state.up or how == "lies"
        assert time.monotonic() - began < IN_TIME_S


def peak_mb() -> float:
    """The most memory that this process has held since it was last told to forget, in MB."""
    [found] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found) / 1e3


@pytest.mark.parametrize("how", BOMBS)
@pytest.mark.parametrize("tool", [t for t in ADDRESSES if t != "tcpdump"])
def test_what_a_backend_sends_takes_no_more_memory_than_a_small_multiple_of_the_limit(tool: str, how: str) -> None:
    if how.startswith(("compress", "says")) and tool in ("redis", "postgres", "mysql"):
        pytest.skip("no HTTP is spoken")
    with ill_server(BOMBS[how]) as address, closing(system(tool, address)) as asked:
        asked.ping()  # the client's library is loaded, and the bomb is made
        Path("/proc/self/clear_refs").write_text("5")
        before = peak_mb()
        with pytest.raises(SourceError):
            asked.run(QUESTIONS[tool], SCOPE)
        asked.snapshot(SCOPE)
        asked.ping()
        assert peak_mb() - before < 60.0
