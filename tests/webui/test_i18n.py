"""The language that a browser asks for, among those with a catalog."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest

from tests.webui.pseudo import LANGUAGE, pseudo_language
from webui import i18n


@pytest.fixture
def german(tmp_path: Path) -> Iterator[None]:
    """A second language."""
    with pseudo_language(tmp_path):
        yield


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE-at;q=0.9, fr", "de"),
        ("en-GB, de;q=0.9", "en"),
        ("de;q=0.8, en;q=0.9", "en"),
        ("de;q=0, *", "en"),
        ("fr, ja", "en"),
        ("de;q=nonsense;;,", "de"),
        ("\u0000" * 100 + "-" * 10_000, "en"),
    ],
)
def test_the_wanted_language_is_taken_where_there_is_one(german: None, header: str, language: str) -> None:
    assert i18n.accepted_language(header) == language


def test_a_region_is_content_with_its_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "languages", lambda: ("en", "pt_BR", "zh_Hans"))
    assert [i18n.accepted_language(tag) for tag in ("pt-BR", "pt-PT", "zh-Hans-CN", "zh")] == ["pt_BR", "en", "zh_Hans", "en"]


def test_a_message_without_translation_stays_english(german: None) -> None:
    def said() -> tuple[str, str, str]:
        i18n.set_language(LANGUAGE)
        return i18n.gettext("no message of ours"), i18n.gettext("Catalog"), i18n.gettext("")

    assert copy_context().run(said) == ("no message of ours", "⟦Catalog⟧", "")


def test_threads_speak_the_language_of_their_own_request(german: None) -> None:
    def said(language: str) -> str:
        i18n.set_language(language)
        return "".join(i18n.gettext("Catalog") for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: copy_context().run(said, name), ["de", "en"] * 8))
    assert found == ["⟦Catalog⟧" * 200, "Catalog" * 200] * 8
    assert i18n.language() == "en"


def test_languages_written_from_the_right_say_so() -> None:
    def direction(language: str) -> tuple[str, str]:
        i18n.set_language(language)
        return i18n.language_tag(), i18n.text_direction()

    assert [copy_context().run(direction, name) for name in ("en", "ar", "pt_BR")] == [
        ("en", "ltr"),
        ("ar", "rtl"),
        ("pt-BR", "ltr"),
    ]


def test_english_pages_load_no_locale_data() -> None:
    code = "import sys, webui.app, webui.views.templating as t; t.load_templates(); print('babel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
