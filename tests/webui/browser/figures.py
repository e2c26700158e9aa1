"""``python -m tests.webui.browser.figures``: what the page promises, measured in Chromium on the bundled incidents, as a table.

Starts a server of its own on an empty database; takes some minutes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Literal

import httpx
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from revelio.cli.screenshots import ARGUMENTS, CHROMIUM, served
from tests.webui.browser.pages import NARROW, WIDE, barriers, shifts, weight

_MS = 60_000.0
_RUNS = 2
_ANSWERS = 3
"""So many answers are looked at in each width and theme."""
_VERDICTS = ("Found it", "Not useful") * 3
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def first_evidence(browser: Browser, address: str, incidents: list[str]) -> Iterator[float]:
    """Seconds from *Find queries* until evidence is on screen, for each recorded incident."""
    context = browser.new_context(viewport={"width": WIDE, "height": 800})
    page = context.new_page()
    for incident in incidents:
        page.goto(f"{address}/?incident={incident}", wait_until="networkidle")
        began = time.perf_counter()
        page.get_by_role("button", name="Find queries").click(no_wait_after=True)
        _shown(page.locator(".card.selected .evidence .finding"))
        yield time.perf_counter() - began
    context.close()


def seen_elsewhere(browser: Browser, answer: str) -> Iterator[float]:
    """Seconds until what one person does on an answer is on the screen of another: verdicts, then runs."""
    contexts = [browser.new_context(viewport={"width": WIDE, "height": 800}) for _ in range(2)]
    ours, theirs = (context.new_page() for context in contexts)
    for page in (ours, theirs):
        page.goto(answer, wait_until="networkidle")
    for verdict in _VERDICTS:
        ours.locator(".card.selected").get_by_role("button", name=verdict).click()
        began = time.perf_counter()
        said = "shows the cause" if verdict == "Found it" else "not useful"
        _shown(theirs.locator(".card.selected .thanks", has_text=said))
        yield time.perf_counter() - began
    for _ in range(_RUNS):
        waiting = ours.locator(".row:not(.anomalous):not(.normal)")
        if not waiting.count():
            break
        query = waiting.first.get_attribute("data-select")
        waiting.first.click()
        ours.locator(".card.selected form.run button").click()
        began = time.perf_counter()
        _shown(theirs.locator(f".row.anomalous[data-select='{query}'], .row.normal[data-select='{query}']"))
        yield time.perf_counter() - began
    for context in contexts:
        context.close()


def looks(browser: Browser, pages: list[str], unrun: Iterator[str]) -> Iterator[tuple[int, float, list[str]]]:
    """Bytes, layout shift and what axe finds, of every page in each width and theme; an answer's results arrive meanwhile."""
    for width in (WIDE, NARROW):
        for scheme in _SCHEMES:
            phone = width == NARROW
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme=scheme, is_mobile=phone, has_touch=phone
            )
            page = context.new_page()
            for address in [*pages, *(next(unrun) for _ in range(_ANSWERS))]:
                page.goto(address, wait_until="networkidle")
                yield _looks(page, f"{address} {width} {scheme}")
            context.close()


def main() -> None:
    """Print the table."""
    with served() as address, sync_playwright() as playwright, httpx.Client(base_url=address, timeout=120) as http:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS.split())
        incidents = http.get("/api/v1/incidents").raise_for_status().json()

        def unrun() -> Iterator[str]:
            while True:
                for one in incidents:
                    asked = {"report": one["report"], "incident": one["id"]}
                    yield f"{address}/r/{http.post('/api/v1/recommendations', json=asked).raise_for_status().json()['id']}"

        ids = [one["id"] for one in incidents]
        cold, *evidence = first_evidence(browser, address, [ids[-1], *ids])
        elsewhere = list(seen_elsewhere(browser, next(unrun())))
        paths = ("", "/history", "/systems", f"/systems/{incidents[0]['system']}", "/catalog", "/model", "/settings", "/api/docs")
        seen = list(looks(browser, [address + path for path in paths], unrun()))
        browser.close()
    found = [one for _, _, findings in seen for one in findings]
    print("| promise | at most | measured |\n|---|---|---|")
    print(
        f"| first evidence on screen after *Find queries*, {len(evidence)} recorded incidents | 1.5 s "
        f"| median {statistics.median(evidence):.2f} s, worst {max(evidence):.2f} s |"
    )
    print(f"| the same, asked while the server still starts | | {cold:.2f} s |")
    print(f"| {len(elsewhere)} verdicts and runs seen in another browser | 2 s | worst {max(elsewhere):.2f} s |")
    print(f"| heaviest of {len(seen)} page views, compressed | 120 kB | {max(s[0] for s in seen) / 1000:.0f} kB |")
    print(f"| layout shift, worst page view | 0.01 | {max(s[1] for s in seen):.4f} |")
    print(f"| findings of axe, best practices included, in both themes and widths | 0 | {len(found)} |")
    for one in found:
        print(one)


def _looks(page: Page, name: str) -> tuple[int, float, list[str]]:
    shift, moved = shifts(page)
    if shift >= 0.01:
        print(f"{name}: {moved}")
    return weight(page), shift, [f"{name}: {one}" for one in barriers(page)]


def _shown(part: Locator) -> None:
    part.first.wait_for(state="visible", timeout=_MS)


if __name__ == "__main__":
    main()
