"""What people see of accounts."""

from __future__ import annotations

import re

import pytest

from revelio.store import Actor
from tests.webui.accounts.conftest import PAGE, PASSWORD, Server


def test_an_admin_adds_changes_and_removes_people(server: Server) -> None:
    admin = server.browser("admin")
    form = {"name": "robin", "password": "another long password", "role": "viewer"}
    assert admin.post("/people", data=form, headers=PAGE).status_code == 303
    assert "robin" in admin.get("/people").text
    assert admin.post("/people/role", data={"name": "robin", "role": "responder"}, headers=PAGE).status_code == 303
    assert server.store.accounts.get("robin").role == "responder"
    again = admin.post("/people", data=form, headers=PAGE)
    assert again.status_code == 422
    assert "already" in again.text
    assert 'value="robin"' in again.text
    assert admin.post("/people/remove", data={"name": "robin"}, headers=PAGE).status_code == 303
    refused = admin.post("/people/remove", data={"name": "admin"}, headers=PAGE)
    assert (refused.status_code, "last admin" in refused.text) == (422, True)
    assert admin.post("/people/role", data={"name": "viewer", "role": "owner"}, headers=PAGE).status_code == 422
    trail = admin.get("/audit").text
    assert all(words in trail for words in ("user added", "role changed", "viewer to responder", "user removed"))


def test_a_token_is_shown_once_and_works_until_it_is_revoked(server: Server) -> None:
    browser = server.browser("responder")
    page = browser.post("/account/tokens", data={"name": "relay <b>", "role": "viewer", "days": "30"}, headers=PAGE)
    assert page.status_code == 200
    assert "relay <b>" not in page.text
    secret = re.search(r"rvl_[\w-]+", page.text)
    assert secret is not None
    assert secret[0] not in browser.get("/account").text
    headers = {"authorization": f"Bearer {secret[0]}"}
    assert server.client.get("/api/v1/me", headers=headers).json() == {"name": "responder", "role": "viewer"}
    token = next(t for t in server.store.tokens.list("responder") if t.name == "relay <b>")
    assert browser.post("/account/tokens/revoke", data={"id": token.id}, headers=PAGE).status_code == 303
    assert server.client.get("/api/v1/me", headers=headers).status_code == 401


@pytest.mark.parametrize(
    "form", [{"name": "x", "role": "admin"}, {"name": "", "role": "viewer"}, {"name": "x", "role": "viewer", "days": "-1"}]
)
def test_a_token_that_cannot_be_made_is_refused_in_words(server: Server, form: dict[str, str]) -> None:
    reply = server.browser("responder").post("/account/tokens", data=form, headers=PAGE)
    assert reply.status_code == 422
    assert 'role="alert"' in reply.text


def test_nobody_revokes_another_ones_token(server: Server) -> None:
    token = server.store.tokens.list("admin")[0]
    assert server.browser("viewer").post("/account/tokens/revoke", data={"id": token.id}, headers=PAGE).status_code == 404
    assert server.client.get("/api/v1/me", headers=server.as_program("admin")).status_code == 200
    reply = server.client.delete(f"/api/v1/tokens/{token.id}", headers=server.as_program("viewer"))
    assert reply.status_code == 404


def test_a_new_password_needs_the_old_one_and_signs_out_elsewhere(server: Server) -> None:
    here, there = server.browser("viewer"), server.browser("viewer")
    wrong = here.post("/account/password", data={"old": "wrong", "new": "another long password"}, headers=PAGE)
    assert wrong.status_code == 403
    short = here.post("/account/password", data={"old": PASSWORD, "new": "short"}, headers=PAGE)
    assert (short.status_code, "12" in short.text) == (422, True)
    done = here.post("/account/password", data={"old": PASSWORD, "new": "another long password"}, headers=PAGE)
    assert done.status_code == 303
    assert here.get("/account").status_code == 200
    assert there.get("/account").status_code == 303


def test_feedback_carries_the_name_of_whoever_gave_it(server: Server) -> None:
    headers = server.as_program("responder")
    asked = server.client.post("/api/v1/recommendations", json={"report": "x y", "incident": "shop-0001"}, headers=headers)
    answer = asked.json()["id"]
    server.client.post(f"/api/v1/recommendations/{answer}/feedback", json={"verdict": "helpful"}, headers=headers)
    query = asked.json()["queries"][0]["id"]
    browser = server.browser("admin")
    browser.post(f"/r/{answer}/feedback", data={"query_id": query, "verdict": "found"}, headers=PAGE)
    listed = server.client.get(f"/api/v1/recommendations/{answer}/feedback", headers=server.as_program("viewer")).json()
    assert [(f["verdict"], f["by"]) for f in listed] == [("helpful", "responder"), ("found", "admin")]
    trail = server.client.get("/api/v1/audit", params={"action": "feedback"}, headers=server.as_program("admin")).json()
    assert [line["actor"] for line in trail] == ["admin", "responder"]
    assert trail[0]["address"] == "testclient"


def test_users_are_looked_after_by_programs_too(server: Server) -> None:
    headers = server.as_program("admin")
    new = {"name": "robin", "role": "viewer", "password": "another long password"}
    made = server.client.post("/api/v1/users", json=new, headers=headers)
    assert made.status_code == 201
    assert "password" not in {k for k in made.json() if k != "has_password"}
    assert server.client.post("/api/v1/users", json=new, headers=headers).status_code == 422
    changed = server.client.patch("/api/v1/users/robin", json={"role": "responder"}, headers=headers)
    assert changed.json()["role"] == "responder"
    assert len(server.client.get("/api/v1/users", headers=headers).json()) == 4
    assert server.client.delete("/api/v1/users/robin", headers=headers).status_code == 204
    assert server.client.delete("/api/v1/users/robin", headers=headers).status_code == 404


def test_a_token_makes_no_token_that_is_worth_more(server: Server) -> None:
    _, weak = server.store.tokens.create("admin", "weak", "viewer", Actor("test"))
    headers = {"authorization": f"Bearer {weak}"}
    assert server.client.post("/api/v1/tokens", json={"name": "x", "role": "admin"}, headers=headers).status_code == 422
    made = server.client.post("/api/v1/tokens", json={"name": "x"}, headers=headers)
    assert (made.status_code, made.json()["role"]) == (201, "viewer")


def test_a_token_makes_no_token_that_outlives_it(server: Server) -> None:
    parent, short = server.store.tokens.create("viewer", "a day", "viewer", Actor("test"), days=1)
    headers = {"authorization": f"Bearer {short}"}
    refused = server.client.post("/api/v1/tokens", json={"name": "x", "days": 2}, headers=headers)
    assert (refused.status_code, "outlives" in refused.json()["detail"]) == (422, True)
    made = server.client.post("/api/v1/tokens", json={"name": "x"}, headers=headers).json()
    assert made["expires_at"] == parent.expires_at
    as_child = {"authorization": f"Bearer {made['token']}"}
    grandchild = server.client.post("/api/v1/tokens", json={"name": "y", "days": 0.5}, headers=as_child).json()
    server.store.tokens.revoke(parent.id, Actor("test"))
    for secret in (made["token"], grandchild["token"]):
        assert server.client.get("/api/v1/me", headers={"authorization": f"Bearer {secret}"}).status_code == 401


def test_a_new_password_ends_all_tokens_of_its_owner(server: Server) -> None:
    browser = server.browser("responder")
    done = browser.post("/account/password", data={"old": PASSWORD, "new": "another long password"}, headers=PAGE)
    assert done.status_code == 303
    assert server.client.get("/api/v1/me", headers=server.as_program("responder")).status_code == 401
    assert server.client.get("/api/v1/me", headers=server.as_program("viewer")).status_code == 200


def test_changed_settings_are_noted_by_name_only(server: Server) -> None:
    lines = server.store.audit.list(action="settings")
    assert [line.detail for line in lines] == ["first start"]
    assert server.client.app.state.service.settings.database not in lines[0].target  # type: ignore[attr-defined]
