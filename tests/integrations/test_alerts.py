"""Alerts that come in: read, folded into one incident, answered, and posted where people are."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.errors import InvalidInputError, SourceError, StoreError
from revelio.integrations import alertmanager, grafana, pagerduty
from revelio.integrations.alert_handler import AlertHandler
from revelio.integrations.alert_store import AlertIncident, AlertStore
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import Settings
from revelio.store import SavedAnswer
from tests.integrations.alerting import SOURCES, Server, again, payload, resolved, serving
from tests.integrations.fake_slack import FakeSlack
from tests.integrations.slack_app import slack_settings


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.integrations.alert_handler.PAUSE_S", 0.05)


@pytest.fixture
def server(settings: Settings, service: Service) -> Iterator[Server]:
    """No secrets: it listens on loopback."""
    with serving(settings, service) as server:
        yield server


def test_alertmanager_group_is_read() -> None:
    alert = alertmanager.read(payload("alertmanager"))
    assert (alert.status, alert.system, alert.started) == ("firing", "shop", "2026-09-21T09:51:03.157Z")
    assert alert.title == "Checkout is slow. p95 of POST /checkout is over 2 s"
    assert alert.report.splitlines() == [
        f"SlowCheckout: Checkout is slow. p95 of POST /checkout is over 2 s (service {name}, system shop)"
        for name in ("cart", "orders")
    ]


def test_grafana_group_is_read() -> None:
    alert = grafana.read(payload("grafana"))
    assert (alert.status, alert.system, alert.title) == ("firing", "shop", "Memory of cart is at its limit")
    assert alert.report == "High memory: Memory of cart is at its limit (system shop, zone us-1)"


def test_pagerduty_incident_is_read() -> None:
    alert = pagerduty.read(payload("pagerduty"))
    assert alert is not None
    assert (alert.key, alert.status, alert.system) == ("PGR0VU2", "firing", "Shop")
    assert alert.report == "Customers wait for the basket (Shop)"
    assert alert.link == "https://example.pagerduty.com/incidents/PGR0VU2"


@pytest.mark.parametrize("kind", ["incident.acknowledged", "incident.annotated", "pagey.ping", "service.updated"])
def test_pagerduty_events_that_begin_and_end_nothing_are_passed_over(kind: str) -> None:
    event = {"event": {"id": "1", "event_type": kind, "data": None}}
    assert pagerduty.read(event) is None


@pytest.mark.parametrize("source", SOURCES)
def test_answer_is_stored_with_the_alert_as_report(server: Server, service: Service, source: str) -> None:
    taken = server.send(source, payload(source))
    assert taken["outcome"] == "opened" and taken["incident"]["system"] == "shop"
    done = server.answered(taken["incident"]["id"])
    answer = service.answer(done["recommendation_id"]).recommendation
    assert answer.incident.report in {
        a.report for a in (alertmanager.read(payload("alertmanager")), grafana.read(payload("grafana")))
    } | {"Customers wait for the basket (Shop)"}
    assert abs(answer.incident.opened_at - done["opened_at"]) < 0.001


@pytest.mark.parametrize("source", SOURCES)
def test_repeats_and_the_end_belong_to_one_incident(server: Server, service: Service, source: str) -> None:
    first = server.send(source, payload(source))["incident"]["id"]
    server.answered(first)
    for number in range(1, 4):
        repeat = server.send(source, payload(source))
        assert repeat["outcome"] == "repeated"
        assert (repeat["incident"]["id"], repeat["incident"]["repeats"]) == (first, number)
    assert server.send(source, resolved(source))["outcome"] == "resolved"
    assert server.send(source, resolved(source)) == {"outcome": "ignored", "incident": None}
    late = server.send(source, payload(source))
    assert (late["outcome"], late["incident"]["id"]) == ("repeated", first)  # delivered late, not begun anew
    assert len(server.incidents()) == 1 and len(service.store.history()) == 1
    assert server.incidents()[0]["resolved_at"] is not None


@pytest.mark.parametrize("source", SOURCES)
def test_alert_that_comes_back_is_a_new_incident(server: Server, source: str) -> None:
    first = server.send(source, payload(source))["incident"]["id"]
    server.send(source, resolved(source))
    second = server.send(source, again(source, "2026-09-22T07:00:00Z"))
    assert second["outcome"] == "opened" and second["incident"]["id"] != first
    assert {server.answered(i["id"])["id"] for i in server.incidents()} == {first, second["incident"]["id"]}


@pytest.mark.parametrize("source", SOURCES)
def test_the_end_of_an_earlier_run_that_is_delivered_again_ends_no_later_run(server: Server, source: str) -> None:
    server.send(source, payload(source))
    assert server.send(source, resolved(source))["outcome"] == "resolved"
    later = server.send(source, again(source, "2027-09-22T07:00:00Z"))["incident"]["id"]
    assert server.send(source, resolved(source))["outcome"] == "ignored"
    assert server.answered(later)["resolved_at"] is None


def test_sources_do_not_share_incidents(server: Server) -> None:
    server.send("alertmanager", payload("alertmanager"))
    same = payload("alertmanager")
    assert server.send("grafana", same)["outcome"] == "opened"


def test_answer_is_posted_to_slack_once_and_its_end_below_it(settings: Settings, service: Service, slack: FakeSlack) -> None:
    with serving(settings, service, slack_settings(slack), slack_channel="C9") as server:
        first = server.send("alertmanager", payload("alertmanager"))["incident"]["id"]
        slack.wait(lambda: len(slack.messages) == 2)
        server.answered(first)
        server.send("alertmanager", payload("alertmanager"))
        root, answer = slack.messages
        assert root.channel == "C9" and "Alert from alertmanager: Checkout is slow" in root.words
        assert answer.thread == root.ts and "prometheus did not answer" in answer.words
        slack.wait(lambda: server.client.get("/api/v1/webhooks/incidents").status_code == 200)
        server.send("alertmanager", resolved("alertmanager"))
        slack.wait(lambda: len(slack.messages) == 3)
        assert slack.messages[2].thread == root.ts and "Resolved" in slack.messages[2].words


def numbered(number: int, status: str = "firing") -> dict[str, Any]:
    """One of several alerts that Alertmanager does not group."""
    sent = payload("alertmanager") if status == "firing" else resolved("alertmanager")
    sent |= {"groupKey": f"group {number}"}
    sent["alerts"] = [sent["alerts"][0] | {"annotations": {"summary": f"number {number} is slow"}}]
    return sent


def test_alerts_that_come_in_meanwhile_are_one_question_and_one_post(
    settings: Settings, service: Service, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, begun, go_on = service.recommend, threading.Event(), threading.Event()

    def held(request: RecommendRequest) -> SavedAnswer:
        begun.set()
        assert go_on.wait(12)
        return ask(request)

    monkeypatch.setattr(service, "recommend", held)
    with serving(settings, service, slack_settings(slack), slack_channel="C9") as server:
        first = server.send("alertmanager", numbered(0))["incident"]["id"]
        assert begun.wait(12)
        others = [server.send("alertmanager", numbered(n))["incident"]["id"] for n in range(1, 31)]
        go_on.set()
        answers = [server.answered(n)["recommendation_id"] for n in (first, *others)]
        assert len(set(answers[1:])) == 1 and answers[0] != answers[1]
        report = service.answer(answers[1]).recommendation.incident.report.splitlines()
        assert "number 1 is slow" in report[0] and report[-1] == "and 20 more"
        slack.wait(lambda: len(slack.messages) == 4)
        root = slack.messages[2]
        assert "and 29 more of shop" in root.words
        for n in range(1, 30):
            server.send("alertmanager", numbered(n, "resolved"))
        assert len(slack.messages) == 4, "the last one is still open"
        server.send("alertmanager", numbered(30, "resolved"))
        slack.wait(lambda: len(slack.messages) == 5)
        assert slack.messages[4].thread == root.ts


def test_alerts_of_another_hour_are_another_question(
    settings: Settings, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, left = AlertStore(service.store.database), []
    for n, at in enumerate((1_000.0, 1_030.0, 9_000.0)):
        monkeypatch.setattr(time, "time", lambda at=at: at)
        incident, _ = book.fold(alertmanager.read(numbered(n)), "shop")
        assert incident is not None
        left.append(incident.id)
    monkeypatch.undo()
    with serving(settings, service) as server:
        answers = [server.answered(n)["recommendation_id"] for n in left]
    assert answers[0] == answers[1] != answers[2]
    assert abs(service.answer(answers[1]).recommendation.incident.opened_at - 1_030.0) < 0.001


def test_what_a_crashed_process_was_at_is_answered_once_its_time_is_up(
    settings: Settings, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("alert_handler", "alert_store"):
        monkeypatch.setattr(f"revelio.integrations.{module}.CLAIM_S", 0.5)
    book = AlertStore(service.store.database)
    left, _ = book.fold(alertmanager.read(payload("alertmanager")), "shop")
    assert left is not None and book.claim([left.id]) == (left,)
    with serving(settings, service) as server:
        assert server.answered(left.id)["recommendation_id"]


def test_what_a_crash_left_is_answered_after_the_next_start(settings: Settings, service: Service) -> None:
    book = AlertStore(service.store.database)
    left, _ = book.fold(alertmanager.read(payload("alertmanager")), "shop")
    assert left is not None and left.answer_id is None
    with serving(settings, service) as server:
        assert server.answered(left.id)["recommendation_id"]


def test_only_one_process_answers(service: Service) -> None:
    books = [AlertStore(service.store.database) for _ in range(2)]
    incident, _ = books[0].fold(alertmanager.read(payload("alertmanager")), "shop")
    assert incident is not None
    assert [len(book.claim([incident.id])) for book in books] == [1, 0]
    assert [book.announce([incident.id], "C1") for book in books] == [True, False]


def test_answer_that_failed_is_tried_again_with_the_next_repeat(
    settings: Settings, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = service.recommend

    def down(*_: object, **__: object) -> None:
        raise SourceError("model", "it is gone")

    monkeypatch.setattr(service, "recommend", down)
    with serving(settings, service) as server:
        first = server.send("grafana", payload("grafana"))["incident"]["id"]
        failed = server.answered(first, lambda i: i["failure"])
        assert "it is gone" in failed["failure"] and failed["recommendation_id"] is None
        monkeypatch.setattr(service, "recommend", ask)
        server.send("grafana", payload("grafana"))
        assert server.answered(first)["failure"] is None


def test_alerts_wait_while_the_database_fails(settings: Settings, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, refused = AlertStore.claim, list[int]()

    def locked(store: AlertStore, incidents: Collection[int]) -> tuple[AlertIncident, ...]:
        if len(refused) < 3:
            refused.extend(incidents)
            raise StoreError("locked")
        return claim(store, incidents)

    monkeypatch.setattr(AlertStore, "claim", locked)
    with serving(settings, service) as server:
        first = server.send("grafana", payload("grafana"))["incident"]["id"]
        assert server.answered(first)["failure"] is None
    assert refused == [first] * 3


def test_an_answer_that_slack_does_not_take_stays(settings: Settings, service: Service, slack: FakeSlack) -> None:
    gone = slack_settings(slack, api_url="http://127.0.0.1:9/")
    with serving(settings, service, gone, slack_channel="C9") as server:
        first = server.send("grafana", payload("grafana"))["incident"]["id"]
        assert server.answered(first)["failure"] is None


def test_system_comes_from_the_label_then_the_settings_then_the_only_one(service: Service, settings: Settings) -> None:
    two = settings.model_copy(update={"systems": settings.systems | {"forum": settings.systems["shop"]}})
    service.settings = two
    bare = payload("grafana")
    bare["commonLabels"].pop("system"), bare["alerts"][0]["labels"].pop("system")
    with serving(two, service) as server:
        reply = server.client.post("/api/v1/webhooks/grafana", json=bare)
        assert reply.status_code == 422 and "alerts.system" in reply.json()["detail"]
        assert server.incidents() == []
    with serving(two, service, system="forum") as server:
        assert server.send("grafana", bare)["incident"]["system"] == "forum"
        assert server.send("alertmanager", payload("alertmanager"))["incident"]["system"] == "shop"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b"null", b"\xff", b'{"status": 1}', b"[" * 100_000, b'{"event": {}}'])
def test_what_is_no_webhook_is_refused(server: Server, source: str, body: bytes) -> None:
    reply = server.client.post(f"/api/v1/webhooks/{source}", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 422
    assert server.incidents() == []


def test_words_that_no_database_keeps_do_no_harm(server: Server) -> None:
    odd = payload("alertmanager")
    odd["commonAnnotations"]["summary"] = "a\u0000b\ud800c"
    odd["commonLabels"]["x\ud800"] = "\u0000"
    body = json.dumps(odd).encode()
    reply = server.client.post("/api/v1/webhooks/alertmanager", content=body)
    assert reply.status_code == 202
    assert server.answered(reply.json()["incident"]["id"])["title"].startswith("ab?c")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
    )
)
def test_any_json_is_read_or_refused(value: object) -> None:
    for read in (alertmanager.read, grafana.read, pagerduty.read):
        event = {"event": {"id": "1", "event_type": "incident.triggered", "data": value}}
        group = {"status": "firing", "groupKey": "k", "alerts": [{"status": "firing", "labels": value}]}
        for sent in (value, event, group):
            try:
                read(sent)
            except InvalidInputError as error:
                assert str(error).startswith("this is no webhook of")


def test_many_alerts_make_a_short_report() -> None:
    many = payload("alertmanager")
    one = many["alerts"][0]
    many["alerts"] = [one | {"labels": one["labels"] | {"service": f"s{n}" + "x" * 900}} for n in range(500)]
    report = alertmanager.read(many).report
    assert len(report) <= 4000


def test_intake_closes_with_work_in_hand(service: Service, settings: Settings) -> None:
    intake = AlertHandler(settings.alerts, service, AlertStore(service.store.database))
    taken = intake.take(alertmanager.read(payload("alertmanager")))
    intake.close()
    assert taken.incident is not None
    assert intake.store.get(taken.incident.id).answer_id or [i.id for i in intake.store.waiting()] == [taken.incident.id]


def test_secrets_in_an_alert_are_masked_before_they_are_kept(service: Service) -> None:
    odd = payload("grafana")
    odd["commonAnnotations"]["summary"] = odd["alerts"][0]["annotations"]["summary"] = (
        "login of jo@example.com with password=hunter2 fails"
    )
    book = AlertStore(service.store.database, masked=("secrets", "emails"))
    incident, _ = book.fold(grafana.read(odd), "shop")
    assert incident is not None
    for text in (incident.title, incident.report):
        assert "hunter2" not in text and "jo@example.com" not in text and "fails" in text


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("depth", [400, 500, 900, 50_000])
def test_webhook_that_is_nested_deeply_is_refused(server: Server, source: str, depth: int) -> None:
    labels = b'{"a":' * depth + b"1" + b"}" * depth
    body = b'{"status": "firing", "groupKey": "k", "event": {"data": ' + labels + b'}, "alerts": [{"labels": ' + labels + b"}]}"
    reply = server.client.post(f"/api/v1/webhooks/{source}", content=body)
    assert reply.status_code == 422, reply.text


@pytest.mark.parametrize("incident", ["9" * 22, "-1", "0"])
def test_id_that_no_database_holds_is_refused(server: Server, incident: str) -> None:
    assert server.client.get(f"/api/v1/webhooks/incidents/{incident}").status_code == 422


def test_the_list_of_alerts_comes_in_pages(server: Server) -> None:
    for n in range(5):
        server.send("alertmanager", {**payload("alertmanager"), "groupKey": f"group {n}"})
    everything = [incident["id"] for incident in server.incidents()]
    address, seen = "/api/v1/webhooks/incidents?limit=2", []
    while address:
        reply = server.client.get(address)
        assert len(reply.json()) <= 2
        seen += [incident["id"] for incident in reply.json()]
        address = reply.links.get("next", {}).get("url", "")
    assert seen == everything == sorted(everything, reverse=True)
    assert len(seen) == 5
