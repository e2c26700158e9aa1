"""The reader's language: its choice among those with a catalog, and messages in it."""

from __future__ import annotations

import gettext as catalogs
import re
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from pathlib import Path

TRANSLATIONS = Path(__file__).parent / "translations"
ENGLISH = "en"
"""The language of the messages in the code, which needs no catalog."""

_CATALOG = "LC_MESSAGES/messages.po"
_WANTED = re.compile(r"([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*q=(\d(?:\.\d{1,3})?))?")
_language: ContextVar[str] = ContextVar("language", default=ENGLISH)


def language() -> str:
    """The language of the request at hand, as its catalog's folder is called: "en", "pt_BR"."""
    return _language.get()


def set_language(name: str) -> None:
    """Speak this language until the end of the request, in every thread that works for it."""
    _language.set(name)


@cache
def languages() -> tuple[str, ...]:
    """English, and every language with a catalog."""
    return (ENGLISH, *sorted(path.parts[-3] for path in TRANSLATIONS.glob(f"*/{_CATALOG}")))


def accepted_language(header: str) -> str:
    """The language that an ``Accept-Language`` header prefers among those there are; English where it names none of them."""
    known = {name.lower(): name for name in languages()}
    if len(known) == 1:
        return ENGLISH
    wanted = [(float(weight or 1), tag.lower().split("-")) for tag, weight in _WANTED.findall(header)]
    for weight, parts in sorted(wanted, key=lambda one: -one[0]):
        # "de-AT" is content with "de".
        fitting = ("_".join(parts[:length]) for length in range(len(parts), 0, -1))
        found = next((known[name] for name in fitting if name in known and weight), None)
        if found:
            return found
    return ENGLISH


def gettext(message: str) -> str:
    """The message in the reader's language, or as it is where that has none."""
    return _messages(language()).gettext(message) if message else ""


def ngettext(singular: str, plural: str, number: int) -> str:
    """The form of the message that the reader's language has for this number."""
    return _messages(language()).ngettext(singular, plural, number)


def gettext_noop(message: str) -> str:
    """The same text, marked as a message that ``gettext`` is given later."""
    return message


def language_tag() -> str:
    """The reader's language as HTML names it: "pt-BR"."""
    return language().replace("_", "-")


def text_direction() -> str:
    """How the reader's language is written: "ltr" or "rtl"."""
    if language() == ENGLISH:
        return "ltr"
    from babel import Locale  # noqa: PLC0415

    return Locale.parse(language()).text_direction


@cache
def _messages(name: str) -> catalogs.NullTranslations:
    """The catalog of a language, compiled when it is first asked for."""
    if name == ENGLISH:
        return catalogs.NullTranslations()
    from babel.messages.mofile import write_mo  # noqa: PLC0415
    from babel.messages.pofile import read_po  # noqa: PLC0415

    compiled = BytesIO()
    with (TRANSLATIONS / name / _CATALOG).open("rb") as file:
        write_mo(compiled, read_po(file, locale=name))
    compiled.seek(0)
    return catalogs.GNUTranslations(compiled)
