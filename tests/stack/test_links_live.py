"""Deep links on the real stack: the pages they open are there, and what they ask for is what the tool itself asks for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from fault_injection.testbed_system import system_of
from revelio.catalog import bundled_catalog
from revelio.systems.system import System, open_system
from revelio.tools.base import Scope
from revelio.types import Query, Window
from tests.stack.stacks import Stacks

pytestmark = pytest.mark.stack

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = os.environ.get("CHROMIUM_ARGUMENTS", "--no-sandbox --disable-gpu --disable-dev-shm-usage")
PROMETHEUS = ("prometheus.request_rate", (("service", "cart"),))
JAEGER = ("jaeger.slow_spans", (("service", "cart"),))


@pytest.fixture(scope="module")
def shop(stacks: Stacks) -> Iterator[System]:
    stacks.have("shop")
    system = open_system("shop", system_of("shop"), bundled_catalog())
    yield system
    system.close()


@pytest.fixture
def scope() -> Scope:
    now = time.time() - 5.0
    return Scope("revelio-shop", Window(now - 30.0, now), Window(now - 90.0, now - 30.0))


def linked(shop: System, asked: tuple[str, tuple[tuple[str, str], ...]], scope: Scope) -> str:
    link = shop.link(Query(bundled_catalog().template(asked[0]), asked[1]), scope)
    assert link is not None
    return link


@pytest.mark.parametrize("asked", [PROMETHEUS, JAEGER])
def test_the_page_behind_a_link_is_there(shop: System, scope: Scope, asked: tuple[str, tuple[tuple[str, str], ...]]) -> None:
    answer = httpx.get(linked(shop, asked, scope), follow_redirects=True)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")


def test_what_the_link_to_prometheus_asks_has_series(shop: System, scope: Scope) -> None:
    link = urlsplit(linked(shop, PROMETHEUS, scope))
    params = {key: values[0] for key, values in parse_qs(link.query).items()}
    end = time.strptime(params["g0.end_input"], "%Y-%m-%d %H:%M:%S")
    assert time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(scope.window.end)) == time.strftime("%Y-%m-%d %H:%M:%S", end)
    asked = {"query": params["g0.expr"], "time": f"{scope.window.end:.3f}"}
    answer = httpx.get(f"{link.scheme}://{link.netloc}/api/v1/query", params=asked).json()
    assert answer["status"] == "success"
    assert answer["data"]["result"]


def test_what_the_link_to_jaeger_asks_has_traces_of_the_window(shop: System, scope: Scope) -> None:
    link = urlsplit(linked(shop, JAEGER, scope))
    answer = httpx.get(f"{link.scheme}://{link.netloc}/api/traces?{link.query}").json()
    assert answer["data"]
    starts = [min(span["startTime"] for span in trace["spans"]) / 1e6 for trace in answer["data"]]
    assert all(scope.window.start - 60.0 <= start <= scope.window.end for start in starts)


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed (apt-get install chromium)")
@pytest.mark.parametrize(("asked", "shows"), [(PROMETHEUS, "http_server_request_duration"), (JAEGER, "cart")])
def test_a_browser_that_opens_a_link_shows_the_query(
    shop: System, scope: Scope, asked: tuple[str, tuple[tuple[str, str], ...]], shows: str
) -> None:
    link = linked(shop, asked, scope)
    if 'src="' not in httpx.get(link, follow_redirects=True).text:
        pytest.skip("this image was made without the pages of its backend")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS.split())
        page = browser.new_page()
        page.goto(link)
        expect(page.locator("body")).to_contain_text(shows, timeout=20_000)
        browser.close()
