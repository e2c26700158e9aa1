"""What a terminal would obey stays out of text; the rest stays as it is."""

from __future__ import annotations

from revelio.errors.clean_text import printable


def test_what_a_terminal_obeys_is_spelled_out() -> None:
    assert printable("a\x1b[2J\x07\x9b31m\u202ee\r\n\tö注") == "a\\x1b[2J\\x07\\x9b31m\\u202ee\\x0d\n\tö注"
