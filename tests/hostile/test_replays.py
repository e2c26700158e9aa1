"""Deliveries that were signed once and are sent again, by anyone who saw them: each has its effect once."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.hostile import inputs
from tests.hostile.conftest import Serve
from tests.hostile.served import Served, canary
from tests.hostile.tally import Tally
from tests.integrations.alerting import again, payload, resolved
from tests.integrations.fake_slack import CHANNEL, FakeSlack, fake_slack

TIMES = 50
SECRET = canary("signing-secret")

pytestmark = pytest.mark.usefixtures("nothing_broke")


@pytest.fixture(scope="module")
def slack() -> Iterator[FakeSlack]:
    """Takes what the bot posts."""
    with fake_slack() as slack:
        yield slack


@pytest.fixture(scope="module")
def server(serve: Serve, slack: FakeSlack) -> Served:
    """Takes signed deliveries alone."""
    told = f'[slack]\nsigning_secret = "{SECRET}"\nbot_token = "xoxb-one"\napi_url = "{slack.url}"\n'
    told += f'[alerts]\npagerduty_secret = "{SECRET}"\n[systems.shop.backends.prometheus]\nurl = "http://127.0.0.1:9"\n'
    return serve(f"rate_limit = 0\ntimeout_s = 1.0\n{told}", hidden=(SECRET,))


def _pagerduty(server: Served, event: object) -> tuple[int, str]:
    body = json.dumps(event).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    reply = server.send("POST", "/api/v1/webhooks/pagerduty", content=body, headers={"x-pagerduty-signature": f"v1={signature}"})
    assert reply is not None
    return reply.status_code, reply.json().get("outcome", "")


def test_a_command_of_slack_is_answered_once_and_an_old_one_never(server: Served, slack: FakeSlack, tally: Tally) -> None:
    incident = server.client.get("/api/v1/incidents").json()[0]["id"]
    command = {"command": "/revelio", "text": f"incident:{incident} it is slow", "channel_id": CHANNEL, "user_id": "U1"}
    body = urlencode({**command, "team_id": "T1", "trigger_id": "1.2.3", "response_url": slack.response_url}).encode()
    kind = {"content-type": "application/x-www-form-urlencoded"}
    signed = inputs.signed(body, SECRET) | kind
    replies = [server.send("POST", "/slack/commands", content=body, headers=signed) for _ in range(TIMES)]
    assert {reply.status_code for reply in replies if reply is not None} == {200}
    server.wait(lambda: len(server.client.get("/api/v1/recommendations").json()) == 1, 20)
    time.sleep(1.0)
    assert len(server.client.get("/api/v1/recommendations").json()) == 1
    stamp = str(int(time.time()) - 301)
    digest = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    old = {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={digest}"} | kind
    reply = server.send("POST", "/slack/commands", content=body, headers=old)
    assert reply is not None and reply.status_code == 401
    tally.figures["a command of Slack sent so often / answered"] = f"{TIMES} / 1"


def test_events_of_pagerduty_open_one_incident_and_end_no_later_one(server: Served, tally: Tally) -> None:
    begun = [_pagerduty(server, payload("pagerduty")) for _ in range(TIMES)]
    assert begun == [(202, "opened"), *[(202, "repeated")] * (TIMES - 1)]
    ended = [_pagerduty(server, resolved("pagerduty")) for _ in range(TIMES)]
    assert ended == [(202, "resolved"), *[(202, "ignored")] * (TIMES - 1)]
    assert _pagerduty(server, payload("pagerduty")) == (202, "repeated"), "the begin of a run that is over opens nothing"
    assert _pagerduty(server, again("pagerduty", "2027-01-01T00:00:00Z")) == (202, "opened")
    assert {_pagerduty(server, resolved("pagerduty")) for _ in range(TIMES)} == {(202, "ignored")}
    listed = server.client.get("/api/v1/webhooks/incidents").json()
    assert [alert["resolved_at"] is None for alert in listed] == [True, False]
    tally.figures["events of PagerDuty sent so often / incidents"] = f"{3 * TIMES + 2} / {len(listed)}"


def test_a_changed_body_is_refused(server: Served) -> None:
    body = json.dumps(payload("pagerduty")).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"x-pagerduty-signature": f"v1={signature}"}
    reply = server.send("POST", "/api/v1/webhooks/pagerduty", content=body + b" ", headers=headers)
    assert reply is not None and reply.status_code == 401
