"""Every page and the whole way from a report to its place in the history, narrow and wide, by day and by night."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.webui.browser.conftest import LONG_NAME
from tests.webui.browser.pages import NARROW, WIDE, ask, looks_right, selected, watched


@pytest.mark.parametrize(
    ("width", "scheme", "axe"), [(WIDE, "light", False), (WIDE, "dark", True), (NARROW, "light", True), (NARROW, "dark", False)]
)
def test_ask_run_found_it_and_history(
    browser: Browser, address: str, width: int, scheme: Literal["light", "dark"], axe: bool
) -> None:
    narrow = width == NARROW
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, is_mobile=narrow, has_touch=narrow
    )
    page, wrong = watched(context, address)

    def look(name: str) -> None:
        looks_right(page, f"{name}-{width}-{scheme}", axe=axe)

    page.goto(address)
    look("ask")
    ask(page, address)
    look("answer")
    page.get_by_role("button", name="Run next").click()
    page.wait_for_load_state("networkidle")
    card = selected(page)
    card.get_by_role("button", name="Found it").click()
    expect(card.locator(".thanks")).to_contain_text("Saved")
    card.get_by_label("What was the cause?").fill(f"a quota, {scheme} {width}")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("button", name="Saved")).to_be_visible()
    page.reload()
    look("evidence")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="History").click()
    page.get_by_label("Search", exact=True).fill(f"{scheme} {width}")
    page.get_by_label("Verdict").select_option("found")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".history > li")).to_have_count(1)
    expect(page.locator(".history")).to_contain_text(f"a quota, {scheme} {width}")
    look("history")
    for name, path in (
        ("history-empty", "/history?q=nobody+ever+wrote+this"),
        ("systems", "/systems"),
        ("system", "/systems/shop"),
        ("system-empty", f"/systems/{LONG_NAME}"),
        ("catalog", "/catalog?q=container"),
        ("model", "/model"),
        ("settings", "/settings"),
        ("api", "/api/docs"),
    ):
        page.goto(f"{address}{path}")
        look(name)
    page.get_by_role("button", name="Keyboard").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    look("keyboard")
    assert wrong == []
    page.goto(f"{address}/nope")
    look("error")
    context.close()


def test_words_without_a_break_wrap_everywhere(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": NARROW, "height": 900}, is_mobile=True)
    page, _ = watched(context, address)
    word = "Unbreakable" * 30
    page.goto(address)
    page.get_by_label("Report").fill(f"{word} {word}")
    page.get_by_label("System or incident").select_option(index=2)
    page.get_by_role("button", name="Find queries").click()
    page.wait_for_url("**/r/*")
    looks_right(page, "long-words", axe=False)
    page.goto(f"{address}/history?q={word[:300]}")
    looks_right(page, "long-words-history", axe=False)
    context.close()


def test_every_page_can_be_found_from_the_first(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": NARROW, "height": 900})
    page, wrong = watched(context, address)
    page.goto(address)
    for name in ("History", "Systems", "Catalog", "Model", "Settings", "API", "Ask"):
        page.get_by_role("link", name=name, exact=True).first.click()
        expect(page.locator("[aria-current=page]")).to_have_text(name)
    assert wrong == []
    context.close()
