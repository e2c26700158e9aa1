"""The service in docs/how-to/add-a-service.md works as it stands, and telemetry knows it by its name."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml

from testbed.stack import find_project
from testbed.stack.project import ROOT

pytestmark = pytest.mark.stack

APP = "shop"
GUIDE = (ROOT / "docs/how-to/add-a-service.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"^( *)```{language}\n(.*?)^\1```$", GUIDE, re.DOTALL | re.MULTILINE)
    assert found
    return textwrap.dedent(found[2])


@dataclass(frozen=True, slots=True)
class Wishes:
    url: str
    log: Path

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def wishes(tmp_path: Path) -> Iterator[Wishes]:
    (tmp_path / "wishes.py").write_text(block("python"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {
        **os.environ,
        "SERVICE_NAME": "wishes",
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "REDIS_URL": f"redis://127.0.0.1:{find_project(APP).ports['redis']}/0",
        "PYTHONPATH": str(ROOT / "testbed"),
    }
    log = tmp_path / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen([sys.executable, "-m", "wishes"], cwd=tmp_path, env=environ, stdout=out) as process,
    ):
        service = Wishes(f"http://127.0.0.1:{port}", log)
        deadline = time.monotonic() + 20
        while "is ready" not in log.read_text():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        yield service
        process.terminate()
        assert process.wait(timeout=10) in (0, -15)


def test_the_service_of_the_guide_serves_logs_and_counts(wishes: Wishes) -> None:
    session, trace = secrets.token_hex(16), secrets.token_hex(16)
    path = f"{wishes.url}/wishes/{session}"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    for product in (42, 7):
        assert httpx.post(path, json={"product": product}, headers=headers).status_code == 201
    assert httpx.get(path).json() == {"products": [7, 42]}
    assert httpx.post(path, json={"product": "seven"}).json() == {"error": "product must be a whole number"}
    assert httpx.get(f"{wishes.url}/healthz").text == "ok"
    labels = 'http_request_method="POST",http_response_status_code="201",http_route="/wishes/{session}"'
    assert f"http_server_request_duration_seconds_count{{{labels}}} 2.0" in httpx.get(f"{wishes.url}/metrics").text
    line = next(line for line in wishes.lines() if line["message"] == "product 42 is wished for")
    assert line["service"] == {"name": "wishes", "version": "0"}
    assert line["trace"] == {"id": trace}
    assert json.loads(json.dumps(line["log"]))["origin"]["file"]["name"] == "wishes.py"


def test_the_guides_compose_entry_joins_the_others() -> None:
    own = (ROOT / "testbed/apps/shop/compose.yml").read_text()
    with_it = yaml.safe_load(own + textwrap.indent(block("yaml"), "  "))["services"]
    assert with_it["wishes"]["image"] == with_it["cart"]["image"]
    assert with_it["wishes"]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://jaeger:4317"
    assert set(with_it["wishes"]) == set(with_it["cart"])
