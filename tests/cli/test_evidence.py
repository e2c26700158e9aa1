"""Evidence in the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from revelio.cli.evidence import evidence_view, sparkline, waterfall
from revelio.types import Entity, Evidence, Result, Series, Span, Window

WINDOW, BASELINE = Window(60.0, 90.0), Window(0.0, 60.0)
CART = Entity("container", "cart")


def _shown(result: Result) -> str:
    stream = io.StringIO()
    Console(file=stream, width=120).print(evidence_view(result, Evidence(WINDOW, BASELINE)))
    return stream.getvalue()


def _series(values: tuple[float, ...]) -> Series:
    return Series(CART, "cpu", "cores", tuple(10.0 * i for i in range(len(values))), values)


def test_a_sparkline_parts_baseline_from_window_on_one_scale() -> None:
    assert sparkline(_series((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 14.0)), BASELINE, WINDOW) == "▁▁▁▁▁▁│▅█"


def test_a_sparkline_bears_nothing_flat_and_gaps() -> None:
    assert sparkline(_series(()), BASELINE, WINDOW) == "│"
    assert sparkline(_series((0.0, 0.0)), BASELINE, WINDOW) == "▁▁│"
    assert sparkline(_series((float("nan"), 1.0)), BASELINE, WINDOW) == " █│"


def test_a_long_series_is_squeezed_without_losing_its_height() -> None:
    times = tuple(i * 0.1 for i in range(900))
    series = Series(CART, "cpu", "", times, tuple(1.0 if t >= 60 else 0.0 for t in times))
    assert sparkline(series, BASELINE, WINDOW) == "▁" * 24 + "│" + "█" * 24


def test_series_show_their_means_then_and_now() -> None:
    shown = _shown(Result("CPU rose", 0.9, "Peak deviation 12σ from baseline", series=(_series((0.2,) * 6 + (0.9,) * 2),)))
    assert "Anomalous (anomaly score 0.90): CPU rose" in shown
    assert "0.2 cores → 0.9 cores" in shown


def test_rows_are_cut_and_the_rest_is_counted() -> None:
    rows = tuple((f"line {i} [red]", i) for i in range(30))
    shown = _shown(Result("lines", 0.2, "", columns=("message", "n"), rows=rows))
    assert "line 11 [red]" in shown
    assert "line 12" not in shown
    assert "18 more rows" in shown


def test_moments_are_written_as_clock_times_and_missing_cells_left_empty() -> None:
    moment = 1_790_000_090.0
    shown = _shown(Result("one", 0.0, "", columns=("at", "n", "gone"), rows=((moment, 1234.5, None),)))
    assert "14:14:50 UTC" in shown
    assert "1,234" in shown
    assert "None" not in shown


def test_a_waterfall_follows_the_call_tree() -> None:
    spans = (
        Span("c", "a", "cart", "GET /cart", 10.05, 40.0, error=True),
        Span("a", None, "gateway", "GET /", 10.0, 100.0),
        Span("b", "c", "redis", "HGETALL", 10.06, 10.0),
    )
    lines = [str(line) for line in waterfall(spans)]
    assert [line.split("█")[0].strip() for line in lines] == ["gateway GET /", "cart GET /cart", "redis HGETALL"]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 4]
    assert "error" in lines[1]
    assert lines[0].count("█") == 44


def test_a_span_whose_parent_is_missing_is_still_drawn() -> None:
    assert len(list(waterfall((Span("x", "gone", "cart", "op", 1.0, 0.0),)))) == 1
