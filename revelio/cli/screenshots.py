"""``python -m revelio.cli.screenshots``: docs/images, the answer page of a bundled incident in light and dark, for the README.

Needs the packages of `make install` and Debian's Chromium.
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

import httpx
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent.parent.parent / "docs" / "images"
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
WIDTH, HEIGHT = 1200, 1300
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


def pictures(browser: Browser, page_address: str) -> Iterator[tuple[str, bytes]]:
    """Names and PNG files of the page in both colour schemes."""
    for scheme in ("light", "dark"):
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme, timezone_id="Europe/London"
        )
        page = context.new_page()
        page.goto(page_address, wait_until="networkidle")
        yield f"answer-{scheme}", page.screenshot()
        context.close()


def main() -> None:
    """Write both pictures."""
    FOLDER.mkdir(exist_ok=True)
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS.split())
        for name, png in pictures(browser, answer(address)):
            path = FOLDER / f"{name}.webp"
            Image.open(BytesIO(png)).save(path, "WEBP", quality=_QUALITY, method=6)
            print(json.dumps({"picture": str(path.relative_to(FOLDER.parent.parent)), "bytes": path.stat().st_size}))
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
