"""Tempo: the questions about traces, from recorded replies and from a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from pytest_httpserver import HTTPServer

from revelio.catalog import bundled_catalog
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.systems.system import open_system
from revelio.tools.base import Scope
from revelio.tools.tempo.tool import Tempo
from revelio.tools.tempo.traces import parse_trace
from tests.tools.conftest import QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.recorded import Recording
from tests.tools.tempo.server import batches, real_tempo, tempo


@pytest.fixture(params=["recorded", "real"])
def asked(request: pytest.FixtureRequest, httpserver: HTTPServer, tmp_path: Path) -> Iterator[tuple[str, Scope]]:
    """The address of a Tempo that holds the requests of a shop, and their scope."""
    if request.param == "recorded":
        recording = Recording.load("tempo")
        recording.replay(httpserver)
        yield httpserver.url_for("").rstrip("/"), recording.scope
    else:
        with real_tempo(tmp_path) as found:
            yield found


def test_a_tempo_shows_what_happened_in_the_shop(asked: tuple[str, Scope]) -> None:
    """One test, so that a real Tempo starts once."""
    url, scope = asked
    with tempo(url) as tool:
        shows_the_shop(tool, scope)


def shows_the_shop(tool: Tempo, scope: Scope) -> None:
    assert tool.ping() == "Tempo, 2 services"
    seen = {s.entity.name: s for s in tool.snapshot(scope).spans}
    assert set(seen) == {"gateway->orders", "orders->postgres", "gateway: GET /buy", "orders: POST /orders"}
    edge = seen["orders->postgres"]
    assert (edge.now.count, edge.now.errors, edge.before.count, edge.before.errors) == (10, 10, 30, 0)
    assert (edge.now.p95_ms, edge.before.p95_ms) == pytest.approx((1980, 30), rel=0.01)
    slow = tool.run(bound("jaeger.slow_spans", service="orders"), scope)
    assert (slow.signal, len(slow.spans)) == (1.0, 4)
    assert tool.run(bound("jaeger.error_spans", service="orders"), scope).signal == 1.0
    assert tool.run(bound("jaeger.failed_calls", service="orders", peer="postgres"), scope).signal == 1.0
    assert tool.run(bound("jaeger.own_time", service="orders"), scope).signal == 0.0, "it only waits"
    assert tool.run(bound("jaeger.where_time_goes"), scope).summary.startswith("postgres")
    assert tool.run(bound("jaeger.error_spans", service='x" error=true'), scope).rows == ()


def test_a_query_opens_in_grafana(httpserver: HTTPServer) -> None:
    backend = Backend(url=httpserver.url_for(""), grafana="https://grafana.example", datasource="T1")
    with closing(open_system("shop", SystemSettings(backends={"tempo": backend}), bundled_catalog(), 2.0)) as system:
        query = bound("jaeger.long_traces", service="gateway")
        panes = json.loads(parse_qs(urlsplit(system.link(query, SCOPE) or "").query)["panes"][0])["revelio"]
        assert panes["queries"][0]["query"] == '{ resource.service.name="gateway" && duration>=1s }'
        assert (panes["datasource"], system.source(query)) == ("T1", "Tempo")


@pytest.mark.parametrize("scopes", ["scopeSpans", "instrumentationLibrarySpans"])
@pytest.mark.parametrize("whole", [lambda b: {"batches": b}, lambda b: {"trace": {"resourceSpans": b}}])
def test_every_form_that_a_trace_has_had_is_read(scopes: str, whole: object) -> None:
    told = json.loads(json.dumps(batches(0, 1000.0, slow=True)).replace("instrumentationLibrarySpans", scopes))
    trace = parse_trace("ab", whole(told))  # type: ignore[operator]
    assert [(s.service, s.peer, s.error) for s in trace.spans] == [
        ("gateway", None, True),
        ("gateway", "orders", True),
        ("orders", None, True),
        ("orders", "postgres", True),
    ]


@given(hostile())
def test_no_name_breaks_out_of_a_search(name: str) -> None:
    tool = Tempo(spec("jaeger"), Backend(url="http://127.0.0.1:9"), QUICK)
    for query in filled("jaeger", name):
        asked = tool.render(query, SCOPE).rpartition("?")[2]
        assert set(parse_qs(asked)) <= {"tags", "limit", "minDuration", "start", "end"}


@pytest.mark.parametrize("answer", [{"tagValues": 7}, [], {"tagValues": {"a": 1}}])
def test_an_answer_of_another_product_is_no_tempo(httpserver: HTTPServer, answer: object) -> None:
    httpserver.expect_request("/api/search/tag/service.name/values").respond_with_json(answer)
    with tempo(httpserver.url_for("").rstrip("/")) as tool, pytest.raises(SourceError, match="does not answer like Tempo"):
        tool.ping()
