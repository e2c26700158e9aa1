"""Progress tells of each data source what it does, and cancels requests whose page has gone."""

from __future__ import annotations

import pytest

from revelio.errors import CancelledError, SourceError
from revelio.support.progress import Progress, SourceProgress, followed, report_progress, stop_if_cancelled


def fails() -> str:
    raise SourceError("jaeger", "is away")


def test_each_source_is_told_with_how_long_it_took_over_all_rounds() -> None:
    now = 0.0
    progress = Progress(clock=lambda: now)
    with followed(progress):
        for _ in range(2):
            with report_progress({"prometheus": lambda: "up", "jaeger": fails, "loki": lambda: "up"}) as asks:
                assert {s.state for s in progress.sources} == {"asking"}
                now += 2.0
                assert asks["prometheus"]() == "up"
                with pytest.raises(SourceError):
                    asks["jaeger"]()
                now += 1.0
    assert progress.sources == (
        SourceProgress("jaeger", "silent", 4.0),
        SourceProgress("loki", "silent", 6.0),
        SourceProgress("prometheus", "answered", 4.0),
    )


def test_an_answer_that_comes_too_late_stays_silent() -> None:
    progress = Progress()
    with followed(progress):
        with report_progress({"loki": lambda: "up"}) as asks:
            pass
        asks["loki"]()
    assert [s.state for s in progress.sources] == ["silent"]


def test_nothing_more_is_asked_for_a_cancelled_question() -> None:
    progress = Progress()
    with followed(progress):
        stop_if_cancelled()
        progress.cancel()
        with pytest.raises(CancelledError):
            stop_if_cancelled()
        with pytest.raises(CancelledError), report_progress({"loki": lambda: "up"}):
            raise AssertionError("asked all the same")
    stop_if_cancelled()
