"""Numbers and times as people read them, in their language: English in the house's style, others by their locale's data."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from types import ModuleType

from markupsafe import Markup, escape

from revelio.support.numbers import Quantity, format_duration, format_quantity, format_value
from revelio.types import Cell
from webui.i18n import ENGLISH, gettext, gettext_noop, language

_FIRST_MOMENT, _LAST_MOMENT = 1e9, 4e9
"""A float between these (2001 to 2096, in Unix seconds) is a moment."""
_HOLE = re.compile(r"\$\{(\w+)\}")
_MASKED = {
    "secrets": gettext_noop("secrets"),
    "emails": gettext_noop("e-mail addresses"),
    "cards": gettext_noop("card numbers"),
    "addresses": gettext_noop("IP addresses"),
}
_CODE = re.compile(r"`+([^`]+)`+")


def percent(share: float) -> str:
    """0.634 as "63 %"; what is not quite nothing or all says so."""
    if not math.isfinite(share):
        return "?"
    if 0 < share * 100 < 1:
        return f"< {_whole_percent(0.01)}"
    if 99 < share * 100 < 100:
        return f"> {_whole_percent(0.99)}"
    return _whole_percent(share)


def moment(at: float) -> str:
    """A Unix time as "21 Nov 2026, 11:40 UTC"."""
    when = _utc(at)
    if when is None:
        return gettext("unknown time")
    formats = _formats()
    return formats.moment(language(), when) if formats else when.strftime("%d %b %Y, %H:%M UTC").lstrip("0")


def clock(at: float) -> str:
    """A Unix time as "11:40:05 UTC"."""
    when = _utc(at)
    if when is None:
        return gettext("unknown time")
    formats = _formats()
    return f"{formats.clock(language(), when) if formats else when.strftime('%H:%M:%S')} UTC"


def ago(seconds: float) -> str:
    """How long before the report something was, which is negative: "28 s before the report"."""
    words = gettext("%(time)s before the report") if seconds <= 0 else gettext("%(time)s after the report")
    return words % {"time": duration(abs(seconds) * 1000.0)}


def iso(at: float) -> str:
    """A Unix time for a machine-readable attribute."""
    when = _utc(at)
    return when.isoformat(timespec="seconds") if when else ""


def figure(value: float | None, unit: str = "", *, bare: bool = False) -> str:
    """Three significant digits and a unit; bytes and seconds in a fitting multiple, a gap as a dash.

    ``bare`` leaves a unit out that needs no multiple, for tables that have it in their title.
    """
    return format_value(value, unit, bare=bare, write=_quantity())


def duration(ms: float) -> str:
    """Milliseconds as "340 ms", "2.1 s" or "3.5 min"."""
    return format_duration(ms, _quantity())


def seconds(number: float) -> str:
    """Whole seconds as "28 s", however many."""
    return _quantity()(round(number), "s") if _formats() else f"{number:.0f} s"


def offset(seconds_from: float) -> str:
    """Seconds from the moment of the report as "−28 s"."""
    return f"{'−' if seconds_from < 0 else '+'}{seconds(abs(seconds_from))}"


def whole(number: float) -> str:
    """A whole number with its thousands apart: "1,200"."""
    return decimal(number, 0)


def decimal(number: float, places: int) -> str:
    """A number with so many decimals."""
    formats = _formats()
    return str(formats.decimal(language(), number, places)) if formats else f"{number:,.{places}f}"


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
    return "–" if value is None or not math.isfinite(value) else decimal(value, 3)


def cell(value: Cell) -> str:
    """One cell of a table. A float that can only be a Unix time is shown as one."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if not isinstance(value, float):
        return str(value)
    when = _utc(value) if is_moment(value) else None
    if when is None:
        return figure(value)
    formats = _formats()
    return str(formats.day_and_clock(language(), when)) if formats else when.strftime("%d %b %H:%M:%S").lstrip("0")


def is_moment(value: Cell) -> bool:
    """True for a float that can only be a Unix time."""
    return isinstance(value, float) and _FIRST_MOMENT < value < _LAST_MOMENT


def masked_words(kinds: Sequence[str]) -> str:
    """Kinds that are masked, for people: "secrets, e-mail addresses and card numbers"; "" for none."""
    return listed([gettext(_MASKED[kind]) if kind in _MASKED else kind for kind in kinds])


def listed(words: Sequence[str]) -> str:
    """The words as a list: "secrets, e-mail addresses and card numbers"; "" for none."""
    if formats := _formats():
        return str(formats.listed(language(), words)) if words else ""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part) if words else ""


def shorten(text: str, limit: int) -> str:
    """At most ``limit`` characters on one line, cut between words where possible."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[limit // 2 :] else head) + "…"


def _formats() -> ModuleType | None:
    """What formats for the reader's language; None for English, which needs none of the locale data."""
    if language() == ENGLISH:
        return None
    from webui.views import locale_formats  # noqa: PLC0415  its library and data take a tenth of a second

    return locale_formats


def _quantity() -> Quantity:
    formats = _formats()
    return partial(formats.quantity, language()) if formats else format_quantity


def _whole_percent(share: float) -> str:
    formats = _formats()
    return str(formats.percent(language(), share)) if formats else f"{share * 100:.0f} %"


def _utc(at: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(at, UTC)
    except (OverflowError, ValueError, OSError):
        return None
