"""What a body about signals may look like."""

from __future__ import annotations

import pytest

from revelio.catalog.conventions.rendering import asked
from revelio.errors import SourceError


def test_a_body_about_one_signal_is_read() -> None:
    question = asked("signal: cpu\nof: ${service}\n")
    assert question is not None
    assert question.signals == (("", "cpu"),)
    assert question.blanks == ("service",)


def test_any_other_body_is_promql() -> None:
    assert asked("sum(up)") is None


@pytest.mark.parametrize("body", ["signal: [", "signal: " + "[" * 5000, "signals: 3", "signal: cpu\nof: 3", "signal:\n- cpu\nx"])
def test_a_body_that_is_neither_is_an_error_in_words(body: str) -> None:
    with pytest.raises(SourceError, match="looks like this"):
        asked(body)
