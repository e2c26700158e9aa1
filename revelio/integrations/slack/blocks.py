"""An answer as Slack's blocks. Pure.

What comes from telemetry or people stands in rich text, which Slack never reads as markup; only the fallback line, which it
does read, needs escaping. Limits are those of Slack's reference of blocks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from revelio.errors.clean_text import printable
from revelio.presentation import cause_sentence, evidence_panels, text_view, time_lines
from revelio.service.similar_incidents import SimilarIncident
from revelio.store import Feedback, SavedAnswer, Verdict
from revelio.types import Evidence, RankedQuery, Result, fill

Block = dict[str, Any]
TOP = 3
"""How many queries a message shows."""
MAX_TITLE, MAX_TEXT, MAX_CODE, MAX_URL, MAX_LABEL, MAX_ALT = 200, 800, 2_400, 3_000, 75, 2_000
SAID: dict[Verdict, str] = {"found": "Found it", "helpful": "Helpful", "not_useful": "Not useful"}


@dataclass(frozen=True, slots=True)
class Message:
    """What is posted or edited: blocks, and the line that stands for them in notifications and screen readers."""

    text: str
    blocks: tuple[Block, ...]


def answer_message(saved: SavedAnswer, *, page: str = "", doing: str = "", similar: Sequence[SimilarIncident] = ()) -> Message:
    """The top three queries with buttons, and what has happened to each.

    ``page`` is the address of the whole answer; ``doing`` says what is going on right now; ``similar`` are past incidents.
    """
    answer = saved.recommendation
    blocks: list[Block] = [_rich(_head(saved)), _rich([_text(cause_sentence(answer), bold=True)])]
    if saved.recorded is None:
        blocks.append(_rich([_text("\n".join(time_lines(answer)), italic=True)]))
    if answer.report_effect:
        blocks.append(_rich([_text(f"{answer.report_effect}.", italic=True)]))
    for name in answer.degraded:
        blocks.append(_rich([_text(f"⚠ {name} did not answer: the ranking has no data from it")]))
    if not answer.queries:
        blocks.append(_rich([_text("No queries: the inventory is empty. `revelio doctor` says which backends answer.")]))
    for ranked in answer.queries[:TOP]:
        blocks += _query(saved, ranked)
    if similar:
        blocks.append(_rich(_similar(similar)))
    if doing:
        blocks.append(_rich([_text(doing, italic=True)]))
    if _openable(page):
        blocks.append(_rich([{"type": "link", "url": page, "text": "Full answer"}]))
    return Message(_summary(saved), tuple(blocks))


def evidence_message(ranked: RankedQuery, result: Result, evidence: Evidence, *, illustrated: bool = False) -> Message:
    """What running a query showed, for the thread; ``illustrated`` when pictures of its series come with it."""
    shown = evidence_panels(result, evidence)
    head = [
        _text(f"{cut(f'{ranked.rank}. {ranked.query.title}', MAX_TITLE)}\n", bold=True),
        _text(f"{cut(shown.summary, MAX_TEXT)}\n"),
        _text(_signal(result)),
    ]
    blocks = [_rich(head)]
    body = text_view(shown)
    if body and not illustrated:
        blocks.append(_code(body))
    elif result.truncated:
        blocks.append(_rich([_text("… truncated at the query's limit", italic=True)]))
    return Message(escape(cut(f"{ranked.query.title}: {shown.summary}", MAX_TEXT)), tuple(blocks))


def image(file: str, alt: str) -> Block:
    """A picture that was uploaded, by the id of its file."""
    return {"type": "image", "slack_file": {"id": file}, "alt_text": cut(alt, MAX_ALT)}


def plain_message(text: str, *, user: str = "", quote: str = "") -> Message:
    """A line by the bot, addressed to ``user`` if given, above a quote."""
    said: list[Block] = [{"type": "user", "user_id": user}, _text(" ")] if user else []
    blocks = [_rich([*said, _text(text)])]
    if quote.strip():
        blocks.append({"type": "rich_text", "elements": [{"type": "rich_text_quote", "elements": [_text(cut(quote, MAX_TEXT))]}]})
    return Message(escape(cut(f"{text} {quote}".strip(), MAX_TEXT)), tuple(blocks))


def escape(text: str) -> str:
    """Text that Slack shows as it is: no mention, no link, no markup entity."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, with a mark where something is missing."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def button_value(answer_id: str, query_id: str) -> str:
    """What a button carries."""
    return json.dumps([answer_id, query_id])


def read_button(value: str) -> tuple[str, str]:
    """Answer and query of a button; ``ValueError`` for anything else."""
    parsed = json.loads(value)
    if not (isinstance(parsed, list) and len(parsed) == 2 and all(isinstance(p, str) for p in parsed)):
        raise ValueError("not a button of ours")
    return parsed[0], parsed[1]


def _head(saved: SavedAnswer) -> list[Block]:
    answer = saved.recommendation
    place = saved.recorded or answer.incident.system
    calm = f"{answer.no_fault_probability:.0%} probability of no fault"
    return [_text(f"Revelio on {place}", bold=True), _text(f" · {calm}", bold=answer.no_fault_likely)]


def _query(saved: SavedAnswer, ranked: RankedQuery) -> list[Block]:
    query, template = ranked.query, ranked.query.template
    words = [
        _text(cut(f"{ranked.rank}. {query.title}", MAX_TITLE), bold=True),
        _text(f" · {ranked.probability:.0%} · {ranked.source or template.tool}\n"),
        _text(cut(fill(template.shows, query.bindings) or query.title, MAX_TEXT)),
    ]
    blocks = [_rich(words), _code(ranked.text or query.title)]
    done = []
    if ranked.result is not None:
        done.append(f"▶ {_outcome(ranked.result, saved.recommendation.incident.evidence)}")
    said = saved.said(query.id)
    if said is not None:
        done.append(_said(said))
    if done:
        blocks.append(_rich([_text("\n".join(done))]))
    blocks.append(_buttons(saved.id, ranked))
    return blocks


def _similar(incidents: Sequence[SimilarIncident]) -> list[Block]:
    found = [_text("Similar incidents\n", bold=True)]
    for one in incidents:
        day = datetime.fromtimestamp(one.saved_at, UTC).date().isoformat()
        cause = f" Cause: {one.cause}." if one.cause else ""
        shown = f" Shown by: {one.query}." if one.query else ""
        found.append(_text(f"{cut(f'{one.system}, {day}: “{one.report}”{cause}{shown}', MAX_TEXT)}\n"))
    return found


def _said(said: Feedback) -> str:
    by = f", says {said.by}" if said.by else ""
    return f"✔ {SAID[said.verdict]}{by}{f': {cut(said.note, MAX_TEXT)}' if said.note else ''}"


def _buttons(answer_id: str, ranked: RankedQuery) -> Block:
    value = button_value(answer_id, ranked.query.id)
    title = f"query {ranked.rank}: {ranked.query.title}"
    buttons = []
    if ranked.link and _openable(ranked.link):
        buttons.append(_button("Open", f"Open {title}", "revelio_open", value) | {"url": ranked.link})
    buttons.append(_button("Run again" if ranked.result else "Run", f"Run {title}", "revelio_run", value))
    buttons.append(_button("Found it", f"Found it with {title}", "revelio_found", value) | {"style": "primary"})
    buttons.append(_button("Not useful", f"Not useful: {title}", "revelio_not_useful", value))
    return {"type": "actions", "elements": buttons}


def _button(words: str, label: str, action: str, value: str) -> Block:
    text = {"type": "plain_text", "text": words, "emoji": False}
    return {"type": "button", "text": text, "action_id": action, "value": value, "accessibility_label": cut(label, MAX_LABEL)}


def _summary(saved: SavedAnswer) -> str:
    answer = saved.recommendation
    return escape(cut(f"Revelio on {saved.recorded or answer.incident.system}: {cause_sentence(answer)}", MAX_TEXT))


def _outcome(result: Result, evidence: Evidence) -> str:
    if result.error is not None:
        return cut(f"Not run: {result.error}", MAX_TEXT)
    return f"{cut(evidence_panels(result, evidence).summary, MAX_TEXT)} ({_signal(result)})"


def _signal(result: Result) -> str:
    return f"anomaly score {result.signal:.2f}{f': {cut(result.reason, MAX_TITLE)}' if result.reason else ''}"


def _openable(url: str) -> bool:
    return url.startswith(("http://", "https://")) and len(url) <= MAX_URL and not set(url) & set(' \n\t"<>')


def _rich(elements: list[Block]) -> Block:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def _code(text: str) -> Block:
    return {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [_text(text)]}]}


def _text(text: str, **style: bool) -> Block:
    element: Block = {"type": "text", "text": cut(printable(text), MAX_CODE) or " "}
    wanted = {name: True for name, on in style.items() if on}
    return element | ({"style": wanted} if wanted else {})
