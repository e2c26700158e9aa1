"""The pages in a real browser, on a real server: by mouse, by keyboard, without scripts, narrow and wide, by day and by night."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from revelio.incidents.recorded import RecordedIncidents
from revelio.settings import BUNDLED, Settings
from revelio.workbench import Workbench
from tests.webui import made
from webui.app import create_app

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
NARROW, WIDE = 390, 1280

pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists() and not os.environ.get("CI"), reason=f"{CHROMIUM} is not installed (apt-get install chromium)"
)

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
SHIFTS = """() => new Promise((done) => { let sum = 0;
  new PerformanceObserver((list) => { for (const s of list.getEntries()) if (!s.hadRecentInput) sum += s.value; })
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 300); })"""


def _settings(folder: Path) -> tuple[Settings, bool]:
    """The bundled model and incidents with a database of its own; the hand-made ones where nothing is bundled."""
    bundled = Settings(database=f"sqlite:///{folder}/revelio.db")
    if (BUNDLED / "model" / "manifest.json").is_file() and RecordedIncidents(bundled.incidents).ids():
        return bundled, True
    return made.settings(folder, made.record(), made.record("shop-0002", "all fine, I think", ("elasticsearch",))), False


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on a free loopback port."""
    settings, bundled = _settings(tmp_path_factory.mktemp("browser"))
    bench = Workbench(settings) if bundled else Workbench(settings, recommender=made.stand_in(settings))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(settings, bench=bench), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        for _ in range(200):
            if server.started:
                break
            time.sleep(0.05)
        assert server.started
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's own Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS.split())
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile, wide and by day."""
    context = browser.new_context(viewport={"width": WIDE, "height": 900})
    yield context
    context.close()


def watched(context: BrowserContext, address: str) -> tuple[Page, list[str]]:
    """A page, and a list that grows with every complaint and every request that leaves the server."""
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("request", lambda r: None if r.url.startswith((address, "data:")) else wrong.append(f"left for {r.url}"))
    page.set_default_timeout(15_000)
    return page, wrong


def ask(page: Page, address: str) -> None:
    """From the first page's first example to its answer."""
    page.goto(address)
    page.locator(".examples a").first.click()
    expect(page.get_by_label("The report")).not_to_have_value("")
    page.get_by_role("button", name="Find queries").click()
    page.wait_for_url("**/r/*")
    expect(page.locator(".card").first).to_be_visible()


def run_first(page: Page) -> None:
    """Run the first query and wait for its evidence."""
    page.locator("#query-1 form[action$='/run'] button").click()
    expect(page.locator("#query-1 .evidence")).to_be_visible()


def test_from_a_report_to_found_it(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    ask(page, address)
    run_first(page)
    page.locator("#query-1").get_by_role("button", name="Found it").click()
    expect(page.locator("#query-1 .thanks")).to_contain_text("Kept")
    page.locator("#query-1").get_by_label("What was the cause?").fill("a CPU quota")
    page.locator("#query-1").get_by_role("button", name="Save").click()
    expect(page.locator("#query-1").get_by_role("button", name="Saved")).to_be_focused()
    shared = page.url
    page.goto(shared)
    expect(page.locator("#query-1 .evidence")).to_be_visible()
    expect(page.locator("#query-1").get_by_role("button", name="Found it")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#query-1").get_by_label("What was the cause?")).to_have_value("a CPU quota")
    page.get_by_role("link", name="History").click()
    expect(page.locator(".history li").first).to_contain_text("Found it")
    assert wrong == []


def test_a_series_becomes_a_chart(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    ask(page, address)
    for card in page.locator(".card").all():
        card.locator("form[action$='/run'] button").click()
        expect(card.locator(".evidence, .note.warn").first).to_be_visible()
        if card.locator(".plot").count():
            expect(card.locator(".plot canvas").first).to_be_visible()
            expect(card.locator(".chart table").first).to_be_visible()
            break
    else:
        pytest.skip("none of the first incident's top queries reads a series")
    assert wrong == []


def test_with_the_keyboard_alone(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("The report")).to_be_focused()
    page.keyboard.type("the basket page hangs for ages")
    page.keyboard.press("Tab")
    expect(page.get_by_label("About")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Find queries")).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/*")
    run = page.locator("#query-1 form[action$='/run'] button")
    run.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#query-1 .evidence")).to_be_visible()
    expect(run).to_be_focused()


def test_without_scripts(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page, wrong = watched(context, address)
    ask(page, address)
    run_first(page)
    page.locator("#query-1").get_by_role("button", name="Found it").click()
    expect(page.locator("#query-1 .thanks")).to_contain_text("Kept")
    expect(page.get_by_role("button", name="Copy", exact=True)).to_have_count(0)
    context.close()
    assert wrong == []


def test_copying_puts_the_query_on_the_clipboard(context: BrowserContext, address: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, _ = watched(context, address)
    ask(page, address)
    page.locator("#query-1").get_by_role("button", name="Copy").click()
    expect(page.locator("#query-1 .copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#text-1").text_content()


def test_a_report_that_is_too_long_is_counted_and_kept(context: BrowserContext, address: str) -> None:
    page, _ = watched(context, address)
    page.goto(address)
    page.get_by_label("The report").fill("x" * 20_001)
    expect(page.locator("[data-count]")).to_have_text("20,001 so far.")
    page.get_by_role("button", name="Find queries").click()
    expect(page.get_by_role("alert")).to_contain_text("20,001 characters")
    assert len(page.get_by_label("The report").input_value()) == 20_001


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks(browser: Browser, address: str, width: int, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        is_mobile=width == NARROW,
        has_touch=width == NARROW,
    )
    page, wrong = watched(context, address)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def look(name: str) -> None:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than {width}"
        assert page.evaluate(CONTRAST) == [], name
        assert page.evaluate(SHIFTS) < 0.02, name
        page.screenshot(path=SCREENSHOTS / f"{name}-{width}-{scheme}.png", full_page=True)

    page.goto(address)
    look("ask")
    ask(page, address)
    look("answer")
    for card in page.locator(".card").all():
        card.locator("form[action$='/run'] button").click()
        expect(card.locator(".evidence, .note.warn").first).to_be_visible()
    page.locator("#query-1").get_by_role("button", name="Found it").click()
    expect(page.locator("#query-1 .thanks")).to_contain_text("Kept")
    page.mouse.move(0, 0)
    look("evidence")
    page.goto(f"{address}/history")
    look("history")
    page.goto(f"{address}/api/docs")
    look("api")
    assert wrong == []
    page.goto(f"{address}/nope")
    look("error")
    context.close()
