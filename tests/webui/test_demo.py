"""The demo shows recorded incidents to anyone, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from revelio.settings import Settings, SystemSettings
from tests.webui import made
from webui import demo as demo_module
from webui.accounts.permissions import RULES
from webui.app import create_app
from webui.demo import OFFERED, DemoRetention, demo_settings

INCIDENT = "shop-0001"


def demo_in(folder: Path) -> TestClient:
    """A demo on the hand-made incidents, that follows no redirects."""
    given = made.settings(folder, made.record())
    settings = demo_settings(given.model_copy(update={"host": "0.0.0.0"}), folder)
    settings = settings.model_copy(update={"incidents": given.incidents, "catalog": given.catalog})
    app = create_app(settings, recommender=made.stand_in(settings), demo=True)
    return TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[TestClient]:
    """A running demo."""
    with demo_in(tmp_path) as client:
        yield client


def ask(demo: TestClient) -> str:
    reply = demo.post("/api/v1/recommendations", json={"report": made.REPORT, "incident": INCIDENT})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["id"])


def test_a_visitor_asks_runs_and_judges(demo: TestClient) -> None:
    page = demo.get("/").text
    assert "<b>Demo</b> on recorded incidents" in page
    assert 'href="/history"' not in page
    answer = ask(demo)
    query = demo.get(f"/api/v1/recommendations/{answer}").json()["queries"][0]["id"]
    assert demo.post(f"/api/v1/recommendations/{answer}/queries/{query}/run").status_code == 200
    assert demo.post(f"/r/{answer}/feedback", data={"query_id": query, "verdict": "found"}).status_code == 303
    assert demo.get(f"/r/{answer}").status_code == 200


def test_a_visitor_sees_no_answer_to_others_and_no_link_to_what_is_closed(demo: TestClient) -> None:
    first, second = ask(demo), ask(demo)
    page = demo.get(f"/r/{second}").text
    assert "Similar incidents" not in page
    assert first not in page
    assert demo.get(f"/r/{second}/revision").status_code == 200
    assert demo.get(f"/r/{second}/post-mortem.md").status_code == 200
    for shown in (page, demo.get("/").text, demo.get("/systems").text, demo.get("/systems/shop").text):
        assert 'href="/history' not in shown
        assert 'href="/settings' not in shown


def test_every_other_address_is_refused(demo: TestClient) -> None:
    offered = {(rule.method, rule.path) for rule in OFFERED}
    closed = [
        (rule.method, rule.path.replace("{", "").replace("}", "")) for rule in RULES if (rule.method, rule.path) not in offered
    ]
    assert {"/history", "/settings", "/mcp", "/people", "/metrics", "/api/v1/recommendations"} <= {path for _, path in closed}
    assert {demo.request(method, path).status_code for method, path in [*closed, ("GET", "/what-is-new")]} == {403}
    assert demo.request("DELETE", "/").status_code == 403


def test_settings_of_a_system_do_not_reach_the_demo(tmp_path: Path) -> None:
    system = SystemSettings.model_validate({"backends": {"prometheus": {"url": "http://user:secret@prometheus:9090"}}})
    settings = Settings(
        systems={"ours": system}, database="sqlite:///ours.db", rate_limit=0, accounts=True, names=["demo.example.com"], port=9000
    )
    shown = demo_settings(settings, tmp_path)
    assert (shown.systems, shown.accounts, shown.oidc) == ({}, False, None)
    assert (shown.names, shown.port, shown.rate_limit) == (["demo.example.com"], 9000, 120)
    assert "ours" not in shown.database
    assert not shown.slack.bot_token.get_secret_value()


def test_a_retry_key_keeps_nothing(demo: TestClient) -> None:
    body = {"report": made.REPORT, "incident": INCIDENT}
    replies = [demo.post("/api/v1/recommendations", json=body, headers={"Idempotency-Key": "one"}) for _ in range(2)]
    assert replies[0].json()["id"] != replies[1].json()["id"]


def test_only_the_visitor_who_asked_changes_an_answer(demo: TestClient) -> None:
    page = demo.post("/r", data={"about": f"incident:{INCIDENT}", "report": made.REPORT}).headers["location"].removeprefix("/r/")
    other = TestClient(demo.app, base_url="http://127.0.0.1", client=("203.0.113.1", 1), follow_redirects=False)
    for answer in (ask(demo), page):
        query = demo.get(f"/api/v1/recommendations/{answer}").json()["queries"][0]["id"]
        verdict = {"query_id": query, "verdict": "found"}
        changes: list[tuple[str, dict[str, Any]]] = [
            (f"/r/{answer}/feedback", {"data": verdict}),
            (f"/r/{answer}/resolve", {"data": {"query_id": query, "cause": "x"}}),
            (f"/r/{answer}/run", {"data": {"query_id": query}}),
            (f"/r/{answer}/run-first", {}),
            (f"/api/v1/recommendations/{answer}/feedback", {"json": verdict}),
            (f"/api/v1/recommendations/{answer}/queries/{query}/run", {}),
        ]
        assert other.get(f"/r/{answer}").status_code == 200
        assert {other.post(path, **given).status_code for path, given in changes} == {403}
        assert {demo.post(path, **given).status_code for path, given in changes} <= {200, 201, 303}


def test_changes_are_limited_for_each_visitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "_CHANGES", (2, 60.0))

    with demo_in(tmp_path) as demo:
        app = demo.app

        def visitor(address: str) -> TestClient:
            return TestClient(app, base_url="http://127.0.0.1", client=(address, 1), follow_redirects=False)

        def statuses(*addresses: str) -> list[int]:
            return [visitor(address).post("/r", data={"about": "incident:none"}).status_code for address in addresses]

        assert statuses("203.0.113.1", "203.0.113.1", "203.0.113.1") == [422, 422, 429]
        assert visitor("203.0.113.1").get("/").status_code == 200
        assert statuses("203.0.113.2") == [422], "others are not locked out"
        assert statuses("2001:db8::1", "2001:db8::2", "2001:db8::3") == [422, 422, 429], "one network is one visitor"


def test_questions_of_one_visitor_do_not_push_out_those_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "_QUESTIONS", (1, 60.0))
    with demo_in(tmp_path) as demo:
        first = ask(demo)
        again = demo.post("/api/v1/recommendations", json={"report": made.REPORT, "incident": INCIDENT})
        assert (again.status_code, again.headers["retry-after"]) == (429, "60")
        assert demo.post(f"/r/{first}/run-first").status_code == 303


def test_the_oldest_answers_make_room(demo: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    retention = DemoRetention(demo.app.state.service.store)  # type: ignore[attr-defined]
    answers = [ask(demo) for _ in range(4)]
    sizes = iter([2.0, 0.0])
    monkeypatch.setattr(demo_module, "_MOST_BYTES", 1)
    monkeypatch.setattr(retention, "_size", lambda: next(sizes))
    retention.forget()
    retention.stop()
    assert [demo.get(f"/r/{answer}").status_code for answer in answers] == [404, 404, 200, 200]


def test_answers_are_deleted_after_an_hour_and_before_they_fill_the_disk(
    demo: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = demo.app.state.service.store  # type: ignore[attr-defined]
    retention = DemoRetention(store)
    answer = ask(demo)
    retention.forget()
    assert demo.get(f"/r/{answer}").status_code == 200
    monkeypatch.setattr(demo_module, "_KEPT_H", 0.0)
    retention.forget()
    assert demo.get(f"/r/{answer}").status_code == 404
    monkeypatch.undo()
    answer = ask(demo)
    monkeypatch.setattr(demo_module, "_MOST_BYTES", 1000)
    retention.forget()
    assert demo.get(f"/r/{answer}").status_code == 404
    assert ask(demo)
    retention.stop()
