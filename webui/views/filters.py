"""Numbers and times as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup, escape

from revelio.numbers import format_duration, format_value
from revelio.types import Cell

_FIRST_MOMENT, _LAST_MOMENT = 1e9, 4e9
"""A float between these (2001 to 2096, in Unix seconds) is a moment."""
_HOLE = re.compile(r"\$\{(\w+)\}")
_MASKED = {"emails": "e-mail addresses", "cards": "card numbers", "addresses": "IP addresses"}
_CODE = re.compile(r"`+([^`]+)`+")


def percent(share: float) -> str:
    """0.634 as "63 %"; what is not quite nothing or all says so."""
    if not math.isfinite(share):
        return "?"
    whole = share * 100
    if 0 < whole < 1:
        return "< 1 %"
    if 99 < whole < 100:
        return "> 99 %"
    return f"{whole:.0f} %"


def moment(at: float) -> str:
    """A Unix time as "21 Nov 2026, 11:40 UTC"."""
    when = _utc(at)
    return when.strftime("%d %b %Y, %H:%M UTC").lstrip("0") if when else "unknown time"


def clock(at: float) -> str:
    """A Unix time as "11:40:05 UTC"."""
    when = _utc(at)
    return when.strftime("%H:%M:%S UTC") if when else "unknown time"


def ago(seconds: float) -> str:
    """How long before the report something was, which is negative: "28 s before the report"."""
    return f"{format_duration(abs(seconds) * 1000.0)} {'before' if seconds <= 0 else 'after'} the report"


def iso(at: float) -> str:
    """A Unix time for a machine-readable attribute."""
    when = _utc(at)
    return when.isoformat(timespec="seconds") if when else ""


def figure(value: float | None, unit: str = "", *, bare: bool = False) -> str:
    """Three significant digits and a unit; bytes and seconds in a fitting multiple, a gap as a dash.

    ``bare`` leaves a unit out that needs no multiple, for tables that have it in their title.
    """
    return format_value(value, unit, bare=bare)


def duration(ms: float) -> str:
    """Milliseconds as "340 ms", "2.1 s" or "3.5 min"."""
    return format_duration(ms)


def offset(seconds: float) -> str:
    """Seconds from the moment of the report as "−28 s"."""
    return f"{'−' if seconds < 0 else '+'}{abs(seconds):.0f} s"


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def prose(text: str) -> Markup:
    """Text in which backticks mark code, as markup; everything else is escaped."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def blanks(text: str) -> Markup:
    """Text in which ``${name}`` placeholders are marked as variables, as markup; everything else is escaped."""
    return Markup(_HOLE.sub(r'<var class="blank">\1</var>', str(escape(text))))


def share(value: float | None) -> str:
    """A figure between 0 and 1 with three decimals, as tables of evaluations have it; a gap as a dash."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.3f}"


def cell(value: Cell) -> str:
    """One cell of a table. A float that can only be a Unix time is shown as one."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    when = _utc(value) if is_moment(value) else None
    return when.strftime("%d %b %H:%M:%S").lstrip("0") if when else format_value(value)


def is_moment(value: Cell) -> bool:
    """True for a float that can only be a Unix time."""
    return isinstance(value, float) and _FIRST_MOMENT < value < _LAST_MOMENT


def masked_words(kinds: Sequence[str]) -> str:
    """Kinds that are masked, for people: "secrets, e-mail addresses and card numbers"; "" for none."""
    words = [_MASKED.get(kind, kind) for kind in kinds]
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part) if words else ""


def shorten(text: str, limit: int) -> str:
    """At most ``limit`` characters on one line, cut between words where possible."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[limit // 2 :] else head) + "…"


def _utc(at: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(at, UTC)
    except (OverflowError, ValueError, OSError):
        return None
