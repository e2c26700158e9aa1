"""People who write without pause, and remember what the server acknowledged."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy import create_engine, text

from tests.hostile.served import Served


@dataclass
class Crowd:
    """Asks, gives feedback and sends alerts. ``acknowledged`` holds (kind, mark) of every write that the server took."""

    server: Served
    incident: str
    begun: int = 0
    acknowledged: set[tuple[str, str]] = field(default_factory=set)
    refused: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, client: httpx.Client, mark: str, answer: str) -> None:
        """One write of each kind. Raises ``httpx.HTTPError`` once the server is gone."""
        told = client.post(f"/api/v1/recommendations/{answer}/feedback", json={"verdict": "found", "note": mark})
        self._note(told, 201, "feedback", mark)
        alert = {"status": "firing", "groupKey": mark, "alerts": [{"status": "firing", "labels": {"system": "kind"}}]}
        self._note(client.post("/api/v1/webhooks/alertmanager", json={**alert, "title": mark}), 202, "alert", mark)
        asked = client.post("/api/v1/recommendations", json={"report": mark, "incident": self.incident})
        self._note(asked, 200, "answer", mark)

    def _note(self, reply: httpx.Response, taken: int, kind: str, mark: str) -> None:
        self.server.judge(f"a write of {kind}", reply)
        with self._lock:
            if reply.status_code == taken:
                self.acknowledged.add((kind, mark))
            else:
                self.refused[reply.status_code] = self.refused.get(reply.status_code, 0) + 1

    def first_answer(self) -> str:
        """Something to give feedback on."""
        asked = self.server.client.post("/api/v1/recommendations", json={"report": "first", "incident": self.incident})
        assert asked.status_code == 200, asked.text
        return str(asked.json()["id"])

    def run(self, name: str, answer: str, stop: threading.Event) -> None:
        """Until told to stop, or until the server is gone."""
        with httpx.Client(base_url=self.server.url, timeout=60.0, trust_env=False) as client:
            for n in range(100_000):
                if stop.is_set():
                    return
                try:
                    self.write(client, f"{name}-{n}", answer)
                except httpx.HTTPError:
                    return

    def lost(self, database: Path) -> set[tuple[str, str]]:
        """What was acknowledged and is not in the database."""
        engine = create_engine(f"sqlite:///{database}")
        with engine.connect() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
            kept = {("feedback", str(note)) for (note,) in connection.execute(text("SELECT note FROM feedback"))}
            kept |= {("alert", str(title)) for (title,) in connection.execute(text("SELECT title FROM integration_alerts"))}
            kept |= {("answer", str(report)) for (report,) in connection.execute(text("SELECT report FROM recommendations"))}
        engine.dispose()
        return self.acknowledged - kept
