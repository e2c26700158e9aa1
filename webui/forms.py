"""What forms send, and where a request began."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from urllib.parse import parse_qs

from fastapi import Request

from revelio.errors import InvalidInputError
from webui.i18n import gettext

_FARTHEST_MIN = 15 * 60
"""No place on earth is further from UTC, in minutes."""
_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]")
_UNSEEN = re.compile("[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffc]")
"""Soft hyphens, marks of direction, object placeholders: they hide in copies of rich text and only confuse readers."""
_BREAKS = re.compile(r"\r\n?|[\u000b\u000c\u0085\u2028\u2029]")


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a URL-encoded form; ``InvalidInputError`` when it is not one, or not UTF-8."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise InvalidInputError(gettext("the form is not URL-encoded; send it from the page, or use the API at /api/docs"))
    try:
        fields = parse_qs((await request.body()).decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError as error:
        raise InvalidInputError(gettext("the form is not valid UTF-8 text; paste the report as plain text")) from error
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}


def begun_elsewhere(request: Request) -> bool:
    """True when the browser says that another site began this request, be it a link there."""
    return request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


def zone_of(minutes_behind_utc: str) -> tzinfo | None:
    """The time zone of a browser, which says how far it is behind UTC (UTC+2 is -120); None when it does not say."""
    if not minutes_behind_utc.strip():
        return None
    try:
        behind = int(minutes_behind_utc)
    except ValueError as error:
        raise InvalidInputError(
            gettext("%(offset)r is no offset from UTC in minutes") % {"offset": minutes_behind_utc[:40]}
        ) from error
    if abs(behind) > _FARTHEST_MIN:
        raise InvalidInputError(gettext("no time zone is that far from UTC; leave the offset out to give the time in UTC"))
    return timezone(timedelta(minutes=-behind))


def day_of(typed: str) -> float | None:
    """The Unix time at which a day (YYYY-MM-DD) begins in UTC, None when empty; ``InvalidInputError`` for what is no day."""
    if not typed.strip():
        return None
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", typed.strip()):
        raise InvalidInputError(gettext("%(day)r is no day; write it like 2026-11-21") % {"day": typed[:40]})
    try:
        return datetime.fromisoformat(typed.strip()).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(gettext("there is no day %(day)r; write one like 2026-11-21") % {"day": typed[:40]}) from error


def normalize_text(text: str) -> str:
    """The same words without what rich text leaves behind: odd spaces and line ends, unseen marks, runs of empty lines.

    Joiners that some scripts and emoji need stay, as does every visible character and each line's indentation.
    """
    text = _UNSEEN.sub("", _SPACES.sub(" ", _BREAKS.sub("\n", text)))
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
