"""One dataclass a page: all that its template may read, under the name ``page``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from revelio.store import HistoryEntry, Verdict
from webui.evidence import EvidenceView


@dataclass(frozen=True, slots=True)
class Page:
    """What every page has: its template and the navigation entry that is lit."""

    template: ClassVar[str] = ""
    here: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of the select: ``value`` is ``system:NAME`` or ``incident:ID``."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Example:
    """A report to start from, asked about the recorded incident that it was written for."""

    incident: str
    report: str


@dataclass(frozen=True, slots=True)
class AskPage(Page):
    """The empty (or refused) question. ``troubles`` says why no answer can be had at present."""

    template: ClassVar[str] = "ask.html"
    here: ClassVar[str] = "ask"
    report: str
    chosen: str
    systems: tuple[Choice, ...]
    recorded: tuple[Choice, ...]
    examples: tuple[Example, ...]
    max_chars: int
    refused: str = ""
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """One factor in words: ``share`` is its conditional probability, ``facts`` at most three."""

    label: str
    about: str
    share: float
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One ranked query. ``note`` came with the verdict; ``failure`` is what went wrong when it was run just now."""

    answer: str
    query_id: str
    rank: int
    probability: float
    title: str
    shows: str
    tool: str
    places: tuple[str, ...]
    text: str
    link: str | None
    reasons: tuple[Reason, ...]
    evidence: EvidenceView | None
    verdict: Verdict | None
    note: str
    failure: str = ""


@dataclass(frozen=True, slots=True)
class CardPart(Page):
    """A card alone, for a page that swaps a part of itself."""

    template: ClassVar[str] = "parts/card.html"
    card: Card


@dataclass(frozen=True, slots=True)
class AnswerPage(Page):
    """One answer. ``recorded`` is the incident asked about, None for a live system; times are Unix seconds."""

    template: ClassVar[str] = "answer.html"
    here: ClassVar[str] = "answer"
    id: str
    report: str
    system: str
    recorded: str | None
    opened_at: float
    saved_at: float
    window_s: float
    baseline_s: float
    model: str
    took_ms: float
    abstain: float
    abstains: bool
    degraded: tuple[str, ...]
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage(Page):
    """Answers, newest first. ``older`` is the time to page on from; None on the last page."""

    template: ClassVar[str] = "history.html"
    here: ClassVar[str] = "history"
    entries: tuple[HistoryEntry, ...]
    older: float | None


@dataclass(frozen=True, slots=True)
class ErrorPage(Page):
    """What went wrong, for a person."""

    template: ClassVar[str] = "error.html"
    here: ClassVar[str] = ""
    status: int
    title: str
    detail: str


@dataclass(frozen=True, slots=True)
class ApiField:
    """One parameter or property."""

    name: str
    type: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """One response of an operation."""

    status: str
    about: str
    shape: str


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One route of the API."""

    id: str
    method: str
    path: str
    title: str
    about: str
    parameters: tuple[ApiField, ...]
    body: tuple[ApiField, ...]
    example: str
    answers: tuple[ApiAnswer, ...]


@dataclass(frozen=True, slots=True)
class ApiShape:
    """One named schema."""

    name: str
    about: str
    fields: tuple[ApiField, ...]


@dataclass(frozen=True, slots=True)
class ApiPage(Page):
    """The API's reference, from its own OpenAPI description."""

    template: ClassVar[str] = "api.html"
    here: ClassVar[str] = "api"
    operations: tuple[ApiOperation, ...]
    shapes: tuple[ApiShape, ...]
