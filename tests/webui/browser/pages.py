"""What the browser tests do on pages."""

from __future__ import annotations

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Locator, Page, expect

SCREENSHOTS = Path(__file__).parents[3] / "build" / "screenshots"
NARROW, WIDE = 390, 1280
HEAVIEST = 120_000
"""Bytes that a page may load, compressed."""

_CONTRAST = (Path(__file__).parents[1] / "contrast.js").read_text(encoding="utf-8")
_SETTLED = "() => Promise.all(document.getAnimations().map((moving) => moving.finished.catch(() => null)))"
_SHIFTS = """() => new Promise((done) => { const shifts = [];
  const box = (r) => [r.x, r.y, r.width, r.height].map(Math.round).join(' ');
  const moved = (m) => `${m.node?.nodeName}.${m.node?.className} from ${box(m.previousRect)} to ${box(m.currentRect)}`;
  new PerformanceObserver((list) => { for (const s of list.getEntries()) if (!s.hadRecentInput) shifts.push(s); })
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done([shifts.reduce((sum, s) => sum + s.value, 0), shifts.flatMap((s) => s.sources.map(moved))]), 50); })"""
_WEIGHT = """() => ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


def watched(context: BrowserContext, address: str) -> tuple[Page, list[str]]:
    """A page, and a list that grows with every complaint and every request that leaves the server."""
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("request", lambda r: None if r.url.startswith((address, "data:")) else wrong.append(f"left for {r.url}"))
    page.set_default_timeout(60_000)  # a busy machine answers slowly, and late is not wrong
    return page, wrong


def ask(page: Page, address: str) -> None:
    """From the first page's first example to its answer."""
    page.goto(address)
    page.locator(".examples a").first.click()
    expect(page.get_by_label("Report")).not_to_have_value("")
    page.get_by_role("button", name="Find queries").click()
    page.wait_for_url("**/r/*")
    expect(page.locator(".card.selected .evidence")).to_be_visible()


def selected(page: Page) -> Locator:
    """The query whose evidence is in view."""
    return page.locator(".card.selected")


def looks_right(page: Page, name: str, *, axe: bool) -> None:
    """Nothing is wider than the window, too faint, moved by late arrivals, too heavy, or (``axe``) a barrier.

    Keeps a screenshot of the page under ``name``.
    """
    assert page.viewport_size is not None
    page.wait_for_load_state("load")  # a click on a link returns before the next page has its colours
    page.evaluate(_SETTLED)
    # Not innerWidth: on a phone that grows with the page.
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], (
        f"{name} is wider than the window"
    )
    faint = page.evaluate(_CONTRAST)
    assert faint == [], f"{name}: {faint}"
    shift, moved = shifts(page)
    assert shift < 0.01, f"{name}: {moved}"
    assert weight(page) < HEAVIEST, name
    if axe:
        found = barriers(page)
        assert found == [], f"{name}: {found}"
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def shifts(page: Page) -> tuple[float, list[str]]:
    """The layout shift so far that no input caused, and what moved."""
    shift, moved = page.evaluate(_SHIFTS)
    return float(shift), list(moved)


def weight(page: Page) -> int:
    """Bytes that the page and all its parts took to load, as sent."""
    return int(page.evaluate(_WEIGHT))


def barriers(page: Page) -> list[str]:
    """What axe finds, best practices included."""
    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {n['html'][:120]}" for v in found for n in v["nodes"]]
