"""Who may do what, address by address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import BaseRoute

from revelio.store.accounts import ROLES, allows
from tests.webui.accounts.conftest import PAGE, Server
from webui.accounts.permissions import RULES, Rule, need_of

CALLERS = ("nobody", *ROLES)


def expected(rule: Rule, caller: str) -> str:
    """What becomes of a request: let in, asked to sign in, or refused."""
    if rule.need == "anybody":
        return "in"
    if caller == "nobody":
        return "sign in"
    return "in" if allows(next(r for r in ROLES if r == caller), rule.need) else "refused"


def seen(reply: Any) -> str:
    if (
        reply.status_code == 401
        or reply.headers.get("location", "").startswith("/sign-in?")
        or (reply.status_code == 303 and reply.headers["location"] == "/sign-in")
    ):
        return "sign in"
    refused_for_role = reply.status_code == 403 and "needs the role" in reply.text
    return "refused" if refused_for_role else "in"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.method} {rule.path}")
def test_each_role_gets_just_as_far_as_the_table_says(shared: Server, rule: Rule) -> None:
    if rule.path == "/sign-out":
        return  # leads to the page where one signs in: see test_signing_in
    if (rule.method, rule.path) == ("GET", "/mcp"):
        return  # whoever is let in gets a stream without an end: see test_a_stream_is_for_responders
    path = rule.path.replace("{path:path}", "revelio.css").replace("{name}", "nobody-of-that-name")
    path = path.replace("{", "x-").replace("}", "")
    got = {}
    for caller in CALLERS:
        headers = shared.as_program(caller) if caller != "nobody" else {}
        reply = shared.client.request(rule.method, path, headers=headers)
        got[caller] = seen(reply)
        assert reply.status_code < 500
    assert got == {caller: expected(rule, caller) for caller in CALLERS}


def test_a_stream_is_for_responders(shared: Server) -> None:
    assert shared.client.get("/mcp").status_code == 401
    assert shared.client.get("/mcp", headers=shared.as_program("viewer")).status_code == 403


def addresses(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Method and path of every route, those of included routers too."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            context = route.include_context  # type: ignore[attr-defined]
            yield from addresses(inner.routes, prefix + context.prefix)
        elif getattr(route, "methods", None):
            for method in route.methods - {"HEAD", "OPTIONS"}:  # type: ignore[attr-defined]
                yield method, prefix + route.path  # type: ignore[attr-defined]
        else:
            yield "GET", f"{prefix}{route.path}/{{path:path}}"  # type: ignore[attr-defined]


def test_every_route_is_in_the_table(shared: Server) -> None:
    there = set(addresses(shared.client.app.routes))  # type: ignore[attr-defined]
    assert len(there) > 20
    named = {(rule.method, rule.path) for rule in RULES}
    assert there - named == set(), "add them to webui/accounts/permissions.py: what is not there only an admin may do"


def test_what_the_table_does_not_name_is_for_admins() -> None:
    assert need_of("GET", "/something/new") == "admin"
    assert need_of("DELETE", "/history") == "admin"
    assert need_of("GET", "/history/") == "admin"
    assert need_of("HEAD", "/history") == "viewer"
    assert need_of("OPTIONS", "/static/x") == "admin"


@pytest.mark.parametrize(
    "path", ["/people%3F", "/static/..%2fpeople", "http://testserver//people", "/people/", "/PEOPLE", "/history%2f..%2fpeople"]
)
def test_no_way_of_writing_an_address_gets_past_the_gate(shared: Server, path: str) -> None:
    reply = shared.client.get(path, headers=shared.as_program("viewer"))
    assert "Add a user" not in reply.text
    assert reply.status_code in (403, 404)


def test_a_browser_is_held_to_the_same_roles(shared: Server) -> None:
    viewer = shared.browser("viewer")
    assert viewer.get("/history").status_code == 200
    assert viewer.get("/people").status_code == 403
    form = {"report": "x", "about": "incident:shop-0001"}
    refused = viewer.post("/r", data=form, headers=PAGE)
    assert (refused.status_code, "needs the role responder" in refused.text) == (403, True)
    assert shared.browser("responder").post("/r", data=form, headers=PAGE).headers["location"].startswith("/r/")
