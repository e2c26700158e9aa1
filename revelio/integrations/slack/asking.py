"""What people write to the bot, read as a question. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

HELP = (
    "Paste a report, and Revelio ranks the debugging queries most likely to show its root cause: "
    "`/revelio checkout takes ages since lunch`. Start with `system:NAME` for a live system, or `incident:ID` for a "
    "recorded incident; `since:14:20`, `at:14:20` and `window:20m` say when, in UTC. "
    "Mention Revelio in a thread and it reads the thread."
)
_LINK = re.compile(r"<(?:https?|mailto):[^|>]*\|([^>]*)>|<((?:https?|mailto):[^|>]*)>|<[@#!][^|>]*(?:\|([^>]*))?>")
_OPTION = re.compile(r"^\s*(system|incident|since|at|window):(?:\"([^\"]*)\"|(\S+))\s*")
_BLANKS = re.compile(r"[ \t]+")


@dataclass(frozen=True, slots=True)
class SlackQuestion:
    """A question: a report, and where and when it is about if the person said so."""

    report: str
    system: str = ""
    incident: str = ""
    since: str = ""
    at: str = ""
    window: str = ""


def read(text: str, limit: int) -> SlackQuestion:
    """A message as Slack sends it. A report over ``limit`` characters loses its middle."""
    words = plain(text)
    named: dict[str, str] = {}
    while option := _OPTION.match(words):
        named[option[1]] = option[2] or option[3] or ""
        words = words[option.end() :]
    return SlackQuestion(_middle_out(words.strip(), limit), **named)


def read_thread(messages: Iterable[Mapping[str, Any]], mention: str, limit: int) -> SlackQuestion:
    """What people wrote in a thread, oldest first, with the mention's own words last; bots are left out, alerts are not.

    A thread that an alert began is about that alert: the first message counts even from a bot.
    """
    asked = read(mention, limit)
    lines = []
    for place, message in enumerate(messages):
        text = str(message.get("text") or "")
        if (message.get("bot_id") and place) or plain(text).strip() == plain(mention).strip():
            continue
        lines.append(plain(text).strip())
    lines.append(asked.report)
    return replace(asked, report=_middle_out("\n".join(line for line in lines if line), limit))


def plain(text: str) -> str:
    """Slack's own notation as text: links by their words, mentions of people, channels and groups dropped."""
    words = _LINK.sub(lambda found: found.group(1) or found.group(2) or "", text)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        words = words.replace(entity, character)
    return _BLANKS.sub(" ", words.replace("\x00", ""))


def _middle_out(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    mark = "\n…\n"
    half = (limit - len(mark)) // 2
    return f"{text[:half]}{mark}{text[-half:]}"
