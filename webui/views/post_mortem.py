"""A draft of a post-mortem, in Markdown, from what an answer and the people who worked on it know."""

from __future__ import annotations

from collections.abc import Iterator

from webui.views.contexts import AnswerPage, Card
from webui.views.filters import moment, percent


def draft(page: AnswerPage, address: str) -> str:
    """The draft; ``address`` is that of this server."""
    return "\n".join(_lines(page, address)) + "\n"


def _lines(page: AnswerPage, address: str) -> Iterator[str]:
    said = page.verdict
    suspects = " and ".join(s.component for s in said.suspects)
    yield f"# Post-mortem: {_flat(page.report)[:80]}"
    yield ""
    yield f"- System: {page.system}"
    yield f"- Reported: {moment(page.opened_at)}"
    if said.since is not None:
        yield f"- Began: {moment(said.since)}"
    if page.resolution:
        by = f" by {page.resolution.by}" if page.resolution.by else ""
        yield f"- Resolved: {moment(page.resolution.resolved_at)}{by}"
    yield f"- Answer: {address}/r/{page.id}"
    yield ""
    yield "## Report"
    yield ""
    yield from (f"> {line}" for line in page.report.splitlines())
    yield ""
    yield "## Cause"
    yield ""
    cause = page.resolution.cause if page.resolution else page.found.note if page.found else ""
    yield cause or "(not noted yet)"
    yield ""
    yield f"Revelio suspected {suspects} ({percent(said.probability)})." if suspects else "Revelio named no suspect."
    yield ""
    yield "## Timeline"
    yield ""
    for moment_ in page.timeline.moments:
        change = f"{moment_.before} → {moment_.after}" if moment_.before else moment_.after
        yield f"- {moment(moment_.at)}: {moment_.entity}, {moment_.what}: {_flat(change)}"
    yield ""
    yield "## Evidence"
    yield ""
    for card in page.cards:
        if card.evidence is not None:
            yield from _evidence(card)
    yield "## What we change"
    yield ""
    yield "- "


def _evidence(card: Card) -> Iterator[str]:
    assert card.evidence is not None
    mark = " (showed the cause)" if card.verdict == "found" else ""
    yield f"### {card.title}{mark}"
    yield ""
    yield f"{'Anomalous' if card.evidence.significant else 'Normal'}: {_flat(card.evidence.summary)}"
    yield ""
    for chart in card.evidence.charts:
        yield from (f"- {line.name or chart.title}: {line.before} → {line.now} `{line.spark}`" for line in chart.lines)
    yield ""
    yield "```"
    yield card.text.replace("```", "'''")
    yield "```"
    yield ""


def _flat(text: str) -> str:
    return " ".join(text.split())
