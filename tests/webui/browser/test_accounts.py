"""An admin sets up, lets somebody in and makes a token; that somebody signs in. At both widths, by day and by night."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, expect

from tests.webui import made
from tests.webui.browser.conftest import serving
from tests.webui.browser.pages import NARROW, WIDE, looks_right, watched
from webui.accounts.rate_limit import SignInRateLimit
from webui.app import create_app

ADMIN, SECRET = "ada", "correct horse battery"


@dataclass(frozen=True, slots=True)
class Served:
    """A server with one admin, made on the command line before the first start."""

    address: str
    app: FastAPI


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("accounts")
    settings = made.settings(folder, made.record()).model_copy(update={"accounts": True, "rate_limit": 0})
    subprocess.run(
        [Path(sys.executable).with_name("revelio"), "users", "add", ADMIN, "--role", "admin", "--password-stdin"],
        env={**os.environ, "REVELIO_DATABASE": settings.database},
        cwd=folder,
        input=f"{SECRET}\n",
        text=True,
        check=True,
        timeout=120,
    )
    app = create_app(settings, recommender=made.stand_in(settings))
    with serving(app) as address:
        yield Served(address, app)


def sign_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


@pytest.mark.parametrize(
    ("width", "scheme", "axe"), [(WIDE, "light", True), (WIDE, "dark", False), (NARROW, "light", False), (NARROW, "dark", True)]
)
def test_an_admin_lets_somebody_in_who_signs_in(
    browser: Browser, served: Served, width: int, scheme: Literal["light", "dark"], axe: bool
) -> None:
    served.app.state.sign_in_rate_limit = SignInRateLimit()  # all sign in from one address
    narrow = width == NARROW
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, is_mobile=narrow, has_touch=narrow
    )
    page, wrong = watched(context, served.address)
    name = f"robin-{width}-{scheme}"

    def look(what: str) -> None:
        looks_right(page, f"{what}-{width}-{scheme}", axe=axe)

    page.goto(f"{served.address}/history")
    page.wait_for_url("**/sign-in?next=**")
    look("sign-in")
    sign_in(page, ADMIN, "not the password")
    expect(page.get_by_role("alert")).to_contain_text("Sign-in failed.")
    look("sign-in-refused")
    wrong.clear()  # the browser's console tells of the 401
    sign_in(page, ADMIN, SECRET)
    page.wait_for_url("**/history")
    page.get_by_role("link", name=f"Account of {ADMIN}").click()
    page.wait_for_url("**/account")
    look("account")
    page.get_by_role("link", name="People").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Initial password").fill(f"{SECRET} {width}")
    page.locator(".panel select").select_option("viewer")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("rowheader", name=name)).to_be_visible()
    look("people")
    page.get_by_role("link", name="Audit trail").click()
    expect(page.get_by_role("rowheader", name="user added").first).to_be_visible()
    look("audit")

    page.get_by_role("link", name=f"Account of {ADMIN}").click()
    page.get_by_label("Used by").fill(f"alert relay {width} {scheme}")
    page.locator(".panel select").select_option("responder")
    page.get_by_label("Valid for days").fill("90")
    page.get_by_role("button", name="Create token").click()
    token = page.locator("#fresh-token").text_content() or ""
    expect(page.get_by_role("status")).to_contain_text("shown only once")
    look("account-token")
    page.goto(f"{served.address}/account")
    assert token.startswith("rvl_") and token not in page.content()
    me = httpx.get(f"{served.address}/api/v1/me", headers={"authorization": f"Bearer {token}"}).json()
    assert me == {"name": ADMIN, "role": "responder"}

    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    page.goto(f"{served.address}/people")
    page.wait_for_url("**/sign-in?next=**")
    sign_in(page, name, f"{SECRET} {width}")
    expect(page.get_by_role("main")).to_contain_text(f"{name} is a viewer here")
    look("refused")
    wrong.clear()  # and of the 403
    page.goto(f"{served.address}/account")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_role("link", name="People")).to_have_count(0)
    look("account-viewer")
    assert wrong == []
    context.close()
