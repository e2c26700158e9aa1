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
from revelio.presentation.evidence_panels import evidence_panels
from revelio.presentation.messages import compact
from revelio.presentation.panels import EvidencePanels

__all__ = [
    "AbstainView",
    "EvidencePanels",
    "FactorView",
    "MoveView",
    "QueryView",
    "RecommendationView",
    "ResultView",
    "SeriesView",
    "SpanView",
    "WindowView",
    "compact",
    "evidence_panels",
    "query_view",
    "recommendation_json",
    "result_view",
]
