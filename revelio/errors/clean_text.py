"""Text that a terminal or an assistant may be given: without what a terminal would obey, and without what no eye sees."""

from __future__ import annotations

_CONTROLS = {c: f"\\x{c:02x}" for c in (*range(0x20), *range(0x7F, 0xA0)) if chr(c) not in "\t\n"}
_DIRECTIONS = {c: f"\\u{c:04x}" for c in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_HIDDEN = {c: f"\\u{c:04x}" for c in (0x200B, *range(0x2060, 0x2065), 0xFEFF)} | {
    c: f"\\U{c:08x}" for c in range(0xE0000, 0xE0080)
}
"""Of no width, or tags: letters that a person does not see and a language model reads."""
_SPELLED = _CONTROLS | _DIRECTIONS | _HIDDEN


def printable(text: str) -> str:
    """``text`` with control characters, and those that hide or turn the direction of writing, spelled out.

    Line breaks and tabs stay.
    """
    return text.translate(_SPELLED)
