"""20,000 answers: the last are as quick as the first, in as much memory and with as many descriptors."""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from http.client import HTTPConnection

from tests.hostile.conftest import Serve
from tests.hostile.tally import Tally

ANSWERS = int(os.environ.get("REVELIO_HOSTILE_ANSWERS", "20000"))
CLIENTS = 2
REPORTS = ("it is slow", "checkout fails since lunch", "search says 504, whatever the word", "the page stays blank")


def percentile(times: list[float], share: float) -> float:
    """In milliseconds."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))] * 1000


def test_many_answers(serve: Serve, tally: Tally) -> None:
    server = serve("rate_limit = 0\n")
    incidents = [i["id"] for i in server.client.get("/api/v1/incidents").json()]
    times: list[tuple[float, float]] = []
    lock = threading.Lock()

    def ask(worker: int, count: int) -> None:
        there = HTTPConnection("127.0.0.1", server.port, timeout=60)
        for n in range(count):
            question = {"report": f"{REPORTS[n % 4]} {worker} {n}", "incident": incidents[n % len(incidents)], "k": 5}
            began = time.perf_counter()
            there.request("POST", "/api/v1/recommendations", json.dumps(question), {"content-type": "application/json"})
            reply = there.getresponse()
            said = reply.read()
            took = time.perf_counter() - began
            with lock:
                times.append((began, took))
            if reply.status != 200:
                tally.found("failures", f"{reply.status}: {said[:100]!r}")
                return
        there.close()

    ask(9, 50)  # the model is loaded, and every incident was read once
    times.clear()
    memory, files = server.memory(), server.open_files()
    threads = [threading.Thread(target=ask, args=(n, ANSWERS // CLIENTS)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = [seconds for _, seconds in sorted(times)]
    part = min(1_000, len(took) // 3)
    first, last = took[:part], took[-part:]
    tally.add(answers=len(took), acknowledged=len(took))
    words = f"first {part:,}: {percentile(first, 0.5):.0f} / {percentile(first, 0.99):.0f}; last {part:,}: "
    tally.figures[f"p50 / p99 of {len(took):,} answers, ms"] = (
        words + f"{percentile(last, 0.5):.0f} / {percentile(last, 0.99):.0f}"
    )
    tally.figures["memory before and after them, MB"] = f"{memory:,.0f} / {server.memory():,.0f}"
    tally.figures["descriptors before and after them"] = f"{files} / {server.open_files()}"
    assert len(took) == ANSWERS // CLIENTS * CLIENTS
    assert statistics.median(last) < 2 * statistics.median(first) + 0.02
    assert server.memory() < memory + 150
    assert server.open_files() < files + 20
