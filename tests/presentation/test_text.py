"""Evidence in a few lines of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from revelio.presentation import evidence_panels, headline, text_view
from revelio.presentation.text import shorten_line
from revelio.types import ColumnRole, Entity, Evidence, Result, Series, Span, Window

EVIDENCE = Evidence(Window(60.0, 90.0), Window(0.0, 60.0))


OPERATIONS: tuple[ColumnRole, ...] = ("operation", "spans", "", "now", "", "before")


def lines_of(result: Result, lines: int = 5) -> list[str]:
    shown = evidence_panels(result, EVIDENCE)
    return [shorten_line(headline(shown), 110), *text_view(shown, lines).splitlines()]


def test_a_series_is_a_line_with_its_bars_and_its_change() -> None:
    times = tuple(10.0 * i for i in range(9))
    series = Series(Entity("container", "cart"), "cpu", "cores", times, (0.1,) * 6 + (0.8,) * 3)
    assert lines_of(Result("CPU rose", 0.9, "why", series=(series,))) == [
        "Anomalous (anomaly score 0.90): CPU rose",
        "cart, CPU ▂▂▂▂▂▂│███ 0.1 cores → 0.8 cores",
    ]


def test_what_stands_out_comes_first_and_the_rest_is_counted() -> None:
    rows = (("calm", 3, 1.0, 10.0, 1.0, 9.0), ("slow", 3, 1.0, 900.0, 1.0, 9.0), ("other", 3, 1.0, 10.0, 1.0, 9.0))
    assert lines_of(Result("slower", 0.2, "", ("",) * 6, rows, kind="operations", roles=OPERATIONS), lines=2) == [
        "Normal (anomaly score 0.20): slower",
        "900 ms now, 9 ms before: slow [3 spans]",
        "10 ms now, 9 ms before: calm [3 spans]",
        "… 1 more",
    ]


def test_of_a_trace_only_the_marked_spans_are_told() -> None:
    spans = (Span("a", None, "gateway", "GET /", 0.0, 100.0, True), Span("b", "a", "cart", "GET /c", 0.0, 95.0, True))
    assert lines_of(Result("s", 1.0, "", spans=spans))[1:] == ["failed here: cart GET /c, 95 ms (self time 95 ms)"]


def test_rows_that_nothing_else_tells_name_their_columns() -> None:
    rows = ((1_795_263_844.5, "cart", None, 2.5),)
    assert lines_of(Result("s", 0.0, "", ("at", "name", "gone", "n"), rows))[1:] == ["at: 12:24:04 UTC, name: cart, n: 2.5"]


@given(st.text(max_size=300), st.text(max_size=300))
def test_nothing_in_it_begins_a_line_of_its_own_or_runs_on(summary: str, name: str) -> None:
    lines = lines_of(Result(summary, 1.0, "", ("a",), ((name,),)))
    assert len(lines) <= 2
    assert all(len(line) <= 110 for line in lines)


def test_noise_beside_a_jump_looks_flat() -> None:
    times = tuple(10.0 * i for i in range(9))
    noise = Series(Entity("container", "a"), "cpu", "cores", times, (0.01, 0.02, 0.01) * 3)
    jump = Series(Entity("container", "b"), "cpu", "cores", times, (0.1,) * 6 + (0.8,) * 3)
    flat, high = lines_of(Result("s", 0.9, "", series=(noise, jump)))[1:]
    assert "█" in high
    assert "█" not in flat


def test_what_is_left_out_is_counted() -> None:
    result = Result("s", 0.1, "", ("n",), tuple((n,) for n in range(20)), truncated=True)
    assert lines_of(result, 2)[1:] == ["n: 0", "n: 1", "… 18 more", "… truncated at the query's limit"]


def test_a_failed_run_says_why() -> None:
    assert lines_of(Result.failed("jaeger: is away")) == ["Not run: jaeger: is away"]
