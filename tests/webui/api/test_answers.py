"""The API keeps its names and shapes, and refuses what it cannot use in words."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.webui import made

ASK = "/api/v1/recommendations"
CART = "prometheus.throttling-"


def test_an_answer_can_be_had_in_the_order_of_what_came_back(client: TestClient, answer_id: str) -> None:
    address = f"/api/v1/recommendations/{answer_id}"
    first = client.get(address).json()["queries"][0]
    assert first["moved"] is None
    client.post(f"{address}/queries/{first['id']}/run")
    queries = client.get(address, params={"order": "evidence"}).json()["queries"]
    assert queries[0]["moved"] == {"before": 1, "because": "from 1, the stand-in says"}
    assert queries[0]["result"]["signal"] > 0
    assert client.get(address, params={"order": "sideways"}).status_code == 422


def problem(reply: Any, status: int) -> dict[str, Any]:
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = reply.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


def query_id(client: TestClient, answer_id: str, rank: int = 1) -> str:
    return str(client.get(f"{ASK}/{answer_id}").json()["queries"][rank - 1]["id"])


def test_an_answer_has_the_promised_names(client: TestClient) -> None:
    body = client.post(ASK, json={"report": made.REPORT, "incident": "shop-0001", "k": 3}).json()
    assert {"id", "model", "abstain", "degraded", "queries"} <= body.keys()
    assert body["model"] == "stand-in-1"
    assert body["abstain"] == {"probability": 0.04}
    assert body["degraded"] == []
    assert body["incident"] == "shop-0001"
    assert [q["rank"] for q in body["queries"]] == [1, 2, 3]
    first = body["queries"][0]
    assert first["id"].startswith(CART)
    assert first["tool"] == "prometheus"
    assert first["bindings"] == {"container": "cart"}
    assert 'container="cart"' in first["text"]
    assert first["factors"][0]["name"] == "tool"
    assert first["result"] is None


def test_the_same_answer_is_found_again(client: TestClient) -> None:
    given = client.post(ASK, json={"report": made.REPORT, "incident": "shop-0001"}).json()
    assert client.get(f"{ASK}/{given['id']}").json() == given


def test_a_run_gives_the_result_and_keeps_it(client: TestClient, answer_id: str) -> None:
    query = query_id(client, answer_id)
    result = client.post(f"{ASK}/{answer_id}/queries/{query}/run")
    assert result.status_code == 200, result.text
    assert {"columns", "rows", "series", "summary", "signal", "truncated", "took_ms"} <= result.json().keys()
    assert [s["entity"] for s in result.json()["series"]] == ["cart", "orders"]
    assert result.json()["series"][1]["values"][10] is None
    assert client.get(f"{ASK}/{answer_id}").json()["queries"][0]["result"] == result.json()


def test_run_asked_for_at_once_fills_the_results(client: TestClient) -> None:
    body = client.post(ASK, json={"report": made.REPORT, "incident": "shop-0001", "run": True, "k": 1}).json()
    assert body["queries"][0]["result"]["signal"] == 1.0


def test_feedback_is_kept(client: TestClient, answer_id: str) -> None:
    query = query_id(client, answer_id)
    reply = client.post(f"{ASK}/{answer_id}/feedback", json={"query_id": query, "verdict": "found", "note": "quota"})
    assert reply.status_code == 201
    assert reply.json() | {"given_at": 0} == {
        "recommendation_id": answer_id,
        "query_id": query,
        "verdict": "found",
        "note": "quota",
        "given_at": 0,
    }
    assert client.get("/history").text.count("Found it") >= 1


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"report": "   ", "incident": "shop-0001"}, 422, "empty"),
        ({"incident": "shop-0001"}, 422, "report"),
        ({"report": "x", "incident": "nope"}, 404, "shop-0001"),
        ({"report": "x", "system": "nope"}, 404, "shop"),
        ({"report": "x"}, 422, "system or a recorded incident"),
        ({"report": "x", "system": "shop", "incident": "shop-0001"}, 422, "either"),
        ({"report": "x", "incident": "shop-0001", "k": 0}, 422, "k:"),
        ({"report": "x", "incident": "shop-0001", "k": 51}, 422, "k:"),
        ({"report": "x", "incident": "shop-0001", "kk": 1}, 422, "kk:"),
        ({"report": "a\x00b", "incident": "shop-0001"}, 422, "NUL"),
        ({"report": "x" * 20_001, "incident": "shop-0001"}, 422, "20,000"),
        ({"report": "x", "system": "shop", "opened_at": -1}, 422, "opened_at"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(client: TestClient, body: dict[str, Any], status: int, words: str) -> None:
    assert words in problem(client.post(ASK, json=body), status)["detail"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"[]", 422),
        (b"\xff\xfe\x00", 400),
        (b'{"report": "\\ud800", "incident": "shop-0001"}', 422),
        (b'{"report": "x", "incident": "shop-0001", "k": ' + b"9" * 5000 + b"}", 400),
        (b"[" * 50_000, 400),
        (b'{"report": "' + b"x" * 1_000_000 + b'"}', 413),
    ],
)
def test_bodies_that_are_no_request_are_refused(client: TestClient, content: bytes, status: int) -> None:
    problem(client.post(ASK, content=content, headers={"content-type": "application/json"}), status)


def test_a_large_body_of_unknown_length_is_refused(client: TestClient) -> None:
    parts = (b"x" * 100_000 for _ in range(10))
    problem(client.post(ASK, content=parts, headers={"content-type": "application/json"}), 413)


def test_what_was_sent_is_not_echoed(client: TestClient) -> None:
    reply = client.post(ASK, json={"report": "x", "incident": "shop-0001", "k": "secret-word"})
    assert "secret-word" not in reply.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{ASK}/nope"),
        ("GET", f"{ASK}/%00"),
        ("POST", f"{ASK}/nope/queries/x/run"),
        ("GET", "/api/v1/nope"),
    ],
)
def test_what_does_not_exist_is_404(client: TestClient, method: str, path: str) -> None:
    problem(client.request(method, path), 404)


def test_feedback_on_another_answers_query_is_refused(client: TestClient, answer_id: str) -> None:
    reply = client.post(f"{ASK}/{answer_id}/feedback", json={"query_id": "other", "verdict": "found"})
    assert "no query 'other'" in problem(reply, 404)["detail"]
    problem(client.post(f"{ASK}/{answer_id}/feedback", json={"query_id": "other", "verdict": "superb"}), 422)
    problem(client.post(f"{ASK}/{answer_id}/queries/other/run"), 404)


def test_incidents_are_listed_without_what_caused_them(client: TestClient) -> None:
    reply = client.get("/api/v1/incidents")
    assert [i["id"] for i in reply.json()] == ["shop-0001", "shop-0002"]
    assert reply.json()[0]["report"] == made.REPORT
    assert "cpu_quota" not in reply.text


def test_systems_are_listed_with_their_tools(client: TestClient) -> None:
    assert client.get("/api/v1/systems").json() == [{"name": "shop", "tools": ["prometheus"]}]


def test_a_live_system_whose_backends_are_down_gives_a_degraded_answer(client: TestClient) -> None:
    reply = client.post(ASK, json={"report": "checkout is slow", "system": "shop"})
    assert reply.status_code == 200
    assert "prometheus" in reply.json()["degraded"]
    assert reply.json()["incident"] is None


def test_health_readiness_and_metrics(client: TestClient, answer_id: str) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
    assert client.get("/readyz").json() == {"status": "ready", "troubles": []}
    text = client.get("/metrics").text
    assert 'route="/api/v1/recommendations"' in text
    assert "revelio_ready 1.0" in text
    assert answer_id not in text


def test_a_damaged_model_says_so_everywhere(broken: TestClient) -> None:
    assert broken.get("/healthz").status_code == 200
    ready = broken.get("/readyz")
    assert ready.status_code == 503
    assert "manifest.json" in ready.json()["troubles"][0]
    body = {"report": made.REPORT, "incident": "shop-0001"}
    assert "manifest.json" in problem(broken.post(ASK, json=body), 503)["detail"]
    assert "manifest.json" in broken.get("/").text
    page = broken.post("/r", data={"report": "my very own words", "about": "incident:shop-0001"})
    assert page.status_code == 503
    assert "manifest.json" in page.text
    assert "my very own words" in page.text


def test_the_description_is_there_for_programs_and_people(client: TestClient) -> None:
    description = client.get("/api/openapi.json").json()
    assert "/api/v1/recommendations/{recommendation_id}/queries/{query_id}/run" in description["paths"]
    assert client.get("/api/docs", headers={"accept": "application/json"}).json() == description
    page = client.get("/api/docs")
    assert page.headers["content-type"].startswith("text/html")
    for path in description["paths"]:
        assert path in page.text
    assert "HTTPValidationError" not in page.text


def test_similar_incidents_come_with_cause_and_query(client: TestClient, answer_id: str) -> None:
    said = {"query_id": query_id(client, answer_id), "verdict": "found", "note": "the quota was cut"}
    client.post(f"{ASK}/{answer_id}/feedback", json=said)
    now = client.post(ASK, json={"report": made.REPORT, "incident": "shop-0001"}).json()["id"]
    found = {one["id"]: one for one in client.get(f"{ASK}/{now}/similar", params={"k": 50, "scope": "system"}).json()}
    assert found[answer_id]["cause"] == "the quota was cut"
    assert found[answer_id]["query"] == client.get(f"{ASK}/{answer_id}").json()["queries"][0]["title"]
    assert client.get(f"{ASK}/{now}/similar", params={"scope": "others"}).json() == []
    assert client.get(f"{ASK}/{now}/similar", params={"k": 0}).status_code == 422
    assert client.get(f"{ASK}/nothing/similar").status_code == 404
