"""1,000 alerts in a minute: each is taken, all are answered in time, and people at the pages hardly notice."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer

import httpx
import pytest

from tests.hostile.conftest import Serve
from tests.hostile.journey import TOOLS, Polite
from tests.hostile.tally import Tally
from tests.hostile.test_endurance import percentile

ALERTS, DURING_S, SENDERS = 1_000, 60.0, 20
PAGES = ("/", "/history", "/systems", "/systems/ours", "/api/v1/webhooks/incidents")
KEPT = httpx.Limits(max_connections=SENDERS, keepalive_expiry=2.0)
"""The server closes idle connections after 5 s."""
TAKEN_WITHIN_S, PAGE_MEDIAN_S, ANSWERED_WITHIN_S = 5.0, 1.0, 60.0


@pytest.fixture
def settings() -> Iterator[str]:
    """Of one live system whose backends answer at once."""
    told, backends = list[str](), list[ThreadingHTTPServer]()
    for tool, scheme in TOOLS.items():
        backends.append(ThreadingHTTPServer(("127.0.0.1", 0), Polite))
        threading.Thread(target=backends[-1].serve_forever, daemon=True).start()
        told.append(f'[systems.ours.backends.{tool}]\nurl = "{scheme}://127.0.0.1:{backends[-1].server_port}"\n')
    yield "".join(told)
    for backend in backends:
        backend.shutdown()
        backend.server_close()


def test_a_thousand_alerts_in_a_minute(serve: Serve, tally: Tally, settings: str) -> None:
    server = serve(settings)
    server.client.post("/api/v1/recommendations", json={"report": "warm", "system": "ours"}).raise_for_status()
    stop, seen = threading.Event(), list[float]()
    looking = threading.Thread(target=_look, args=(server.url, stop, seen))
    looking.start()
    began = time.monotonic()
    with (
        httpx.Client(base_url=server.url, timeout=60.0, limits=KEPT, trust_env=False) as client,
        ThreadPoolExecutor(SENDERS) as senders,
    ):
        taken = list(senders.map(lambda n: _send(client, n, began + n * DURING_S / ALERTS), range(ALERTS)))
    sent_s = time.monotonic() - began
    slow, median = percentile(taken, 0.95), statistics.median(seen)
    tally.add(inputs=ALERTS, acknowledged=ALERTS)
    tally.figures[f"{ALERTS:,} alerts, all taken within"] = (
        f"{sent_s:.0f} s; p50 / p95 {percentile(taken, 0.5):.0f} / {slow:.0f} ms"
    )
    tally.figures["pages beside them, p50 / slowest, ms"] = f"{median * 1000:.0f} / {max(seen) * 1000:.0f} of {len(seen)}"
    stop.set()
    looking.join()
    answers = set[str]()
    while any(alert["recommendation_id"] is None for alert in _alerts(server.client, answers)):
        assert time.monotonic() < began + sent_s + ANSWERED_WITHIN_S, "not all are answered"
        time.sleep(0.5)
    tally.figures["their answers"] = f"{len(answers)}, the last {time.monotonic() - began - sent_s:.0f} s after the last alert"
    assert sent_s < DURING_S + TAKEN_WITHIN_S
    assert slow < TAKEN_WITHIN_S * 1000
    assert median < PAGE_MEDIAN_S


def _send(client: httpx.Client, n: int, due: float) -> float:
    """One alert, when it is due; the seconds until it was taken."""
    time.sleep(max(0.0, due - time.monotonic()))
    labels = {"system": "ours", "alertname": f"Slow{n}", "service": "cart"}
    alert = {"status": "firing", "groupKey": f"storm {n}", "alerts": [{"status": "firing", "labels": labels}]}
    began = time.monotonic()
    assert client.post("/api/v1/webhooks/alertmanager", json=alert).status_code == 202
    return time.monotonic() - began


def _alerts(client: httpx.Client, answers: set[str]) -> list[dict[str, str | None]]:
    """All that were taken, page by page; the ids of their answers join ``answers``."""
    found, address = list[dict[str, str | None]](), "/api/v1/webhooks/incidents?limit=200"
    while address:
        reply = client.get(address).raise_for_status()
        found += reply.json()
        address = reply.links.get("next", {}).get("url", "")
    answers.update(str(alert["recommendation_id"]) for alert in found if alert["recommendation_id"])
    assert len(found) == ALERTS
    return found


def _look(url: str, stop: threading.Event, seen: list[float]) -> None:
    """A person who goes from page to page; appends the seconds that each took."""
    with httpx.Client(base_url=url, timeout=60.0, trust_env=False) as client:
        while not stop.wait(0.2):
            began = time.monotonic()
            client.get(PAGES[len(seen) % len(PAGES)]).raise_for_status()
            seen.append(time.monotonic() - began)
