"""A real Loki for a test, and how its replies are recorded: ``python -m tests.tools.loki.server``."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.loki.tool import Loki
from revelio.types import Window
from tests.foreign.programs import free_port
from tests.tools.conftest import bound, spec
from tests.tools.loki.lines import send, shop
from tests.tools.programs import program, running
from tests.tools.recorded import recorded

CONFIG = """\
auth_enabled: false
server:
  log_level: warn
  http_listen_address: 127.0.0.1
  http_listen_port: {port}
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: {grpc}
common:
  instance_addr: 127.0.0.1
  path_prefix: {folder}
  storage: {{filesystem: {{chunks_directory: {folder}/chunks, rules_directory: {folder}/rules}}}}
  replication_factor: 1
  ring: {{kvstore: {{store: inmemory}}}}
schema_config:
  configs: [{{from: 2020-10-24, store: tsdb, object_store: filesystem, schema: v13, index: {{prefix: index_, period: 24h}}}}]
analytics: {{reporting_enabled: false}}
"""

QUESTIONS = [
    ("elasticsearch.errors", {"service": "orders"}),
    ("elasticsearch.warnings", {"service": "orders"}),
    ("elasticsearch.exceptions", {"service": "payments"}),
    ("elasticsearch.new_patterns", {}),
    ("elasticsearch.new_patterns_of", {"service": "cart"}),
    ("elasticsearch.log_rate", {"service": "orders"}),
    ("elasticsearch.failing_trace", {"service": "orders"}),
    ("elasticsearch.timeouts", {"service": "orders"}),
    ("elasticsearch.about_peer", {"service": "orders", "peer": "postgres"}),
    ("elasticsearch.errors", {"service": "gateway"}),
    ("elasticsearch.log_rate", {"service": "gateway"}),
    ("elasticsearch.errors", {"service": 'cart"} or {a="'}),
]
"""What is asked of it: every question about logs, and one with a name that would break out."""


@contextmanager
def real_loki(folder: Path) -> Iterator[tuple[str, Scope]]:
    """Its address, and the scope of the lines that it was sent."""
    port = free_port()
    config = folder / "loki.yaml"
    config.write_text(CONFIG.format(port=port, grpc=free_port(), folder=folder), encoding="utf-8")
    with running([program("loki"), f"-config.file={config}"], folder / "loki.log", f"http://127.0.0.1:{port}/ready"):
        now = float(round(time.time()))
        send(f"http://127.0.0.1:{port}", shop(now - 240.0, now - 60.0, now))
        yield f"http://127.0.0.1:{port}", Scope("shop", Window(now - 60.0, now), Window(now - 240.0, now - 60.0))


@contextmanager
def loki(url: str) -> Iterator[Loki]:
    """A tool that asks it."""
    backend = Backend(url=url, grafana="https://grafana.example", datasource="L1")
    with closing(Loki(spec("elasticsearch"), backend, Limits(seconds=10.0))) as tool:
        yield tool


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        real_loki(Path(folder)) as (url, scope),
        recorded("loki", scope, url) as between,
        loki(between) as tool,
    ):
        tool.ping()
        tool.snapshot(scope)
        for template, bindings in QUESTIONS:
            tool.run(bound(template, **bindings), scope)
