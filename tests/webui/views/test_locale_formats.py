"""Figures and times as other languages write them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context

import pytest

from webui import i18n
from webui.views import filters


def written(language: str, text: Callable[[], str]) -> str:
    """The text in a language, with plain spaces."""

    def said() -> str:
        i18n.set_language(language)
        return text().replace("\xa0", " ").replace("\u202f", " ")

    return copy_context().run(said)


@pytest.mark.parametrize(
    ("language", "value", "unit", "words"),
    [
        ("de", 1234.5, "1/s", "1.234 1/s"),
        ("de", 0.02412, "s/s", "0,0241 s/s"),
        ("de", 0.25, "s", "250 ms"),
        ("de", 2.14, "s", "2,14 Sek."),
        ("fr", 2.14, "s", "2,14 s"),
        ("fr", 210.0, "s", "3,5 min"),
        ("de", 3.5 * 1024**2, "bytes", "3,5 MiB"),
        ("de", 0.634, "ratio", "63,4 %"),
        ("de", 0.00001, "", "1,0E-5"),
        ("de", 0.0, "", "0"),
        ("de", -2.0, "", "-2"),
        ("de", None, "s", "–"),
    ],
)
def test_figures_keep_three_digits_in_any_language(language: str, value: float | None, unit: str, words: str) -> None:
    assert written(language, lambda: filters.figure(value, unit)) == words


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("de", lambda: filters.percent(0.634), "63 %"),
        ("ja", lambda: filters.percent(0.634), "63%"),
        ("de", lambda: filters.percent(0.004), "< 1 %"),
        ("de", lambda: filters.moment(1_790_000_090.0), "21.09.2026, 14:14 UTC"),
        ("ja", lambda: filters.moment(1_790_000_090.0), "2026/09/21 14:14 UTC"),
        ("de", lambda: filters.clock(1_790_000_090.0), "14:14:50 UTC"),
        ("de", lambda: filters.cell(1_795_263_844.25), "21. Nov., 12:24:04"),
        ("de", lambda: filters.offset(-28.2), "−28 Sek."),
        ("de", lambda: filters.share(0.5), "0,500"),
        ("de", lambda: filters.whole(24_999), "24.999"),
        ("de", lambda: filters.listed(["a", "b", "c"]), "a, b und c"),
        ("de", lambda: filters.listed([]), ""),
    ],
)
def test_times_and_shares_follow_the_language(language: str, text: Callable[[], str], words: str) -> None:
    assert written(language, text) == words
