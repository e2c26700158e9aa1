"""What a store says now becomes a past: samples are kept, counters become rates, and what nobody saw is not made up."""

from __future__ import annotations

import threading
import time

import pytest

from revelio.catalog import Metric
from revelio.errors import SourceError
from revelio.tools import samples as sampling
from revelio.tools.base import Scope
from revelio.tools.sample_series import increase, series_of, verdict
from revelio.tools.samples import Sample, Sampler
from revelio.types import Entity, Query, QueryTemplate, Reading, Series, Window

NOW = 1_700_000_000.0
SCOPE = Scope("shop", Window(NOW - 20, NOW), Window(NOW - 60, NOW - 20))


def metric(name: str, unit: str, *, absent_is_zero: bool = False, noise_floor: float = 1.0) -> Metric:
    return Metric(name, "q", "server", "all", unit, noise_floor, "up", absent_is_zero)


GAUGE, COUNTER = metric("gauge", "sessions"), metric("counter", "rows/s")
NORMALLY_NONE = metric("waits", "sessions", absent_is_zero=True)


def at(moment: float, counting_s: float = 0.0, **values: float) -> Sample:
    return Sample(moment, {(name, "db"): value for name, value in values.items()}, counting_s)


def one(samples: list[Sample], of: Metric, scope: Scope = SCOPE) -> Series:
    [series] = series_of(samples, [of], scope)
    return series


def judged(samples: list[Sample], of: Metric, scope: Scope = SCOPE) -> tuple[float, str]:
    template = QueryTemplate("t", "db", "t", "", "", (), (Reading("series", of.name),))
    found = verdict(Query(template), series_of(samples, [of], scope), [of], scope, "db")
    return found.signal, found.reason


def watched(value: dict[str, tuple[float, float]]) -> list[Sample]:
    """Samples every two seconds over baseline and window; each figure has a value before and one in the window."""
    moments = [NOW - 72 + 2 * i for i in range(37)]
    return [at(m, **{name: v[m >= SCOPE.window.start] for name, v in value.items()}) for m in moments]


def test_a_figure_is_compared_with_what_was_read_in_the_baseline() -> None:
    series = one(watched({"gauge": (2, 12)}), GAUGE)
    assert series.entity == Entity("server", "db")
    assert {v for t, v in zip(series.times, series.values, strict=True) if t < SCOPE.window.start} == {2}
    assert judged(watched({"gauge": (2, 12)}), GAUGE)[0] == 1.0
    assert judged(watched({"gauge": (2, 2)}), GAUGE) == (0.0, "no anomaly")


def test_a_counter_is_read_as_a_rate_over_ten_seconds() -> None:
    samples = [at(NOW - 72 + 2 * i, counter=100.0 * i + (1000.0 * (i - 26) if i > 26 else 0.0)) for i in range(37)]
    series = one(samples, COUNTER)
    assert series.values[0] == pytest.approx(50.0)
    assert series.values[-1] == pytest.approx(550.0)


def test_lumps_in_which_sessions_report_do_not_look_like_bursts() -> None:
    samples = [at(NOW - 72 + 2 * i, counter=1000.0 * (2 * i // 8)) for i in range(37)]
    assert judged(samples, metric("counter", "rows/s", noise_floor=60.0))[0] < 0.2


def test_a_counter_that_began_anew_does_not_go_back() -> None:
    samples = [at(NOW - 30, counter=9000.0), at(NOW - 20, counter=9100.0), at(NOW - 10, counter=50.0), at(NOW, counter=100.0)]
    assert one(samples, COUNTER).values == pytest.approx((10.0, 5.0, 5.0))


def test_a_table_that_is_new_has_no_rate_out_of_nowhere() -> None:
    assert one([at(NOW - 30), at(NOW - 10, counter=1e9), at(NOW, counter=1e9)], COUNTER).values[0] == 0.0


def test_a_service_that_has_no_sessions_any_more_has_none() -> None:
    assert one([at(NOW - 30, gauge=5.0), at(NOW - 10, gauge=5.0), at(NOW)], GAUGE).values == (5.0, 0.0)


def test_where_nobody_watched_a_counter_is_compared_with_its_average_so_far() -> None:
    samples = [at(NOW + 0.1, counting_s=1000.0, counter=2000.0), at(NOW + 1.1, counting_s=1000.0, counter=2100.0)]
    series = one(samples, COUNTER)
    assert series.values == pytest.approx((2.1, 100.0))
    assert series.times == (SCOPE.baseline.start + 20, NOW)
    assert judged(samples, COUNTER)[0] == 1.0


def test_where_nobody_watched_what_is_normally_not_there_is_compared_with_nothing_there() -> None:
    samples = [at(NOW + 0.1, waits=3.0), at(NOW + 1.1, waits=9.0)]
    assert one(samples, NORMALLY_NONE).values[0] == 0.0
    assert judged(samples, NORMALLY_NONE)[0] == 1.0


def test_where_nobody_watched_any_other_figure_says_nothing() -> None:
    samples = [at(NOW + 0.1, gauge=3.0), at(NOW + 1.1, gauge=90.0)]
    assert one(samples, GAUGE).times == (NOW,)
    assert judged(samples, GAUGE) == (0.0, "no baseline yet")


def test_what_is_asked_long_after_the_window_does_not_pass_for_it() -> None:
    samples = [at(NOW + 60, waits=3.0), at(NOW + 61, waits=9.0)]
    assert series_of(samples, [NORMALLY_NONE], SCOPE) == ()
    assert judged(samples, NORMALLY_NONE) == (0.0, "nothing was measured")


def test_the_same_question_about_the_time_before_finds_it_healthy() -> None:
    earlier = Scope("shop", Window(NOW - 40, NOW - 20), Window(NOW - 60, NOW - 40))
    assert judged(watched({"gauge": (2, 12)}), GAUGE, earlier)[0] < 0.2


def test_the_increase_counts_from_the_windows_start() -> None:
    samples = [at(NOW - 30, counter=10.0), at(NOW - 20, counter=20.0), at(NOW, counter=50.0)]
    assert increase(samples, "counter", "db", SCOPE) == 30.0
    assert increase(samples[2:], "counter", "db", SCOPE) is None
    assert increase(samples, "other", "db", SCOPE) is None


def test_all_series_share_their_times() -> None:
    series = series_of(watched({"gauge": (1, 1), "counter": (5, 5), "waits": (0, 0)}), [GAUGE, COUNTER, NORMALLY_NONE], SCOPE)
    assert len({s.times for s in series}) == 1


def test_the_first_question_looks_twice_and_then_it_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY_S", 0.05)
    monkeypatch.setattr(sampling, "APART_S", 0.1)
    watch = Sampler("db", lambda _: at(time.time()), 5.0)
    first = watch.samples(time.monotonic() + 5.0)
    assert len(first) == 2
    assert first[1].at - first[0].at >= 0.1
    deadline = time.monotonic() + 5.0
    while len(watch.samples(time.monotonic() + 5.0)) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    watch.close()
    assert len(watch.samples(time.monotonic() + 5.0)) >= 5
    assert threading.active_count() < 50


def test_nothing_is_asked_before_the_first_question_nor_after_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY_S", 0.02)
    asked: list[float] = []

    def look(_: float) -> Sample:
        asked.append(time.time())
        return at(time.time())

    watch = Sampler("db", look, 5.0)
    time.sleep(0.1)
    assert asked == []
    watch.samples(time.monotonic() + 1.0)
    watch.close()
    so_far = len(asked)
    time.sleep(0.1)
    assert len(asked) == so_far


def test_a_store_that_fails_is_told_to_who_asks_and_watched_again_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY_S", 0.02)
    monkeypatch.setattr(sampling, "APART_S", 0.01)
    monkeypatch.setattr(sampling, "_FRESH_S", 0.0)
    down = [False]

    def look(_: float) -> Sample:
        if down[0]:
            raise SourceError("db", "is down")
        return at(time.time())

    watch = Sampler("db", look, 5.0)
    before = len(watch.samples(time.monotonic() + 1.0))
    down[0] = True
    time.sleep(0.1)
    with pytest.raises(SourceError, match="is down"):
        watch.samples(time.monotonic() + 1.0)
    down[0] = False
    time.sleep(0.2)
    assert len(watch.samples(time.monotonic() + 1.0)) > before + 2
    watch.close()


def test_who_asks_while_another_question_hangs_waits_no_longer_than_the_limit() -> None:
    release = threading.Event()

    def look(_: float) -> Sample:
        release.wait(3.0)
        return at(time.time())

    watch = Sampler("db", look, 0.3)
    first = threading.Thread(target=lambda: watch.samples(time.monotonic() + 3.0))
    first.start()
    time.sleep(0.05)
    began = time.monotonic()
    with pytest.raises(SourceError, match=r"no answer within 0\.3 s"):
        watch.samples(time.monotonic() + 0.3)
    assert time.monotonic() - began < 1.0
    release.set()
    first.join()
    watch.close()


def test_old_readings_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "KEPT_S", 0.0)
    monkeypatch.setattr(sampling, "EVERY_S", 0.01)
    monkeypatch.setattr(sampling, "APART_S", 0.01)
    watch = Sampler("db", lambda _: at(time.time()), 5.0)
    watch.samples(time.monotonic() + 1.0)
    time.sleep(0.1)
    assert len(watch.samples(time.monotonic() + 1.0)) == 1
    watch.close()
