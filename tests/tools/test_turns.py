"""A few questions at once to one source, and nobody who has to wait for ever."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from revelio.errors import SourceError
from revelio.tools.turns import Turns


def test_an_answer_or_what_was_raised_comes_to_whoever_asked() -> None:
    turns = Turns("logs", 1.0)
    assert turns.begin(lambda: 7).result(5.0) == 7
    with pytest.raises(ZeroDivisionError):
        turns.begin(lambda: 1 / 0).result(5.0)
    assert turns.begin(lambda: 8).result(5.0) == 8


def test_only_so_many_are_asked_at_once_and_who_gets_no_turn_is_told() -> None:
    turns, go, asked = Turns("logs", 0.2, at_once=2), threading.Event(), threading.Semaphore(0)

    def ask() -> str:
        asked.release()
        go.wait(20.0)
        return "told"

    first: list[Future[str]] = [turns.begin(ask) for _ in range(2)]
    assert all(asked.acquire(timeout=5.0) for _ in first)
    with pytest.raises(SourceError, match="still owes the answers to 2 earlier questions"):
        turns.begin(lambda: "late").result(5.0)
    go.set()
    assert [answer.result(5.0) for answer in first] == ["told", "told"]
    assert turns.begin(lambda: "again").result(5.0) == "again"


def test_a_question_without_an_answer_does_not_keep_the_process() -> None:
    done = threading.Event()
    answer = Turns("logs", 1.0).begin(lambda: done.wait(20.0))
    held = [t for t in threading.enumerate() if t.name == "ask-logs"]
    assert held
    assert all(t.daemon for t in held)
    done.set()
    assert answer.result(5.0)
