"""tshark's display filters and command lines, every value escaped for the language it goes into."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from revelio.tools.placeholders import put

_SPECIAL = frozenset('"\\$')
"""What ends a string, escapes, or names a macro, which tshark puts in even inside of strings."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """A display filter whose placeholders stand inside double quotes."""
    return put(text, values, escape)


def escape(value: str) -> str:
    """A value as the inside of a double-quoted string of a display filter; NUL, which none can hold, becomes U+FFFD."""
    return "".join(c if c.isprintable() and c not in _SPECIAL else _bytes(c) for c in clean(value))


def clean(value: str) -> str:
    """The value as a command line can carry it: without NUL, and in Unicode that can be encoded."""
    return value.replace("\x00", "�").encode("utf-8", errors="replace").decode()


def shell(words: list[str]) -> str:
    """Words as one line for a shell."""
    return " ".join(shlex.quote(clean(word)) for word in words)


def _bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())
