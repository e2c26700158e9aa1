"""Two servers on one SQLite file: each sees what the other took, nothing is lost, and one of them answers an alert."""

from __future__ import annotations

import sqlite3
import threading
import time

from tests.hostile.conftest import Serve
from tests.hostile.crowd import Crowd
from tests.hostile.tally import Tally
from tests.hostile.test_kill import ENDED, SETTINGS

DURING_S = 20.0


def test_two_servers_share_a_file(serve: Serve, tally: Tally) -> None:
    one = serve(SETTINGS)
    database = one.folder / "revelio.db"
    servers = (one, serve(SETTINGS, database=f"sqlite:///{database}"))
    incident = one.client.get("/api/v1/incidents").json()[0]["id"]
    crowds = [Crowd(server, incident) for server in servers]
    answer, stop, before = crowds[0].first_answer(), threading.Event(), len(tally.failures)
    assert servers[1].client.get(f"/r/{answer}").status_code == 200, "the other server has the answer, too"
    writers = [threading.Thread(target=c.run, args=(f"{s} {w}", answer, stop)) for s, c in enumerate(crowds) for w in range(4)]
    for writer in writers:
        writer.start()
    time.sleep(DURING_S)
    stop.set()
    for writer in writers:
        writer.join()
    for server in servers:  # both are sent the same alert, as by two Alertmanagers
        alert = {"status": "firing", "groupKey": "both", "alerts": [{"status": "firing", "labels": {"system": "kind"}}]}
        assert server.client.post("/api/v1/webhooks/alertmanager", json={**alert, "title": "both"}).status_code == 202
    assert [server.stop() in ENDED for server in servers] == [True, True]
    lost = set().union(*(crowd.lost(database) for crowd in crowds))
    taken = sum(len(crowd.acknowledged) for crowd in crowds)
    refused = sum(sum(crowd.refused.values()) for crowd in crowds)
    with sqlite3.connect(database) as kept:
        (both,) = kept.execute("SELECT count(*) FROM integration_alerts WHERE title = 'both'").fetchone()
    tally.add(faults=1, acknowledged=taken, lost=len(lost))
    tally.figures[f"two servers on one SQLite file for {DURING_S:.0f} s: writes taken / refused / lost"] = (
        f"{taken:,} / {refused} / {len(lost)}"
    )
    assert tally.failures[before:] == []
    assert lost == set()
    assert both == 1, "one alert, whichever server took it"
    assert refused <= taken / 100
