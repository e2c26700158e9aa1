"""What the API takes and gives besides the answer itself (``revelio.presentation``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from revelio.presentation import RecommendationView
from revelio.store import Verdict

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
Name = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_writable)]


class RecommendationRequest(BaseModel):
    """A report about either a live system or a recorded incident."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"report": "checkout takes ages since lunch", "system": "shop", "k": 5}]},
    )
    report: Text = Field(description="What a user noticed, in their own words")
    system: Name | None = Field(None, description="A live system; `GET /api/v1/systems` lists them")
    incident: Name | None = Field(None, description="A recorded incident; `GET /api/v1/incidents` lists them")
    opened_at: float | None = Field(
        None, ge=0, le=1e11, allow_inf_nan=False, description="When it was noticed, in Unix seconds; now when left out"
    )
    k: int = Field(5, ge=1, le=50, description="How many queries")
    run: bool = Field(False, description="Run them all, and give their results too")


class AnswerView(RecommendationView):
    """The ranked queries for one report, and what is no longer in that report."""

    masked: list[str] = Field(description="Kinds of secrets and personal data that were masked in the report")


class FeedbackRequest(BaseModel):
    """What a person says about a query, or about the whole answer when ``query_id`` is left out."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query_id": "...", "verdict": "found", "note": ""}]}
    )
    query_id: Name | None = Field(None, description="The query that is spoken of")
    verdict: Verdict = Field(description="`found`: it shows the cause. `helpful`: it led there. `not_useful`: it did neither")
    note: Text = Field("", max_length=MAX_NOTE, description="Anything worth keeping, for example what the cause was")


class FeedbackView(BaseModel):
    """Feedback that is on disk."""

    recommendation_id: str
    query_id: str | None
    verdict: Verdict
    note: str = Field(description="As it is kept: what the setting `mask` names is replaced by words in square brackets")
    given_at: float = Field(description="Unix seconds")


class SaidView(FeedbackView):
    """Feedback, and whose."""

    by: str = Field(description="Who said it; empty where nobody has to sign in")


class HistoryView(BaseModel):
    """One line of the history."""

    id: str
    saved_at: float = Field(description="Unix seconds")
    system: str
    recorded: str | None = Field(description="The recorded incident that was asked about; null when asked live")
    report: str
    abstain: float = Field(description="Probability that nothing points at a fault")
    top_title: str
    top_probability: float
    verdict: Verdict | None = Field(description="The best that was said of any of its queries")


class IncidentView(BaseModel):
    """A recorded incident, as much as was known when it was opened."""

    id: str
    system: str
    opened_at: float = Field(description="Unix seconds")
    report: str
    reports: list[str] = Field(description="All texts that users wrote about it")


class SystemView(BaseModel):
    """A system that can be asked about live."""

    name: str
    tools: list[str] = Field(description="Tools that have a backend in it")


class Health(BaseModel):
    """Whether the server can answer, and if not, why."""

    status: str
    troubles: list[str] = []
