"""A full disk refuses writes with 503 and loses none that it took; a locked database makes only writers wait; one that cannot
be written says so."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.conftest import Serve
from tests.hostile.crowd import Crowd
from tests.hostile.served import Served
from tests.hostile.tally import Tally
from tests.hostile.test_kill import ENDED, SETTINGS

_OWN = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
_ENTER = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
SMALL = "size=8m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A file system of 8 MB in a mount namespace of its own: the process that holds it, and where it is there."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = f"mount -t tmpfs -o {SMALL} tmpfs {place} && echo ready && exec sleep 600"
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("a full disk needs unshare and nsenter")
    with subprocess.Popen([*_OWN, "sh", "-c", mount], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as holder:
        assert holder.stdout is not None
        try:
            if holder.stdout.readline() != b"ready\n":
                pytest.skip("a full disk needs the right to mount a small one")
            yield holder.pid, place
        finally:
            holder.kill()


def test_a_full_disk(serve: Serve, tally: Tally, small_disk: tuple[int, Path], tmp_path: Path) -> None:
    holder, place = small_disk
    seen = Path(f"/proc/{holder}/root{place}")
    enter = ["nsenter", "--target", str(holder), "--mount", *_ENTER, f"--wd={tmp_path}", "--"]
    server = serve(SETTINGS, folder=tmp_path, wrap=enter, database=f"sqlite:///{place}/revelio.db")
    crowd = Crowd(server, server.client.get("/api/v1/incidents").json()[0]["id"])
    answer = crowd.first_answer()
    (seen / "ballast").write_bytes(b"x" * 7_000_000)
    for n in range(400):
        crowd.write(server.client, f"full {n}", answer)
        if sum(crowd.refused.values()) > 20:
            break
    assert set(crowd.refused) == {503}, crowd.refused
    assert server.judge("/readyz", server.client.get("/readyz")).status_code == 503
    assert server.client.get("/healthz").status_code == 200
    (seen / "ballast").unlink()
    server.wait(lambda: server.client.get("/readyz").status_code == 200, 20)
    crowd.write(server.client, "after", answer)
    assert ("feedback", "after") in crowd.acknowledged
    server.kill()
    for found in seen.glob("revelio.db*"):
        shutil.copy(found, tmp_path / found.name)
    lost = crowd.lost(tmp_path / "revelio.db")
    tally.add(faults=2, acknowledged=len(crowd.acknowledged), lost=len(lost))
    assert lost == set()


def test_a_database_on_a_read_only_disk_is_named(
    serve: Serve, tally: Tally, small_disk: tuple[int, Path], tmp_path: Path
) -> None:
    holder, place = small_disk
    enter = ["nsenter", "--target", str(holder), "--mount", *_ENTER, f"--wd={tmp_path}", "--"]
    database = f"sqlite:///{place}/revelio.db"
    assert serve(SETTINGS, folder=tmp_path, wrap=enter, database=database).stop() in ENDED
    subprocess.run([*enter, "mount", "-o", "remount,ro", str(place)], check=True)
    server = Served(tmp_path, tally, SETTINGS, wrap=enter, database=database)
    with pytest.raises(AssertionError, match=r"cannot be opened: .*Read-only file system.*check the setting `database`"):
        server.start()
    server.client.close()
    server.look()
    tally.add(faults=1)


def test_a_locked_database_makes_nobody_wait_who_does_not_write(serve: Serve, tally: Tally) -> None:
    server = serve(SETTINGS)
    crowd = Crowd(server, server.client.get("/api/v1/incidents").json()[0]["id"])
    answer, stop = crowd.first_answer(), threading.Event()
    locked = sqlite3.connect(server.folder / "revelio.db", isolation_level=None)
    locked.execute("BEGIN EXCLUSIVE")
    writers = [threading.Thread(target=crowd.run, args=(f"locked {n}", answer, stop)) for n in range(20)]
    for writer in writers:
        writer.start()
    slowest = 0.0
    for _ in range(40):
        began = time.monotonic()
        assert server.client.get("/healthz").status_code == 200
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.1)
    locked.execute("ROLLBACK")
    locked.close()
    time.sleep(1.0)
    stop.set()
    for writer in writers:
        writer.join()
    tally.add(faults=1, acknowledged=len(crowd.acknowledged))
    tally.figures["slowest /healthz while the database is locked, ms"] = f"{slowest * 1000:.0f}"
    assert set(crowd.refused) <= {503}
    assert slowest < 5.0, "the database is waited for as long as ten seconds"
    assert server.stop() in ENDED
    assert crowd.lost(server.folder / "revelio.db") == set()
