"""The railway serves every station, and its trains go forward."""

from __future__ import annotations

from itertools import pairwise

from apps.travel.network import lines, stations


def test_every_station_has_a_code_of_its_own_and_two_lines_at_least() -> None:
    codes = [station.code for station in stations()]
    assert len(set(codes)) == 60
    served = [stop.station for line in lines() for stop in line.stops]
    assert min(served.count(code) for code in codes) >= 2


def test_every_line_has_a_name_of_its_own_and_goes_forward() -> None:
    assert len({line.name for line in lines()}) == 40
    for line in lines():
        assert len({stop.station for stop in line.stops}) == len(line.stops) >= 2
        assert all(a.minutes < b.minutes and a.km < b.km for a, b in pairwise(line.stops))
        assert line.name.startswith(line.category.name)


def test_most_journeys_need_one_change_at_most() -> None:
    reach: dict[str, set[str]] = {}
    for line in lines():
        stops = {stop.station for stop in line.stops}
        for code in stops:
            reach[code] = reach.get(code, set()) | stops
    pairs = [(a, b) for a in reach for b in reach if a != b]
    assert sum(any(b in reach[via] for via in reach[a]) for a, b in pairs) > 0.7 * len(pairs)
