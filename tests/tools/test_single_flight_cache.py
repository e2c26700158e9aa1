"""Values are cached for a while, and concurrent callers share one request."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from revelio.errors import SourceError
from revelio.tools.single_flight_cache import SingleFlightCache

PATIENCE_S = 10.0


class Slow:
    """A request that blocks until it is released; counts its calls."""

    def __init__(self) -> None:
        self.put, self.begun, self.free = 0, threading.Event(), threading.Event()

    def answer(self) -> str:
        self.put += 1
        self.begun.set()
        assert self.free.wait(PATIENCE_S)
        return "told"

    def failure(self) -> str:
        self.answer()
        raise SourceError("jaeger", "gave no answer")


def test_concurrent_callers_share_one_request() -> None:
    slow, cache = Slow(), SingleFlightCache[str](maxsize=4, ttl=60.0)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(cache.get_or_call, "a", slow.answer)
        assert slow.begun.wait(PATIENCE_S)
        others = [pool.submit(cache.get_or_call, "a", slow.answer) for _ in range(2)]
        while any(not o.running() for o in others):
            pass
        assert cache.get_or_call("b", lambda: "another's") == "another's"
        slow.free.set()
        assert [f.result(PATIENCE_S) for f in (first, *others)] == ["told"] * 3
    assert slow.put == 1


def test_an_error_reaches_every_waiting_caller_and_is_not_cached() -> None:
    slow, cache = Slow(), SingleFlightCache[str](maxsize=4, ttl=60.0)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(cache.get_or_call, "a", slow.failure) for _ in range(2)]
        assert slow.begun.wait(PATIENCE_S)
        slow.free.set()
        for one in asked:
            with pytest.raises(SourceError, match="gave no answer"):
                one.result(PATIENCE_S)
    assert cache.get_or_call("a", lambda: "well again") == "well again"


def test_a_value_is_cached_only_when_asked_for() -> None:
    cache = SingleFlightCache[str](maxsize=4, ttl=60.0)
    assert cache.get_or_call("passing", lambda: "old", keep=False) == "old"
    assert cache.get_or_call("passing", lambda: "new", keep=False) == "new"
    assert cache.get_or_call("settled", lambda: "old") == "old"
    assert cache.get_or_call("settled", lambda: "new") == "old"


def test_values_are_evicted_by_number_and_age() -> None:
    cache = SingleFlightCache[int](maxsize=2, ttl=60.0)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    assert [cache.get(key) for key in "abc"] == [None, 1, 2]
    brief = SingleFlightCache[int](maxsize=2, ttl=0.0)
    brief.put("a", 1)
    assert brief.get("a") is None
