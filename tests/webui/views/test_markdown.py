"""An answer in Markdown: what it says, and that nothing in it is markup but what Revelio wrote."""

from __future__ import annotations

import html
import re

import pytest
from fastapi.testclient import TestClient
from markdown_it import MarkdownIt

from revelio.presentation.facts import written
from tests.webui import made
from tests.webui.pages.test_pages import asked, queries
from webui.views.answer_contexts import AnswerPage

MARKUP = "<script>x</script> ![a](http://x.test/a) [b](http://x.test/b) **c** _d_ `e` order_id"


def page_of(client: TestClient, address: str) -> AnswerPage:
    page = client.get(address).context["page"]  # type: ignore[attr-defined]
    assert isinstance(page, AnswerPage)
    return page


def test_the_summary_says_what_was_asked_found_and_run(client: TestClient) -> None:
    address = asked(client)
    query = queries(client.get(address).text)[0]
    client.post(f"{address}/feedback", data={"query_id": query, "verdict": "found", "note": "a quota was cut"})
    page = page_of(client, address)
    lines = page.summary.splitlines()
    assert lines[0].startswith(f"**{written(page.verdict.words)}** Next: ")
    assert f"> {made.REPORT}" in lines
    assert f"- Answer: http://testserver{address}" in lines
    assert "Cause: a quota was cut" in lines
    shown = [line for line in lines if re.match(r"\d+\. \[", line)]
    assert [line.partition("](")[0] for line in shown] == [f"{card.rank}. [{card.title}" for card in page.cards][: len(shown)]
    assert f"(http://testserver{address}?query={query})" in shown[0]
    assert "anomalous, " in shown[0] and "(showed the cause)" in shown[0]
    assert client.get(shown[0].partition("](")[2].partition(")")[0]).status_code == 200


def test_queries_that_were_not_run_are_told_from_those_that_showed_nothing(client: TestClient) -> None:
    reply = client.post("/api/v1/recommendations", json={"report": made.REPORT, "incident": "shop-0001"}).json()
    address = f"/r/{reply['id']}"
    for query in queries(client.get(address).text)[:2]:
        client.post(f"{address}/run", data={"query_id": query})
    page = page_of(client, address)
    for card in page.cards:
        line = next(line for line in page.summary.splitlines() if line.startswith(f"{card.rank}. [{card.title}]"))
        assert f" %: {card.state or 'not run'}" in line
    assert {"", "anomalous"} <= {card.state for card in page.cards}


@pytest.mark.parametrize("path", ["", "/post-mortem.md"])
def test_markup_in_a_report_or_a_cause_is_shown_as_text(client: TestClient, path: str) -> None:
    address = asked(client, MARKUP)
    client.post(f"{address}/resolve", data={"cause": MARKUP})
    text = client.get(address + path).text if path else page_of(client, address).summary
    rendered = MarkdownIt().render(text)
    assert html.unescape(rendered).count(MARKUP) >= 2
    assert "<img" not in rendered and "<script" not in rendered
    assert re.findall(r'href="http://x', rendered) == []


@pytest.mark.parametrize(
    "cause",
    [
        "# big",
        "> said",
        "- one",
        "+ one",
        "1. one",
        "2) one",
        "===",
        "---",
        "~~~ x",
        "see https://x.test/a",
        "WWW.x.test",
        "<https://x.test>",
        "[a]: https://x.test",
        "| a | b |",
    ],
)
def test_a_cause_is_no_heading_list_or_link(client: TestClient, cause: str) -> None:
    address = asked(client, cause)
    client.post(f"{address}/resolve", data={"cause": cause})
    text = client.get(f"{address}/post-mortem.md").text
    line = text.partition("## Cause")[2].splitlines()[2]
    rendered = MarkdownIt("commonmark").enable("table").render(line)
    assert html.unescape(rendered) == f"<p>{cause}</p>\n"
    assert not re.search(r"(?i)https?://|www\.|\w@", line), "GitHub makes links of these"


def test_link_and_summary_can_be_taken_without_scripts(client: TestClient) -> None:
    address = asked(client)
    text = client.get(address).text
    assert re.search(rf'<input id="address" type="text" readonly value="http://testserver{address}">', text)
    taken = re.search(r'<textarea id="summary"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)
    assert taken is not None
    assert html.unescape(taken[1]) == page_of(client, address).summary
