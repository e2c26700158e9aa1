"""Texts that members send, within their limits."""

from __future__ import annotations

import re
import secrets
from typing import Any

from starlette.exceptions import HTTPException

from kit.bodies import optional_word, word

TITLE = 300
BODY = 10_000
_NAME = re.compile(r"[A-Za-z0-9_-]{3,20}")


def text_of(body: dict[str, Any], name: str, most: int) -> str:
    """A text that says something and is not too long; 400 otherwise."""
    text = word(body, name).strip()
    if not text:
        raise HTTPException(400, f"{name} must not be empty")
    if len(text) > most:
        raise HTTPException(400, f"{name} must have at most {most} characters")
    return storable(text, name)


def name_of(body: dict[str, Any], name: str) -> str:
    """A member's name; 400 when it cannot be one."""
    text = word(body, name)
    if not _NAME.fullmatch(text):
        raise HTTPException(400, f"{name} must have 3 to 20 letters, digits, - or _")
    return text


def key_of(body: dict[str, Any]) -> str:
    """What tells a request sent again from a new one; the caller's own, or one made up here."""
    key = storable(optional_word(body, "key", ""), "key") if body.get("key") is not None else secrets.token_hex(16)
    if len(key) > 64:
        raise HTTPException(400, "key must have at most 64 characters")
    return key


def storable(text: str, name: str) -> str:
    """The text itself; 400 for half a character, which no database takes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise HTTPException(400, f"{name} is not proper text") from error
    return text
