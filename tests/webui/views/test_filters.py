"""Numbers and times as people read them."""

from __future__ import annotations

import math

import pytest

from revelio.types import Cell
from webui.views.filters import cell, duration, figure, iso, moment, offset, percent, prose, shorten


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.634, "63 %"), (0.0, "0 %"), (0.004, "< 1 %"), (0.996, "> 99 %"), (1.0, "100 %"), (math.nan, "?")],
)
def test_percent(share: float, words: str) -> None:
    assert percent(share) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.02412, "s/s", "0.0241 s/s"),
        (1234.5, "1/s", "1,234 1/s"),
        (3 * 1024**2, "bytes", "3 MiB"),
        (0.25, "s", "250 ms"),
        (0.5, "ratio", "50 %"),
        (0.00001, "", "1.0e-05"),
        (-2.0, "", "-2"),
        (None, "s", "–"),
        (math.inf, "bytes", "–"),
    ],
)
def test_figure(value: float | None, unit: str, words: str) -> None:
    assert figure(value, unit) == words


def test_a_bare_figure_keeps_only_units_that_scale_it() -> None:
    assert figure(2.0, "req/s", bare=True) == "2"
    assert figure(0.25, "s", bare=True) == "250 ms"


@pytest.mark.parametrize(("ms", "words"), [(0.0, "0 ms"), (340.4, "340 ms"), (2100.0, "2.1 s"), (210_000.0, "3.5 min")])
def test_duration(ms: float, words: str) -> None:
    assert duration(ms) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "no"),
        (3, "3"),
        (2.5, "2.5"),
        (1_795_263_844.25, "21 Nov 12:24:04"),
        (1_795_263_844, "1795263844"),
        ("x", "x"),
    ],
)
def test_cell(value: Cell, words: str) -> None:
    assert cell(value) == words


def test_moments_are_in_utc_and_never_fail() -> None:
    assert moment(1_790_000_090.0) == "21 Sep 2026, 14:14 UTC"
    assert iso(1_790_000_090.0) == "2026-09-21T14:14:50+00:00"
    for strange in (math.nan, math.inf, 1e18, -1e18):
        assert moment(strange) == "unknown time"
        assert iso(strange) == ""


def test_offsets_have_a_sign() -> None:
    assert [offset(s) for s in (-28.2, 0.0, 3.0)] == ["−28 s", "+0 s", "+3 s"]


def test_texts_are_cut_between_words() -> None:
    assert shorten("one two\n three four", 14) == "one two…"
    assert shorten("short", 14) == "short"
    assert shorten("x" * 20, 10) == "x" * 9 + "…"


def test_backticks_mark_code_and_nothing_else_is_markup() -> None:
    assert prose("see `GET /x` <b>") == "see <code>GET /x</code> &lt;b&gt;"
