"""The time that a report speaks of, found in its words. What could mean several times is proposed, never applied by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from revelio.systems.time_range import LONGEST_S, TimeRange, read_words

MARGIN_S = 300.0
"""How long before and how much longer after "around 14:20" the window reaches, in seconds."""

AROUND_S = 900.0
"""The length of the window of a single moment, in seconds."""

SHORTEST_S = 120.0
"""A shorter length ("it hangs for 30 seconds") says how long a request takes, in seconds."""

_LONGEST_REPORT = 20_000
_MOST = 3

_DAY = r"(?:(?:last\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today)"
_ZONE = r"(?:\s*(?:Z|UTC|GMT|CES?T|[ECMP][SD]T|BST|IST|JST)\b|\s*[+-]\d{2}:?\d{2}\b)"
_CLOCK = rf"\d{{1,2}}(?:[:.]\d{{2}}(?::\d{{2}})?(?:\s*[ap]\.?m\b\.?)?|\s*[ap]\.?m\b\.?){_ZONE}?"
_DATE = r"\d{4}-\d{2}-\d{2}"
_STAMP = rf"{_DATE}[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d{{1,9}})?)?{_ZONE}?"
_ACCESS_LOG = r"\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2}(?: [+-]\d{4})?"
_SYSLOG = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d{2}:\d{2}:\d{2}"
_LOOSE = r"(?:this|yesterday)\s+(?:morning|afternoon|evening)|last\s+night"
_PART = rf"(?:lunch(?:\s?time)?|noon|midday|midnight|breakfast|dinner|{_LOOSE}|tonight)"
_NUMBER = (
    r"(?:\d+(?:\.\d+)?|an?|one|two|three|four|five|six|ten|fifteen|twenty|thirty|half\s+an?|a\s+couple\s+of|a\s+few|several)"
)
_LENGTH = rf"{_NUMBER}\s*(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|days?)\b"
_MOMENT = rf"(?:{_STAMP}|(?:{_DAY},?\s+(?:at\s+|around\s+)?)?{_CLOCK}|{_CLOCK}\s+{_DAY}|{_PART}|{_DATE}|{_DAY})"
_FOUND = re.compile(
    rf"(?P<stamp>{_STAMP}|{_ACCESS_LOG}|{_SYSLOG})"
    rf"|\b(?:(?P<since>since|from|after|starting|started|began)|(?P<near>at|around|about|approx\.?|near|by))"
    rf"\s+(?:about\s+|around\s+|at\s+)?(?P<moment>{_MOMENT})(?:\s+(?:to|until|till)\s+(?P<until>{_CLOCK}))?(?!\s*(?:%|ms|s\b|errors?|requests?))"
    rf"|~\s*(?P<tilde>{_CLOCK})"
    rf"|\b(?P<lasting>for|since|(?:over|in|within|during)\s+the\s+(?:last|past)|the\s+(?:last|past))"
    rf"\s+(?:about\s+|around\s+|the\s+last\s+|the\s+past\s+)?(?P<length>{_LENGTH})(?!\s+ago)"
    rf"|\b(?P<ago>{_LENGTH})\s+ago\b"
    rf"|\b(?P<loose>{_LOOSE})\b",
    re.IGNORECASE,
)
_WORDS = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "ten": 10.0} | {
    "fifteen": 15.0,
    "twenty": 20.0,
    "thirty": 30.0,
    "half": 0.5,
}
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_HOUR_OF = {"lunch": 12, "breakfast": 8, "dinner": 19, "morning": 8, "afternoon": 13, "evening": 18, "night": 22, "tonight": 20}
_NAMED_ZONE = re.compile(_ZONE + r"$")


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time that a report names: its ``words``, what they mean, and why that is ``unsure``; "" where it is not."""

    words: str
    time: TimeRange
    unsure: str = ""


def time_mentions(report: str, now: float, zone: tzinfo | None = UTC, *, zone_known: bool = True) -> tuple[TimeMention, ...]:
    """The times that a report names, in its order; at most three, each once. ``zone`` is that of who wrote it.

    Where that is not known, a clock time without a zone is unsure. So are parts of the day, and times of which there are
    several.
    """
    found: dict[TimeRange, TimeMention] = {}
    for match in _FOUND.finditer(report[:_LONGEST_REPORT]):
        for mention in _mention(match, now, zone, zone_known):
            if _past(mention.time, now):
                found.setdefault(mention.time, mention)
    mentions = tuple(found.values())[:_MOST]
    if len(mentions) > 1 and not _same(mentions):
        return tuple(m if m.unsure else TimeMention(m.words, m.time, "the report names several times") for m in mentions)
    return mentions


def _mention(match: re.Match[str], now: float, zone: tzinfo | None, zone_known: bool) -> Iterator[TimeMention]:
    words = " ".join(match[0].split())
    if match["length"] or match["ago"]:
        seconds, unsure = _seconds(match["length"] or match["ago"])
        if seconds >= SHORTEST_S:
            yield TimeMention(words, TimeRange(since=now - seconds), unsure)
        return
    told = match["stamp"] or match["moment"] or match["tilde"] or match["loose"]
    moment, unsure = _moment(told, now, zone)
    if moment is None:
        return
    if not unsure and not zone_known and not _NAMED_ZONE.search(told.upper()):
        unsure = "it names no time zone; UTC is taken"
    if not unsure and match["stamp"] and not _NAMED_ZONE.search(told.upper()):
        unsure = "a log's time without a zone may be in another one"
    if match["until"]:
        zoned = "" if _NAMED_ZONE.search(told.upper()) else (_NAMED_ZONE.search(match["until"].upper()) or [""])[0]
        start, end = _read(f"{told}{zoned}", now, zone), _read(match["until"], now, zone)
        if start is not None and end is not None and start < end:
            yield TimeMention(words, TimeRange(since=start, at=end), "" if zoned else unsure)
    elif match["since"] or match["loose"]:
        yield TimeMention(words, TimeRange(since=moment), unsure)
    else:
        yield TimeMention(words, TimeRange(since=moment - MARGIN_S, window_s=AROUND_S), unsure)


def _moment(words: str, now: float, zone: tzinfo | None) -> tuple[float | None, str]:
    plain = " ".join(words.split())
    part = next((p for p in _HOUR_OF if p in plain.lower()), "")
    if part:
        day = "yesterday " if "yesterday" in plain.lower() or "last" in plain.lower() else ""
        return _read(f"{day}{_HOUR_OF[part]:02d}:00", now, zone), f"{plain!r} is no exact time"
    if re.fullmatch(rf"{_DAY}|{_DATE}", plain, re.IGNORECASE):
        return _read(f"{plain} 00:00", now, zone), f"{plain!r} is a whole day"
    if re.match(r"(?:last\s+)?\w+day", plain, re.IGNORECASE) and not re.match(r"(?:yester|to)day", plain, re.IGNORECASE):
        return _read(plain, now, zone), "it may be this week or the last"
    access = re.fullmatch(r"(\d{2})/(\w{3})/(\d{4}):(\S+)(.*)", plain)
    text = (
        f"{access[1]} {access[2]} {access[3]} {access[4]}{access[5]}" if access else re.sub(r"(?<=\d)\.(?=\d{2}\b)", ":", plain)
    )
    unsure = "it may be morning or afternoon" if re.match(r"\d{1,2}[:.]\d{2}", plain) and _may_be_afternoon(plain) else ""
    return _read(text, now, zone), unsure


def _may_be_afternoon(words: str) -> bool:
    """Of a clock time like 2:20: it has one digit and neither am nor pm."""
    return re.match(r"\d[:.]\d{2}", words) is not None and not re.search(r"[ap]\.?m", words, re.IGNORECASE)


def _read(words: str, now: float, zone: tzinfo | None) -> float | None:
    try:
        return read_words(words, now, zone)
    except (ValueError, OverflowError, OSError):
        return None


def _seconds(length: str) -> tuple[float, str]:
    parts = length.lower().split()
    number, unit = re.match(r"([\d.]+|.*\D)\s*?([a-z]+)$", length.lower()).groups() if len(parts) == 1 else (parts[0], parts[-1])  # type: ignore[union-attr]
    if "couple" in parts:
        return 2.0 * _UNIT_S[unit[0]], "'a couple' is no exact length"
    if "few" in parts or "several" in parts:
        return 5.0 * _UNIT_S[unit[0]], f"{' '.join(parts[:-1])!r} is no exact length"
    return (_WORDS[number] if number in _WORDS else float(number)) * _UNIT_S[unit[0]], ""


def _past(time: TimeRange, now: float) -> bool:
    return time.since is not None and now - LONGEST_S < time.since < now


def _same(mentions: tuple[TimeMention, ...]) -> bool:
    """Whether they lie so close that one window holds all."""
    starts = [m.time.since or 0.0 for m in mentions]
    return max(starts) - min(starts) <= MARGIN_S


def utc(moment: float) -> str:
    """A moment for people: ``2026-11-21 14:20 UTC``."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
