"""A language made on the fly: every message in brackets, numbers and dates as German writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po

from tests.webui.untranslated import CLOSE, OPEN
from webui import i18n

LANGUAGE = "de"
TEMPLATE = i18n.TRANSLATIONS / "messages.pot"


@contextmanager
def pseudo_language(folder: Path) -> Iterator[None]:
    """Within, pages are asked for in the language that ``folder`` then holds."""
    path = folder / LANGUAGE / "LC_MESSAGES" / "messages.po"
    path.parent.mkdir(parents=True)
    catalog = Catalog(locale=LANGUAGE)
    with TEMPLATE.open("rb") as file:
        for message in read_po(file):
            if message.id:
                forms = message.id if isinstance(message.id, tuple) else (message.id,)
                bracketed = tuple(f"{OPEN}{form}{CLOSE}" for form in forms)
                catalog.add(message.id, bracketed if len(forms) > 1 else bracketed[0], flags=message.flags)
    with path.open("wb") as file:
        write_po(file, catalog)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(i18n, "TRANSLATIONS", folder)
        _forget()
        yield
    _forget()


def _forget() -> None:
    i18n.languages.cache_clear()
    i18n._messages.cache_clear()
