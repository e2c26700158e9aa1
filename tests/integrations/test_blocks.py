"""Answers as Slack's blocks: what they look like, and that nothing in them can be more than text."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.integrations.slack.blocks import (
    Message,
    answer_message,
    button_value,
    evidence_message,
    plain_message,
    read_button,
)
from revelio.store import Feedback, SavedAnswer
from revelio.types import (
    Blank,
    Entity,
    Evidence,
    Incident,
    Query,
    QueryTemplate,
    RankedQuery,
    Recommendation,
    Result,
    Series,
    Window,
)
from tests.integrations.fake_slack import refused, texts
from tests.webui import made

EVIDENCE = Evidence(made.WINDOW, made.BASELINE)
SNAPSHOTS = Path(__file__).parent / "snapshots"
LINK = "http://127.0.0.1:9090/graph?g0.expr=x"


def saved(
    *, title: str = "CPU throttling of ${container}", value: str = "cart", text: str = "rate(x[10s])", count: int = 4
) -> SavedAnswer:
    """An answer of ``count`` queries."""
    template = QueryTemplate(
        "prometheus.throttling", "prometheus", title, "How long it waits", "", (Blank("container", "container"),)
    )
    incident = Incident("i-1", "shop", "the basket hangs", 90.0, Evidence(Window(60, 90), Window(0, 60)))
    ranked = tuple(
        RankedQuery(
            Query(template, (("container", value if n == 1 else f"{value}-{n}"),)), n, 0.6 / n, (), text, LINK if n == 1 else None
        )
        for n in range(1, count + 1)
    )
    return SavedAnswer("a1b2", 91.0, None, Recommendation(incident, ranked, 0.04, "m-1", ("jaeger",)))


def after(answer: SavedAnswer) -> SavedAnswer:
    """The same, when the first query was run and found it."""
    first = replace(answer.recommendation.queries[0], result=made.error_lines())
    queries = (first, *answer.recommendation.queries[1:])
    said = Feedback(first.query.id, "found", "", 95.0)
    return replace(answer, recommendation=replace(answer.recommendation, queries=queries), feedback=(said,))


def plain(message: Message) -> dict[str, Any]:
    return {"text": message.text, "blocks": list(message.blocks)}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("answer", answer_message(saved(), page="http://127.0.0.1:8000/r/a1b2")),
        ("found", answer_message(after(saved()), doing="Running 2. …")),
        ("nothing", answer_message(saved(count=0))),
        ("rows", evidence_message(saved().recommendation.queries[0], made.error_lines(), EVIDENCE)),
        ("series", evidence_message(saved().recommendation.queries[0], made.throttling(), EVIDENCE)),
        ("spans", evidence_message(saved().recommendation.queries[0], made.slow_trace(), EVIDENCE)),
        ("asked", plain_message("asks:", user="U1", quote="the basket hangs")),
    ],
)
def test_message_looks_as_it_did(name: str, message: Message) -> None:
    file = SNAPSHOTS / f"{name}.json"
    shown = json.dumps(plain(message), ensure_ascii=False, indent=1) + "\n"
    if os.environ.get("REVELIO_SNAPSHOTS") == "write":
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8"), "when this is meant: REVELIO_SNAPSHOTS=write, and look at the difference"
    assert not refused(plain(message))


def test_top_three_are_shown_with_their_buttons() -> None:
    blocks = answer_message(saved()).blocks
    rows = [[e["text"]["text"] for e in b["elements"]] for b in blocks if b["type"] == "actions"]
    assert rows == [
        ["Open", "Run", "Found it", "Not useful"],
        ["Run", "Found it", "Not useful"],
        ["Run", "Found it", "Not useful"],
    ]


def test_button_says_to_a_screen_reader_which_query_it_is_of() -> None:
    blocks = answer_message(saved()).blocks
    labels = [e["accessibility_label"] for b in blocks if b["type"] == "actions" for e in b["elements"]]
    assert len(set(labels)) == len(labels)
    assert "Run query 2: CPU throttling of cart-2" in labels


hostile = st.text(min_size=1, max_size=6000) | st.sampled_from(
    ["<!channel>", "<@U1> & <https://a.b|click>", "```", "*b* _i_ ~s~ `c`", "\u202e\u0000", "a" * 9_000, "<!subteam^S1>"]
)


@given(title=hostile, value=hostile, text=hostile)
def test_no_text_is_more_than_text_or_too_long(title: str, value: str, text: str) -> None:
    answer = saved(title=f"{title} ${{container}}", value=value, text=text)
    result = Result(title, 0.5, value, ("a",), ((text,),), (Series(Entity("container", value), title, "s", (1.0,), (2.0,)),))
    messages = (
        answer_message(after(answer)),
        evidence_message(answer.recommendation.queries[0], result, EVIDENCE),
        plain_message(text, quote=value),
    )
    for message in messages:
        assert not refused(plain(message))
        assert "<" not in message.text
        kinds = {b["type"] for b in message.blocks}
        assert kinds <= {"rich_text", "actions"}  # neither reads markup
        assert '"mrkdwn"' not in json.dumps(list(message.blocks))


def test_link_that_is_no_web_address_gets_no_button() -> None:
    answer = saved(count=1)
    for link in ("javascript:alert(1)", "file:///etc/passwd", "http://a b", f"http://a/{'x' * 3000}", ""):
        queries = (replace(answer.recommendation.queries[0], link=link),)
        message = answer_message(replace(answer, recommendation=replace(answer.recommendation, queries=queries)))
        assert "Open" not in list(texts(list(message.blocks)))


@given(st.text(), st.text())
def test_button_carries_answer_and_query(answer: str, query: str) -> None:
    assert read_button(button_value(answer, query)) == (answer, query)


@pytest.mark.parametrize("value", ["", "{}", "[1, 2]", '["a"]', "nonsense"])
def test_foreign_button_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_button(value)
