"""The JSON form of an answer."""

import json

from revelio.presentation import recommendation_json, result_view
from revelio.types import (
    Blank,
    Entity,
    Evidence,
    Factor,
    Incident,
    Query,
    QueryTemplate,
    RankedQuery,
    Recommendation,
    Result,
    Series,
    Span,
    Window,
)

TEMPLATE = QueryTemplate(
    "t.errors", "loki", "Errors of ${service}", "Error lines of ${service}", "", (Blank("service", "service"),)
)
EVIDENCE = Evidence(Window(60.0, 90.0), Window(0.0, 60.0))


def _recommendation(result: Result | None = None) -> Recommendation:
    query = Query(TEMPLATE, (("service", "cart"),))
    parts = (Factor("tool", -0.5, ("why",)), Factor("template", float("-inf")))
    ranked = RankedQuery(query, 1, 0.6, parts, text="{service=cart}", link="http://x/", result=result)
    return Recommendation(Incident("i1", "shop", "slow", 90.0, EVIDENCE), (ranked,), 0.1, "m-1", ("jaeger",), 3.5)


def test_a_recommendation_keeps_the_names_that_the_api_promises() -> None:
    view = recommendation_json("r1", _recommendation(), recorded="i1").model_dump(mode="json")
    assert view["id"] == "r1"
    assert view["no_fault_probability"] == 0.1
    assert view["abstain"] == {"probability": 0.1}  # deprecated, kept for older clients
    assert view["degraded"] == ["jaeger"]
    assert view["incident"] == "i1"
    query = view["queries"][0]
    assert query["title"] == "Errors of cart"
    assert query["shows"] == "Error lines of cart"
    assert query["bindings"] == {"service": "cart"}
    assert query["factors"][0] == {"name": "tool", "log_probability": -0.5, "because": ["why"]}
    assert query["result"] is None
    assert {"rank", "probability", "tool", "template", "text", "link"} <= query.keys()


def test_figures_that_json_cannot_write_become_null() -> None:
    series = Series(Entity("service", "cart"), "rate", "1/s", (1.0, 2.0), (float("nan"), 4.0))
    span = Span("a", None, "cart", "GET /", 1.0, 2.0)
    result = Result("s", 0.5, "r", ("a",), ((float("inf"),),), (series,), (span,))
    view = recommendation_json("r1", _recommendation(result)).model_dump(mode="json")
    json.dumps(view, allow_nan=False)
    assert view["queries"][0]["result"] == result_view(result, _recommendation(result).incident.evidence).model_dump(mode="json")
    assert view["queries"][0]["result"]["series"][0]["values"] == [None, 4.0]
    assert view["queries"][0]["result"]["rows"] == [[None]]
    assert view["queries"][0]["factors"][1]["log_probability"] is None


def test_panels_are_there_where_they_are_asked_for() -> None:
    result = Result("s", 0.5, "r", series=(Series(Entity("service", "cart"), "rate", "1/s", (1.0, 70.0), (3.0, 4.0)),))
    plain, drawn = (
        recommendation_json("r1", _recommendation(result), panels=p).model_dump(mode="json")["queries"][0]["result"]["panels"]
        for p in (False, True)
    )
    assert plain == []
    assert [panel["kind"] for panel in drawn] == ["chart"]
    assert drawn[0]["window"] == {"start": 60.0, "end": 90.0}
