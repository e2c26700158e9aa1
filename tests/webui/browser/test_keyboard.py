"""Everything by keyboard alone, and the single keys that the help lists."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, expect

from tests.webui.browser.pages import ask, selected, watched


def test_a_question_is_asked_and_run_by_tab_and_enter(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Report")).to_be_focused()
    page.keyboard.type("the basket page hangs for ages? / g h")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="What is masked")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("System or incident")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Since, or for how long")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Find queries")).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/*")
    run = selected(page).locator("form.run button")
    run.focus()
    page.keyboard.press("Enter")
    expect(selected(page).locator(".evidence, .note.warn").first).to_be_visible()
    expect(run).to_be_focused()


def test_single_keys_walk_the_cards_and_act_on_the_one_in_focus(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    ask(page, address)
    first = selected(page).get_attribute("data-query")
    page.keyboard.press("j")
    expect(selected(page)).to_be_focused()
    second = page.locator(f"[data-query='{selected(page).get_attribute('data-query')}']")
    assert second.get_attribute("data-query") != first
    page.keyboard.press("r")
    expect(second.locator(".evidence, .note.warn").first).to_be_visible()
    page.keyboard.press("n")
    expect(second.locator(".thanks")).to_contain_text("Saved: not useful")
    page.locator(f".row[data-select='{first}']").click()
    page.keyboard.press("f")
    expect(page.locator(f"[data-query='{first}'] .thanks")).to_contain_text("shows the cause")
    with page.expect_navigation():
        page.keyboard.press("t")
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/history")
    page.wait_for_load_state()
    page.keyboard.press("/")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    assert wrong == []


def test_control_enter_sends_the_report(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.locator(".examples a").first.click()
    page.wait_for_url("**/?incident=*")
    page.get_by_label("Report").focus()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/r/*")


def test_the_help_opens_on_a_question_mark_and_can_turn_single_keys_off(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(f"{address}/catalog")
    dialog = page.get_by_role("dialog", name="Keyboard")
    page.keyboard.press("?")
    expect(dialog).to_be_visible()
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_label("Search", exact=True)).not_to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.keyboard.press("?")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("checkbox")).not_to_be_checked()
    assert page.url.endswith("/catalog")


def test_every_listed_destination_has_its_key(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    listed = page.locator("#keys dt").all_text_contents()
    assert {k.split()[-1] for k in listed if k.startswith("g ")} == set(
        page.locator("[data-go]").evaluate_all("all => all.map((e) => e.dataset.go)")
    )
