"""How much there is to read on an answer's page before the evidence, on every bundled incident."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from revelio.settings import BUNDLED, Settings
from revelio.systems.incidents.recorded import RecordedIncidents
from webui.app import create_app

MOST = 120
"""Words to read before the first evidence."""
TWO_FAULTS = ("travel-435f94bb1ba", "travel-8c5db872bca")
ASKED = [(one, "") for one in RecordedIncidents(BUNDLED / "incidents").ids()] + [
    (one, report) for one in TWO_FAULTS for report in ("Nobody can log in, error 502", "The seat map does not load")
]
_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
_UNREAD = {"svg", "script", "style", "textarea", "select", "head"}


class Reader(HTMLParser):
    """The words of the main part that a reader sees before the evidence of the selected query."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.reached = False
        self._inside = False
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        classes = (said.get("class") or "").split()
        self._inside = self._inside or tag == "main"
        hidden = tag in _UNREAD or "hidden" in said or "visually-hidden" in classes
        hidden = hidden or ("card" in classes and "selected" not in classes)
        folded = any(t == "details" and h for t, h in self._open[-1:]) and tag != "summary"
        seen = not any(h for t, h in self._open if t != "details")
        self.reached = self.reached or ("evidence" in classes and seen and not hidden)
        if tag not in _VOID:
            self._open.append((tag, hidden or folded or (tag == "details" and "open" not in said)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._inside and not self.reached and not any(h for t, h in self._open if t != "details"):
            self.words += [w for w in data.split() if any(c.isalnum() for c in w)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server with the bundled model and the bundled incidents."""
    folder: Path = tmp_path_factory.mktemp("demo")
    wanted = Settings(database=f"sqlite:///{folder}/revelio.db", names=["testserver"], rate_limit=0, systems={})
    with TestClient(create_app(wanted), client=("127.0.0.1", 50_000)) as client:
        yield client


@pytest.mark.parametrize(("incident", "report"), ASKED)
def test_the_evidence_of_a_bundled_incident_follows_few_words(demo: TestClient, incident: str, report: str) -> None:
    asked = report or RecordedIncidents(BUNDLED / "incidents").get(incident).incident().report
    reply = demo.post("/api/v1/recommendations", json={"report": asked, "incident": incident})
    assert reply.status_code == 200, reply.text
    address = f"/r/{reply.json()['id']}"
    demo.post(f"{address}/run-first")

    reader = Reader()
    reader.feed(demo.get(address).text)

    assert reader.reached, " ".join(reader.words)
    assert len(reader.words) <= MOST, " ".join(reader.words)
