"""How an answer is shown: one JSON form, and one model of evidence that page, terminal, messages and JSON all draw."""

from revelio.presentation.answer import (
    AbstainView,
    FactorView,
    MoveView,
    QueryView,
    RecommendationView,
    ResultView,
    SeriesView,
    SpanView,
    WindowView,
    query_view,
    recommendation_json,
    result_view,
)
from revelio.presentation.cause import Cause, CauseKind, cause, cause_sentence
from revelio.presentation.evidence_panels import evidence_panels
from revelio.presentation.panels import EvidencePanels
from revelio.presentation.text import headline, text_view
from revelio.presentation.times import time_lines

__all__ = [
    "AbstainView",
    "Cause",
    "CauseKind",
    "EvidencePanels",
    "FactorView",
    "MoveView",
    "QueryView",
    "RecommendationView",
    "ResultView",
    "SeriesView",
    "SpanView",
    "WindowView",
    "cause",
    "cause_sentence",
    "evidence_panels",
    "headline",
    "query_view",
    "recommendation_json",
    "result_view",
    "text_view",
    "time_lines",
]
