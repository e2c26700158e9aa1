"""What all of the API has in common: replayed posts, pages of lists, masking, and a description that it keeps to."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import content_type_conformance, not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_headers_conformance, response_schema_conformance, status_code_conformance

from tests.webui import made
from tests.webui.conftest import client_on

ASK = "/api/v1/recommendations"
BODY = {"report": made.REPORT, "incident": "shop-0001"}


def test_a_post_that_is_sent_twice_is_done_once(client: TestClient, answer_id: str) -> None:
    path, said = f"{ASK}/{answer_id}/feedback", {"verdict": "helpful", "note": "once"}
    first, again = (client.post(path, json=said, headers={"idempotency-key": "a-1"}) for _ in range(2))
    assert (first.status_code, first.content, first.headers["content-type"]) == (
        again.status_code,
        again.content,
        again.headers["content-type"],
    )
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert [f["note"] for f in client.get(path).json()] == ["once"]
    assert client.post(path, json=said).status_code == 201
    assert len(client.get(path).json()) == 2


def test_a_key_belongs_to_one_request(client: TestClient, answer_id: str) -> None:
    headers = {"idempotency-key": "b-1"}
    assert client.post(ASK, json=BODY, headers=headers).status_code == 200
    other = client.post(ASK, json={**BODY, "k": 2}, headers=headers)
    assert (other.status_code, "another request" in other.json()["detail"]) == (422, True)
    elsewhere = client.post(f"{ASK}/{answer_id}/feedback", json={"verdict": "found"}, headers=headers)
    assert elsewhere.status_code == 422


def test_a_request_that_failed_may_be_sent_again_with_its_key(client: TestClient) -> None:
    headers = {"idempotency-key": "c-1"}
    assert client.post(ASK, json={**BODY, "incident": "nope"}, headers=headers).status_code == 404
    assert client.post(ASK, json=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ä".encode("latin-1").decode("latin-1")])
def test_a_key_that_cannot_be_one_is_refused(client: TestClient, key: str) -> None:
    reply = client.post(ASK, json=BODY, headers={b"idempotency-key": key.encode("latin-1")})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_crowd_with_one_key_is_served_once(client: TestClient) -> None:
    seen: list[Any] = []

    def send() -> None:
        seen.append(client.post(ASK, json=BODY, headers={"idempotency-key": "d-1"}))

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {reply.status_code for reply in seen} <= {200, 409}
    assert len({reply.json()["id"] for reply in seen if reply.status_code == 200}) == 1
    assert all(reply.headers["retry-after"] for reply in seen if reply.status_code == 409)


def next_page(reply: Any) -> str | None:
    found = re.fullmatch(r'<(/[^>]+)>; rel="next"', reply.headers.get("link", ""))
    return found[1] if found else None


def test_lists_come_in_pages_that_leave_nothing_out(client: TestClient) -> None:
    made_now = {client.post(ASK, json=BODY).json()["id"] for _ in range(5)}
    path: str | None = f"{ASK}?limit=2"
    seen: list[str] = []
    while path:
        reply = client.get(path)
        assert len(reply.json()) <= 2
        seen += [entry["id"] for entry in reply.json()]
        path = next_page(reply)
    assert len(seen) == len(set(seen))
    assert made_now <= set(seen)
    first = client.get("/api/v1/incidents?limit=1")
    assert [i["id"] for i in first.json()] == ["shop-0001"]
    second = client.get(str(next_page(first)))
    assert [i["id"] for i in second.json()] == ["shop-0002"]
    assert next_page(second) is None


@pytest.mark.parametrize("cursor", ["x", "bm9wZQ", "WzEsMl0", "W10", "WyJhIiwgMV0", "%00", "W25hbiwgImEiXQ", "a" * 201])
def test_a_cursor_that_was_not_given_is_refused(client: TestClient, cursor: str) -> None:
    reply = client.get(f"{ASK}?cursor={cursor}")
    assert (reply.status_code, reply.headers["content-type"]) == (422, "application/problem+json")


def test_what_was_masked_is_said(client: TestClient) -> None:
    report = "checkout fails for anna@example.com, password=hunter2"
    reply = client.post(ASK, json={**BODY, "report": report}).json()
    assert reply["report"] == "checkout fails for [e-mail masked], password=[secret masked]"
    assert reply["masked"] == ["secrets", "emails"]
    page = client.get(f"/r/{reply['id']}").text
    assert "[e-mail masked]" in page
    assert "Masked before saving: secrets and e-mail addresses." in page
    assert "anna@example.com" not in page + client.get("/history").text
    assert client.post(ASK, json=BODY).json()["masked"] == []


def test_the_api_keeps_to_its_own_description(client: TestClient, answer_id: str) -> None:
    """A few made-up requests for each operation; answers must be among those described, in the shape described."""
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", client.app)
    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
    ]
    tried = set()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        if operation.path.startswith(("/api/v1/webhooks", "/readyz")):
            continue
        tried.add(operation.path)

        @settings(max_examples=6, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True)
        @given(case=operation.as_strategy())
        def try_it(case: Any) -> None:
            case.call_and_validate(checks=checks)

        try_it()
    assert len(tried) >= 12


def test_a_locked_database_holds_up_nobody_but_writers(tmp_path: Path) -> None:
    with client_on(made.settings(tmp_path, made.record())) as client, ThreadPoolExecutor() as others:
        asked = client.post(ASK, json=BODY)
        with closing(sqlite3.connect(tmp_path / "revelio.db", isolation_level=None)) as locked:
            locked.execute("BEGIN IMMEDIATE")
            said = {"verdict": "helpful", "note": "x"}
            path, headers = f"{ASK}/{asked.json()['id']}/feedback", {"idempotency-key": "held"}
            writing = [others.submit(client.post, path, json=said, headers=headers | {"x": str(n)}) for n in range(3)]
            slowest = 0.0
            for _ in range(10):
                began = time.monotonic()
                assert client.get("/healthz").status_code == 200
                slowest = max(slowest, time.monotonic() - began)
                time.sleep(0.05)
            locked.execute("ROLLBACK")
        assert {write.result().status_code for write in writing} <= {201, 409}
    assert slowest < 5.0, "the database is waited for as long as ten seconds"


def test_a_key_is_let_go_without_holding_up_others(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_loop: list[bool] = []

    def release(*_: object) -> None:
        with suppress(RuntimeError):
            on_the_loop.append(asyncio.get_running_loop() is not None)
            return
        on_the_loop.append(False)

    monkeypatch.setattr("revelio.store.replays.Replays.release", release)
    assert client.post(ASK, json={"report": ""}, headers={"idempotency-key": "f-1"}).status_code == 422
    assert on_the_loop == [False]
