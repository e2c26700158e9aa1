"""What the templates of an answer and of one of its queries may read, under the name ``page``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from revelio.presentation.facts import Words
from revelio.service.similar_incidents import SimilarIncident
from revelio.store import Verdict as Judgement
from revelio.store.resolutions import Resolution
from webui.views.contexts import Page
from webui.views.evidence import EvidenceView
from webui.views.service_map import ServiceMap
from webui.views.timeline import IncidentTimeline
from webui.views.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Reason:
    """One factor in words: ``share`` is its conditional probability, ``facts`` those of the card's three that speak for it."""

    label: str
    about: str
    share: float
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One ranked query. ``note`` came with the verdict; ``failure`` is what went wrong when it was run.

    ``rank`` is its place in the order that is shown, ``moved`` why it stands there, where that has to be said.
    """

    answer: str
    query_id: str
    rank: int
    probability: float
    title: str
    shows: str
    tool: str
    targets: tuple[str, ...]
    text: str
    link: str | None
    reasons: tuple[Reason, ...]
    product: str
    evidence: EvidenceView | None
    verdict: Judgement | None
    note: str
    by: str = ""
    moved: str = ""
    failure: str = ""

    @property
    def state(self) -> str:
        """What is known of it in one word: "anomalous", "normal", "failed" or "" before a run."""
        if self.evidence is not None:
            return "anomalous" if self.evidence.significant else "normal"
        return "failed" if self.failure else ""

    @property
    def revision(self) -> str:
        """A text that changes when anything in the card does."""
        return hashlib.sha1(repr(self).encode(), usedforsecurity=False).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class CardPart(Page):
    """A card alone, for a page that swaps a part of itself."""

    template: ClassVar[str] = "parts/card.html"
    card: Card
    reordered: bool
    selected: str
    original: bool
    may_change: bool = True


@dataclass(frozen=True, slots=True)
class AnswerPage(Page):
    """One answer. ``recorded`` is the incident asked about, None for a live system; times are Unix seconds.

    ``ran`` counts the queries that gave a result, ``next_up`` those that the button runs. ``original`` tells that the first
    order was asked for, ``reordered`` that the cards stand in the order of what came back, ``trouble`` why they do not.
    ``times`` are sentences on the window and the onset. ``masked`` says in words what is no longer in the report. ``selected``
    is the query whose evidence is shown first, ``found`` the one that is said to show the cause, ``run_now`` those that a
    script runs when it opens the page; ``address`` is its own, and ``summary`` the answer in Markdown.
    """

    template: ClassVar[str] = "answer.html"
    here: ClassVar[str] = "answer"
    id: str
    address: str
    revision: str
    verdict: Verdict
    selected: str
    timeline: IncidentTimeline
    map: ServiceMap | None
    similar: tuple[SimilarIncident, ...]
    resolution: Resolution | None
    found: Card | None
    may_change: bool
    run_now: tuple[str, ...]
    report: str
    masked: str
    system: str
    recorded: str | None
    opened_at: float
    saved_at: float
    times: tuple[Words, ...]
    window_s: float
    baseline_s: float
    model: str
    took_ms: float
    no_fault: float
    no_fault_likely: bool
    report_effect: str
    degraded: tuple[str, ...]
    mostly_missing: bool
    sources_up: int
    ran: int
    next_up: int
    original: bool
    reordered: bool
    trouble: str
    cards: tuple[Card, ...]
    summary: str = ""
