"""Passwords and what a terminal would obey stay out of text; the rest stays as it is."""

from __future__ import annotations

import logging
import sys

import pytest

from revelio.clean_text import printable, redact, secrets_in
from revelio.errors import RevelioError, SourceError
from revelio.settings import Backend
from revelio.telemetry_logs import JsonLines, TextLines
from tests.growth import in_proportion


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("http://me:hunter2@es:9200 gave no answer", "http://***@es:9200 gave no answer"),
        ("tcp://me:p@ss@host:1 and redis://:pass@r/0", "tcp://***@host:1 and redis://***@r/0"),
        ("http://me:a/b@es:9200/x", "http://***@es:9200/x"),
        ("https://token123@git", "https://***@git"),
        ("host=db user=x password=hunter2 dbname=y", "host=db user=x password=*** dbname=y"),
        ("http://h/x?token=abcdef&a=1", "http://h/x?token=***&a=1"),
        ("{'Authorization': 'Basic bWU6aHVudGVyMg=='}", "{'Authorization': '***'}"),
        ("sqlite:///var/revelio.db", "sqlite:///var/revelio.db"),
        ("http://h:9090/a@b is not JSON", "http://h:9090/a@b is not JSON"),
        (
            "cannot be reached at http://127.0.0.1:9; is its url right?",
            "cannot be reached at http://127.0.0.1:9; is its url right?",
        ),
        ("postgresql://role:password@host/db", "postgresql://***@host/db"),
    ],
)
def test_passwords_are_redacted(text: str, kept: str) -> None:
    assert redact(text) == kept
    assert redact(kept) == kept
    assert str(RevelioError(text)) == kept
    assert SourceError("logs", text).reason == kept


def test_every_form_of_a_password_is_known() -> None:
    found = secrets_in("http://me:h%40nter2@es:9200")
    assert {"me:h%40nter2", "h%40nter2", "h@nter2", "bWU6aEBudGVyMg=="} == set(found)
    assert redact("sent bWU6aEBudGVyMg== and h@nter2", found) == "sent *** and ***"
    assert secrets_in("http://es:9200") == ()


@pytest.mark.parametrize("unit", ["a", "://", "://a:", "a@", "token=", "password", " "])
def test_redaction_takes_time_in_proportion(unit: str) -> None:
    assert in_proportion(redact, unit, 300_000)


def test_what_a_terminal_obeys_is_spelled_out() -> None:
    assert printable("a\x1b[2J\x07\x9b31m\u202ee\r\n\tö注") == "a\\x1b[2J\\x07\\x9b31m\\u202ee\\x0d\n\tö注"


def test_log_lines_hold_neither(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("http://me:hunter2@es\x1b[2J")
    except ValueError:
        record = logging.LogRecord("x", 40, "x.py", 1, "at %s", ("http://me:hunter2@es\x1b[2J",), sys.exc_info())
    for line in (TextLines().format(record), JsonLines().format(record)):
        assert "hunter2" not in line
        assert "\x1b" not in line


def test_links_hold_no_password() -> None:
    backend = Backend(url="http://a:b@es", link="http://me:hunter2@kibana/x", grafana="https://t@grafana")
    assert (backend.link, backend.grafana, backend.url) == ("http://kibana/x", "https://grafana", "http://a:b@es")
