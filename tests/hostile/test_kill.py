"""What was acknowledged is there after kill -9, again and again; what was begun ends well after SIGTERM."""

from __future__ import annotations

import random
import signal
import socket
import threading
import time
from pathlib import Path

import httpx

from tests.hostile.conftest import Serve
from tests.hostile.crowd import Crowd
from tests.hostile.served import Served
from tests.hostile.tally import Tally

ROUNDS, WRITERS = 20, 4
ENDED = (0, -signal.SIGTERM)
"""Exit codes of a server that ended in order: it passes the signal on once it has."""
SETTINGS = 'rate_limit = 0\ntimeout_s = 1.0\n[systems.kind.backends.prometheus]\nurl = "http://127.0.0.1:9"\n'


def test_kill_nine_again_and_again(tally: Tally, tmp_path: Path) -> None:
    chance = random.Random(9)
    acknowledged = set[tuple[str, str]]()
    for n in range(ROUNDS):
        server = Served(tmp_path, tally, SETTINGS).start()
        crowd = Crowd(server, server.client.get("/api/v1/incidents").json()[0]["id"])
        answer, stop = crowd.first_answer(), threading.Event()
        writers = [threading.Thread(target=crowd.run, args=(f"round {n} writer {w}", answer, stop)) for w in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(0.3 + chance.random())
        server.kill()
        for writer in writers:
            writer.join()
        server.client.close()
        tally.add(acknowledged=len(crowd.acknowledged))
        acknowledged |= crowd.acknowledged
        crowd.acknowledged = acknowledged
        lost = crowd.lost(tmp_path / "revelio.db")
        tally.add(faults=1, kills=1, lost=len(lost))
        assert lost == set()
    assert len(acknowledged) >= 5 * ROUNDS


def test_sigterm_answers_what_was_begun_and_ends_with_one_half_sent_request(serve: Serve, tally: Tally) -> None:
    server = serve(SETTINGS)
    incident = server.client.get("/api/v1/incidents").json()[0]["id"]
    with socket.create_connection(("127.0.0.1", server.port)) as half, httpx.Client(base_url=server.url, timeout=60) as client:
        half.sendall(b"POST /r HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf")
        replies: list[int] = []

        def ask() -> None:
            question = {"report": "it hangs", "incident": incident, "run": True}
            replies.append(client.post("/api/v1/recommendations", json=question).status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.05)
        began = time.monotonic()
        code = server.stop(seconds=45)
        tally.add(faults=1)
        tally.figures["seconds that SIGTERM takes with a half-sent request"] = f"{time.monotonic() - began:.1f}"
        asking.join()
    assert code in ENDED
    assert replies == [200]
