"""One browser and one server for all tests here."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from revelio.settings import BUNDLED, Backend, Settings, SystemSettings
from revelio.systems.incidents.recorded import RecordedIncidents
from tests.webui import made
from tests.webui.browser.pages import WIDE
from webui.app import create_app

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
LONG_NAME = "a-system-whose-name-nobody-would-type-twice.prod.eu-central-1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser there is nothing to see, except in CI, where it has to be."""
    if CHROMIUM.exists() or os.environ.get("CI"):
        return
    missing = pytest.mark.skip(reason=f"{CHROMIUM} is not installed (apt-get install chromium)")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(missing)


def _server(folder: Path) -> FastAPI:
    """The bundled model and incidents; the hand-made ones where nothing is bundled."""
    dead = {tool: Backend(url="http://127.0.0.1:9", link="http://127.0.0.1:9") for tool in ("prometheus", "jaeger")}
    systems = {"shop": SystemSettings(backends=dead), LONG_NAME: SystemSettings()}
    bundled = Settings(database=f"sqlite:///{folder}/revelio.db", systems=systems)
    if (BUNDLED / "model" / "manifest.json").is_file() and RecordedIncidents(bundled.incidents).ids():
        return create_app(bundled)
    settings = made.settings(folder, made.record(), made.record("shop-0002", "all fine, I think", ("elasticsearch",)))
    return create_app(settings, recommender=made.stand_in(settings))


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that asks nobody who they are."""
    with serving(_server(tmp_path_factory.mktemp("browser"))) as address:
        yield address


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The address of an application on a free loopback port, inside the block."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
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
    """The system's own Chromium, for no longer than a module: Playwright's event loop is in the way of other files' own."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=60_000)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS.split())
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile, wide and by day."""
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, timezone_id="Europe/Madrid")
    yield context
    context.close()
