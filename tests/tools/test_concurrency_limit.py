"""Requests to one source run concurrently up to a limit, and no caller waits for ever."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from revelio.errors import SourceError
from revelio.tools.concurrency_limit import ConcurrencyLimit


def test_the_future_has_the_result_or_the_error() -> None:
    limit = ConcurrencyLimit("logs", 1.0)
    assert limit.submit(lambda: 7).result(5.0) == 7
    with pytest.raises(ZeroDivisionError):
        limit.submit(lambda: 1 / 0).result(5.0)
    with pytest.raises(SourceError, match=r"in a form that is not its own \(KeyError\)"):
        limit.submit(lambda: dict[str, str]()["data"]).result(5.0)
    assert limit.submit(lambda: 8).result(5.0) == 8


def test_requests_over_the_limit_fail_with_a_reason() -> None:
    limit, go, asked = ConcurrencyLimit("logs", 0.2, max_concurrent=2), threading.Event(), threading.Semaphore(0)

    def ask() -> str:
        asked.release()
        go.wait(20.0)
        return "told"

    first: list[Future[str]] = [limit.submit(ask) for _ in range(2)]
    assert all(asked.acquire(timeout=5.0) for _ in first)
    with pytest.raises(SourceError, match="has not answered 2 earlier requests"):
        limit.submit(lambda: "late").result(5.0)
    go.set()
    assert [answer.result(5.0) for answer in first] == ["told", "told"]
    assert limit.submit(lambda: "again").result(5.0) == "again"


def test_a_request_without_an_answer_does_not_keep_the_process() -> None:
    done = threading.Event()
    answer = ConcurrencyLimit("logs", 1.0).submit(lambda: done.wait(20.0))
    held = [t for t in threading.enumerate() if t.name == "ask-logs"]
    assert held
    assert all(t.daemon for t in held)
    done.set()
    assert answer.result(5.0)
