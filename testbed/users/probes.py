"""Probe users: one per feature, each knowing what is right, noting only what a person would see."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from testbed.users.notes import Visit, append, outcome_of
from testbed.users.person import NotReachedError, Person, Seen
from testbed.users.walks import walk_of


async def visit(feature: str, go: Callable[[Any], Awaitable[Seen]], user: Person) -> Visit | None:
    """Visit once; None when a step before the feature failed, so that nothing can be said of the feature itself.

    An article that the visit was about is its ``detail``; of a visit with no proper answer, what there was instead.
    """
    try:
        found = await go(user)
    except NotReachedError:
        return None
    except TimeoutError:
        return Visit(user.at, feature, "timeout", user.seconds)
    except httpx.TransportError as error:
        return Visit(user.at, feature, "error", user.seconds, None, type(error).__name__)
    except (ValueError, KeyError, TypeError):
        return Visit(user.at, feature, "wrong_data", user.seconds, 200)
    status = found.answer.status_code
    return Visit(user.at, feature, found.wrong or outcome_of(user.seconds, status), user.seconds, status, found.item)


async def probe(app: str, url: str, out: Path, every: float) -> None:
    """All features at once, so that a slow one delays no other, until told to stop."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    walk = walk_of(app)
    people = [(feature, go, walk.visitor(url, number)) for number, (feature, go) in enumerate(walk.features.items())]
    walks = [
        asyncio.create_task(_walk(feature, go, user, out, every, first=every * user.number / len(people)))
        for feature, go, user in people
    ]
    stopped = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait([stopped, *walks], return_when=asyncio.FIRST_COMPLETED)
    for task in (stopped, *walks):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    # A walk ends by itself only when something is wrong with the probes, and then nobody must take their silence for health.
    assert stopped in done


async def _walk(feature: str, go: Callable[[Any], Awaitable[Seen]], user: Person, out: Path, every: float, first: float) -> None:
    """Visit one feature again and again, from ``first`` seconds on."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(first)
    while True:
        began = loop.time()
        note = await visit(feature, go, user)
        if note is not None:
            append(out, note)
        await asyncio.sleep(max(0.2, every - (loop.time() - began)))


def main() -> None:
    """``python -m testbed.users.probes --app shop --url http://127.0.0.1:18080 --out FILE``."""
    parser = argparse.ArgumentParser(description="Walk every feature and note what a user sees.")
    parser.add_argument("--app", default="shop")
    parser.add_argument("--url", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two visits to the same feature")
    arguments = parser.parse_args()
    asyncio.run(probe(arguments.app, arguments.url, arguments.out, arguments.every))


if __name__ == "__main__":
    main()
