"""A chart as a Mermaid diagram: the same values, and nothing that Mermaid would not read."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from revelio.types import Result, Series
from tests.webui import made
from webui.views.evidence import Chart, evidence_view
from webui.views.mermaid import mermaid


def chart(**changed: object) -> Chart:
    one: Series = replace(made.throttling().series[0], **changed)  # type: ignore[arg-type]
    return evidence_view(Result("", 1.0, "", series=(one,)), made.record().evidence).charts[0]


def line(diagram: str) -> list[float]:
    (found,) = re.findall(r"line \[(.*)\]", diagram)
    return [float(v) for v in found.split(", ")]


def test_the_line_has_the_means_of_equal_spans_over_baseline_and_window() -> None:
    shown = chart()
    values = json.loads(shown.data)["lines"][0]["values"]
    diagram = mermaid(shown)
    assert "xychart-beta" in diagram and "-90 --> 0" in diagram
    drawn = line(diagram)
    assert len(drawn) == 40
    assert drawn[0] == pytest.approx(sum(values[:2]) / 2, rel=1e-3)
    assert max(drawn) == pytest.approx(max(values), rel=5e-2)


def test_a_series_with_a_gap_or_a_single_value_is_not_drawn() -> None:
    values, times = made.throttling().series[0].values, made.throttling().series[0].times
    assert mermaid(chart(values=(*values[:5], *[float("nan")] * 20, *values[25:]))) == ""
    assert mermaid(chart(values=values[:1], times=times[:1])) == ""


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_numbers_have_no_exponent(scale: float) -> None:
    values = tuple(v * scale for v in made.throttling().series[0].values)
    diagram = mermaid(chart(values=values))
    assert re.search(r"[0-9]e[+-]?[0-9]", diagram) is None
    assert max(line(diagram)) == pytest.approx(max(values), rel=5e-2)


def test_a_flat_series_still_has_an_axis() -> None:
    values = (0.0,) * len(made.throttling().series[0].values)
    assert "y-axis 0 --> 1" in mermaid(chart(values=values))


def test_a_title_holds_no_quote_and_no_line_break() -> None:
    diagram = mermaid(chart(metric='a "b"]\n```->c'))
    (title,) = re.findall(r'title "(.*)"$', diagram, re.MULTILINE)
    assert '"' not in title and "`" not in title and "→ c" in title
