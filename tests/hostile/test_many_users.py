"""50 people who read and ask for a minute: everything is answered, and quickly enough to work with."""

from __future__ import annotations

import random
import statistics
import threading
import time

import httpx

from tests.hostile.conftest import Serve
from tests.hostile.served import Served
from tests.hostile.tally import Tally
from tests.hostile.test_endurance import REPORTS, percentile

USERS, DURING_S, THINKS_S = 50, 60.0, (1.0, 4.0)
PAGES = ("/", "/history", "/systems", "/model", "/api/v1/recommendations", "/api/v1/incidents")
PAGE_MEDIAN_S, ANSWER_MEDIAN_S = 1.0, 2.0


def test_fifty_users_for_a_minute(serve: Serve, tally: Tally) -> None:
    server = serve("rate_limit = 0\n")
    incidents = [i["id"] for i in server.client.get("/api/v1/incidents").json()]
    read, asked = list[float](), list[float]()
    until = time.monotonic() + DURING_S
    users = [threading.Thread(target=_use, args=(server, n, incidents, until, read, asked)) for n in range(USERS)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    tally.add(acknowledged=len(asked))
    for what, times in (("pages read", read), ("questions asked", asked)):
        shown = " / ".join(f"{percentile(times, share):.0f}" for share in (0.5, 0.95, 1.0))
        tally.figures[f"{USERS} users for {DURING_S:.0f} s: {what}, p50 / p95 / slowest, ms"] = f"{shown} of {len(times):,}"
    assert statistics.median(read) < PAGE_MEDIAN_S
    assert statistics.median(asked) < ANSWER_MEDIAN_S


def _use(server: Served, number: int, incidents: list[str], until: float, read: list[float], asked: list[float]) -> None:
    """Read a page or two, ask, look at the answer, and think between; appends the seconds that each took."""
    chance = random.Random(number)
    kept = httpx.Limits(keepalive_expiry=2.0)  # the server closes idle connections after 5 s
    with httpx.Client(base_url=server.url, timeout=60.0, limits=kept, trust_env=False) as client:
        while time.monotonic() < until:
            time.sleep(chance.uniform(*THINKS_S))
            if chance.random() < 0.3:
                question = {"report": chance.choice(REPORTS), "incident": chance.choice(incidents)}
                reply = _timed(server, client, asked, "POST", "/api/v1/recommendations", json=question)
                _timed(server, client, read, "GET", f"/r/{reply.json()['id']}")
            else:
                _timed(server, client, read, "GET", chance.choice(PAGES))


def _timed(server: Served, client: httpx.Client, times: list[float], method: str, path: str, **given: object) -> httpx.Response:
    began = time.perf_counter()
    reply = server.judge(f"{method} {path}", client.request(method, path, **given))  # type: ignore[arg-type]
    times.append(time.perf_counter() - began)
    assert reply.status_code == 200, f"{reply.status_code} to {path}"
    return reply
