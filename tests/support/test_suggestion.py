"""What is proposed in place of an unknown name."""

from __future__ import annotations

from revelio.support.suggestion import suggestion


def test_a_misspelt_name_gets_the_one_that_is_close() -> None:
    assert suggestion("promtheus", ["loki", "prometheus"]) == "did you mean prometheus?"


def test_any_other_name_gets_all_there_are() -> None:
    assert suggestion("datadog", ["loki", "prometheus"]) == "there are: loki, prometheus"
