"""What people write, read as a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.integrations.slack.asking import SlackQuestion, plain, read, read_thread


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("checkout takes ages", SlackQuestion("checkout takes ages")),
        ("system:shop checkout takes ages", SlackQuestion("checkout takes ages", system="shop")),
        ("<@U0BOT> incident:shop-1 hangs", SlackQuestion("hangs", incident="shop-1")),
        ("incident:shop-1", SlackQuestion("", incident="shop-1")),
        ("<@U0BOT>", SlackQuestion("")),
        ("a &lt;b&gt; &amp;amp; c", SlackQuestion("a <b> &amp; c")),
        ("see <https://a.example/x|the page> and <https://b.example>", SlackQuestion("see the page and https://b.example")),
        ("<!here> it is <#C1|general> <@U2|jo> down", SlackQuestion("it is down")),
    ],
)
def test_text_is_read_as_a_question(text: str, asked: SlackQuestion) -> None:
    assert read(text, 1000) == asked


@given(st.text(max_size=300), st.integers(min_value=20, max_value=100))
def test_report_is_never_longer_than_the_limit(text: str, limit: int) -> None:
    assert len(read(text, limit).report) <= limit


def test_long_report_keeps_its_beginning_and_end() -> None:
    report = read("begin " + "x" * 500 + " end", 60).report
    assert report.startswith("begin") and report.endswith("end") and "…" in report


def test_thread_is_read_in_order_without_bots_and_without_the_mention_twice() -> None:
    messages = [
        {"text": "checkout is slow", "user": "U1"},
        {"text": "I am a bot", "bot_id": "B1"},
        {"text": "since lunch", "user": "U2"},
        {"text": "<@U0BOT> look please", "user": "U1"},
    ]
    assert read_thread(messages, "<@U0BOT> look please", 1000) == SlackQuestion("checkout is slow\nsince lunch\nlook please")


def test_alert_that_began_a_thread_is_read() -> None:
    messages = [{"text": "[FIRING] latency of cart", "bot_id": "B9"}, {"text": "noise", "bot_id": "B9"}]
    assert read_thread(messages, "<@U0BOT> system:shop", 1000) == SlackQuestion("[FIRING] latency of cart", system="shop")


def test_entities_are_unescaped_once() -> None:
    assert plain("&amp;lt;") == "&lt;"
