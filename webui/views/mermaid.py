"""A chart as a Mermaid diagram, which GitHub, GitLab and most Markdown editors draw."""

from __future__ import annotations

import json

import numpy as np

from webui.i18n import gettext
from webui.views.evidence import Chart

_POINTS = 40
_DIGITS = 4
_COLOUR = '%%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "#b4551b"}}}}%%'
"""Mermaid's own first colour is too pale to see on white."""


def mermaid(chart: Chart) -> str:
    """The first series of a chart, as a mean of each of at most 40 spans of equal length; "" where one has no value."""
    data = json.loads(chart.data)
    start, known = data["baseline"][0], [v is not None for v in data["lines"][0]["values"]]
    times = np.array(data["times"])[known]
    values = np.array([v for v in data["lines"][0]["values"] if v is not None])
    points = min(_POINTS, len(values))
    if start >= 0 or points < 2:
        return ""
    span = np.clip(((times - start) / -start * points).astype(int), 0, points - 1)
    count = np.bincount(span, minlength=points)
    if not count.all():
        return ""
    means = np.bincount(span, values, points) / count
    low, high = min(0.0, float(means.min())), float(means.max())
    axis = gettext("seconds, with the report at 0")
    name = ": ".join(part for part in (chart.lines[0].name, chart.title) if part)
    return "\n".join(
        (
            _COLOUR,
            "xychart-beta",
            f'  title "{_word(name)}"',
            f'  x-axis "{_word(axis)}" {_number(start)} --> 0',
            f"  y-axis {_number(low)} --> {_number(high if high > low else low + 1.0)}",
            f"  line [{', '.join(map(_number, means))}]",
        )
    )


def _number(value: float) -> str:
    """Never with an exponent, which Mermaid cannot read."""
    return np.format_float_positional(value, _DIGITS, fractional=False, trim="-")


def _word(text: str) -> str:
    """A text that can stand between quotes."""
    kept = "".join(c if c.isalnum() or c in " .,:/%()+-→" else " " for c in text.replace("->", " → "))
    return " ".join(kept.split())
