"""A real Prometheus rule fires, a real Alertmanager tells Revelio, and Revelio asks that Prometheus. Needs no Docker."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

TOKEN = "a-token-for-alerts"

pytestmark = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("prometheus-alertmanager")),
    reason="needs Debian's packages prometheus and prometheus-alertmanager",
)

RULES = """
groups:
  - name: shop
    interval: 1s
    rules:
      - alert: RevelioAnswers
        expr: up{job="revelio"} == 1
        labels: {system: shop}
        annotations: {summary: the checkout page takes ages}
"""
PROMETHEUS = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{folder}/rules.yaml]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ["127.0.0.1:{alertmanager}"]}}]}}]}}
scrape_configs: [{{job_name: revelio, static_configs: [{{targets: ["127.0.0.1:{revelio}"]}}]}}]
"""
ALERTMANAGER = """
route: {{receiver: revelio, group_by: [alertname], group_wait: 1s, group_interval: 2s, repeat_interval: 2s}}
receivers:
  - name: revelio
    webhook_configs:
      - url: http://127.0.0.1:{revelio}/api/v1/webhooks/alertmanager
        send_resolved: true
        http_config: {{authorization: {{credentials: {token}}}}}
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(log: Path, *command: str, **environ: str) -> Iterator[None]:
    """A process for the block."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | environ) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def wait(look: Callable[[], Any], seconds: float = 240.0) -> Any:
    """What is looked for, once it is there."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = look()
        except (httpx.HTTPError, json.JSONDecodeError):
            found = None
        if found:
            return found
        assert time.monotonic() < deadline, f"not there after {seconds} s"
        time.sleep(0.2)


@pytest.fixture
def addresses(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Revelio, Alertmanager and Prometheus, each told of the next; the addresses of Revelio and of Prometheus."""
    ports = {name: free_port() for name in ("revelio", "alertmanager", "prometheus")}
    texts = {"rules.yaml": RULES, "prometheus.yaml": PROMETHEUS, "alertmanager.yaml": ALERTMANAGER}
    for file, text in texts.items():
        filled = text if file == "rules.yaml" else text.format(folder=tmp_path, token=TOKEN, **ports)
        (tmp_path / file).write_text(filled, encoding="utf-8")
    url = f"http://127.0.0.1:{ports['revelio']}"
    with ExitStack() as processes:
        serve = (str(Path(sys.executable).with_name("revelio")), "serve", "--port", str(ports["revelio"]))
        rules = f"http://127.0.0.1:{ports['prometheus']}"
        settings = {
            "REVELIO_DATABASE": f"sqlite:///{tmp_path}/revelio.db",
            "REVELIO_ALERTS__ALERTMANAGER_TOKEN": TOKEN,
            "REVELIO_SYSTEMS": json.dumps({"shop": {"backends": {"prometheus": {"url": rules}}}}),
        }
        processes.enter_context(running(tmp_path / "revelio.log", *serve, **settings))
        wait(lambda: httpx.get(f"{url}/healthz").is_success)
        alertmanager = (
            "prometheus-alertmanager",
            f"--config.file={tmp_path}/alertmanager.yaml",
            f"--storage.path={tmp_path}/alertmanager",
            f"--web.listen-address=127.0.0.1:{ports['alertmanager']}",
            "--cluster.listen-address=",  # alone: it waits for no other
        )
        processes.enter_context(running(tmp_path / "alertmanager.log", *alertmanager))
        prometheus = (
            "prometheus",
            f"--config.file={tmp_path}/prometheus.yaml",
            f"--storage.tsdb.path={tmp_path}/prometheus",
            f"--web.listen-address=127.0.0.1:{ports['prometheus']}",
            "--web.enable-lifecycle",
            "--rules.alert.resend-delay=1s",  # Alertmanager takes an alert that is not sent again for over after four of these
        )
        processes.enter_context(running(tmp_path / "prometheus.log", *prometheus))
        wait(lambda: httpx.get(f"{rules}/-/ready").is_success)
        yield url, rules


def test_alert_that_fires_again_and_again_and_ends_is_one_answered_incident(addresses: tuple[str, str], tmp_path: Path) -> None:
    revelio, prometheus = addresses

    def incident() -> dict[str, Any]:
        listed: list[dict[str, Any]] = httpx.get(f"{revelio}/api/v1/webhooks/incidents").json()
        assert len(listed) <= 1, "repeats are folded"
        return listed[0] if listed else {}

    found = wait(lambda: incident() if incident().get("recommendation_id") else None)
    assert (found["source"], found["system"], found["title"]) == ("alertmanager", "shop", "the checkout page takes ages")
    answer = httpx.get(f"{revelio}/api/v1/recommendations/{found['recommendation_id']}").json()
    assert answer["report"].startswith("RevelioAnswers: the checkout page takes ages")
    assert not answer["degraded"]
    wait(lambda: incident()["repeats"] >= 2)
    (tmp_path / "rules.yaml").write_text(RULES.replace("== 1", "== 2"), encoding="utf-8")
    httpx.post(f"{prometheus}/-/reload").raise_for_status()
    wait(lambda: incident()["resolved_at"])
