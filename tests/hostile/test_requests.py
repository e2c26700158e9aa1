"""Whatever is sent, every answer is one that the server meant to give, and the server goes on."""

from __future__ import annotations

import random
import socket
import string
from itertools import islice

import pytest

from tests.hostile import inputs
from tests.hostile.conftest import Serve
from tests.hostile.served import Served, canary
from tests.hostile.tally import Tally

SEED = 20
SLACK, ALERTS, PASSWORD = canary("slack-secret"), canary("alert-token"), canary("password")
SETTINGS = f"""
rate_limit = 0
timeout_s = 1.0
[slack]
signing_secret = "{SLACK}"
bot_token = "{SLACK}"
api_url = "http://127.0.0.1:9/"
[alerts]
alertmanager_token = "{ALERTS}"
grafana_token = "{ALERTS}"
pagerduty_secret = "{ALERTS}"
[systems.kind.backends.prometheus]
url = "http://observer:{PASSWORD}@127.0.0.1:9"
"""

pytestmark = pytest.mark.usefixtures("nothing_broke")


@pytest.fixture(scope="module")
def server(serve: Serve) -> Served:
    """Open to this machine."""
    return serve(SETTINGS, hidden=(SLACK, ALERTS, PASSWORD))


def test_texts_in_every_field(server: Served) -> None:
    incident = server.client.get("/api/v1/incidents").json()[0]["id"]
    for text in inputs.TEXTS:
        safe = text.encode("utf-8", "replace").decode()
        asked = server.send("POST", "/api/v1/recommendations", json={"report": safe, "incident": incident})
        if asked is not None and asked.status_code == 200:
            shown = server.send("GET", f"/r/{asked.json()['id']}")
            assert shown is not None and "<script>alert" not in shown.text and "<img src=x" not in shown.text
            path = f"/api/v1/recommendations/{asked.json()['id']}/feedback"
            server.send("POST", path, json={"verdict": "found", "note": safe})
        server.send("POST", "/api/v1/recommendations", json={"report": "x", "system": safe})
        server.send("POST", "/api/v1/recommendations", content=b'{"report": "\\ud800", "incident": "' + incident.encode() + b'"}')
        server.send("POST", "/r", data={"report": safe, "about": f"incident:{incident}"})
        server.send("POST", "/r", data={"report": "x", "about": safe, "at": safe, "behind": safe[:50]})
        server.send("GET", "/history", params={"q": safe[:4_000], "since": safe[:40], "page": safe[:30]})


def test_bodies_of_every_kind(server: Served) -> None:
    kinds = ("application/json", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", "")
    paths = (
        "/api/v1/recommendations",
        "/api/v1/recommendations/x/feedback",
        "/r",
        "/r/x/run",
        "/r/x/feedback",
        "/mcp",
        "/api/v1/tokens",
    )
    for n, body in enumerate(islice(inputs.bodies(random.Random(SEED)), 1_500)):
        server.send("POST", paths[n % len(paths)], content=body, headers={"content-type": kinds[n % len(kinds)]})


def test_names_in_every_address(server: Served) -> None:
    for path in inputs.PATHS:
        for name in inputs.NAMES:
            for method in ("GET", "POST", "DELETE"):
                server.send(method, path.format(*[name] * 3))


def test_headers_of_every_kind(server: Served) -> None:
    for headers in inputs.HEADERS:
        for path in ("/", "/healthz", "/api/v1/incidents", "/history", "/static/revelio.css"):
            server.send("GET", path, headers=headers)
        server.send("POST", "/api/v1/recommendations", content=b"{}", headers=headers)


def test_methods_that_nothing_has(server: Served) -> None:
    for method in ("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PROPFIND", "X" * 50):
        for path in ("/", "/r", "/api/v1/recommendations", "/mcp", "/healthz"):
            server.send(method, path)


def test_lines_that_are_no_http(server: Served, tally: Tally) -> None:
    chance = random.Random(SEED)
    lines = [
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 3_000 + b"\r\n",
    ]
    lines += [b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n"]
    lines += [chance.randbytes(chance.randrange(1, 2_000)) for _ in range(200)]
    lines += ["".join(chance.choices(string.printable, k=200)).encode() for _ in range(100)]
    for line in lines:
        tally.add(inputs=1)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as there:
            there.sendall(line)
            there.shutdown(socket.SHUT_WR)
            try:
                said = there.recv(65536)
            except OSError:
                continue
            assert said[:9] != b"HTTP/1.1 5" and b" 500 " not in said[:20], line[:60]


def test_webhooks_with_the_right_token(server: Served) -> None:
    headers = {"authorization": f"Bearer {ALERTS}", "content-type": "application/json"}
    for n, body in enumerate(islice(inputs.webhook_bodies(random.Random(SEED)), 400)):
        server.send("POST", f"/api/v1/webhooks/{('alertmanager', 'grafana', 'pagerduty')[n % 3]}", content=body, headers=headers)
        if n % 3 == 2:
            server.send("POST", "/api/v1/webhooks/alertmanager", content=body)


def test_deliveries_that_slack_signed(server: Served) -> None:
    for path, body, kind in islice(inputs.slack_deliveries(random.Random(SEED)), 400):
        server.send("POST", path, content=body, headers={**inputs.signed(body, SLACK), "content-type": kind})
