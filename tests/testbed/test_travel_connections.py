"""Of the connections with a change only those are shown that nothing else beats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from apps.travel.trip import Trip
from apps.travel.trips import Connection, _best

DAY = datetime(2026, 12, 1, tzinfo=UTC)


def way(leaves: int, takes: int, changes: int = 1, run: int = 1) -> Connection:
    trips = tuple(Trip(run + i, "ABB", "HUR") for i in range(changes + 1))
    return Connection(DAY + timedelta(minutes=leaves), DAY + timedelta(minutes=leaves + takes), trips)


def test_a_change_that_a_direct_train_beats_is_left_out() -> None:
    direct = way(10, 60, changes=0)
    assert _best([way(5, 70), way(10, 60), way(20, 80)], [direct]) == [way(20, 80)]


def test_of_equal_connections_the_first_is_kept_and_the_quickest_stands_first() -> None:
    assert _best([way(10, 60, run=7), way(10, 60, run=9), way(90, 30)], []) == [way(90, 30), way(10, 60, run=7)]


@given(st.lists(st.builds(way, st.integers(0, 300), st.integers(1, 300)), max_size=25))
def test_what_is_left_out_is_beaten_by_what_is_kept(found: list[Connection]) -> None:
    kept = _best(found, [])
    assert all(any(k.is_better(f) or (k.departs, k.arrives) == (f.departs, f.arrives) for k in kept) for f in found)
    assert not any(a.is_better(b) for a in kept for b in kept)
