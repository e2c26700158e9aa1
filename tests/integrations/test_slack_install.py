"""Installing the app in several workspaces: Bolt's flow, the real SDK and our database, against a Slack on loopback."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from httpx2 import Response
from sqlalchemy import text

from revelio.integrations.slack.installations import Installations
from revelio.integrations.slack.installing import SCOPES
from revelio.service import Service
from revelio.settings import Settings
from revelio.store.engine import Database
from tests.integrations.fake_slack import CLIENT_ID, CLIENT_SECRET, FakeSlack
from tests.integrations.slack_app import Http, over_http, slack_settings
from tests.integrations.test_telemetry import ROOT

APP = {"bot_token": "", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "public_url": "https://revelio.example.com"}


@pytest.fixture
def http(settings: Settings, service: Service, slack: FakeSlack) -> Iterator[Http]:
    """The routes of an app that no workspace has installed yet."""
    with over_http(settings, service, slack, **APP) as http:
        yield http


def begin(http: Http) -> tuple[str, str]:
    """The state that Slack is to send back, and the cookie that has to come with it."""
    reply = http.client.get("/slack/install", follow_redirects=False)
    assert reply.status_code == 302
    asked = parse_qs(urlsplit(reply.headers["location"]).query)
    return asked["state"][0], reply.headers["set-cookie"].partition(";")[0]


def come_back(http: Http, cookie: str, **query: str) -> Response:
    return http.client.get("/slack/oauth_redirect", params=query, headers={"Cookie": cookie})


def install(http: Http, slack: FakeSlack, team: str) -> Response:
    """Somebody installs the app in a workspace."""
    state, cookie = begin(http)
    slack.codes[f"code-{team}"] = team
    return come_back(http, cookie, state=state, code=f"code-{team}")


def test_person_is_sent_to_slack_with_the_scopes_of_the_manifest_and_the_way_back(http: Http) -> None:
    reply = http.client.get("/slack/install", follow_redirects=False)
    place = urlsplit(reply.headers["location"])
    asked = {name: values[0] for name, values in parse_qs(place.query).items()}
    assert (place.scheme, place.netloc, place.path) == ("https", "slack.com", "/oauth/v2/authorize")
    assert (asked["client_id"], asked["redirect_uri"]) == (CLIENT_ID, "https://revelio.example.com/slack/oauth_redirect")
    manifest = yaml.safe_load((ROOT / "docs" / "files" / "slack-manifest.yaml").read_text(encoding="utf-8"))
    assert sorted(asked["scope"].split(",")) == manifest["oauth_config"]["scopes"]["bot"] == sorted(SCOPES)
    assert CLIENT_SECRET not in str(reply.headers)
    assert {"Secure", "HttpOnly"} <= {part.strip() for part in reply.headers["set-cookie"].split(";")}


def test_each_workspace_that_installed_the_app_is_answered_with_its_own_token(
    http: Http, slack: FakeSlack, service: Service
) -> None:
    for number, team in enumerate(("T7", "T8")):
        page = install(http, slack, team)
        assert page.status_code == 200 and f"Installed in Workspace {team}" in page.text
        http.command(team_id=team)
        assert slack.tokens[slack.answer(number).token] == team
    before = len(slack.calls)
    http.command(team_id="T9")  # nobody installed it there
    assert len(slack.calls) == before
    assert [(e.action, e.target) for e in service.store.audit.list()][:2] == [("slack.install", "T8"), ("slack.install", "T7")]


def test_tokens_are_neither_shown_nor_logged_nor_readable_in_the_database(
    http: Http, slack: FakeSlack, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    page = install(http, slack, "T7")
    (token,) = (t for t, team in slack.tokens.items() if team == "T7")
    with service.store.database.engine.connect() as connection:
        kept = [
            str(row)
            for table in ("slack_bots", "slack_installations")
            for row in connection.execute(text(f"select * from {table}"))
        ]
    assert len(kept) == 2
    for place in (page.text, str(page.headers), caplog.text, *kept):
        assert token not in place and CLIENT_SECRET not in place


def test_tokens_cannot_be_read_with_another_secret(http: Http, slack: FakeSlack, service: Service) -> None:
    install(http, slack, "T7")
    settings = slack_settings(slack, **APP)
    database = service.store.database
    assert Installations(settings, database).tokens()["T7"].startswith("xoxb-T7")
    other = slack_settings(slack, **APP | {"client_secret": "another"})
    assert Installations(other, database).tokens() == {}


@pytest.mark.parametrize(
    "trouble", ["forged state", "used state", "other browser", "old state", "no code", "wrong code", "denied"]
)
def test_what_did_not_begin_here_or_was_not_agreed_to_installs_nothing(
    http: Http, slack: FakeSlack, service: Service, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, cookie = begin(http)
    slack.codes["c1"] = slack.codes["c2"] = "T7"
    query = {"state": state, "code": "c1"}
    if trouble == "forged state":
        query["state"], cookie = "made-up", "slack-app-oauth-state=made-up"
    elif trouble == "used state":
        assert come_back(http, cookie, state=state, code="c2").status_code == 200
        Installations(slack_settings(slack, **APP), service.store.database).forget("T7")
    elif trouble == "other browser":
        cookie = ""
    elif trouble == "old state":
        with service.store.database.durable.begin() as connection:
            connection.execute(text("update slack_oauth_states set expire_at = '2020-01-01 00:00:00.000000'"))
    elif trouble == "no code":
        del query["code"]
    elif trouble == "wrong code":
        query["code"] = "c3"
    else:
        query = {"error": "access_denied", "state": state}
    reply = come_back(http, cookie, **query)
    assert 400 <= reply.status_code < 500
    assert "nstall" in reply.text or "slack.client_id" in reply.text
    assert Installations(slack_settings(slack, **APP), service.store.database).tokens() == {}


def test_installing_again_replaces_the_token(http: Http, slack: FakeSlack, service: Service) -> None:
    install(http, slack, "T7")
    install(http, slack, "T7")
    latest = [t for t, team in slack.tokens.items() if team == "T7"][-1]
    assert Installations(slack_settings(slack, **APP), service.store.database).tokens() == {"T7": latest}


@pytest.mark.parametrize("event", [{"type": "app_uninstalled"}, {"type": "tokens_revoked", "tokens": {"bot": ["U0BOT"]}}])
def test_workspace_that_removes_the_app_is_forgotten(
    http: Http, slack: FakeSlack, service: Service, event: dict[str, object]
) -> None:
    for team in ("T7", "T8"):
        install(http, slack, team)
    body = {"type": "event_callback", "team_id": "T7", "event_id": "Ev9", "event": event}
    assert http.post("/slack/events", json.dumps(body).encode(), kind="json").status_code == 200
    installed = Installations(slack_settings(slack, **APP), service.store.database)
    slack.wait(lambda: set(installed.tokens()) == {"T8"})


def test_token_of_the_settings_keeps_working_beside_it(settings: Settings, service: Service, slack: FakeSlack) -> None:
    with over_http(settings, service, slack, **APP | {"bot_token": "xoxb-one"}) as http:
        install(http, slack, "T7")
        http.command(team_id="T1")
        assert slack.answer().token == "xoxb-one"
        http.command(team_id="T7")
        assert slack.answer(1).token.startswith("xoxb-T7")


def test_page_says_what_to_do_where_the_app_is_not_set_up(settings: Settings, service: Service, slack: FakeSlack) -> None:
    with over_http(settings, service, slack) as http:
        for path in ("install", "oauth_redirect"):
            reply = http.client.get(f"/slack/{path}", follow_redirects=False)
            assert reply.status_code == 404 and "slack.client_id" in reply.text


def test_two_processes_may_make_the_tables_at_once(tmp_path: Path, slack: FakeSlack) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    both = [Database.open(url) for _ in range(2)]
    for database in both:
        assert Installations(slack_settings(slack, **APP), database).tokens() == {}
        database.close()
