"""Extra visitors on an application's public address: a bounded burst, or a crowd that does not pause."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpx

PAGES = {
    "shop": ("/", "/products/1", "/search?q=shirt", "/products/2", "/cart", "/products/3"),
    "forum": ("/", "/c/chess", "/posts/30001", "/search?q=timber", "/c/hiking", "/posts/30002"),
    "travel": (
        "/",
        "/stations/BIR/departures?date={day}",
        "/trips?from=BIR&to=CAR&date={day}",
        "/stations/CAR/departures?date={day}",
    ),
}
"""Pages that anybody may look at, by application; ``{day}`` is tomorrow."""
MOST_AT_ONCE = 16
PATIENCE_S = 10.0
"""How long a visitor of a crowd waits for a page."""


def pages_of(app_name: str) -> tuple[str, ...]:
    """The pages of an application that anybody may look at today."""
    return dated(PAGES[app_name])


def dated(pages: Sequence[str]) -> tuple[str, ...]:
    """Pages with tomorrow's date where they ask for a day."""
    day = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    return tuple(page.replace("{day}", day) for page in pages)


def burst(address: str, pages: Sequence[str], rate: float, seconds: float, wanted: Callable[[], bool]) -> int:
    """Visit pages at ``rate`` a second for ``seconds``, at most 16 at once, until not wanted; how many visits were made."""
    free = threading.BoundedSemaphore(MOST_AT_ONCE)
    made = 0
    deadline = time.monotonic() + seconds
    with httpx.Client(base_url=address, timeout=5.0) as client:
        while time.monotonic() < deadline and wanted():
            if free.acquire(timeout=1.0):
                threading.Thread(target=_visit, args=(client, pages[made % len(pages)], free), daemon=True).start()
                made += 1
            time.sleep(1.0 / rate)
        for _ in range(MOST_AT_ONCE):
            free.acquire(timeout=5.0)
    return made


def crowd(address: str, pages: Sequence[str], visitors: int, seconds: float, wanted: Callable[[], bool]) -> int:
    """So many visitors look at one page after the other without a pause, for ``seconds`` or until not wanted; how many pages."""
    return asyncio.run(_crowd(address, pages, visitors, seconds, wanted))


async def _crowd(address: str, pages: Sequence[str], visitors: int, seconds: float, wanted: Callable[[], bool]) -> int:
    seen = 0

    async def visitor(number: int) -> None:
        nonlocal seen
        turn = number
        while True:
            found = await _look(address, pages[turn % len(pages)])
            seen += found
            turn += 1

    tasks = [asyncio.create_task(visitor(number)) for number in range(visitors)]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and wanted():
        await asyncio.sleep(0.25)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return seen


async def _look(address: str, page: str) -> bool:
    """One page; whether there was one. Written on the socket itself: a crowd must cost less than those whom it visits."""
    host, port = urlsplit(address).hostname, urlsplit(address).port
    request = f"GET {page} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(request.encode())
            return b" 200 " in (await reader.read()).partition(b"\r\n")[0]
    except (OSError, TimeoutError):
        await asyncio.sleep(0.1)
        return False
    finally:
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _visit(client: httpx.Client, page: str, free: threading.BoundedSemaphore) -> None:
    try:
        client.get(page)
    except httpx.HTTPError:
        return
    finally:
        free.release()
