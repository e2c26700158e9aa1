"""What people do on the pages with a mouse, with and without scripts."""

from __future__ import annotations

import httpx
from playwright.sync_api import Browser, BrowserContext, expect

from tests.webui.browser.pages import NARROW, WIDE, ask, selected, watched


def test_from_a_report_to_found_it_without_leaving_the_page(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    ask(page, address)
    card = selected(page)
    card.get_by_role("button", name="Found it").click()
    expect(card.locator(".thanks")).to_contain_text("Saved")
    card.get_by_label("What was the cause?").fill("a CPU quota")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("button", name="Saved")).to_be_focused()
    page.goto(page.url)
    expect(card.get_by_role("button", name="Found it")).to_have_attribute("aria-pressed", "true")
    expect(card.get_by_label("What was the cause?")).to_have_value("a CPU quota")
    card.get_by_role("button", name="Undo").click()
    expect(card.get_by_role("button", name="Found it")).to_have_attribute("aria-pressed", "false")
    assert wrong == []


def test_two_people_on_one_answer_see_each_others_runs_and_verdicts(browser: Browser, address: str) -> None:
    incident = httpx.get(f"{address}/api/v1/incidents", timeout=60).json()[0]
    asked = {"report": incident["report"], "incident": incident["id"]}
    answer = httpx.post(f"{address}/api/v1/recommendations", json=asked, timeout=60).json()
    first, second = (browser.new_context(viewport={"width": WIDE, "height": 800}) for _ in range(2))
    (ours, wrong), (theirs, also_wrong) = watched(first, address), watched(second, address)
    for page in (ours, theirs):
        page.goto(f"{address}/r/{answer['id']}")
        expect(page.locator(".row .is-anomalous, .row .is-normal")).not_to_have_count(0)
        page.wait_for_load_state("networkidle")
    selected(ours).get_by_role("button", name="Found it").click()
    expect(selected(theirs).locator(".thanks")).to_contain_text("Saved: shows the cause")
    expect(theirs.locator("#verdict")).to_contain_text("Resolve")
    for part in (first, second):
        part.close()
    assert wrong + also_wrong == []


def test_text_that_is_typed_stays_when_others_act(browser: Browser, address: str) -> None:
    incident = httpx.get(f"{address}/api/v1/incidents", timeout=60).json()[0]
    asked = {"report": incident["report"], "incident": incident["id"]}
    answer = httpx.post(f"{address}/api/v1/recommendations", json=asked, timeout=60).json()
    context = browser.new_context(viewport={"width": WIDE, "height": 800})
    page, wrong = watched(context, address)
    page.goto(f"{address}/r/{answer['id']}")
    expect(page.locator(".row .is-anomalous, .row .is-normal")).not_to_have_count(0)
    page.wait_for_load_state("networkidle")
    selected(page).get_by_role("button", name="Found it").click()
    note, cause = selected(page).get_by_label("What was the cause?"), page.locator("#cause")
    note.fill("half a thought")
    cause.fill("another half")
    page.get_by_role("link", name="History").focus()
    said = f"{address}/api/v1/recommendations/{answer['id']}/feedback"
    query = page.locator(".card.selected").get_attribute("data-query")
    httpx.post(said, json={"query_id": query, "verdict": "not_useful", "note": "by somebody else"}, timeout=60).raise_for_status()
    expect(selected(page).locator(".thanks")).to_contain_text("Saved: not useful")
    expect(page.locator(".card.selected .remark input[type=text]")).to_have_value("half a thought")
    expect(cause).to_have_value("another half")
    context.close()
    assert wrong == []


def test_a_draft_survives_a_reload(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.get_by_label("Report").fill("half a sentence about")
    page.reload()
    expect(page.get_by_label("Report")).to_have_value("half a sentence about")


def test_a_question_asked_while_offline_stays_on_the_page(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.get_by_label("Report").fill("the shop is slow")
    context.set_offline(True)
    page.get_by_role("button", name="Find queries").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(page.get_by_label("Report")).to_have_value("the shop is slow")
    context.set_offline(False)


_MEET = """(all) => all.flatMap((one, i) => all.slice(i + 1).filter((other) => {
  const [a, b] = [one.getBBox(), other.getBBox()];
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y + 3 < b.y + b.height && b.y + 3 < a.y + a.height;
}).map((other) => `${one.textContent} over ${other.textContent}`))"""
"""Words whose boxes overlap, beyond the line spacing."""


def test_a_row_shows_its_query_and_its_address_can_be_shared(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    ask(page, address)
    row = page.locator(".row").nth(1)
    title = row.locator(".row-title").inner_text()
    row.click()
    expect(selected(page).get_by_role("heading", level=2)).to_have_text(title)
    page.goto(page.url)
    expect(selected(page).get_by_role("heading", level=2)).to_have_text(title)
    assert wrong == []


def test_link_and_summary_are_copied_by_keyboard(context: BrowserContext, address: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, wrong = watched(context, address)
    ask(page, address)
    share = page.get_by_role("region", name="Share")
    for part, box in (("address", "Link"), ("summary", "Summary for a ticket")):
        button = share.locator(f"[data-copy={part}]")
        button.press("Enter")
        expect(button).to_have_text("Copied")
        expect(button).to_be_focused()
        assert page.evaluate("navigator.clipboard.readText()") == share.get_by_label(box).input_value()
    page.goto(share.get_by_label("Link").input_value())
    expect(selected(page)).to_be_visible()
    assert wrong == []


def test_a_component_of_the_map_opens_its_parts(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    ask(page, address)
    node = page.locator(".map [data-node]").first
    node.scroll_into_view_if_needed()
    name = node.get_attribute("data-node")
    node.click()
    expect(page.locator(f"#node-{name}")).to_have_attribute("open", "")
    assert wrong == []


def test_the_map_of_a_system_is_in_view_as_a_whole(browser: Browser, address: str) -> None:
    for width in (WIDE, NARROW):
        context = browser.new_context(viewport={"width": width, "height": 800})
        page, wrong = watched(context, address)
        system = page.request.get(f"{address}/api/v1/incidents").json()[0]["system"]
        page.goto(f"{address}/systems/{system}")
        expect(page.locator(".map svg")).to_be_visible()
        outside = page.locator(".map").evaluate("""(map) => { const all = map.getBoundingClientRect();
          return [...map.querySelectorAll('.node, .call')].filter((part) => { const box = part.getBoundingClientRect();
            return box.left < all.left || box.right > all.right || box.top < all.top || box.bottom > all.bottom; }).length }""")
        assert outside == 0
        assert wrong == []
        context.close()


def test_figures_of_calls_appear_for_what_is_pointed_at_and_never_over_each_other(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    systems = {one["system"] for one in page.request.get(f"{address}/api/v1/incidents").json()}
    for system in sorted(systems):
        page.goto(f"{address}/systems/{system}")
        expect(page.locator(".map svg")).to_be_visible()
        told = page.locator(".map .words.told")
        for node in page.locator(".map [data-node]").all():
            node.hover()
            assert told.evaluate_all(_MEET) == []
        page.mouse.move(0, 0)
        assert told.evaluate_all("all => all.filter((words) => !words.matches('.failing')).length") == 0
        parts = page.locator(".node-part summary")
        counts = []
        for number in range(parts.count()):
            parts.nth(number).focus()
            counts.append(told.count())
        assert max(counts) > 0
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
    expect(page.locator(".evidence, .note.warn")).not_to_have_count(0)
    page.get_by_role("button", name="Run next").click()
    expect(page.locator(".rule")).to_contain_text("Re-ranked with")
    page.get_by_text("more queries").click()
    page.get_by_role("link", name="original").click()
    page.locator(".card").first.get_by_role("button", name="Found it").click()
    expect(page.locator(".card .thanks").first).to_contain_text("Saved")
    expect(page.get_by_role("button", name="Copy", exact=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Keyboard")).to_have_count(0)
    context.close()
    assert wrong == []


def test_copying_puts_the_query_on_the_clipboard(context: BrowserContext, address: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, _ = watched(context, address)
    ask(page, address)
    selected(page).get_by_text("Query text", exact=True).click()
    selected(page).get_by_role("button", name="Copy").click()
    expect(selected(page).locator(".copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == selected(page).locator("code").first.text_content()


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
    expect(page.get_by_role("alert")).to_contain_text("20,001 of at most 20,000 characters")
    assert len(page.get_by_label("Report").input_value()) == 20_001


def test_a_moment_is_typed_on_the_askers_own_clock(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.get_by_label("System or incident").select_option(value="system:shop")
    page.get_by_label("Report").fill("slow on New Year's Day")
    page.get_by_label("Time").fill("2026-01-01T10:30")
    page.get_by_role("button", name="Find queries").click()
    page.wait_for_url("**/r/*")
    expect(page.locator(".eyebrow time")).to_have_attribute("datetime", "2026-01-01T09:30:00+00:00")


def test_a_recorded_incident_takes_no_moment(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.locator(".examples a").first.click()
    expect(page.get_by_label("Time")).to_be_disabled()
