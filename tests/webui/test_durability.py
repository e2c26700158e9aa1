"""Feedback that a real server acknowledged is in the database, even when the server is killed in the middle of a crowd."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from revelio.store import Store
from tests.store import postgres
from tests.store.made import ANSWER

SERVER = """
import sys
from pathlib import Path
import uvicorn
from tests.webui import made
from webui.app import create_app
settings = made.settings(Path(sys.argv[1]), made.record()).model_copy(update={"database": sys.argv[3]})
app = create_app(settings, recommender=made.stand_in(settings))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
"""
ROOT = Path(__file__).parent.parent.parent
WRITERS, ENOUGH = 6, 30


class Crowd:
    """Gives feedback from several threads until the server is gone, and remembers what was acknowledged."""

    def __init__(self, address: str) -> None:
        self.address, self.acknowledged, self._lock = address, set[str](), threading.Lock()

    def run(self, writer: int) -> None:
        with httpx.Client(timeout=30) as client:
            for n in range(10_000):
                note = f"writer {writer} note {n}"
                try:
                    reply = client.post(
                        self.address, json={"verdict": "found", "note": note}, headers={"idempotency-key": f"{writer}-{n}"}
                    )
                except httpx.HTTPError:
                    return
                assert reply.status_code == 201, reply.text
                with self._lock:
                    self.acknowledged.add(note)


def wait_until_up(process: subprocess.Popen[bytes], address: str) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended"
        try:
            if httpx.get(f"{address}/healthz", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError("the server did not come up")


def kill_in_a_crowd(folder: Path, database: str) -> None:
    store = Store(database)
    answer = store.save(ANSWER).id
    store.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(folder), str(port), database], cwd=ROOT)
    try:
        wait_until_up(server, f"http://127.0.0.1:{port}")
        crowd = Crowd(f"http://127.0.0.1:{port}/api/v1/recommendations/{answer}/feedback")
        threads = [threading.Thread(target=crowd.run, args=(n,)) for n in range(WRITERS)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 90
        while len(crowd.acknowledged) < ENOUGH and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
    for thread in threads:
        thread.join()
    assert len(crowd.acknowledged) >= ENOUGH
    store = Store(database)
    notes = [f.note for f in store.load(answer).feedback]
    store.close()
    assert crowd.acknowledged - set(notes) == set()
    assert len(notes) == len(set(notes)), "what was sent once was kept twice"


def test_on_sqlite(tmp_path: Path) -> None:
    kill_in_a_crowd(tmp_path, f"sqlite:///{tmp_path}/revelio.db")


@pytest.mark.skipif(bool(postgres.why_not()), reason=postgres.why_not())
def test_on_postgres(tmp_path: Path) -> None:
    with postgres.running() as address:
        kill_in_a_crowd(tmp_path, address)
