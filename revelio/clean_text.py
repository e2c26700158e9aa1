"""Text that may leave the process: without the passwords of addresses, and without what a terminal would obey."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from urllib.parse import unquote

HIDDEN = "***"
_USER_INFO = re.compile(
    r"(?<=://)(?:[^\s'\"<>/@:]{0,200}:(?!\d{1,5}(?:/|$))[^\s'\"<>@]{0,400}|[^\s'\"<>/@:]{1,400})@(?:[^\s'\"<>/@]{0,400}@)*"
)
_ASSIGNED = re.compile(
    r"(?i)\b(pass(?:word|wd)?|pwd|secret|[a-z_]{0,20}token|api[_-]?key|authorization)([\"']?\s?[=:]\s?[\"']?)"
    r"((?:(?:basic|bearer|apikey) )?[^\s&'\",;)}\]]{3,400})"
)
_CONTROLS = {c: f"\\x{c:02x}" for c in (*range(0x20), *range(0x7F, 0xA0)) if chr(c) not in "\t\n"}
_DIRECTIONS = {c: f"\\u{c:04x}" for c in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_SHORTEST_SECRET = 4


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` with what goes before the ``@`` of an address, what is assigned to a password, and ``secrets`` replaced."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    if "://" in text:
        text = _USER_INFO.sub(f"{HIDDEN}@", text)
    return _ASSIGNED.sub(rf"\1\2{HIDDEN}", text)


def secrets_in(address: str) -> tuple[str, ...]:
    """The password of an address in every form in which a library may repeat it: as written, decoded, and as a header."""
    found = re.search(r"://([^\s/?#]*)@", address)
    if found is None:
        return ()
    user, _, password = found[1].partition(":")
    plain = unquote(password)
    header = base64.b64encode(f"{unquote(user)}:{plain}".encode(errors="replace")).decode()
    return tuple(s for s in (found[1], header, password, plain) if len(s) >= _SHORTEST_SECRET and s != user)


def printable(text: str) -> str:
    """``text`` with control characters, and those that turn the direction of writing, spelled out. Line breaks and tabs stay."""
    return text.translate(_CONTROLS | _DIRECTIONS)
