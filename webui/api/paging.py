"""Lists come a page at a time; the address of the next page is in the ``Link`` header (RFC 8288)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query, Request, Response

from revelio.errors import InvalidInputError

Entry = TypeVar("Entry")
Limit = Annotated[int, Query(ge=1, le=200, description="How many at most")]
Cursor = Annotated[str | None, Query(max_length=200, description="Where to go on, from the `Link` header of the page before")]
LINK: dict[str, Any] = {
    "headers": {"Link": {"description": '`<address>; rel="next"` where there is more', "schema": {"type": "string"}}}
}


def encode(*place: float | str) -> str:
    """A cursor that stands for the last entry seen."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def decode(cursor: str | None, *kinds: type[float] | type[str] | type[int]) -> tuple[Any, ...] | None:
    """What ``encode`` was given; ``InvalidInputError`` when it is no cursor of such parts."""
    if cursor is None:
        return None
    try:
        place = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        place = None
    if not isinstance(place, list) or [type(p) for p in place] != list(kinds) or not _fits(place):
        raise InvalidInputError("the cursor is not one that this server gave; take the address in the Link header as it is")
    return tuple(place)


def cut(entries: Sequence[Entry], limit: int) -> tuple[Sequence[Entry], bool]:
    """The first ``limit`` entries, and whether there are more."""
    return entries[:limit], len(entries) > limit


def link_next(request: Request, response: Response, cursor: str) -> None:
    """Say where the next page is. The address is relative: behind a proxy the server does not know its own name."""
    address = request.url.include_query_params(cursor=cursor)
    response.headers["Link"] = f'<{address.path}?{address.query}>; rel="next"'


def _fits(place: Sequence[object]) -> bool:
    """Numbers that a database can hold, text that it can be asked for."""
    return all(abs(p) < 2**62 if isinstance(p, (int, float)) else "\x00" not in str(p) and str(p).isascii() for p in place)
