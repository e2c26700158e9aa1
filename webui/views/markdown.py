"""An answer in Markdown: a draft of the post-mortem, and a summary for a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from revelio.presentation.facts import written
from webui.i18n import gettext
from webui.views.answer_contexts import AnswerPage, Card
from webui.views.filters import moment, percent, shorten
from webui.views.mermaid import mermaid
from webui.views.words import word

_QUERIES = 5
"""So many queries stand in the summary, besides those that showed something."""


def post_mortem(page: AnswerPage) -> str:
    """The draft of a post-mortem, from what the answer and the people who worked on it know."""
    return "\n".join(_post_mortem(page)) + "\n"


def summary(page: AnswerPage) -> str:
    """The report, the verdict, and the first queries with their addresses and what they showed."""
    return "\n".join(_summary(page)) + "\n"


def _post_mortem(page: AnswerPage) -> Iterator[str]:
    yield "# " + gettext("Post-mortem: %(report)s") % {"report": _plain(shorten(page.report, 80))}
    yield ""
    yield from _facts(page)
    yield from _report(page)
    yield from (_head(gettext("Cause")), "", _plain(_cause(page)) or gettext("(not noted yet)"), "", _verdict(page), "")
    yield from (_head(gettext("Timeline")), "")
    for change in page.timeline.moments:
        what = f"{change.before} → {change.after}" if change.before else change.after
        yield f"- {moment(change.at)}: {_plain(f'{change.entity}, {word(change.what)}: {what}')}"
    yield from ("", _head(gettext("Evidence")), "")
    for card in page.cards:
        yield from _evidence(card)
    yield from (_head(gettext("What we change")), "", "- ")


def _summary(page: AnswerPage) -> Iterator[str]:
    yield from (_verdict(page), "")
    yield from _facts(page)
    if cause := _cause(page):
        yield from (gettext("Cause: %(cause)s") % {"cause": _plain(cause)}, "")
    yield from _report(page)
    yield from (_head(gettext("Queries")), "")
    for card in page.cards:
        if card.rank <= _QUERIES or card.state == "anomalous":
            yield f"{card.rank}. {_query(page, card)}"
    for sentence in page.verdict.unseen:
        yield from ("", gettext("Not seen: %(what)s") % {"what": _plain(sentence)})


def _facts(page: AnswerPage) -> Iterator[str]:
    yield "- " + gettext("System: %(system)s") % {"system": _plain(page.system)}
    yield "- " + gettext("Reported: %(time)s") % {"time": moment(page.opened_at)}
    if page.verdict.since is not None:
        yield "- " + gettext("Began: %(time)s") % {"time": moment(page.verdict.since)}
    for change in page.verdict.changed:
        what = _plain(f"{change.entity} {word(change.what)}: {change.after}")
        yield "- " + gettext("Changed just before: %(change)s") % {"change": what}
    if page.resolution:
        words = gettext("Resolved: %(time)s by %(name)s") if page.resolution.by else gettext("Resolved: %(time)s")
        yield "- " + words % {"time": moment(page.resolution.resolved_at), "name": _plain(page.resolution.by)}
    yield "- " + gettext("Answer: %(address)s") % {"address": page.address}
    yield ""


def _report(page: AnswerPage) -> Iterator[str]:
    yield from (_head(gettext("Report")), "")
    yield from (f"> {_plain(line)}" for line in page.report.splitlines())
    yield ""


def _verdict(page: AnswerPage) -> str:
    said = page.verdict
    told = f"**{_plain(written(said.words))}** " + gettext("Next: %(step)s.") % {"step": _plain(said.advice)}
    if not said.suspects:
        return told
    sure = {"share": percent(said.probability), "confidence": word(said.confidence)}
    return f"{told} " + gettext("Confidence: %(confidence)s, %(share)s.") % sure


def _cause(page: AnswerPage) -> str:
    return page.resolution.cause if page.resolution else page.found.note if page.found else ""


def _query(page: AnswerPage, card: Card) -> str:
    """A query in a line: its address here, where it runs, how probable it is, and what it showed."""
    state = word(card.state) or gettext("not run")
    showed = f"{state}, {_plain(card.evidence.summary)}" if card.evidence else state
    line = f"[{_plain(card.title)}]({page.address}?query={quote(card.query_id)}), {_plain(card.tool)}"
    open_words = gettext("open")
    opened = f" ([{open_words}](<{card.link.replace('>', '%3E')}>))" if card.link else ""
    return f"{line}, {percent(card.probability)}: {showed}{_mark(card)}{opened}"


def _evidence(card: Card) -> Iterator[str]:
    if card.evidence is None:
        return
    yield from (f"### {_plain(card.title)}{_mark(card)}", "")
    yield from (f"{word(card.state).capitalize()}: {_plain(card.evidence.summary)}", "")
    for chart in card.evidence.charts:
        if diagram := mermaid(chart):
            yield from ("```mermaid", diagram, "```", "")
        yield from (f"- {_plain(line.name or chart.title)}: {line.before} → {line.now} `{line.spark}`" for line in chart.lines)
        yield ""
    yield from ("```", card.text.replace("```", "'''"), "```", "")


def _mark(card: Card) -> str:
    return " " + gettext("(showed the cause)") if card.verdict == "found" else ""


def _head(title: str) -> str:
    return f"## {title}"


def _plain(text: str) -> str:
    """Text in one line in which no character is markup: what a report or a log says is shown, never followed."""
    line = re.sub(r"[\\`*\[\]<@|~]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.", r"\\\g<0>", " ".join(text.split()), flags=re.IGNORECASE)
    return re.sub(r"^(\d*)([#>+=:.)-])", r"\1\\\2", line)
