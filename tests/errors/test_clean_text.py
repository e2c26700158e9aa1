"""What a terminal would obey stays out of text; the rest stays as it is."""

from __future__ import annotations

from revelio.errors.clean_text import printable


def test_what_a_terminal_obeys_is_spelled_out() -> None:
    assert printable("a\x1b[2J\x07\x9b31m\u202ee\r\n\tö注") == "a\\x1b[2J\\x07\\x9b31m\\u202ee\\x0d\n\tö注"


def test_what_only_a_machine_reads_is_spelled_out_and_joined_emoji_stay() -> None:
    assert printable("a\u200bb\ufeffc\U000e0041d") == "a\\u200bb\\ufeffc\\U000e0041d"
    assert printable("👩\u200d💻") == "👩\u200d💻"
