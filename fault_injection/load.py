"""A bounded burst of extra visitors on an application's public address."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import httpx

PAGES = {
    "shop": ("/", "/products/1", "/search?q=shirt", "/products/2", "/cart", "/products/3"),
    "forum": ("/",),
    "travel": ("/",),
}
"""Pages that anybody may look at, by application."""
MOST_AT_ONCE = 16


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


def _visit(client: httpx.Client, page: str, free: threading.BoundedSemaphore) -> None:
    try:
        client.get(page)
    except httpx.HTTPError:
        return
    finally:
        free.release()
