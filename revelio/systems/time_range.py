"""Which time a question is about: one value, and one parser for every way in."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from revelio.errors import InvalidInputError

LONGEST_S = 31 * 86_400.0
"""The longest window, in seconds."""

CLOCK_SKEW_S = 60.0
"""How far another machine's clock may be ahead, in seconds."""

_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_UNIT = re.compile(r"s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)
_AGO = re.compile(r"(?:-|(?P<words>.*\S)\s+ago\s*$)", re.IGNORECASE)
_UNIX = re.compile(r"\d{9,11}(\.\d+)?")
_LATEST = 253_402_300_800.0


Said = str | float | None
"""A time or a length as people write it, or in seconds."""


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The time that a question names: ``since`` and ``at`` in Unix seconds, ``window_s`` in seconds; what is None is not said.

    The window begins at ``since`` and ends at ``at``, where the problem was noticed. With ``window_s`` one of the two is enough.
    """

    since: float | None = None
    at: float | None = None
    window_s: float | None = None

    @property
    def named(self) -> bool:
        """Whether it says how far back the window reaches."""
        return self.since is not None or self.window_s is not None

    def bounds(self, now: float, usual_s: float) -> tuple[float, float]:
        """Start and end of the window; a window without a ``since`` is ``window_s`` or else ``usual_s`` long."""
        length = self.window_s or usual_s
        if self.since is None:
            end = now if self.at is None else self.at
            return end - length, end
        if self.at is None and self.window_s is not None:
            return self.since, min(now, self.since + self.window_s)
        return self.since, now if self.at is None else self.at

    def validated(self, now: float) -> TimeRange:
        """The same; ``InvalidInputError`` where it is no time that has passed, or says too much."""
        if self.since is not None and self.at is not None and self.window_s is not None:
            raise InvalidInputError("since, at and window are one too many: give two of them")
        for name, moment in (("since", self.since), ("at", self.at)):
            if moment is not None and not (math.isfinite(moment) and 0 <= moment < _LATEST):
                raise InvalidInputError(f"{name} is not between 1970 and 9999; write Unix seconds, or 2026-11-21T14:30")
        if self.since is not None and self.since >= now:
            raise InvalidInputError("since is a time that has not come yet")
        if self.window_s is not None and not 0 < self.window_s <= LONGEST_S:
            raise InvalidInputError(f"window is not between 1 second and {LONGEST_S / 86_400:.0f} days")
        start, end = self.bounds(now, 1.0)
        if start >= end:
            raise InvalidInputError("since is not before at: the window would be empty")
        if end - start > LONGEST_S:
            raise InvalidInputError(f"the window is longer than {LONGEST_S / 86_400:.0f} days; give since and at closer together")
        return self


def parse_time_range(since: str = "", at: str = "", window: str = "", *, now: float, zone: tzinfo | None = UTC) -> TimeRange:
    """What people and programs write for the three; "" says nothing.

    Times are Unix seconds, ISO 8601, ``14:20``, ``yesterday 14:20``, ``30m ago``; those without a zone are in ``zone``, that of
    this machine when None. Lengths are ``10m``, ``1h30m``, ``600`` (seconds). ``InvalidInputError`` names what cannot be read.
    """
    return TimeRange(
        parse_time(since, "since", now, zone) if since.strip() else None,
        parse_time(at, "at", now, zone) if at.strip() else None,
        parse_duration(window) if window.strip() else None,
    ).validated(now)


def time_range(since: Said = None, at: Said = None, window: Said = None, *, now: float, zone: tzinfo | None = UTC) -> TimeRange:
    """``parse_time_range`` where a program may also give seconds; a time that a program gives may lie ahead."""
    told = [part if isinstance(part, str) else "" for part in (since, at, window)]
    read = parse_time_range(*told, now=now, zone=zone)
    given = [part if isinstance(part, (int, float)) else None for part in (since, at, window)]
    pairs = zip((read.since, read.at, read.window_s), given, strict=True)
    return TimeRange(*(mine if theirs is None else float(theirs) for mine, theirs in pairs)).validated(now)


def parse_time(text: str, name: str, now: float, zone: tzinfo | None = UTC) -> float:
    """One moment in Unix seconds, the latest past one that fits; ``InvalidInputError`` names it when it is none."""
    words = text.strip()
    if _UNIX.fullmatch(words):
        return float(words)
    ago = _AGO.match(words)
    try:
        if ago:
            return now - parse_duration(ago["words"] or words[1:])
        found = read_words(words, now, zone)
    except (InvalidInputError, OverflowError, ValueError, OSError):
        found = None
    if found is None:
        raise InvalidInputError(f"{name} {text[:40]!r} is no time; write 2026-11-21T14:30, 14:30, 'yesterday 14:30' or 30m ago")
    if found > now + CLOCK_SKEW_S:
        raise InvalidInputError(f"{name} {text[:40]!r} is a time that has not come yet")
    return found


def parse_duration(text: str) -> float:
    """A length of time in seconds; ``InvalidInputError`` when it is none."""
    words = text.strip().lower()
    try:
        return float(words)
    except ValueError:
        parts = _DURATION.findall(words)
        rest = _DURATION.sub("", words).replace("and", "").replace(",", "").strip()
        if not parts or rest or not all(_UNIT.fullmatch(unit) for _, unit in parts):
            raise InvalidInputError(f"{text[:40]!r} is no length of time; write 30m, 1h30m or 600 (seconds)") from None
        return sum(float(number) * _UNIT_S[unit[0]] for number, unit in parts)


def read_words(words: str, now: float, zone: tzinfo | None) -> float | None:
    """The latest past moment that words or a stamp name, in Unix seconds; None when they name none."""
    local = datetime.fromtimestamp(now, zone or datetime.now().astimezone().tzinfo)
    try:
        stamp = datetime.fromisoformat(words.replace(",", "."))
    except ValueError:
        stamp = None
    if words.isdigit():
        return None
    if stamp is not None:
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=local.tzinfo)).timestamp()
    from dateparser import parse  # half a second to load, and most questions name no time  # noqa: PLC0415

    settings = {
        "RELATIVE_BASE": local.replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        "DATE_ORDER": "YMD",
        "PARSERS": ["relative-time", "absolute-time"],
    }
    found = parse(words, languages=["en"], settings=settings)
    if found is None:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=local.tzinfo)).timestamp()
