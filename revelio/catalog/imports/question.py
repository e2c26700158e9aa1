"""An imported question, and what an import found. Frozen values."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["rules", "grafana", "runbooks", "searches"]
KINDS: tuple[Kind, ...] = ("rules", "grafana", "runbooks", "searches")
MOST_TITLE, MOST_TEXT, MOST_BODY = 120, 600, 8_000


@dataclass(frozen=True, slots=True)
class ImportedQuestion:
    """One question: ``body`` in the language of ``tool``, whose ``blanks`` are placeholders by name with their kinds.

    ``credit`` says whose it is ("From your dashboard ..."), ``url`` leads back to it; "" where nothing does.
    """

    tool: str
    title: str
    shows: str
    body: str | dict[str, object]
    credit: str
    url: str = ""
    blanks: tuple[tuple[str, str], ...] = ()

    def id(self, source: str) -> str:
        """The template's id: the same as long as source, title and body are."""
        words = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")[:30]
        digest = hashlib.sha256(f"{self.title} {self.body} {self.credit}".encode(errors="replace")).hexdigest()[:8]
        return f"imported.{source[:20]}.{words or 'question'}-{digest}"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What one import found. Each problem is a sentence on what was left out, and why."""

    questions: tuple[ImportedQuestion, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass
class Collector:
    """Collects questions and problems in the order of the source."""

    questions: list[ImportedQuestion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def found(self) -> ImportResult:
        """Each question once."""
        return ImportResult(tuple(_once(self.questions)), tuple(self.problems))


def _once(questions: list[ImportedQuestion]) -> list[ImportedQuestion]:
    known: dict[tuple[str, str, str], ImportedQuestion] = {}
    for question in questions:
        known.setdefault((question.tool, str(question.body), question.title), question)
    return list(known.values())


def plain(text: object, most: int) -> str:
    """Words of a source on one line, without what a template's language would read as a placeholder."""
    words = " ".join(str(text or "").split()).replace("${", "$ {")
    return words if len(words) <= most else f"{words[: most - 1]}…"
