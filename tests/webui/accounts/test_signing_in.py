"""Signing in and out, in a browser and as a program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.webui import made
from tests.webui.accounts.conftest import PAGE, PASSWORD, Server, serve, settings_with_accounts
from tests.webui.conftest import client_on
from webui.accounts import rate_limit
from webui.accounts.rate_limit import RateLimit

HTTPS = "https://testserver"


def sign_in(client: TestClient, name: str, password: str, **extra: str) -> int:
    return client.post("/sign-in", data={"name": name, "password": password, **extra}, headers=PAGE).status_code


def test_a_stranger_is_led_to_where_one_signs_in_and_back_again(server: Server) -> None:
    reply = server.client.get("/history?before=5")
    assert reply.headers["location"] == "/sign-in?next=/history%3Fbefore%3D5"
    page = server.client.get(reply.headers["location"])
    assert page.status_code == 200
    assert 'value="/history?before=5"' in page.text
    form = {"name": "viewer", "password": PASSWORD, "next": "/history?before=5"}
    back = server.client.post("/sign-in", data=form, headers=PAGE)
    assert (back.status_code, back.headers["location"]) == (303, "/history?before=5")
    assert "Account of" in server.client.get("/history").text


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\n/b", "x"]
)
def test_signing_in_never_leads_to_another_site(server: Server, elsewhere: str) -> None:
    form = {"name": "viewer", "password": PASSWORD, "next": elsewhere}
    assert server.client.post("/sign-in", data=form, headers=PAGE).headers["location"] == "/"


def test_a_wrong_password_says_no_more_than_that(server: Server) -> None:
    texts = set()
    for name, password in (("viewer", "wrong"), ("stranger", PASSWORD)):
        reply = server.client.post("/sign-in", data={"name": name, "password": password}, headers=PAGE)
        assert reply.status_code == 401
        assert "set-cookie" not in reply.headers
        texts.add(reply.text.replace(name, ""))
    assert len({re.sub(r"autofocus", "", text) for text in texts}) == 1


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(server: Server) -> None:
    form = {"name": "viewer", "password": PASSWORD}
    plain = server.client.post("/sign-in", data=form, headers=PAGE).headers["set-cookie"]
    assert plain.startswith("revelio=")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {part.strip() for part in plain.split(";")}
    secure = server.client.post(f"{HTTPS}/sign-in", data=form, headers=PAGE).headers["set-cookie"]
    assert secure.startswith("__Host-revelio=")
    assert "Secure" in secure
    assert "Domain" not in secure


def test_signing_out_ends_the_session_in_the_database_too(server: Server) -> None:
    browser = server.browser("viewer")
    cookie = browser.cookies["revelio"]
    assert browser.post("/sign-out", headers=PAGE).headers["location"] == "/sign-in"
    assert browser.get("/history").status_code == 303
    browser.cookies.set("revelio", cookie)
    assert browser.get("/history").status_code == 303


@pytest.mark.parametrize(
    "headers", [{}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example"}]
)
def test_a_change_on_behalf_of_another_site_is_refused(server: Server, headers: dict[str, str]) -> None:
    browser = server.browser("admin")
    form = {"name": "mallory", "password": PASSWORD, "role": "admin"}
    assert browser.post("/people", data=form, headers=headers).status_code == 403
    assert browser.post("/api/v1/users", json=form, headers=headers).status_code == 403
    assert len(server.store.accounts.list()) == 3
    assert browser.post("/people", data=form, headers={"origin": "http://testserver"}).status_code == 303


def test_guessing_is_slowed_down(server: Server) -> None:
    seen = [sign_in(server.client, "viewer", f"guess {n}") for n in range(7)]
    assert seen == [401] * 5 + [429] * 2
    assert sign_in(server.client, "viewer", PASSWORD) == 429
    reply = server.client.post("/sign-in", data={"name": "viewer", "password": PASSWORD}, headers=PAGE)
    assert 1 <= int(reply.headers["retry-after"]) <= 20
    assert sign_in(server.client, "responder", PASSWORD) == 303
    attempts = [line for line in server.store.audit.list() if line.action == "sign-in refused"]
    assert len(attempts) == 5


def test_unknown_tokens_are_refused_and_slowed_down(server: Server) -> None:
    headers = {"authorization": "Bearer rvl_guess"}
    seen = [server.client.get("/api/v1/me", headers=headers).status_code for _ in range(32)]
    assert seen == [401] * 30 + [429] * 2
    assert server.client.get("/api/v1/me", headers=server.as_program("viewer")).status_code == 200


def test_a_program_is_told_what_to_send(server: Server) -> None:
    reply = server.client.get("/api/v1/incidents")
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.headers["content-type"] == "application/problem+json"
    assert "Bearer" in reply.json()["detail"]


def test_what_probes_and_browsers_need_is_open(server: Server) -> None:
    for path in ("/healthz", "/readyz", "/static/revelio.css", "/static/accounts.css", "/sign-in"):
        assert server.client.get(path).status_code == 200


def test_without_accounts_nobody_signs_in_and_nothing_about_accounts_is_served(client: TestClient) -> None:
    assert client.get("/sign-in").headers["location"] == "/"
    assert sign_in(client, "viewer", PASSWORD) == 404
    for path in ("/account", "/people", "/audit", "/api/v1/me", "/api/v1/users", "/api/v1/tokens", "/api/v1/audit"):
        reply = client.get(path)
        assert (reply.status_code, "accounts" in reply.text) == (404, True)
    assert client.post("/api/v1/users", json={"name": "m", "password": PASSWORD, "role": "admin"}).status_code == 404


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Server]:
    """Twelve requests a minute, three at once."""
    yield from serve(settings_with_accounts(tmp_path, rate_limit=12))


def test_each_account_may_make_so_many_requests(hurried: Server) -> None:
    def ask(role: str) -> int:
        return hurried.client.get("/api/v1/me", headers=hurried.as_program(role)).status_code

    assert [ask("viewer") for _ in range(5)] == [200] * 3 + [429] * 2
    assert ask("admin") == 200
    reply = hurried.client.get("/api/v1/me", headers=hurried.as_program("viewer"))
    assert 1 <= int(reply.headers["retry-after"]) <= 5
    assert reply.headers["content-type"] == "application/problem+json"
    assert [hurried.client.get("/healthz").status_code for _ in range(5)] == [200] * 5


def test_a_rate_limit_allows_what_it_says() -> None:
    now = 0.0
    pace = RateLimit(3, 10.0, clock=lambda: now)
    assert [pace.wait("a") for _ in range(4)] == [0, 0, 0, 10]
    assert pace.wait("b") == 0
    now = 9.5
    assert pace.wait("a") == 1
    now = 10.0
    assert [pace.wait("a"), pace.wait("a")] == [0, 10]
    now = 1000.0
    assert [pace.wait("a") for _ in range(4)] == [0, 0, 0, 10]


def test_a_rate_limit_tracks_a_bounded_number_of_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_KEYS", 5)
    pace = RateLimit(1, 10.0, clock=lambda: 0.0)
    for n in range(50):
        assert pace.wait(f"caller {n}") == 0
    assert len(pace._due) == 5
    assert pace.wait("caller 49") > 0


def test_guesses_of_the_old_password_are_slowed_down(server: Server) -> None:
    browser = server.browser("viewer")
    guess = {"old": "wrong horse battery", "new": "another horse battery"}
    statuses = [browser.post("/account/password", data=guess, headers=PAGE).status_code for _ in range(8)]
    assert statuses[0] == 403
    assert statuses[-1] == 429
    right = {"old": PASSWORD, "new": "another horse battery"}
    assert browser.post("/account/password", data=right, headers=PAGE).status_code == 429


def test_whoever_has_no_account_may_make_so_many_requests(hurried: Server, tmp_path: Path) -> None:
    page = [hurried.client.get("/sign-in").status_code for _ in range(5)]
    assert page == [200, 200, 200, 429, 429]
    webhook = [hurried.client.post("/api/v1/webhooks/grafana", json={}).status_code for _ in range(14)]
    assert webhook[0] == 403, "accounts are on, and no secret is set"
    assert webhook[12:] == [429, 429], "senders of alerts may send four times as much"
    assert hurried.client.get("/static/revelio.css").status_code == 200
    assert hurried.client.get("/api/v1/me", headers=hurried.as_program("viewer")).status_code == 200


def test_where_nobody_signs_in_each_address_may_make_so_many_requests(tmp_path: Path) -> None:
    with client_on(made.settings(tmp_path, made.record()).model_copy(update={"rate_limit": 12})) as client:
        assert [client.get("/api/v1/incidents").status_code for _ in range(5)] == [200] * 3 + [429] * 2
        assert client.get("/healthz").status_code == 200
