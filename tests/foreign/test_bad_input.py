"""What a real Prometheus holds that is ambiguous or not this system's: said in sentences, and the answer goes on."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which

import httpx
import pytest

from revelio.catalog import bundled_catalog
from revelio.settings import Backend, SystemSettings
from revelio.systems.coverage import Coverage, coverage
from revelio.systems.system import open_system
from tests.foreign.programs import Programs, free_port

pytestmark = pytest.mark.foreign

REQUESTS = """# TYPE http_requests_total {kind}
http_requests_total{{namespace="{namespace}",code="200"}} 100
# TYPE http_request_duration_seconds {kind}
http_request_duration_seconds_count{{namespace="{namespace}",code="200"}} 100
http_request_duration_seconds_sum{{namespace="{namespace}",code="200"}} 5
"""
QUEUES = """# TYPE rabbitmq_detailed_queue_messages_ready gauge
rabbitmq_detailed_queue_messages_ready{queue="mail",vhost="/"} 3
rabbitmq_detailed_queue_messages_ready{vhost="/"} 4
# TYPE redis_up gauge
redis_up 1
"""
PAGES = {
    "/shop": REQUESTS.format(kind="counter", namespace="shop"),
    "/billing": REQUESTS.format(kind="gauge", namespace="billing"),
    "/rest": QUEUES,
}


class Page(BaseHTTPRequestHandler):
    """One exporter a path."""

    def do_GET(self) -> None:
        body = PAGES[self.path].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *told: object) -> None:
        return


@pytest.fixture(scope="module")
def seen() -> Iterator[Coverage]:
    """What is seen of the shop, which shares a Prometheus with billing; and that Prometheus is named as a Loki, too."""
    if which("prometheus") is None:
        pytest.skip("apt-get install --no-install-recommends prometheus")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        programs = Programs(Path(name))
        try:
            url = _prometheus(programs, pages.server_port)
            backends = {"prometheus": Backend(url=url), "loki": Backend(url=url)}
            system = open_system("shop", SystemSettings(backends=backends), bundled_catalog(), timeout_s=20.0)
            yield coverage(system)
            system.close()
        finally:
            programs.close()
            pages.shutdown()


def _prometheus(programs: Programs, port: int) -> str:
    jobs = "".join(
        f"\n- {{job_name: {path[1:]}, metrics_path: {path}, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}"
        for path in PAGES
    )
    config = programs.folder / "prometheus.yml"
    config.write_text(f"global: {{scrape_interval: 1s}}\nscrape_configs:{jobs}\n", encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    folder = programs.folder / "tsdb"
    options = [f"--config.file={config}", f"--storage.tsdb.path={folder}", f"--web.listen-address={address}"]
    programs.run("prometheus", ["prometheus", *options])
    up = partial(httpx.get, f"http://{address}/api/v1/query", params={"query": "sum(up)"})
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            if up().json()["data"]["result"][0]["value"][1] == str(len(PAGES)):
                return f"http://{address}"
        except (httpx.HTTPError, LookupError, ValueError):
            pass
        time.sleep(0.5)
    raise TimeoutError("Prometheus scraped nothing")


@pytest.mark.parametrize(
    "told",
    [
        "http_request_duration_seconds is of several types (counter, gauge)",
        "the label queue is missing on 50% of the series",
        "their series carry no namespace, so those of billing may be among them",
    ],
)
def test_it_is_said_and_the_rest_is_read(seen: Coverage, told: str) -> None:
    assert any(told in note for note in seen.notes), seen.notes
    assert seen.sources["prometheus"].state == "good"
    assert seen.templates.usable > 0


def test_another_product_at_the_address_is_named(seen: Coverage) -> None:
    assert seen.sources["loki"].state == "absent"
    assert "Prometheus 2." in seen.sources["loki"].detail
    assert "name it as backends.prometheus" in seen.sources["loki"].detail
