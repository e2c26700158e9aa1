"""Two faults in force at once: the report decides which one the first query is about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import load_settings


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    opened = Service(load_settings())
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("incident", "report", "component"),
    [
        ("travel-435f94bb1ba", "Nobody can log in, error 502", "auth"),
        ("travel-435f94bb1ba", "The seat map does not load", "seats"),
        ("travel-435f94bb1ba", "Can't pick a seat, it just spins and then times out", "seats"),
        ("travel-8c5db872bca", "Searching for trains fails with 504", "trips"),
        ("travel-8c5db872bca", "I press Book and get an error page", "booking"),
        ("travel-8c5db872bca", "Cancelling my booking gives 502", "booking"),
    ],
)
def test_the_first_query_is_about_the_component_that_the_report_means(
    service: Service, incident: str, report: str, component: str
) -> None:
    answer = service.rank(RecommendRequest(report, incident=incident, k=1))
    assert component in dict(answer.queries[0].query.bindings).values()
