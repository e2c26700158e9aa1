"""Answers that are kept for a while and asked for once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from revelio.errors import SourceError
from revelio.tools.recent import Recent

PATIENCE_S = 10.0


class Slow:
    """A question whose answer waits until it is let go; counts how often it was put."""

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


def test_who_asks_while_an_answer_is_awaited_shares_it() -> None:
    slow, recent = Slow(), Recent[str](most=4, seconds=60.0)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(recent.shared, "a", slow.answer)
        assert slow.begun.wait(PATIENCE_S)
        others = [pool.submit(recent.shared, "a", slow.answer) for _ in range(2)]
        while any(not o.running() for o in others):
            pass
        assert recent.shared("b", lambda: "another's") == "another's"
        slow.free.set()
        assert [f.result(PATIENCE_S) for f in (first, *others)] == ["told"] * 3
    assert slow.put == 1


def test_an_error_is_everybodys_and_the_next_one_asks_anew() -> None:
    slow, recent = Slow(), Recent[str](most=4, seconds=60.0)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(recent.shared, "a", slow.failure) for _ in range(2)]
        assert slow.begun.wait(PATIENCE_S)
        slow.free.set()
        for one in asked:
            with pytest.raises(SourceError, match="gave no answer"):
                one.result(PATIENCE_S)
    assert recent.shared("a", lambda: "well again") == "well again"


def test_an_answer_is_kept_for_later_only_when_it_is_worth_it() -> None:
    recent = Recent[str](most=4, seconds=60.0)
    assert recent.shared("passing", lambda: "old", keep=False) == "old"
    assert recent.shared("passing", lambda: "new", keep=False) == "new"
    assert recent.shared("settled", lambda: "old") == "old"
    assert recent.shared("settled", lambda: "new") == "old"


def test_the_oldest_goes_when_there_are_too_many_and_all_go_with_time() -> None:
    recent = Recent[int](most=2, seconds=60.0)
    for number, key in enumerate("abc"):
        recent.put(key, number)
    assert [recent.get(key) for key in "abc"] == [None, 1, 2]
    brief = Recent[int](most=2, seconds=0.0)
    brief.put("a", 1)
    assert brief.get("a") is None
