"""What a result looks like on a page."""

from __future__ import annotations

import json
from dataclasses import replace

from revelio.presentation import result_view
from revelio.presentation.charts import MAX_LINES
from revelio.presentation.waterfalls import MAX_SPANS
from revelio.types import Entity, Result, Series, Span
from tests.webui import made
from webui.views.evidence import evidence_view

EVIDENCE = made.record().evidence
EMPTY = Result("nothing", 0.0, "")


def test_a_chart_has_window_and_baseline_relative_to_the_report() -> None:
    (chart,) = evidence_view(made.throttling(), EVIDENCE).charts
    data = json.loads(chart.data)
    assert data["window"] == [-30.0, 0.0]
    assert data["baseline"] == [-90.0, -30.0]
    assert data["times"][0] == -90.0
    assert data["lines"][1]["values"][10] is None


def test_the_table_beside_a_chart_says_the_same() -> None:
    (chart,) = evidence_view(made.throttling(), EVIDENCE).charts
    assert chart.names == ("cart", "orders")
    assert chart.lines[0].before == "0.0241"
    assert chart.lines[0].now == "0.789"
    assert chart.moments[0][0] == "−90 s"
    assert chart.moments[10][2] == "–"
    assert len(chart.moments) == 46


def test_series_of_several_units_get_a_chart_each() -> None:
    one = made.throttling().series[0]
    charts = evidence_view(replace(EMPTY, series=(one, replace(one, metric="memory", unit="bytes"))), EVIDENCE).charts
    assert [c.title for c in charts] == ["CPU throttled, s/s", "memory, bytes"]


def test_lines_are_named_by_what_tells_them_apart() -> None:
    one = made.throttling().series[0]
    used, idle = replace(one, metric="used"), replace(one, metric="idle")
    (chart,) = evidence_view(replace(EMPTY, series=(used, idle)), EVIDENCE).charts
    assert (chart.title, chart.names) == ("cart, s/s", ("used", "idle"))
    get, put = replace(one, metric="error_rate GET 504 /cart_add"), replace(one, metric="error_rate PUT 500 /cart")
    (chart,) = evidence_view(replace(EMPTY, series=(get, put)), EVIDENCE).charts
    assert (chart.title, chart.names) == ("error rate of cart, s/s", ("GET 504 /cart_add", "PUT 500 /cart"))
    other = replace(idle, entity=Entity("container", "orders"))
    (chart,) = evidence_view(replace(EMPTY, series=(used, other)), EVIDENCE).charts
    assert (chart.title, chart.names) == ("s/s", ("cart: used", "orders: idle"))


def test_series_with_different_times_share_an_axis() -> None:
    series = tuple(
        Series(Entity("container", n), "m", "", (t,), (1.0,)) for n, t in (("a", made.OPENED - 2), ("b", made.OPENED - 1))
    )
    (chart,) = evidence_view(replace(EMPTY, series=series), EVIDENCE).charts
    assert [line["values"] for line in json.loads(chart.data)["lines"]] == [[1.0, None], [None, 1.0]]


def test_more_lines_than_can_be_told_apart_are_counted() -> None:
    series = tuple(Series(Entity("container", str(n)), "m", "", (made.OPENED,), (1.0,)) for n in range(MAX_LINES + 3))
    (chart,) = evidence_view(replace(EMPTY, series=series), EVIDENCE).charts
    assert len(chart.lines) == MAX_LINES
    assert chart.left_out == 3


def test_spans_stand_under_their_callers_in_order_of_time() -> None:
    bars = evidence_view(made.slow_trace(), EVIDENCE).bars
    assert [(b.service, b.depth) for b in bars] == [
        ("gateway", 0),
        ("cart", 1),
        ("redis", 2),
        ("products", 2),
        ("postgres", 3),
        ("cart", 0),
    ]
    assert [(b.service, b.mark) for b in bars if b.mark] == [("products", "origin")]
    assert bars[0].start == 0.0
    assert all(b.start >= 0 and b.start + b.width <= 101 for b in bars)


def test_spans_that_call_each_other_in_a_circle_do_not_hang() -> None:
    spans = (Span("a", "b", "x", "", 1.0, 1.0), Span("b", "a", "y", "", 1.0, 1.0), Span("c", "c", "z", "", 1.0, 0.0))
    assert [b.service for b in evidence_view(replace(EMPTY, spans=spans), EVIDENCE).bars] == ["z"]


def test_a_trace_too_long_for_a_page_is_cut_and_says_so() -> None:
    spans = tuple(Span(str(i), None, "x", "", float(i), 1.0) for i in range(MAX_SPANS + 5))
    view = evidence_view(replace(EMPTY, spans=spans), EVIDENCE)
    assert len(view.bars) == MAX_SPANS
    assert view.spans_left_out == 5


def test_columns_of_figures_are_known_and_ragged_rows_are_squared() -> None:
    view = evidence_view(replace(EMPTY, columns=("a", "b"), rows=((1, "x"), (2.5, None, True))), EVIDENCE)
    assert view.columns == ("a", "b", "")
    assert view.rows == ((1, "x", None), (2.5, None, True))
    assert view.numeric == (True, False, False)


def test_a_signal_counts_from_a_half_on() -> None:
    assert [evidence_view(replace(EMPTY, signal=s), EVIDENCE).significant for s in (0.49, 0.5)] == [False, True]


def test_moments_are_no_figures() -> None:
    view = evidence_view(replace(EMPTY, columns=("at", "n"), rows=((1_795_263_844.5, 1_795_263_844),)), EVIDENCE)
    assert view.numeric == (False, True)


def test_now_is_the_same_figure_in_headline_table_and_json() -> None:
    late = tuple(1.5 if t > made.OPENED - 12 else 0.085 for t in made.throttling().series[0].times)
    series = replace(made.throttling().series[0], metric="latency_p95", unit="s", values=late)
    result = replace(EMPTY, summary="latency_p95: 700 ms now, 90 ms before", series=(series,), kind="series")
    view = evidence_view(result, EVIDENCE)
    (line,) = view.charts[0].lines
    assert view.summary == f"latency p95: {line.now} now, {line.before} before"
    assert result_view(result, EVIDENCE).summary == view.summary
    assert line.before == "85 ms"


def test_series_of_two_ways_are_not_named_after_one_of_them() -> None:
    one = made.throttling().series[0]
    out, into = replace(one, metric="network_in out"), replace(one, metric="network_in in")
    (chart,) = evidence_view(replace(EMPTY, series=(out, into)), EVIDENCE).charts
    assert (chart.title, chart.names) == ("network of cart, s/s", ("out", "in"))
