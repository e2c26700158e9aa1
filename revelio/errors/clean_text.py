"""Text that a terminal may be given: without what it would obey."""

from __future__ import annotations

_CONTROLS = {c: f"\\x{c:02x}" for c in (*range(0x20), *range(0x7F, 0xA0)) if chr(c) not in "\t\n"}
_DIRECTIONS = {c: f"\\u{c:04x}" for c in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def printable(text: str) -> str:
    """``text`` with control characters, and those that turn the direction of writing, spelled out. Line breaks and tabs stay."""
    return text.translate(_CONTROLS | _DIRECTIONS)
