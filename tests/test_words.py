"""Page texts and every `--help` use standard terms. Add a retired word here when a term is replaced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from revelio.cli.reference import cli_page, settings_page

ROOT = Path(__file__).parent.parent
RETIRED = (
    "anew",
    "as before",
    "at its clearest",
    "anybody",
    "everybody",
    "in force",
    "furthest of",
    "goes through again",
    "learnt",
    "lights up",
    "nobody",
    "of its own",
    "out of the ordinary",
    "somebody",
    "stands out",
    "they say",
    "to be had",
    "whoever",
    "workbench",
)
PATTERN = re.compile(rf"\b({'|'.join(map(re.escape, RETIRED))})\b", re.IGNORECASE)
WEBUI = ROOT / "webui"
PAGES = sorted(
    [WEBUI / "translations" / "messages.pot", *(WEBUI / "templates").rglob("*.html"), *(WEBUI / "static").glob("*.js")]
)
NAMES = re.compile(r"\{[{%].*?[%}]\}|//[^\n]*", re.DOTALL)
"""Template expressions and comments: names, not texts."""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page_texts_use_standard_words(page: Path) -> None:
    assert PATTERN.findall(NAMES.sub("", page.read_text(encoding="utf-8"))) == []


HELP = cli_page().split("\n#")


@pytest.mark.parametrize("text", HELP, ids=[text.partition("\n")[0].lstrip("# ") for text in HELP])
def test_help_uses_standard_words(text: str) -> None:
    assert PATTERN.findall(text) == []


def test_settings_descriptions_use_standard_words() -> None:
    assert PATTERN.findall(settings_page()) == []


def test_retired_words_are_noticed() -> None:
    assert PATTERN.findall(NAMES.sub("", "<p>Ranked anew {{ learnt }}</p>")) == ["anew"]
