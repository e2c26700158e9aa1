"""A chart as a picture: its size, what is marked in it, and what it says to those who do not see it."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from revelio.presentation import evidence_panels
from revelio.presentation.panels import Chart, Line
from revelio.presentation.pictures import DENSITY, MAX_ALT, SIZE, Picture, picture
from revelio.types import Evidence, Window
from tests.webui import made

SNAPSHOT = Path(__file__).parent / "snapshots" / "throttling.txt"
BASELINE, WINDOW = Window(0.0, 60.0), Window(60.0, 90.0)
BANDS = {"baseline": (0xEE, 0xEF, 0xF0), "window": (0xFB, 0xED, 0xDB)}


def throttling() -> Picture:
    evidence = Evidence(made.WINDOW, made.BASELINE)
    (chart,) = (p for p in evidence_panels(made.throttling(), evidence).panels if isinstance(p, Chart))
    return picture(chart)


def a_chart(values: list[float | None], name: str = "cart", title: str = "cpu", unit: str = "s/s", before: float = 0.1) -> Chart:
    times = tuple(90.0 * n / max(1, len(values) - 1) for n in range(len(values)))
    return Chart(title, unit, (Line(name, times, tuple(values), before, None, None),), BASELINE, WINDOW)


def opened(shown: Picture) -> Image.Image:
    return Image.open(BytesIO(shown.png)).convert("RGB")


def test_picture_is_as_large_and_says_in_words_what_it_did() -> None:
    shown = throttling()
    image = opened(shown)
    told = f"{image.width} x {image.height}\n{shown.title}\n{shown.alt}\n"
    if os.environ.get("REVELIO_SNAPSHOTS") == "write":
        SNAPSHOT.write_text(told, encoding="utf-8")
    assert told == SNAPSHOT.read_text(encoding="utf-8"), "when this is meant: REVELIO_SNAPSHOTS=write, and look at the picture"
    assert len(shown.png) < 100_000


def test_baseline_and_window_are_shaded_side_by_side_at_their_share_of_the_time() -> None:
    image = opened(throttling())
    row = [image.getpixel((x, 56 * DENSITY)) for x in range(image.width)]
    spans = {name: [x for x, pixel in enumerate(row) if pixel == colour] for name, colour in BANDS.items()}
    assert max(spans["baseline"]) < min(spans["window"])
    before, now = (max(s) - min(s) for s in spans.values())
    assert before / now == pytest.approx(2.0, abs=0.05)


def test_line_that_jumps_is_drawn_low_before_and_high_now() -> None:
    image = opened(throttling())
    strong = [
        (x, y) for x in range(image.width) for y in range(SIZE[1] * DENSITY) if image.getpixel((x, y)) == (0x0B, 0x5D, 0x57)
    ]
    middle = image.width * 0.7
    before, now = ([y for x, y in strong if (x > middle) == late] for late in (False, True))
    assert sum(now) / len(now) < sum(before) / len(before) - 100


def test_gap_is_not_drawn_over() -> None:
    ones: list[float | None] = [1.0] * 3
    whole, gap = (opened(picture(a_chart([*ones, *middle, *ones]))) for middle in (ones, [None] * 3))
    inked = [sum(i.getpixel((x, y)) == (0x0B, 0x5D, 0x57) for x in range(i.width) for y in range(520)) for i in (whole, gap)]
    assert inked[1] < 0.7 * inked[0]


def test_more_series_than_can_be_told_apart_are_counted() -> None:
    chart = a_chart([1.0, 2.0])
    assert "3 more are left out" in picture(Chart("cpu", "", chart.lines, BASELINE, WINDOW, 3)).alt


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=6),
    st.text(max_size=400),
    st.text(max_size=400),
)
def test_any_series_of_any_name_can_be_drawn(values: list[float | None], name: str, title: str) -> None:
    shown = picture(a_chart(values, name, title, unit=title[:20]))
    assert opened(shown).size == (SIZE[0] * DENSITY, (SIZE[1] + 20) * DENSITY)
    assert len(shown.alt) <= MAX_ALT
