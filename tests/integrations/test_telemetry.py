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
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.errors import InvalidInputError
from revelio.settings import BUNDLED
from revelio.telemetry import start_traces, traced
from revelio.telemetry_logs import JsonLines, TextLines, request_id
from webui.figures import Figures
from webui.request_ids import RequestIds

ROOT = Path(__file__).parent.parent.parent
RULES = ROOT / "deploy" / "prometheus" / "revelio-alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "revelio.json"


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
    ):
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 60
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
            reply = httpx.post(f"{url}/api/v1/recommendations", json=body, headers={"X-Request-Id": "my-id-1"}, timeout=60)
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
    monkeypatch.setattr("revelio.telemetry.find_spec", lambda _: None)
    with pytest.raises(InvalidInputError, match=r"revelio\[otel\]"):
        start_traces("http://127.0.0.1:4318")


def record(message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("revelio.x", logging.WARNING, __file__, 1, message, args, None)


def test_log_line_is_one_line_whatever_was_logged() -> None:
    token = request_id.set("r1")
    try:
        line = JsonLines().format(record("bad %s", 'x\n{"forged": 1}'))
        assert "\n" not in line
        read = json.loads(line)
        assert (read["message"], read["http.request.id"], read["log.level"]) == ('bad x\n{"forged": 1}', "r1", "WARNING")
        assert TextLines().format(record("bad\nforged")).endswith("WARNING [r1] revelio.x: bad\\nforged")
    finally:
        request_id.reset(token)


@pytest.mark.parametrize("given", ["a b", "x" * 65, "<script>", 'a"b', ""])
def test_request_id_that_could_do_harm_is_replaced(given: str) -> None:
    app = FastAPI()
    app.add_middleware(RequestIds)
    answered = TestClient(app).get("/", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{16}", answered)


def metrics() -> set[str]:
    """Names that /metrics can have."""
    names = {sample.name for family in _used().registry.collect() for sample in family.samples}
    return names | {"up"}


def _used() -> Figures:
    figures = Figures()
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
