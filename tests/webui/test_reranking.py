"""What came back decides the order, the model the rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from revelio.types import Query, QueryTemplate, RankedQuery, Result
from revelio.workbench import NOT_RUN
from webui.reranking import by_evidence

STANDS_OUT, AS_BEFORE, FAILED = Result("3 errors", 0.9, ""), Result("none", 0.0, ""), Result(f"{NOT_RUN}it is down", 0.0, "")


def ranked(*results: Result | None) -> tuple[RankedQuery, ...]:
    return tuple(
        RankedQuery(Query(QueryTemplate(f"t{i}", "tool", "", "", "")), i, 0.5 / i, (), result=result)
        for i, result in enumerate(results, 1)
    )


def order(*results: Result | None) -> list[int]:
    return [s.ranked.rank for s in by_evidence(ranked(*results))]


def test_with_nothing_run_the_order_is_the_models() -> None:
    assert order(None, None, None) == [1, 2, 3]


def test_what_shows_nothing_sinks_below_what_shows_something_and_below_what_is_not_known() -> None:
    assert order(AS_BEFORE, STANDS_OUT, None, FAILED, AS_BEFORE, STANDS_OUT) == [2, 6, 3, 4, 1, 5]


def test_each_place_is_explained_in_words() -> None:
    words = [s.because for s in by_evidence(ranked(AS_BEFORE, STANDS_OUT, FAILED))]
    assert words == [
        "Up from 2: its result stands out",
        "Up from 3: no result yet",
        "Down from 1: its result shows nothing unusual",
    ]
    assert by_evidence(ranked(STANDS_OUT))[0].because == "Same place: its result stands out"


@given(st.lists(st.sampled_from([None, STANDS_OUT, AS_BEFORE, FAILED]), max_size=12))
def test_no_query_is_lost_and_no_figure_changed(results: list[Result | None]) -> None:
    before = ranked(*results)
    after = by_evidence(before)
    assert sorted((s.ranked for s in after), key=lambda q: q.rank) == list(before)
    assert [s.place for s in after] == list(range(1, len(before) + 1))
