"""The history is searched by what people remember: words, system, verdict, day."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import update

from revelio.store import Store
from revelio.store.history import Judged, Search, asked_systems, search_history
from revelio.store.tables import RecommendationRow
from revelio.types import Evidence, Incident, Query, QueryTemplate, RankedQuery, Recommendation, Window

ASKED = (
    ("checkout takes 100% of an age", "shop", "found", "the CPU_quota of cart"),
    ("search is slow", "shop", "not_useful", ""),
    ("front page is empty", "forum", "", ""),
    ("login fails", "forum", "helpful", "wrong password of the database"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Four answers, a thousand seconds apart, the first at 1000."""
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('history')}/revelio.db")
    template = QueryTemplate("t", "prometheus", "Latency of everything", "", "")
    for i, (report, system, verdict, note) in enumerate(ASKED):
        incident = Incident(f"i{i}", system, report, 0.0, Evidence(Window(1, 2), Window(0, 1)))
        ranked = RankedQuery(Query(template), 1, 0.5, ())
        saved = store.save(Recommendation(incident, (ranked,), 0.1, "m"), recorded="i2" if i == 2 else None)
        if verdict:
            store.add_feedback(saved.id, ranked.query.id, "not_useful")
            store.add_feedback(saved.id, ranked.query.id, verdict, note)  # type: ignore[arg-type]
        with store.database.quick.begin() as connection:
            connection.execute(
                update(RecommendationRow).where(RecommendationRow.id == saved.id).values(saved_at=1000.0 * (i + 1))
            )
    yield store
    store.close()


def reports(store: Store, wanted: Search) -> list[str]:
    return [a.entry.report for a in search_history(store, wanted).answers]


def test_everything_comes_newest_first(store: Store) -> None:
    assert reports(store, Search()) == [a[0] for a in reversed(ASKED)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SLOW search", 1),
        ("slow login", 0),
        ("100%", 1),
        ("%", 1),
        ("_", 1),
        ("cpu_quota", 1),
        ("password", 1),
        ("latency", 4),
        ("'; drop table feedback; --", 0),
    ],
)
def test_every_word_has_to_occur_in_report_note_or_title(store: Store, text: str, found: int) -> None:
    assert len(reports(store, Search(text=text))) == found


@pytest.mark.parametrize(("judged", "found"), [("found", [0]), ("helpful", [3]), ("not_useful", [1]), ("none", [2])])
def test_the_last_word_on_a_query_counts(store: Store, judged: Judged, found: list[int]) -> None:
    assert reports(store, Search(judged=judged)) == [ASKED[i][0] for i in found]


def test_notes_come_with_their_verdict(store: Store) -> None:
    answers = search_history(store, Search()).answers
    assert [(a.entry.verdict, a.note) for a in answers] == [(v or None, n) for _, _, v, n in reversed(ASKED)]


def test_filters_narrow_each_other(store: Store) -> None:
    assert reports(store, Search(system="forum", since=4000.0)) == ["login fails"]
    assert reports(store, Search(system="forum", until=4000.0)) == ["front page is empty"]
    assert reports(store, Search(system="forum", until=4000.0, live_only=True)) == []


def test_pages_add_up(store: Store) -> None:
    pages = [search_history(store, Search(), limit=3, offset=o) for o in (0, 3, 6)]
    assert [len(p.answers) for p in pages] == [3, 1, 0]
    assert {p.total for p in pages} == {4}


def test_the_systems_that_were_asked_about(store: Store) -> None:
    assert asked_systems(store) == ("forum", "shop")
