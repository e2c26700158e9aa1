"""What the API takes and gives besides the answer itself (``revelio.presentation``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from revelio.presentation import RecommendationView
from revelio.store import Verdict
from revelio.systems.time_range import LONGEST_S
from revelio.types import Outcome

MAX_NOTE = 4000
"""Longest note with a verdict, in characters."""


def _writable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("holds NUL bytes, so it is not text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds halves of surrogate pairs, so it is not text") from error
    return text


Text = Annotated[str, AfterValidator(_writable)]
Moment = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)] | Annotated[Text, Field(min_length=1, max_length=60)]
Length = Annotated[float, Field(gt=0, le=LONGEST_S, allow_inf_nan=False)] | Annotated[Text, Field(min_length=1, max_length=20)]
Name = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_writable)]


class RecommendationRequest(BaseModel):
    """A report about either a live system or a recorded incident."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"report": "checkout takes ages since lunch", "system": "shop", "k": 5}]},
    )
    report: Text = Field(description="The problem in the user's own words")
    system: Name | None = Field(None, description="A live system; see `GET /api/v1/systems`")
    incident: Name | None = Field(None, description="A recorded incident; see `GET /api/v1/incidents`")
    opened_at: Moment | None = Field(
        None,
        description="When the problem was noticed: Unix seconds, ISO 8601 (UTC without a zone), or like `30m ago`; default: now",
    )
    since: Moment | None = Field(None, description="When the window begins, as `opened_at`; default: chosen by the system")
    window_s: Length | None = Field(None, description="How long the window is, in seconds or like `10m`")
    k: int = Field(5, ge=1, le=50, description="How many queries")
    run: bool = Field(False, description="Also run the queries and return their results")


class AnswerView(RecommendationView):
    """The ranked queries for one report, and what was masked in the report."""

    masked: list[str] = Field(description="Kinds of secrets and personal data that were masked in the report")


class FeedbackRequest(BaseModel):
    """Feedback on a query, or on the whole answer without ``query_id``."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query_id": "...", "verdict": "found", "note": ""}]}
    )
    query_id: Name | None = Field(None, description="The query")
    verdict: Verdict = Field(description="`found`: shows the cause. `helpful`: led to it. `not_useful`: neither")
    note: Text = Field("", max_length=MAX_NOTE, description="A note, for example the cause")


class FeedbackView(BaseModel):
    """Saved feedback."""

    recommendation_id: str
    query_id: str | None
    verdict: Verdict
    note: str = Field(description="As saved: masked values are replaced by words in square brackets (setting `mask`)")
    given_at: float = Field(description="Unix seconds")


class SaidView(FeedbackView):
    """Feedback and its author."""

    by: str = Field(description="Author; empty when accounts are off")


class SimilarView(BaseModel):
    """A past answer like this one whose cause people found."""

    id: str
    system: str
    saved_at: float = Field(description="Unix seconds")
    report: str
    cause: str = Field(description="In words; empty where nobody wrote it down")
    query: str = Field(description="The query that showed it; empty where none is known")
    query_text: str = Field(description="The same in its tool's own language")
    tool: str
    similarity: float = Field(description="Cosine of evidence, suspects and report; 1 is the same")


class HistoryView(BaseModel):
    """One line of the history."""

    id: str
    saved_at: float = Field(description="Unix seconds")
    system: str
    recorded: str | None = Field(description="The recorded incident; null for a live system")
    report: str
    abstain: float = Field(description="Probability of no fault")
    top_title: str
    top_probability: float
    verdict: Verdict | None = Field(description="The best verdict on any of its queries")
    outcome: Outcome = Field(
        description="`fault`: something points at one; `no_fault`: probably none; `no_evidence`: too little data to tell"
    )
    suspect: str = Field(description="The target of the first query; empty unless something points at a fault")
    resolved: bool = Field(description="Whether the incident is marked as resolved")


class IncidentView(BaseModel):
    """A recorded incident, as known when it was opened."""

    id: str
    system: str
    opened_at: float = Field(description="Unix seconds")
    report: str
    reports: list[str] = Field(description="All reports about it")


class SystemView(BaseModel):
    """A live system."""

    name: str
    tools: list[str] = Field(description="Data sources with a backend")


class Health(BaseModel):
    """Whether the server can answer, and why not."""

    status: str
    troubles: list[str] = []
