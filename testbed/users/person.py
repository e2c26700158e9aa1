"""A person with a browser: one session at a time, patience that ends, and a memory of what was done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

from testbed.users.notes import PATIENCE_SECONDS


class NotReachedError(Exception):
    """A step before the feature failed, so nothing can be said of the feature itself."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer and, where it was a good one, what is wrong with its content ("" when nothing is)."""

    answer: httpx.Response
    wrong: str = ""
    item: str = ""


def seen(answer: httpx.Response, wrong: Callable[[Any], str], item: Callable[[Any], str] = lambda _: "") -> Seen:
    """Judge the content of an answer that has some: ``wrong`` and ``item`` are asked about its JSON."""
    if answer.status_code >= 400:
        return Seen(answer)
    page = answer.json()
    return Seen(answer, wrong(page), item(page))


class Person:
    """``ask`` is a visit to the feature itself and is timed; ``reach`` is a step on the way there."""

    def __init__(self, url: str, number: int = 0) -> None:
        # Patience ends by one clock for the whole answer, not by one for each part of it.
        self.client = httpx.AsyncClient(base_url=url, timeout=None)
        self.number = number
        """Which probe this is, so that two people do not get into each other's way."""
        self.at = time.time()
        self.seconds = 0.0
        self._visits = 0

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request with the clock running. Raises ``TimeoutError`` when patience ends, ``httpx.TransportError``."""
        self.at, began = time.time(), time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self.client.request(method, path, **options)
        finally:
            self.seconds = time.perf_counter() - began

    async def until(self, look: Callable[[], Awaitable[Seen | None]], every: float = 0.5) -> Seen:
        """Look again and again for what is still to come, with the clock running from the first look; None is "not yet".

        Raises ``TimeoutError`` when patience ends. ``look`` itself uses ``ask`` or the client.
        """
        at, began = time.time(), time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (found := await look()) is None:
                    await asyncio.sleep(every)
                return found
        finally:
            self.at, self.seconds = at, time.perf_counter() - began

    async def reach(self, method: str, path: str, body: object = None) -> Any:
        """A step on the way to a feature, its answer as JSON. Raises ``NotReachedError`` when it does not work."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                answer = await self.client.request(method, path, json=body)
                return answer.raise_for_status().json()
        except (TimeoutError, httpx.HTTPError, ValueError) as error:
            raise NotReachedError(path) from error

    def turns(self, every: int) -> bool:
        """True at each ``every``-th time: when somebody else sits down at the browser."""
        self._visits += 1
        return self._visits % every == 0

    async def anew(self, start: Callable[[], Awaitable[None]], has_old: bool) -> None:
        """Start a new session; where that fails, go on with the old one if there is one, else ``NotReachedError``."""
        kept = self.client.cookies
        self.client.cookies = httpx.Cookies()
        try:
            await start()
        except NotReachedError:
            self.client.cookies = kept
            if not has_old:
                raise
