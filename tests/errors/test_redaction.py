"""Secrets stay out of text, and the words around them stay in it."""

from __future__ import annotations

import logging
import sys

import pytest

from revelio.errors import RevelioError, SourceError
from revelio.errors.redaction import checked_address, is_secret, redact, redact_address, remember, secrets_in
from revelio.settings import Backend
from revelio.settings.access import AccessSettings
from revelio.support.telemetry_logs import JsonLines, TextLines
from tests.growth import in_proportion


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("http://me:hunter2@es:9200 gave no answer", "http://***@es:9200 gave no answer"),
        ("tcp://me:p@ss@host:1 and redis://:pass@r/0", "tcp://***@host:1 and redis://***@r/0"),
        ("http://me:a/b@es:9200/x", "http://***@es:9200/x"),
        ("http://me:12/34@es:9200/x", "http://***@es:9200/x"),
        ("file:///a,http://me:12?3#4@es", "file:///a,http://***@es"),
        ("https://token123@git", "https://***@git"),
        ("//me:hunter2@es and (//token@es)", "//***@es and (//***@es)"),
        ("host=db user=x password=hunter2 dbname=y", "host=db user=x password=*** dbname=y"),
        (r"host=db password='a b\'c' dbname=y", "host=db password='***' dbname=y"),
        ("http://h/x?token=abcdef&a=1", "http://h/x?token=***&a=1"),
        ("https://h/x?sv=1&sig=abc%2Bd&key=e", "https://h/x?sv=1&sig=***&key=***"),
        ("{'Authorization': 'Basic bWU6aHVudGVyMg=='}", "{'Authorization': '***'}"),
        ("Authorization: Bearer abc, X-Api-Key: def", "Authorization: ***, X-Api-Key: ***"),
        (r'{"password": "a\"b", "user": "me"}', '{"password": "***", "user": "me"}'),
        ("SharedAccessKey=abc=;EntityPath=x clientSecret=d", "SharedAccessKey=***;EntityPath=x clientSecret=***"),
    ],
)
def test_secrets_are_hidden(text: str, kept: str) -> None:
    assert redact(text) == kept
    assert redact(kept) == kept
    assert str(RevelioError(text)) == kept
    assert SourceError("logs", text).reason == kept


@pytest.mark.parametrize(
    "text",
    [
        "sqlite:///var/a@b.db",
        "cannot be reached at http://127.0.0.1:9; is its url right?",
        "no Slack token: set slack.bot_token",
        "its url cannot be read; it looks like postgresql://USER:PASSWORD@HOST/DATABASE",
        "Revelio keeps its store in Postgres (postgresql://USER@HOST/NAME)",
        "Access denied for user 'me'@'host' (using password: YES)",
        "a token: write it into token_file, or set token_env",
        "primary key=5, monkey=3, 3 tokens: none",
        "tests/x.py::test_y fails // see me@example.com",
    ],
)
def test_words_stay(text: str) -> None:
    assert redact(text) == text


def test_a_whole_address_may_hold_blanks_and_quotes() -> None:
    assert redact_address("""http://me:a b/'c"<d@es:9200/x?sig=e f""").startswith("http://***@es:9200/x?sig=***")


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("password", True),
        ("PGPASSWORD", True),
        ("X-Auth-Token", True),
        ("clientSecret", True),
        ("slack.bot_tokens", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("routing_key", True),
        ("token_file", False),
        ("password_env", False),
        ("max_report_chars", False),
        ("key", False),
        ("a" * 1_000_000, False),
    ],
)
def test_keys_say_what_is_secret(key: str, secret: bool) -> None:
    assert is_secret(key) is secret


def test_every_form_of_a_password_is_known() -> None:
    found = secrets_in("http://me:h%40nter2@es:9200")
    assert {"me:h%40nter2", "h%40nter2", "h@nter2", "bWU6aEBudGVyMg=="} == set(found)
    assert redact("sent bWU6aEBudGVyMg== and h@nter2", found) == "sent *** and ***"
    assert secrets_in("http://es:9200") == ()
    assert secrets_in("https://t0ken@es") == ("t0ken",)
    assert secrets_in("postgresql://reader@db/x") == ()
    assert secrets_in("host=db password='a b c'") == ("a b c",)


def test_what_is_remembered_is_hidden_in_each_form_of_it() -> None:
    remember('x/y z+"1é')
    for form in ('x/y z+"1é', "x%2Fy%20z%2B%221%C3%A9", "x%2Fy+z%2B%221%C3%A9", r"x/y z+\"1\u00e9"):
        assert redact(f"driver says <{form}>") == "driver says <***>", form


def test_short_words_are_not_searched_in_sentences() -> None:
    remember("shop", "password", "5432", "ab1")
    assert redact("the password of shop at 5432, ab1") == "the password of shop at 5432, ab1"


def test_settings_are_remembered_as_they_are_read() -> None:
    AccessSettings(token="c4nary-token", headers={"X-Any": "c4nary-header"}, proxy="http://p:c4nary-proxy@h:1")
    Backend(url="http://c4nary-url@h")
    assert redact("c4nary-token c4nary-header c4nary-proxy c4nary-url") == "*** *** *** ***"


@pytest.mark.parametrize(
    "address",
    ["http://u:p@ss@h", "http://u:p/ss@h", "http://u:12/3@h", "http://u:p?s@h", "http://u:p#s@h", "http://u:p s@h", "//a b@h"],
)
def test_an_address_that_could_be_read_in_two_ways_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="%2F") as refused:
        checked_address(address)
    assert "ss" not in str(refused.value).split("password", 1)[0]
    with pytest.raises(ValueError, match="%2F") as refused:
        Backend(url=address)
    assert address not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    ["http://u:p%2Fs@h:9/x?y=z", "sqlite:///a b@c", "kubeconfig:/a b#me@there", "unix:///var/x", "host=a password='b c'"],
)
def test_other_addresses_are_taken_as_they_are(address: str) -> None:
    assert Backend(url=address).url == address


@pytest.mark.parametrize("unit", ["a", "://", "://a:", "a@", "token=", "password", " ", 'token="', "token:'\\", "//a@ "])
def test_redaction_takes_time_in_proportion(unit: str) -> None:
    assert in_proportion(redact, unit, 300_000)


def test_log_lines_hold_no_secret_and_nothing_that_a_terminal_obeys() -> None:
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
