"""A POST that carries an ``Idempotency-Key`` is done once, however often it is sent."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute

from revelio.errors import InvalidInputError
from revelio.store.replays import Replays, Reply
from webui.accounts.identity import person_of
from webui.errors import problem_response

_HEADER = "idempotency-key"
_LONGEST = 255


async def idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=_LONGEST,
            pattern="^[!-~]+$",
            description="Any text without spaces, new for each request (a UUID). Sent again with the same body within 24 hours, "
            "the first reply comes back with the header `Idempotency-Replayed`, and nothing is done twice",
        ),
    ] = None,
) -> None:
    """Describes and checks the header; ``ReplayedRoute`` acts on it."""


class ReplayedRoute(APIRoute):
    """A route that stores replies to requests with a key. Only successful replies are stored: a failed request may be retried."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with replay around it."""
        plain = super().get_route_handler()

        async def handle(request: Request) -> Response:
            key = request.headers.get(_HEADER)
            if key is None or request.method != "POST" or not _usable(key):
                return await plain(request)
            replays: Replays = request.app.state.service.store.replays
            caller = _caller(request)
            fingerprint = await _fingerprint(request)
            claim = await run_in_threadpool(replays.claim, caller, key, fingerprint)
            if not claim.same:
                raise InvalidInputError("this Idempotency-Key was sent with another request; use a new key for each request")
            if claim.reply is not None:
                headers = {"Idempotency-Replayed": "true"}
                return Response(claim.reply.body, claim.reply.status, headers, claim.reply.media_type)
            if not claim.mine:
                detail = "The first request with this Idempotency-Key is still worked on. Wait and send it again."
                return problem_response(request, 409, detail, headers={"Retry-After": "2"})
            return await _do_once(plain, request, replays, key)

        return handle


async def _do_once(
    plain: Callable[[Request], Coroutine[Any, Any, Response]], request: Request, replays: Replays, key: str
) -> Response:
    caller = _caller(request)
    kept = False
    try:
        response = await plain(request)
        if response.status_code < 300:
            reply = Reply(response.status_code, response.headers.get("content-type", ""), bytes(response.body))
            await run_in_threadpool(replays.keep, caller, key, reply)
            kept = True
        return response
    finally:
        if not kept:
            # In a thread, for a locked database would hold up everybody; shielded, for a cancelled request cannot wait for it.
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, replays.release, caller, key))


async def _fingerprint(request: Request) -> str:
    parts = (request.method, request.scope["path"], request.url.query)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass") + b"\n" + await request.body()).hexdigest()


def _usable(key: str) -> bool:
    # Anything else is refused by the check of the header itself.
    return 1 <= len(key) <= _LONGEST and all("!" <= c <= "~" for c in key)


def _caller(request: Request) -> str:
    person = person_of(request)
    return f"user {person.user_id}" if person else "anybody"
