"""Every text of the pages is a message, the catalog has all of them, and a language needs its catalog alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po

from tests.webui.pseudo import TEMPLATE
from tests.webui.untranslated import SAME, unmarked_in_template
from webui import i18n
from webui.views.templating import templates

ROOT = Path(__file__).parents[2]
CLASSES = {"primary", "secondary", "true", "false", "warn", "calm", "up", "down", "unknown"}
"""Literals that templates put into attributes for scripts and styles."""


@pytest.mark.parametrize("name", sorted(templates().env.list_templates()))
def test_every_text_of_a_template_is_a_message(name: str) -> None:
    source = (ROOT / "webui" / "templates" / name).read_text(encoding="utf-8")
    assert {text.strip(" ·") for text in unmarked_in_template(templates().env, source)} - SAME - CLASSES == set()


@pytest.mark.parametrize(
    "text",
    [
        "<p>plain</p>",
        '<p aria-label="spoken"></p>',
        '{{ "one" if page.a else "Other" }}',
        '{{ {true: "Yes"}.get(page.a, _("none")) }}',
        '{% set said = "Hello there" %}',
    ],
)
def test_text_that_is_no_message_is_noticed(text: str) -> None:
    assert unmarked_in_template(templates().env, text)


def test_the_catalog_has_exactly_the_messages_of_the_code() -> None:
    with (ROOT / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    found = extract_from_dir(ROOT, methods, options, DEFAULT_KEYWORDS | {"gettext_noop": None})
    with TEMPLATE.open("rb") as file:
        listed = {message.id for message in read_po(file) if message.id}
    assert {message for _, _, message, _, _ in found} == listed, "run `make strings`"


def test_every_message_of_the_code_is_found_by_the_extraction() -> None:
    # Babel reads no calls within f-strings.
    with TEMPLATE.open("rb") as file:
        listed = {text for message in read_po(file) for text in (message.id if isinstance(message.id, tuple) else (message.id,))}
    calls = [node for path in (ROOT / "webui").rglob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    named = [c for c in calls if isinstance(c, ast.Call) and getattr(c.func, "id", "") in ("gettext", "ngettext", "gettext_noop")]
    texts = {arg.value for call in named for arg in call.args if isinstance(arg, ast.Constant)}
    assert len(texts) > 100
    assert texts - listed == set()


def test_translations_keep_the_placeholders_of_each_message() -> None:
    for path in i18n.TRANSLATIONS.glob("*/LC_MESSAGES/messages.po"):
        with path.open("rb") as file:
            catalog = read_po(file, locale=path.parts[-3], abort_invalid=True)
        assert [(path, message.id, errors) for message, errors in catalog.check()] == []
