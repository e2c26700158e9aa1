"""A page that waits for an answer about a live system hears what each data source does, and can cancel."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from revelio.systems.system import System
from revelio.types import Evidence
from tests.webui import made

ID = "0123456789abcdef" * 2
ASKED = {"report": made.REPORT, "about": "system:shop", "progress": ID}


def test_a_page_that_waits_hears_of_each_source_and_gets_the_address_of_the_answer(client: TestClient) -> None:
    assert "<li" not in client.get(f"/progress/{ID}").text
    reply = client.post("/r", data=ASKED)
    assert (reply.status_code, reply.text[:3]) == (200, "/r/")
    rows = client.get(f"/progress/{ID}").text
    assert "<b>Prometheus</b>" in rows
    assert "silent after" in rows


def test_a_cancelled_question_leaves_no_answer(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    real = System.snapshot

    def cancelled_meanwhile(system: System, *given: float) -> Evidence:
        assert client.post(f"/progress/{ID}/cancel").status_code == 204
        return real(system, *given)

    monkeypatch.setattr(System, "snapshot", cancelled_meanwhile)
    reply = client.post("/r", data={**ASKED, "report": "never mind the checkout"})
    assert (reply.status_code, reply.text) == (409, "Cancelled; no answer was kept")
    assert "No matches" in client.get("/history?q=never+mind+the+checkout").text


def test_what_is_refused_is_said_in_words_to_a_page_that_waits(client: TestClient) -> None:
    reply = client.post("/r", data={**ASKED, "report": " "})
    assert reply.status_code == 422
    assert reply.headers["content-type"].startswith("text/plain")
    assert client.post("/r", data={**ASKED, "progress": "none"}).status_code == 422
