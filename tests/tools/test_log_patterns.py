"""Log patterns: lines that differ in their variable parts only are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.tools.log_patterns import Lines, LogRecord, level_of, mask, mine, phrases, recounted
from tests.growth import in_proportion


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order 65 placed over 172.62", "order 7 placed over 9.1"),
        ("GET /carts/4ee0a6fd-0c0f-4d0a-9d3e-1b2a3c4d5e6f failed", "GET /carts/00000000-1111-2222-3333-444444444444 failed"),
        ('key "a b" missing', 'key "zz" missing'),
        ("no user 'bob' here", "no user 'alice cooper' here"),
        ("peer 10.0.0.1:5432 gone", "peer 192.168.1.77:80 gone"),
        ("mail to a.b@example.org", "mail to someone@mail.example.com"),
        ("at 0x7f3a of page", "at 0xdeadbeef of page"),
        ("session 9f8e7d6c5b4a ended", "session a1b2c3d4e5f6 ended"),
        ("2026-11-21 12:04:20.123 UTC [55] LOG: start", "2026-01-02 01:02:03.4 UTC [7] LOG: start"),
        ("1:M 21 Nov 2026 12:04:20.123 * saved", "33:M 2 Jan 2027 01:02:03.000 * saved"),
        ("boom\n  File a.py, line 3", "boom\n  File b.py, line 9"),
    ],
)
def test_variable_parts_do_not_matter(one: str, other: str) -> None:
    assert mask(one) == mask(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order placed", "order refused"),
        ("call to cart failed: timeout", "call to redis failed: timeout"),
        ("can't reach cart, won't retry", "can't reach cart, will retry"),
    ],
)
def test_other_words_do(one: str, other: str) -> None:
    assert mask(one) != mask(other)


def test_the_type_of_the_error_is_part_of_the_pattern() -> None:
    assert mask("unhandled error", "KeyError") != mask("unhandled error", "ValueError")
    assert mask("unhandled KeyError", "KeyError") == "unhandled KeyError"


@given(st.text(max_size=3000))
def test_any_message_has_a_short_pattern_of_one_line_that_is_its_own(message: str) -> None:
    pattern = mask(message)
    assert len(pattern) <= 240
    assert len(pattern.splitlines()) <= 1


@pytest.mark.parametrize("unit", ["'", '"', "a", "a@", "1.", "a-1", " "])
def test_no_message_takes_long(unit: str) -> None:
    assert in_proportion(mask, unit, 100_000)


@pytest.mark.parametrize(
    ("told", "level"),
    [("warn", "WARNING"), ("Critical", "ERROR"), ("FATAL", "ERROR"), ("", "INFO"), (" error ", "ERROR"), ("odd", "ODD")],
)
def test_levels_have_one_name(told: str, level: str) -> None:
    assert level_of(told) == level


def test_counts_are_kept_apart_scaled_and_sorted_with_new_problems_first() -> None:
    def lines(total: int, *told: tuple[str, str]) -> Lines:
        return Lines(tuple(LogRecord(100.0 + i, "cart", level, text) for i, (level, text) in enumerate(told)), total)

    before = lines(3, ("INFO", "served 1"), ("INFO", "served 2"), ("ERROR", "old trouble 1"))
    now = lines(8, ("INFO", "served 3"), ("ERROR", "old trouble 2"), ("ERROR", "new trouble 5"), ("ERROR", "new trouble 6"))
    found = [(p.level, p.pattern, p.baseline_count, p.count) for p in mine([before], [now])]
    assert found == [("ERROR", "new trouble <n>", 0, 4), ("ERROR", "old trouble <n>", 1, 2), ("INFO", "served <n>", 2, 2)]
    newest = mine([before], [now])[0]
    assert (newest.first_seen, newest.example, newest.entity.name) == (102.0, "new trouble 5", "cart")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("order <n> could not be stored in <*> after <n> s", ("could not be stored in",)),
        ("dial tcp <ip>:<n>: connect: connection refused", ("dial tcp", "connect: connection refused")),
        ("charge failed for the customer [bank.TimeoutError]", ("charge failed for the customer",)),
        ("GET <n>", ()),
        ("retry user<id> now", ()),
    ],
)
def test_a_pattern_is_counted_by_what_all_of_its_lines_say(pattern: str, said: tuple[str, ...]) -> None:
    assert phrases(pattern) == said


def test_a_line_of_an_unknown_source_makes_no_pattern() -> None:
    assert mine([], [Lines((LogRecord(1.0, "", "ERROR", "it failed"),), 1)]) == ()


def test_patterns_with_the_same_phrases_share_their_count() -> None:
    lines = tuple(
        LogRecord(float(n), "web", "ERROR", f"gateway said no to order {n} {'()' if n % 4 else '(x)'}") for n in range(40)
    )
    patterns = mine([], [Lines(lines, 400)])
    found = recounted(patterns, dict.fromkeys(range(len(patterns)), (0.0, 400.0)))
    assert sorted(p.count for p in found) == [100, 300]
