"""What is so at this hour of every day is no deviation, and costs a few requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.catalog.conventions import Profile, recorded_profile
from revelio.settings import Backend
from revelio.support.anomaly import deviation, split
from revelio.tools.base import Limits, Scope
from revelio.tools.prometheus import imported, open_metrics, snapshot
from revelio.tools.prometheus.earlier import AGO_S, DAY_S, REQUESTS
from revelio.tools.prometheus.tool import Prometheus
from revelio.types import Series, Window
from tests.tools.conftest import SCOPE, bound, spec

_READING = re.compile(r'label_replace\(((?:(?!label_replace\().)*?), "revelio_reading", "(\d+)"')


class Known(Prometheus):
    """One whose conventions are known already."""

    def discover(self, project: str, *, refresh: bool = False) -> Profile:
        return recorded_profile()


Value = Callable[[float], float | None]


def serve(httpserver: HTTPServer, cpu: Value) -> Prometheus:
    """One container whose CPU use at a moment is ``cpu``; it raises ``OSError`` for what the backend refuses."""

    def handler(request: Request) -> Response:
        query, at, end, step = (request.form[key] for key in ("query", "start", "end", "step"))
        marks = [m[2] for m in _READING.finditer(query) if "container_cpu_usage_seconds_total" in m[1] and "quota" not in m[1]]
        moments = [float(at) + i * float(step) for i in range(int((float(end) - float(at)) / float(step)) + 1)]
        try:
            points = [[t, str(v)] for t in moments if (v := cpu(t)) is not None]
        except OSError:
            return Response(json.dumps({"status": "error", "error": "too much"}), 422, mimetype="application/json")
        single = [] if "revelio_reading" in query else [""]
        rows = [
            {"metric": {"container": "cart", "revelio_reading": mark}, "values": points} for mark in marks or single if points
        ]
        answer = {"status": "success", "data": {"resultType": "matrix", "result": rows}}
        return Response(json.dumps(answer), mimetype="application/json")

    httpserver.expect_request("/api/v1/query_range", method="POST").respond_with_handler(handler)
    return Known(spec("prometheus"), Backend(url=httpserver.url_for("")), Limits(seconds=20.0))


def now(moment: float) -> bool:
    return moment >= SCOPE.window.start


def nightly(moment: float) -> float:
    """High in the half minute of the window, on every day."""
    return 0.9 if (SCOPE.window.end - moment) % DAY_S <= SCOPE.window.seconds else 0.1


def today(moment: float) -> float:
    return 0.9 if now(moment) else 0.1


def young(moment: float) -> float | None:
    """Nothing was measured before today."""
    return None if moment < SCOPE.baseline.start else today(moment)


def cpu_of(tool: Prometheus, scope: Scope = SCOPE) -> Series:
    return next(s for s in tool.snapshot(scope).series if s.metric == "cpu")


def far(series: Series) -> float:
    before, at = split(series.times, series.values, SCOPE.baseline, SCOPE.window)
    return deviation(before, at, "up", earlier=series.earlier)


def test_a_nightly_job_is_no_deviation_and_the_same_height_on_one_day_is(httpserver: HTTPServer) -> None:
    assert far(cpu_of(serve(httpserver, nightly))) < 1
    httpserver.clear()
    series = cpu_of(serve(httpserver, today))
    assert len(series.earlier) == len(AGO_S) and far(series) > 20


def test_what_is_drawn_and_ranked_over_time_stays_the_window_and_its_baseline(httpserver: HTTPServer) -> None:
    series = cpu_of(serve(httpserver, nightly))
    assert series.times[0] >= SCOPE.baseline.start and series.times[-1] <= SCOPE.window.end


def test_a_server_that_does_not_reach_back_is_asked_once(httpserver: HTTPServer) -> None:
    assert cpu_of(serve(httpserver, young)).earlier == ()
    ends = [float(request.form["end"]) for request, _ in httpserver.log if request.path.endswith("query_range")]
    assert len([end for end in ends if end < SCOPE.baseline.start]) <= REQUESTS


def test_a_snapshot_with_earlier_windows_takes_at_most_thirty_requests(httpserver: HTTPServer) -> None:
    cpu_of(serve(httpserver, nightly))
    assert len(httpserver.log) <= 30
    screened = 1 + open_metrics.REQUESTS + 1
    again = len(AGO_S) * (REQUESTS + 1)
    assert snapshot.REQUESTS + imported.REQUESTS + screened + again <= 30


def test_a_server_that_refuses_earlier_windows_costs_them_alone(httpserver: HTTPServer) -> None:
    def refusing(moment: float) -> float:
        if moment < SCOPE.baseline.start:
            raise OSError
        return today(moment)

    series = cpu_of(serve(httpserver, refusing))
    assert series.earlier == () and far(series) > 20


def test_a_window_longer_than_a_day_is_not_compared_with_itself(httpserver: HTTPServer) -> None:
    end = SCOPE.window.end
    long = Scope("shop", Window(end - 1.5 * DAY_S, end), Window(end - 3.0 * DAY_S, end - 1.5 * DAY_S))
    assert len(cpu_of(serve(httpserver, today), long).earlier) == 1


@pytest.mark.parametrize(("value", "signal"), [(nightly, 0.0), (today, 1.0)])
def test_a_query_that_is_run_is_judged_alike(httpserver: HTTPServer, value: Value, signal: float) -> None:
    result = serve(httpserver, value).run(bound("prometheus.cpu", container="cart"), SCOPE)
    assert result.signal == signal
    assert ("at this hour of earlier days" in result.reason) == (signal == 0.0)
