"""What Revelio tells about itself: traces, log lines with request ids, metrics, and the files that read them."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from asgi_correlation_id import CorrelationIdMiddleware, correlation_id
from fastapi import FastAPI
from fastapi.testclient import TestClient
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.errors import InvalidInputError
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import BUNDLED, Backend, SystemSettings
from revelio.support.metrics import Metrics
from revelio.support.telemetry import Workers, start_traces, traced
from revelio.support.telemetry_logs import JsonLines, TextLines
from tests.tools.discovery.fake_prometheus import FakePrometheus
from tests.webui import made
from webui.app import is_request_id, new_request_id

ROOT = Path(__file__).parent.parent.parent
RULES = ROOT / "docs" / "files" / "revelio-alerts.yaml"
DASHBOARD = ROOT / "docs" / "files" / "grafana-dashboard.json"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[Any]]]:
    """An OTLP receiver, and the spans that it was sent."""
    spans: list[Any] = []

    def take(request: Request) -> Response:
        sent = ExportTraceServiceRequest.FromString(request.get_data())
        spans.extend(s for r in sent.resource_spans for scope in r.scope_spans for s in scope.spans)
        return Response(b"", content_type="application/x-protobuf")

    with HTTPServer() as server:
        server.expect_request("/v1/traces", method="POST").respond_with_handler(take)
        yield server.url_for(""), spans


def test_served_recommendation_is_a_trace_and_its_log_lines_have_the_request_id(
    collector: tuple[str, list[Any]], tmp_path: Path
) -> None:
    endpoint, spans = collector
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")} | {
        "REVELIO_DATABASE": f"sqlite:///{tmp_path}/revelio.db",
        "REVELIO_SYSTEMS": '{"shop": {"backends": {"prometheus": {"url": "http://127.0.0.1:9"}}}}',
        "REVELIO_TELEMETRY__OTLP_ENDPOINT": endpoint,
        "REVELIO_TELEMETRY__LOG_FORMAT": "json",
    }
    command = (str(Path(sys.executable).with_name("revelio")), "serve", "--port", str(port), "--json")
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=log, stdout=subprocess.DEVNULL) as server,
        ExitStack() as ends,
    ):
        ends.callback(server.terminate)
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 240
        while True:
            try:
                httpx.get(f"{url}/healthz").raise_for_status()
                break
            except httpx.HTTPError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        incident = sorted((BUNDLED / "incidents").glob("*.xz"))[0].name.split(".")[0]
        asked = {"report": "the secret report", "incident": incident, "run": True}
        for body in (asked, {"report": "the secret report", "system": "shop"}):
            reply = httpx.post(f"{url}/api/v1/recommendations", json=body, headers={"X-Request-Id": "my-id-1"}, timeout=240)
            assert reply.status_code == 200 and reply.headers["x-request-id"] == "my-id-1"
        server.terminate()
        server.wait(30)
    names = [span.name for span in spans]
    assert {"revelio.recommend", "revelio.rank", "revelio.snapshot"} <= set(names)
    by_id = {span.span_id: span for span in spans}
    assert {by_id[s.parent_span_id].name for s in spans if s.name in ("revelio.rank", "revelio.snapshot")} == {
        "revelio.recommend"
    }
    assert "secret" not in str(spans)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    mine = [line for line in lines if line.get("http.request.id") == "my-id-1"]
    assert any("POST /api/v1/recommendations 200" in line["message"] for line in mine)
    assert "secret" not in json.dumps(lines)


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Every span that ended in this process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)  # a process can have a provider but once
    return exporter


def like_prometheus(request: Request) -> Response:
    """The answer to any range query: cart, at one half; and what discovery asks of a Prometheus that holds one metric."""
    if not request.path.endswith("/query_range"):
        ask = FakePrometheus({"container_cpu_cfs_throttled_seconds_total": [{"container": "cart", "service": "cart"}]})
        got = ask.post(request.path, request.form) if request.method == "POST" else ask.get(request.path, request.args)
        return Response(json.dumps(got), content_type="application/json")
    start, end, step = (float(request.values[name]) for name in ("start", "end", "step"))
    values = [[start + n * step, "0.5"] for n in range(int((end - start) / step) + 1)]
    found = [{"metric": {"container": "cart", "service": "cart"}, "values": values}]
    told = {"status": "success", "data": {"resultType": "matrix", "result": found}}
    return Response(json.dumps(told), content_type="application/json")


def test_everything_done_for_a_recommendation_is_one_tree_of_spans_and_tells_nothing_private(
    finished: InMemorySpanExporter, httpserver: HTTPServer, tmp_path: Path
) -> None:
    httpserver.expect_request(re.compile("/api/v1/.*")).respond_with_handler(like_prometheus)
    asked = made.settings(tmp_path)
    settings = asked.model_copy(
        update={"systems": {"shop": SystemSettings(backends={"prometheus": Backend(url=httpserver.url_for("").rstrip("/"))})}}
    )
    service = Service(settings, recommender=made.stand_in(settings))
    answer = service.rank(RecommendRequest("the secret report", system="shop", run=5))
    service.close()
    assert answer.queries and not answer.degraded
    spans: dict[int, ReadableSpan] = {s.context.span_id: s for s in finished.get_finished_spans() if s.context}
    parents = {s: spans[s.parent.span_id].name if s.parent else "" for s in spans.values()}
    assert [s.name for s, parent in parents.items() if not parent] == ["revelio.recommend"]
    assert {(parent, s.name) for s, parent in parents.items()} >= {
        ("revelio.recommend", "revelio.snapshot"),
        ("revelio.snapshot", "revelio.ask"),
        ("revelio.recommend", "revelio.run"),
        ("revelio.run", "revelio.ask"),
        ("revelio.ask", "revelio.request"),
    }
    assert {s.attributes["tool"] for s in spans.values() if s.attributes and s.name == "revelio.ask"} == {"prometheus"}
    told = " ".join(s.to_json() for s in spans.values())
    assert "secret" not in told and "cart" not in told


def test_error_in_a_span_is_told_by_its_kind_alone(finished: InMemorySpanExporter) -> None:
    @traced("x")
    def work() -> None:
        raise InvalidInputError("the secret report")

    with pytest.raises(InvalidInputError):
        work()
    (span,) = finished.get_finished_spans()
    assert span.status.description == "InvalidInputError"
    assert "secret" not in span.to_json()


def test_work_in_other_threads_is_done_under_the_request_that_gave_it() -> None:
    token = correlation_id.set("r1")
    try:
        with Workers(2) as pool:
            assert list(pool.map(lambda _: correlation_id.get(), range(4))) == ["r1"] * 4
            correlation_id.set("r2")
            assert pool.submit(correlation_id.get).result() == "r2"
    finally:
        correlation_id.reset(token)


def test_spans_cost_nothing_and_change_nothing_without_an_address() -> None:
    @traced("x")
    def work(a: int, *, b: int) -> int:
        """Adds."""
        return a + b

    end = start_traces("")
    assert work(1, b=2) == 3 and work.__doc__ == "Adds."
    end()


def test_address_that_is_none_and_extra_that_is_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="http://"):
        start_traces("collector:4318")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(InvalidInputError, match="opentelemetry-sdk"):
        start_traces("http://127.0.0.1:4318")


def record(message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("revelio.x", logging.WARNING, __file__, 1, message, args, None)


def test_log_line_is_one_line_whatever_was_logged() -> None:
    token = correlation_id.set("r1")
    try:
        line = JsonLines().format(record("bad %s", 'x\n{"forged": 1}'))
        assert "\n" not in line
        read = json.loads(line)
        assert (read["message"], read["http.request.id"], read["log.level"]) == ('bad x\n{"forged": 1}', "r1", "WARNING")
        assert TextLines().format(record("bad\nforged")).endswith("WARNING [r1] revelio.x: bad\\nforged")
    finally:
        correlation_id.reset(token)


@pytest.mark.parametrize("given", ["a b", "x" * 65, "<script>", 'a"b', ""])
def test_request_id_that_could_do_harm_is_replaced(given: str) -> None:
    app = FastAPI()
    app.add_middleware(CorrelationIdMiddleware, header_name="X-Request-Id", generator=new_request_id, validator=is_request_id)
    answered = TestClient(app).get("/", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{16}", answered)


def metrics() -> set[str]:
    """Names that /metrics can have."""
    names = {sample.name for family in _used().registry.collect() for sample in family.samples}
    return names | {"up"}


def _used() -> Metrics:
    figures = Metrics()
    figures.requests.labels("GET", "/", "200").observe(1)
    figures.recommendations.labels("no", "no").inc()
    figures.runs.labels("prometheus", "done").inc()
    figures.feedback.labels("found").inc()
    return figures


@pytest.mark.parametrize("file", [RULES, DASHBOARD], ids=lambda f: f.name)
def test_only_metrics_that_exist_are_asked_for(file: Path) -> None:
    asked = set(re.findall(r"\brevelio_[a-z_]+", file.read_text(encoding="utf-8")))
    assert asked and asked <= metrics()


def test_dashboard_has_its_panels_side_by_side_and_titled() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    cells = [(x + dx, y + dy) for x, y, w, h in places for dx in range(w) for dy in range(h)]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert all(p["title"] and p["targets"] for p in dashboard["panels"])


def test_every_alert_says_what_to_do() -> None:
    rules = [r for g in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for r in g["rules"]]
    assert len(rules) >= 5
    assert all({"summary", "description"} <= set(r["annotations"]) and r["labels"]["severity"] for r in rules)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
def test_promtool_accepts_rules_and_the_dashboards_queries(tmp_path: Path) -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    plain = [expr.replace("$__rate_interval", "5m").replace("$job", "revelio") for expr in asked]
    rules = [{"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(plain)]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
    done = subprocess.run(
        ["promtool", "check", "rules", RULES, tmp_path / "panels.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
