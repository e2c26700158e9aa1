"""Expressions of rules and dashboards as bodies of templates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.catalog.imports.promql import UnusableError, everywhere, judged, with_placeholders


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("rate(errors_total[5m]) > 0.05", "rate(errors_total[5m])"),
        ("up == 0", "up"),
        ("a / b * 100 >= bool 5", "a / b * 100"),
        ("free < 10 * 1024", "free"),
        ('sum(rate(x{code=~"5..", a!="b"}[5m])) by (job)', 'sum(rate(x{code=~"5..", a!="b"}[5m])) by (job)'),
        ("a > b", "a > b"),
        ("(x > 3) and y", "(x > 3) and y"),
    ],
)
def test_a_condition_becomes_what_it_judges(written: str, left: str) -> None:
    assert judged(written) == left


@pytest.mark.parametrize(
    ("written", "body", "blanks"),
    [
        ('up{job="$job"}', 'up{job=~"${job}"}', (("job", "label:job"),)),
        ('up{job=~"${job:regex}",instance=~"[[node]]"}', 'up{job=~"${job}",instance=~".*"}', (("job", "label:job"),)),
        ('sum by (pod) (x{pod=~"$pod"})', 'sum by (pod) (x{pod=~"${pod}"})', (("pod", "label:pod"),)),
        ('sum(x{pod=~"$pod"}) by (code)', 'sum(x{pod=~".*"}) by (code)', ()),
        ('sum(x{service="$service"})', 'sum(x{service=~".*"})', ()),
        ('x{cluster!~"$cluster"}', 'x{cluster=~".*"}', ()),
        ("rate(x[$__rate_interval])", "rate(x[${rate_interval}])", ()),
        ("increase(x[$__range])", "increase(x[${window}])", ()),
        ('label_replace(x, "a", "$1", "b", "(.+)")', 'label_replace(x, "a", "$1", "b", "(.+)")', ()),
        ("histogram_quantile($quantile, x)", "histogram_quantile(0.9, x)", ()),
    ],
)
def test_variables_become_placeholders(written: str, body: str, blanks: tuple[tuple[str, str], ...]) -> None:
    assert with_placeholders(written, {"quantile": "0.9"}) == (body, blanks)


@pytest.mark.parametrize("written", ["topk($top, x)", "x[$span]", 'x{a="b"} + $c'])
def test_a_variable_without_a_value_is_named(written: str) -> None:
    with pytest.raises(UnusableError, match="variable"):
        with_placeholders(written, {"top": "5) or vector(1"})


def test_everywhere_leaves_no_placeholder() -> None:
    assert everywhere('rate(x{job=~"${job}"}[${rate_interval}])', 60.0) == 'rate(x{job=~".+"}[60s])'


@given(st.text(alphabet='ab{}[]()$"=~!, _1><', max_size=60))
def test_any_text_is_read_or_refused(written: str) -> None:
    try:
        body, _ = with_placeholders(judged(written), {})
    except UnusableError:
        return
    assert isinstance(body, str)
