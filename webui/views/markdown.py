"""An answer in Markdown: a draft of the post-mortem, and a summary for a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from webui.views.answer_contexts import AnswerPage, Card
from webui.views.filters import moment, percent, shorten
from webui.views.mermaid import mermaid

_QUERIES = 5
"""So many queries stand in the summary, besides those that showed something."""


def post_mortem(page: AnswerPage) -> str:
    """The draft of a post-mortem, from what the answer and the people who worked on it know."""
    return "\n".join(_post_mortem(page)) + "\n"


def summary(page: AnswerPage) -> str:
    """The report, the verdict, and the first queries with their addresses and what they showed."""
    return "\n".join(_summary(page)) + "\n"


def _post_mortem(page: AnswerPage) -> Iterator[str]:
    yield f"# Post-mortem: {_plain(shorten(page.report, 80))}"
    yield ""
    yield from _facts(page)
    yield from _report(page)
    yield from ("## Cause", "", _plain(_cause(page)) or "(not noted yet)", "", _verdict(page), "")
    yield from ("## Timeline", "")
    for change in page.timeline.moments:
        what = f"{change.before} → {change.after}" if change.before else change.after
        yield f"- {moment(change.at)}: {_plain(f'{change.entity}, {change.what}: {what}')}"
    yield from ("", "## Evidence", "")
    for card in page.cards:
        yield from _evidence(card)
    yield from ("## What we change", "", "- ")


def _summary(page: AnswerPage) -> Iterator[str]:
    yield from (_verdict(page), "")
    yield from _facts(page)
    if cause := _cause(page):
        yield from (f"Cause: {_plain(cause)}", "")
    yield from _report(page)
    yield from ("## Queries", "")
    for card in page.cards:
        if card.rank <= _QUERIES or card.state == "anomalous":
            yield f"{card.rank}. {_query(page, card)}"
    for sentence in page.verdict.unseen:
        yield from ("", f"Not seen: {_plain(sentence)}")


def _facts(page: AnswerPage) -> Iterator[str]:
    yield f"- System: {_plain(page.system)}"
    yield f"- Reported: {moment(page.opened_at)}"
    if page.verdict.since is not None:
        yield f"- Began: {moment(page.verdict.since)}"
    for change in page.verdict.changed:
        yield f"- Changed just before: {_plain(f'{change.entity} {change.what}: {change.after}')}"
    if page.resolution:
        by = f" by {_plain(page.resolution.by)}" if page.resolution.by else ""
        yield f"- Resolved: {moment(page.resolution.resolved_at)}{by}"
    yield f"- Answer: {page.address}"
    yield ""


def _report(page: AnswerPage) -> Iterator[str]:
    yield from ("## Report", "")
    yield from (f"> {_plain(line)}" for line in page.report.splitlines())
    yield ""


def _verdict(page: AnswerPage) -> str:
    said = page.verdict
    if said.suspects:
        suspects = " and ".join(f"**{_plain(s.component)}** ({_plain(s.finding or s.title)})" for s in said.suspects)
        return f"Revelio suspects {suspects}: {percent(said.probability)}, {said.confidence} confidence."
    if said.kind == "no_fault":
        return f"Nothing points at a fault ({percent(said.probability)})."
    return "Too little data to tell."


def _cause(page: AnswerPage) -> str:
    return page.resolution.cause if page.resolution else page.found.note if page.found else ""


def _query(page: AnswerPage, card: Card) -> str:
    """A query in a line: its address here, where it runs, how probable it is, and what it showed."""
    showed = f"{card.state}, {_plain(card.evidence.summary)}" if card.evidence else card.state or "not run"
    line = f"[{_plain(card.title)}]({page.address}?query={quote(card.query_id)}), {_plain(card.tool)}"
    opened = f" ([open](<{card.link.replace('>', '%3E')}>))" if card.link else ""
    return f"{line}, {percent(card.probability)}: {showed}{_mark(card)}{opened}"


def _evidence(card: Card) -> Iterator[str]:
    if card.evidence is None:
        return
    yield from (f"### {_plain(card.title)}{_mark(card)}", "")
    yield from (f"{card.state.capitalize()}: {_plain(card.evidence.summary)}", "")
    for chart in card.evidence.charts:
        if diagram := mermaid(chart):
            yield from ("```mermaid", diagram, "```", "")
        yield from (f"- {_plain(line.name or chart.title)}: {line.before} → {line.now} `{line.spark}`" for line in chart.lines)
        yield ""
    yield from ("```", card.text.replace("```", "'''"), "```", "")


def _mark(card: Card) -> str:
    return " (showed the cause)" if card.verdict == "found" else ""


def _plain(text: str) -> str:
    """Text in one line in which no character is markup: what a report or a log says is shown, never followed."""
    return re.sub(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)", r"\\\g<0>", " ".join(text.split()))
