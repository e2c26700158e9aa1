"""The clock jumps, back and ahead, by minutes, days and decades."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.conftest import Serve
from tests.hostile.crowd import Crowd
from tests.hostile.tally import Tally
from tests.hostile.test_kill import ENDED, SETTINGS

PROGRAM = """
import sys, time
from pathlib import Path
told, true = Path(sys.argv.pop(1)), time.time
time.time = lambda: true() + float(told.read_text() or 0)
from revelio.cli import main
main()
"""
JUMPS = (60, -60, 3_600, -86_400, 400 * 86_400, -400 * 86_400, -1e9, 1e9, 4e9, 0)
"""Seconds."""


def test_the_clock_jumps(serve: Serve, tally: Tally, tmp_path: Path) -> None:
    told = tmp_path / "jump"
    told.write_text("0")
    server = serve(SETTINGS, program=("-c", PROGRAM, str(told)))
    crowd = Crowd(server, server.client.get("/api/v1/incidents").json()[0]["id"])
    answer, before = crowd.first_answer(), len(tally.failures)
    for n, jump in enumerate(JUMPS):
        told.write_text(str(jump))
        crowd.write(server.client, f"jump {n}", answer)
        for path in ("/", "/history", "/systems", "/systems/kind", "/readyz", "/metrics", "/api/v1/recommendations"):
            server.judge(f"{path} after a jump of {jump:g} s", server.client.get(path))
        tally.add(faults=1)
    assert tally.failures[before:] == []
    assert crowd.refused == {}
    assert server.stop() in ENDED
    lost = crowd.lost(server.folder / "revelio.db")
    tally.add(acknowledged=len(crowd.acknowledged), lost=len(lost))
    assert lost == set()
