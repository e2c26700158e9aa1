"""One line a minute for each kind of complaint."""

from __future__ import annotations

import logging

from webui.server.log_limits import OncePerMinute


def test_a_thousand_complaints_are_two_lines_and_the_second_counts_them() -> None:
    now = [0.0]
    limit = OncePerMinute(clock=lambda: now[0])
    written = []
    for n in range(1_001):
        now[0] = 61.0 if n == 1_000 else n / 100
        record = logging.LogRecord("x", logging.WARNING, "", 0, "cut: %s", (n,), None)
        if limit.filter(record):
            written.append(record.getMessage())
    assert written == ["cut: 0", "cut: 1000 (999 more like it since the last line)"]


def test_other_messages_pass() -> None:
    limit = OncePerMinute()
    assert all(limit.filter(logging.LogRecord("x", logging.WARNING, "", 0, words, (), None)) for words in ("one", "two"))
