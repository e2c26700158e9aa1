"""A real Tempo for a test, and how its replies are recorded: ``python -m tests.tools.tempo.server``."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.tempo.tool import Tempo
from revelio.types import Window
from tests.foreign.programs import free_port
from tests.tools.conftest import bound, spec
from tests.tools.programs import program, running
from tests.tools.recorded import recorded

CONFIG = """\
server:
  log_level: warn
  http_listen_address: 127.0.0.1
  http_listen_port: {port}
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: {grpc}
search_enabled: true
usage_report: {{reporting_enabled: false}}
distributor: {{receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{otlp}"}}}}}}}}}}
ingester: {{lifecycler: {{address: 127.0.0.1, ring: {{kvstore: {{store: inmemory}}, replication_factor: 1}}}}}}
query_frontend: {{search: {{query_ingesters_until: 30m}}}}
storage: {{trace: {{backend: local, local: {{path: {folder}/blocks}}, wal: {{path: {folder}/wal}}}}}}
memberlist: {{bind_addr: [127.0.0.1], bind_port: {gossip}}}
"""

QUESTIONS = [
    ("jaeger.slow_spans", {"service": "orders"}),
    ("jaeger.error_spans", {"service": "orders"}),
    ("jaeger.slow_operation", {"operation": "orders: POST /orders"}),
    ("jaeger.slow_calls", {"service": "gateway", "peer": "orders"}),
    ("jaeger.failed_calls", {"service": "orders", "peer": "postgres"}),
    ("jaeger.long_traces", {"service": "gateway"}),
    ("jaeger.own_time", {"service": "orders"}),
    ("jaeger.where_time_goes", {}),
    ("jaeger.error_spans", {"service": 'x" error=true'}),
]


def batches(n: int, at: float, slow: bool) -> list[dict[str, Any]]:
    """One request: the gateway calls orders, orders calls a database; slow and failed, or quick."""
    trace = f"{(n + 1) * 0x9E3779B97F4A7C15:032x}"
    took = 2.0 if slow else 0.05
    rows: list[tuple[str, str, str, str, int, float, float, dict[str, Any], bool]] = [
        ("gateway", "1", "", "GET /buy", 2, 0.0, took + 0.03, {}, slow),
        ("gateway", "2", "1", "POST", 3, 0.01, took + 0.02, {"server.address": "orders"}, slow),
        ("orders", "3", "2", "POST /orders", 2, 0.015, took + 0.01, {"http.response.status_code": 500 if slow else 201}, slow),
        (
            "orders",
            "4",
            "3",
            "INSERT",
            3,
            0.02,
            took,
            {"peer.service": "postgres", "error.type": "Timeout"} if slow else {"peer.service": "postgres"},
            slow,
        ),
    ]
    found = []
    for service, span, parent, name, kind, start, last, tags, failed in rows:
        attributes = [{"key": k, "value": {"intValue": v} if isinstance(v, int) else {"stringValue": v}} for k, v in tags.items()]
        told = {
            "traceId": trace,
            "spanId": f"{span:0>16}",
            "parentSpanId": f"{parent:0>16}" if parent else "",
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(round((at + start) * 1e9)),
            "endTimeUnixNano": str(round((at + last) * 1e9)),
            "attributes": attributes,
            "status": {"code": 2, "message": "no answer"} if failed else {},
        }
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
        found.append({"resource": resource, "instrumentationLibrarySpans": [{"spans": [told]}]})
    return found


@contextmanager
def real_tempo(folder: Path) -> Iterator[tuple[str, Scope]]:
    """Its address, and the scope of the traces that it was sent."""
    port, otlp = free_port(), free_port()
    config = folder / "tempo.yaml"
    told = CONFIG.format(port=port, grpc=free_port(), otlp=otlp, gossip=free_port(), folder=folder)
    config.write_text(told, encoding="utf-8")
    with running([program("tempo"), f"-config.file={config}"], folder / "tempo.log", f"http://127.0.0.1:{port}/ready"):
        now = float(round(time.time()))
        for n in range(40):
            at = now - 238.0 + 6.0 * n
            body = {"resourceSpans": batches(n, at, slow=at > now - 60.0)}
            sent = httpx.post(f"http://127.0.0.1:{otlp}/v1/traces", json=body, timeout=10.0)
            assert sent.is_success, sent.text
        _searchable(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}", Scope("shop", Window(now - 60.0, now), Window(now - 240.0, now - 60.0))


def _searchable(url: str, seconds: float = 40.0) -> None:
    """Wait until the last trace is found."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = httpx.get(f"{url}/api/search", params={"tags": "service.name=orders", "limit": "100"}, timeout=10.0).json()
        if len(found.get("traces") or ()) == 40:
            return
        time.sleep(0.5)
    raise TimeoutError(f"Tempo finds {len(found.get('traces') or ())} of 40 traces")


@contextmanager
def tempo(url: str) -> Iterator[Tempo]:
    """A tool that asks it."""
    backend = Backend(url=url, grafana="https://grafana.example", datasource="T1")
    with closing(Tempo(spec("jaeger"), backend, Limits(seconds=60.0))) as tool:
        yield tool


if __name__ == "__main__":
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        real, scope = stack.enter_context(real_tempo(place))
        asking = stack.enter_context(tempo(stack.enter_context(recorded("tempo", scope, real))))
        asking.ping()
        asking.snapshot(scope)
        for template, bindings in QUESTIONS:
            asking.run(bound(template, **bindings), scope)
