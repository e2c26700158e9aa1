"""JSON bodies of requests: what is missing or malformed is the caller's mistake, and is said so."""

from __future__ import annotations

import re
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


async def body_of(request: Request) -> dict[str, Any]:
    """The body as an object; 400 when it is something else."""
    try:
        body = await request.json()
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return body


def number(body: dict[str, Any], name: str, default: int | None = None) -> int:
    """A whole number; 400 when it is missing or none."""
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise HTTPException(400, f"{name} must be a whole number")
    return value


def word(body: dict[str, Any], name: str) -> str:
    """A text that is not empty; 400 when it is missing or none. No database takes a zero byte or half a character."""
    value = body.get(name)
    if not isinstance(value, str) or not value or _UNSTORABLE.search(value):
        raise HTTPException(400, f"{name} must be a text")
    return value


def optional_word(body: dict[str, Any], name: str, default: str) -> str:
    """A text, or the default where there is none; 400 when it is something else."""
    return word(body, name) if body.get(name) is not None else default
