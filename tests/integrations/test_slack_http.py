"""The bot over HTTP: the server's routes, Bolt and the real SDK, against a Slack on loopback."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest

from revelio.service import Service
from revelio.settings import Settings
from revelio.store import SavedAnswer
from tests.integrations.fake_slack import CHANNEL, USER, FakeSlack, Posted, fake_slack, form, signed
from tests.integrations.slack_app import COMMAND, Http, command, mention, over_http, shortcut


@pytest.fixture
def http(settings: Settings, service: Service, slack: FakeSlack) -> Iterator[Http]:
    """The routes, with a bot on the fake Slack."""
    with over_http(settings, service, slack, public_url="http://127.0.0.1:8000") as http:
        yield http


def test_command_is_answered_in_a_thread_under_the_question(http: Http, slack: FakeSlack) -> None:
    assert http.command().status_code == 200
    answer = slack.answer()
    question = slack.messages[0]
    assert (question.channel, question.thread) == (CHANNEL, None)
    assert "the basket hangs" in question.words
    assert answer.thread == question.ts
    assert "CPU throttling of cart" in answer.words and "62%" in answer.words
    assert 'rate(container_cpu_cfs_throttled_seconds_total{container="cart"}[10s])' in answer.words
    assert answer.edits == 1 and "Querying" in answer.history[0]
    assert "Full answer" in answer.words


def test_mention_in_a_thread_reads_the_thread(http: Http, slack: FakeSlack, service: Service) -> None:
    slack.threads["1789.1"] = [
        {"text": "basket hangs", "ts": "1789.1", "user": "U7"},
        {"text": "for all?", "ts": "1789.2", "user": "U8"},
    ]
    http.mention("<@U0BOT> incident:shop-0001", thread_ts="1789.1", ts="1789.3")
    assert slack.answer().thread == "1789.1"
    assert service.store.history()[0].report == "basket hangs\nfor all?"


def test_mention_outside_of_a_thread_begins_one(http: Http, slack: FakeSlack) -> None:
    http.mention(f"<@U0BOT> {COMMAND}")
    assert slack.answer().thread == "1789999999.000100"


def test_thread_that_may_not_be_read_leaves_the_mention_itself(http: Http, slack: FakeSlack, service: Service) -> None:
    slack.refuse["conversations.replies"] = "missing_scope"
    http.mention(f"<@U0BOT> {COMMAND}", thread_ts="1789.1")
    slack.answer()
    assert service.store.history()[0].report == "the basket hangs"


def test_shortcut_asks_about_the_message(http: Http, slack: FakeSlack) -> None:
    http.post("/slack/actions", form({"payload": json.dumps(shortcut(slack, COMMAND))}))
    slack.wait(lambda: any("backends answer" in m.words for m in slack.messages))  # the only live system, which is down
    assert slack.messages[0].thread == "1789999998.000200"


def test_run_posts_the_evidence_and_marks_the_message(http: Http, slack: FakeSlack) -> None:
    http.command()
    answer = slack.answer()
    assert http.press(answer.button("Run"), answer.ts).status_code == 200
    slack.wait(lambda: "▶" in answer.words)
    evidence = slack.messages[-1]
    assert evidence.thread == "1789999999.000100"
    assert "cart was throttled 0.78 s in every second" in evidence.words
    assert any("Running 1." in words for words in answer.history)
    assert answer.button("Run again")


def run_first(http: Http, slack: FakeSlack) -> Posted:
    """The evidence that comes of pressing Run."""
    http.command()
    answer = slack.answer()
    http.press(answer.button("Run"), answer.ts)
    slack.wait(lambda: "▶" in answer.words, 40.0)
    return slack.messages[-1]


@pytest.mark.parametrize("processing", [0, 2])
def test_series_are_shown_as_a_picture_with_its_words_once_slack_has_it_ready(
    http: Http, slack: FakeSlack, processing: int
) -> None:
    slack.processing = processing
    evidence = run_first(http, slack)
    (shown,) = (b for b in evidence.blocks if b["type"] == "image")
    png = slack.files[shown["slack_file"]["id"]]
    assert png.startswith(b"\x89PNG")
    assert "cart: 0.0241 s/s before, 0.789 s/s now" in shown["alt_text"]
    assert "cart was throttled" in evidence.words and "█" not in evidence.words
    assert not any(given.get("channel_id") for method, given in slack.calls if method == "files.completeUploadExternal")


@pytest.mark.parametrize("trouble", ["scope", "upload", "never ready"])
def test_series_are_told_as_text_where_slack_takes_no_picture(http: Http, slack: FakeSlack, trouble: str) -> None:
    if trouble == "scope":
        slack.refuse["files.getUploadURLExternal"] = "missing_scope"
    slack.uploads = 500 if trouble == "upload" else 200
    slack.processing = 99 if trouble == "never ready" else 0
    evidence = run_first(http, slack)
    assert "cart was throttled" in evidence.words and "█" in evidence.words
    assert not [b for b in evidence.blocks if b["type"] == "image"]


def test_what_has_no_series_is_told_as_text(http: Http, slack: FakeSlack) -> None:
    http.command()
    answer = slack.answer()
    http.press(answer.button("Run", 3), answer.ts)
    slack.wait(lambda: "▶" in answer.words)
    assert not slack.files and not [b for b in slack.messages[-1].blocks if b["type"] == "image"]


def test_verdict_is_kept_and_shown(http: Http, slack: FakeSlack, service: Service) -> None:
    http.command()
    answer = slack.answer()
    http.press(answer.button("Found it"), answer.ts)
    slack.wait(lambda: "✔ Found it" in answer.words)
    http.press(answer.button("Not useful", 2), answer.ts)
    slack.wait(lambda: "✔ Not useful" in answer.words)
    entry = service.store.history()[0]
    assert [f.verdict for f in service.answer(entry.id).feedback] == ["found", "not_useful"]
    assert USER in answer.words


def test_open_is_only_acknowledged(http: Http, slack: FakeSlack) -> None:
    before = len(slack.calls)
    assert http.press({"action_id": "revelio_open", "value": "x", "type": "button"}, "1.1").status_code == 200
    assert len(slack.calls) == before


def test_acknowledges_within_three_seconds_however_long_the_answer_takes(
    http: Http, slack: FakeSlack, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, ask = threading.Event(), service.recommend

    def slow(*args: object, **named: object) -> SavedAnswer:
        assert go.wait(30)
        return ask(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(service, "recommend", slow)
    for _ in range(20):  # more than any pool has threads
        began = time.monotonic()
        assert http.command().status_code == 200
        assert time.monotonic() - began < 3
    go.set()
    slack.answer(19)


@pytest.mark.parametrize("trouble", ["signature", "old", "absent", "body", "stamp"])
def test_what_slack_did_not_sign_is_refused(http: Http, slack: FakeSlack, trouble: str) -> None:
    body = form(command(slack))
    headers = {
        "signature": signed(body, secret="wrong"),
        "old": signed(body, at=time.time() - 301),
        "absent": {},
        "body": signed(body + b"&x=1"),
        "stamp": signed(body) | {"X-Slack-Request-Timestamp": "soon"},
    }[trouble]
    assert http.post("/slack/commands", body, headers).status_code == 401
    assert not slack.calls


@pytest.mark.parametrize("body", [b"\xff\xfe", b"{", b"", b"[1]", b"payload=%00"])
def test_nonsense_is_refused_and_breaks_nothing(http: Http, body: bytes) -> None:
    for path in ("events", "commands", "actions"):
        for headers in ({}, {"X-Slack-Request-Timestamp": str(int(time.time())), "X-Slack-Signature": "v0=0"}):
            assert http.post(f"/slack/{path}", body, headers).status_code == 401


def test_url_is_verified(http: Http) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "c1", "token": "t"}).encode()
    reply = http.post("/slack/events", body, kind="json")
    assert reply.status_code == 200 and "c1" in reply.text


def test_event_that_slack_sends_again_is_answered_once(http: Http, slack: FakeSlack) -> None:
    for number in range(3):
        body = json.dumps(mention(f"<@U0BOT> {COMMAND}", event_id="Ev1")).encode()
        again = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": "http_timeout"} if number else {}
        assert http.post("/slack/events", body, signed(body) | again, kind="json").status_code == 200
    slack.answer()
    http.command()
    slack.answer(1)
    assert len([m for m, _ in slack.calls if m == "chat.postMessage"]) == 3  # one answer, one question with its answer


def test_own_mention_is_not_answered(http: Http, slack: FakeSlack) -> None:
    http.mention(COMMAND, user="U0BOT")
    http.mention(COMMAND, bot_id="B1")
    http.command()
    slack.answer()
    assert len(slack.messages) == 2


def test_rate_limit_is_waited_for(http: Http, slack: FakeSlack) -> None:
    slack.busy = 1
    http.command()
    assert slack.answer()


def test_answer_goes_to_the_asker_alone_where_the_bot_is_not_in_the_channel(http: Http, slack: FakeSlack) -> None:
    slack.refuse["chat.postMessage"] = "not_in_channel"
    http.command()
    slack.wait(lambda: len(slack.responses) == 2)
    assert "/invite" in json.dumps(slack.responses[0])
    assert "CPU throttling of cart" in json.dumps(slack.responses[1])
    assert {r["response_type"] for r in slack.responses} == {"ephemeral"}


def test_empty_command_teaches(http: Http, slack: FakeSlack) -> None:
    for text in ("", "help", "   "):
        assert "/revelio checkout takes ages" in http.command(text).text
    assert not slack.calls


def test_unknown_incident_and_system_are_told(http: Http, slack: FakeSlack) -> None:
    http.command("incident:nope it hangs")
    slack.wait(lambda: any("nope" in m.words for m in slack.messages[2:]))
    http.command("system:elsewhere it hangs")
    slack.wait(lambda: any("no system 'elsewhere'" in m.words for m in slack.messages))


def test_forged_button_is_harmless(http: Http, slack: FakeSlack) -> None:
    http.command()
    answer = slack.answer()
    for value in ("", "[1]", json.dumps(["nothing", "nothing"])):
        assert http.press(answer.button("Run") | {"value": value}, answer.ts).status_code == 200
    slack.wait(lambda: any("no answer 'nothing'" in m.words for m in slack.messages))


def test_hostile_words_stay_words(http: Http, slack: FakeSlack) -> None:
    http.command("incident:shop-0001 &lt;!channel&gt; *b* ```x``` " + "y" * 30_000)
    answer, question = slack.answer(), slack.messages[0]
    assert "<!channel>" in question.words and "<!channel>" not in question.text
    assert "<" not in answer.text


def test_each_workspace_is_answered_with_its_own_token(settings: Settings, service: Service) -> None:
    with (
        fake_slack(T1="xoxb-a", T2="xoxb-b") as slack,
        over_http(settings, service, slack, bot_token="", bot_tokens={"T1": "xoxb-a", "T2": "xoxb-b"}) as http,
    ):
        for team in ("T1", "T2"):
            http.command(team_id=team)
            slack.answer({"T1": 0, "T2": 1}[team])
        assert [m.token for m in slack.messages] == ["xoxb-a", "xoxb-a", "xoxb-b", "xoxb-b"]
        before = len(slack.calls)
        http.command(team_id="T3")  # nobody installed it there
        assert len(slack.calls) == before


def test_routes_say_what_to_do_where_slack_is_not_set_up(settings: Settings, service: Service, slack: FakeSlack) -> None:
    with over_http(settings, service, slack, signing_secret="") as http:
        reply = http.command()
        assert reply.status_code == 404
        assert "slack.signing_secret" in reply.text


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/slack/actions", "form", form({"payload": tree}))
        for tree in (
            "null",
            "[]",
            "1",
            '"x"',
            "{",
            "[" * 2_000,
            '{"type": "block_actions", "actions": [1]}',
            '{"type": "block_actions"}',
        )
    ]
    + [
        ("/slack/events", "json", tree)
        for tree in (b"null", b"[]", b"1", b'"x"', b"{", b"[" * 50_000, b'{"type": "event_callback", "event": [1]}', b"\xff\xfe")
    ]
    + [("/slack/commands", "form", body) for body in (b"", b"payload=%ff", b"command=/revelio&text=x", b"a=" * 500)],
)
def test_signed_deliveries_of_no_shape_that_slack_sends_are_refused(
    http: Http, caplog: pytest.LogCaptureFixture, path: str, kind: str, body: bytes
) -> None:
    reply = http.post(path, body, kind=kind)
    assert reply.status_code in (200, 400, 401, 404), reply.status_code
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]
