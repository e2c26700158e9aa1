"""What people do on the pages with a mouse, with and without scripts."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext, expect

from tests.webui.browser.pages import ask, run_first, watched


def test_from_a_report_to_found_it_without_leaving_the_page(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    ask(page, address)
    run_first(page)
    page.locator("#query-1").get_by_role("button", name="Found it").click()
    expect(page.locator("#query-1 .thanks")).to_contain_text("Saved")
    page.locator("#query-1").get_by_label("What was the cause?").fill("a CPU quota")
    page.locator("#query-1").get_by_role("button", name="Save").click()
    expect(page.locator("#query-1").get_by_role("button", name="Saved")).to_be_focused()
    page.goto(page.url)
    expect(page.locator("#query-1 .evidence")).to_be_visible()
    expect(page.locator("#query-1").get_by_role("button", name="Found it")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#query-1").get_by_label("What was the cause?")).to_have_value("a CPU quota")
    assert wrong == []


def test_a_series_becomes_a_chart(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    api = f"{address}/api/v1"
    incident = page.request.get(f"{api}/incidents").json()[0]
    asked = {"report": incident["report"], "incident": incident["id"], "run": True, "k": 50}
    answer = page.request.post(f"{api}/recommendations", data=asked).json()
    assert any(query["result"] and query["result"]["series"] for query in answer["queries"])
    page.goto(f"{address}/r/{answer['id']}")
    expect(page.locator(".plot canvas").first).to_be_visible()
    expect(page.locator(".chart table").first).to_be_visible()
    assert wrong == []


def test_without_scripts(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page, wrong = watched(context, address)
    ask(page, address)
    run_first(page)
    page.get_by_role("button", name="Run top 3").click()
    expect(page.locator(".evidence, .note.warn")).to_have_count(3)
    expect(page.locator(".rule")).to_contain_text("Re-ranked with 3 results.")
    page.get_by_role("link", name="original").click()
    expect(page.locator(".card").first).to_have_attribute("id", "query-1")
    page.locator("#query-1").get_by_role("button", name="Found it").click()
    expect(page.locator("#query-1 .thanks")).to_contain_text("Saved")
    expect(page.get_by_role("button", name="Copy", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Keyboard")).to_have_count(0)
    context.close()
    assert wrong == []


def test_copying_puts_the_query_on_the_clipboard(context: BrowserContext, address: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, _ = watched(context, address)
    ask(page, address)
    page.locator("#query-1").get_by_role("button", name="Copy").click()
    expect(page.locator("#query-1 .copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#text-1").text_content()


def test_rich_text_is_pasted_as_plain_text(context: BrowserContext, address: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, _ = watched(context, address)
    page.goto(address)
    page.evaluate("""() => navigator.clipboard.write([new ClipboardItem({
      "text/html": new Blob(["<b>Ana</b><br>it is <i>slow</i>"], {type: "text/html"}),
      "text/plain": new Blob(["Ana\\nit is slow"], {type: "text/plain"})})])""")
    page.get_by_label("Report").focus()
    page.keyboard.press("Control+V")
    expect(page.get_by_label("Report")).to_have_value("Ana\nit is slow")


def test_a_report_that_is_too_long_is_counted_and_kept(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.get_by_label("Report").fill("x" * 20_001)
    expect(page.locator("[data-count]")).to_have_text("20,001 of 20,000.")
    page.get_by_role("button", name="Find queries").click()
    expect(page.get_by_role("alert")).to_contain_text("Too long: 20,001 of 20,000 characters")
    assert len(page.get_by_label("Report").input_value()) == 20_001


def test_a_moment_is_typed_on_the_askers_own_clock(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.get_by_label("System or incident").select_option(label="shop")
    page.get_by_label("Report").fill("slow on New Year's Day")
    page.get_by_label("Time").fill("2026-01-01T10:30")
    page.get_by_role("button", name="Find queries").click()
    page.wait_for_url("**/r/*")
    expect(page.locator(".eyebrow time")).to_have_text("1 Jan 2026, 09:30 UTC")


def test_a_recorded_incident_takes_no_moment(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.locator(".examples a").first.click()
    expect(page.get_by_label("Time")).to_be_disabled()
