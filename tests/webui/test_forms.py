"""Pasted text keeps its words and loses what rich text leaves behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webui.forms import normalize_text


@pytest.mark.parametrize(
    ("pasted", "read"),
    [
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("zero\u200bwidth\ufeff soft\u00adhyphen \u202eturned", "zerowidth softhyphen turned"),
        ("12:01\u00a0Ana\twrote\u202f:", "12:01 Ana wrote :"),
        ("Hi,\n\n\n\n\nit is slow.  \n\n", "Hi,\n\nit is slow."),
        ("> quoted\n  - indented", "> quoted\n  - indented"),
        (
            "family \U0001f468\u200d\U0001f469\u200d\U0001f467 می\u200cشود",
            "family \U0001f468\u200d\U0001f469\u200d\U0001f467 می\u200cشود",
        ),
    ],
)
def test_tidy(pasted: str, read: str) -> None:
    assert normalize_text(pasted) == read


@given(st.text())
def test_tidying_twice_changes_nothing_more(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S")), max_size=80))
def test_no_visible_character_is_lost(text: str) -> None:
    assert normalize_text(text) == text
