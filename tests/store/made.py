"""One answer, made by hand."""

from __future__ import annotations

from dataclasses import replace

from revelio.types import (
    Blank,
    Entity,
    Evidence,
    Factor,
    Incident,
    Query,
    QueryTemplate,
    RankedQuery,
    Reading,
    Recommendation,
    Result,
    Series,
    Span,
    Window,
)

CART = Entity("container", "cart")
SERIES = Series(CART, "cpu", "cores", (1.0, 2.0, 3.0), (0.5, float("inf"), 0.25))
TEMPLATE = QueryTemplate(
    "prometheus.cpu",
    "prometheus",
    "CPU of ${container}",
    "",
    "x",
    (Blank("container", "container"),),
    (Reading("series", "cpu"),),
)
QUERY = Query(TEMPLATE, (("container", "cart"),))
RESULT = Result(
    "CPU rose",
    0.75,
    "4 spreads",
    ("a", "b"),
    ((1, 2.0), (True, None)),
    (SERIES,),
    (Span("1", None, "cart", "GET /", 1.0, 2.0, True),),
    kind="spans",
    roles=("", ""),
)
ANSWER = Recommendation(
    Incident("i-1", "shop", "cart is slow 🐌", 30.0, Evidence(Window(10.0, 30.0), Window(0.0, 10.0), (CART,), (SERIES,))),
    (RankedQuery(QUERY, 1, 0.5, (Factor("tool", -0.7, ("why",)),), "text", "http://prometheus/graph"),),
    0.125,
    "first-1",
    ("jaeger",),
    3.5,
)


def answer_about(report: str) -> Recommendation:
    """The same answer to another report."""
    return replace(ANSWER, incident=replace(ANSWER.incident, report=report))
