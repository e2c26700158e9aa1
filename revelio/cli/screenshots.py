"""``python -m revelio.cli.screenshots``: pictures of the pages as they are now, on bundled incidents.

The first screen of an answer goes to docs/images, for the README; every whole page, wide and narrow, in light and dark, to
var/screenshots, to be looked at after a change. Needs the packages of `make install` and Debian's Chromium.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Literal

import httpx
from PIL import Image
from playwright.sync_api import Browser, FloatRect, sync_playwright

ROOT = Path(__file__).parent.parent.parent
README, ALL = ROOT / "docs" / "images", ROOT / "var" / "screenshots"
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
WIDTH, HEIGHT = 1200, 1300
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1280, 390)
_LONGEST = 6000
"""Pixels of a page from its top that are worth a picture."""
_SECONDS = 120.0
_QUALITY = 80
_CURVE = 8
"""How many different values a series has at least that is worth a picture."""


@contextmanager
def served() -> Iterator[str]:
    """The address of a server on an empty database, with no settings but the defaults."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")}
        environ["REVELIO_DATABASE"] = f"sqlite:///{folder}/revelio.db"
        command = [sys.executable, "-m", "revelio", "serve", "--port", str(port)]
        with subprocess.Popen(command, cwd=folder, env=environ) as server:
            try:
                _wait(address, server)
                yield address
            finally:
                server.terminate()


def answer(address: str) -> str:
    """The page of an answer with its first query run: of those whose first query shows a curve, the one most sure of it."""
    best = (0.0, "", "")
    with httpx.Client(base_url=f"{address}/api/v1", timeout=_SECONDS) as api:
        for incident in api.get("/incidents").raise_for_status().json():
            asked = {"report": incident["report"], "incident": incident["id"]}
            made = api.post("/recommendations", json=asked).raise_for_status().json()
            first = made["queries"][0]
            result = api.post(f"/recommendations/{made['id']}/queries/{first['id']}/run")
            if result.is_success and any(len(set(s["values"])) >= _CURVE for s in result.json().get("series", ())):
                best = max(best, (first["probability"], made["id"], first["title"]))
    if not best[1]:
        raise SystemExit("error: no bundled incident has a first query that shows a curve")
    return f"{address}/r/{best[1]}"


def first_screens(browser: Browser, page_address: str) -> Iterator[Path]:
    """The first screen of a page in both colour schemes, for the README."""
    README.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, timezone_id="Europe/London"
        )
        page = context.new_page()
        page.goto(page_address, wait_until="networkidle")
        path = README / f"answer-{scheme}.webp"
        Image.open(BytesIO(page.screenshot())).save(path, "WEBP", quality=_QUALITY, method=6)
        yield path
        context.close()


def whole_pages(browser: Browser, address: str, answer_address: str) -> Iterator[Path]:
    """Every page, in each width and colour scheme."""
    ALL.mkdir(parents=True, exist_ok=True)
    system = httpx.get(f"{address}/api/v1/incidents", timeout=_SECONDS).json()[0]["system"]
    pages = {name: f"{address}/{name}" for name in ("history", "systems", "catalog", "model", "settings", "api/docs")}
    pages |= {"ask": address, "answer": answer_address, "system": f"{address}/systems/{system}", "missing": f"{address}/none"}
    for scheme in SCHEMES:
        for width in WIDTHS:
            narrow = width < 600
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme=scheme, is_mobile=narrow, has_touch=narrow
            )
            page = context.new_page()
            for name, shown in pages.items():
                page.goto(shown, wait_until="networkidle")
                path = ALL / f"{name.partition('/')[0]}-{width}-{scheme}.png"
                height = min(_LONGEST, page.evaluate("document.documentElement.scrollHeight"))
                clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": height}
                page.screenshot(path=path, full_page=True, clip=clip)
                yield path
            context.close()


def main() -> None:
    """Write all pictures."""
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS.split())
        shown = answer(address)
        for path in (*first_screens(browser, shown), *whole_pages(browser, address, shown)):
            print(json.dumps({"picture": str(path.relative_to(ROOT)), "bytes": path.stat().st_size}))
        browser.close()


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            if httpx.get(f"{address}/readyz", timeout=5).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise SystemExit("error: the server did not become ready")


if __name__ == "__main__":
    main()
