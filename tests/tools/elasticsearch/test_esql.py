"""ES|QL of a user: what is let through, values that stay strings, and rows beside those of the baseline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.elasticsearch.esql import COMMANDS, FUNCTIONS, is_esql, refusal
from revelio.tools.elasticsearch.opensearch import OpenSearch
from revelio.tools.elasticsearch.tool import ElasticsearchLogs
from revelio.types import Query, QueryTemplate, Result
from tests.tools.conftest import PATIENT, SCOPE, hostile, spec
from tests.tools.elasticsearch.test_tool import HEADERS

STRING = re.compile(r'"(?:\\[\\"nrt]|[^\\"\n\r])*"')
LONG_KNOWN = {"aggregations": {"first": {"value": 0.0}, "baseline": {"doc_count": 0, "first": {"value": None}}}}
"""The answer of a store that has had lines since long before the baseline."""
ERRORS = 'FROM logs-shop | WHERE log.level == "error"'


def question(text: str, **bindings: str) -> Query:
    template = QueryTemplate("own-text", "elasticsearch", "t", "", text)
    return Query(template, tuple(bindings.items()))


@pytest.mark.parametrize(
    "text",
    [
        "FROM logs-shop",
        ERRORS,
        "from logs-shop | stats n = count(*) by service.name | sort n desc | limit 5",
        'FROM "logs-shop" | WHERE message LIKE "a | b" AND (a IN (1, 2) OR NOT (b > 3))',
        'FROM logs-shop | EVAL half = a / 2 | GROK message "%{WORD:w} // /* %{INT:n}" | KEEP half, `odd | name`',
        'FROM logs-shop | WHERE MATCH(message, "x \\" | FROM secrets") | STATS m = MAX(a) WHERE (a > 1), n = COUNT(*)',
    ],
)
def test_a_query_that_reads_this_index_is_let_through(text: str) -> None:
    assert is_esql(text)
    assert refusal(text, "logs-shop") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FROM secrets", "has to begin with FROM logs-shop"),
        ("FROM logs-shop, secrets", "read no other index"),
        ("FROM logs-shop,secrets | LIMIT 1", "read no other index"),
        ("FROM logs-* | LIMIT 1", "read no other index"),
        ("FROM logs-shop METADATA _id", "read no other index"),
        ("FROM logs-shop | ENRICH people", "uses 'ENRICH'"),
        ("FROM logs-shop | LOOKUP JOIN secrets ON a", "uses 'LOOKUP'"),
        ("FROM logs-shop | FORK (LIMIT 1) (LIMIT 2)", "uses 'FORK'"),
        ("FROM logs-shop | COMPLETION a = b WITH c", "uses 'COMPLETION'"),
        ("FROM logs-shop | STATS n = COUNT(*) BY CATEGORIZE(message)", "calls CATEGORIZE"),
        ("FROM logs-shop | EVAL a = repeat(message, 1000000)", "calls REPEAT"),
        ("FROM logs-shop | LIMIT 1 // | ENRICH people", "has a comment"),
        ("FROM logs-shop /* | */ | LIMIT 1", "read no other index"),
        ("FROM logs-shop | WHERE a == /* b */ 1", "has a comment"),
        ('FROM logs-shop | WHERE a == """b"""', "a quote without end"),
        ('FROM logs-shop | WHERE a == "b', "a quote without end"),
        ("FROM logs-shop | WHERE `a == 1", "a quote without end"),
        ("FROM logs-shop |", "uses ''"),
    ],
)
def test_what_is_refused_says_why(text: str, why: str) -> None:
    assert why in (refusal(text, "logs-shop") or "")


@given(st.from_regex(r"[A-Za-z_]{1,12}", fullmatch=True))
def test_no_command_and_no_function_that_is_not_listed_gets_through(name: str) -> None:
    if name.upper() not in COMMANDS:
        assert refusal(f"FROM logs-shop | {name} x", "logs-shop") is not None
    if name.upper() not in FUNCTIONS | {"AND", "BY", "IN", "IS", "LIKE", "NOT", "OR", "RLIKE", "WHERE"}:
        assert refusal(f"FROM logs-shop | EVAL x = {name} (message)", "logs-shop") is not None


@given(hostile())
def test_a_value_stays_one_string_of_the_query(name: str) -> None:
    tool = ElasticsearchLogs(spec("elasticsearch"), Backend(url="http://nowhere", link="http://kibana.example"), PATIENT)
    asked = question("FROM logs-shop | WHERE service.name == ${service} | LIMIT 5", service=name)
    said = tool.render(asked, SCOPE)
    [value] = STRING.findall(said)
    assert said == f"FROM logs-shop | WHERE service.name == {value} | LIMIT 5"
    link = tool.link(asked, SCOPE)
    assert link is not None and link.count("#") == 1


def answered(httpserver: HTTPServer, answer: Callable[[str, bool], dict[str, Any]], text: str) -> Result:
    """The result where ``answer`` is given each query, and whether it is about the baseline."""

    def asked(request: Request) -> Response:
        sent = json.loads(request.data)
        [(_, span)] = sent["filter"]["bool"]["filter"][0]["range"].items()
        return Response(json.dumps(answer(sent["query"], span["gte"] < "2023-11-14T22:12:50")), headers=HEADERS)

    httpserver.expect_request("/_query", method="POST").respond_with_handler(asked)
    httpserver.expect_request("/logs-shop/_search").respond_with_json(LONG_KNOWN, headers=HEADERS)
    tool = ElasticsearchLogs(spec("elasticsearch"), Backend(url=httpserver.url_for("")), PATIENT)
    return tool.run(question(text), SCOPE)


def table(columns: dict[str, str], *rows: list[Any]) -> dict[str, Any]:
    return {"columns": [{"name": n, "type": t} for n, t in columns.items()], "values": list(rows)}


def test_lines_are_counted_now_and_before(httpserver: HTTPServer) -> None:
    def answer(said: str, before: bool) -> dict[str, Any]:
        if said == f"{ERRORS} | STATS lines = COUNT(*)":
            return table({"lines": "long"}, [2 if before else 300])
        assert said == f"{ERRORS} | KEEP message, tags | LIMIT 100 | LIMIT 51" and not before
        return table({"message": "text", "tags": "keyword"}, *[[f"failed {i}", ["a", "b"]] for i in range(51)])

    result = answered(httpserver, answer, f"{ERRORS} | KEEP message, tags | LIMIT 100")
    assert result.signal == 1.0
    assert result.summary == "300 lines in 30 s, 2 in the 60 s before"
    assert len(result.rows) == 50 and result.truncated
    assert result.rows[0] == ("failed 0", "a, b")


def test_groups_stand_beside_those_of_the_baseline(httpserver: HTTPServer) -> None:
    columns = {"n": "long", "took": "double", "service.name": "keyword"}

    def answer(said: str, before: bool) -> dict[str, Any]:
        if before:
            return table(columns, [20, 4.5, "cart"], [10, 1.0, "orders"])
        return table(columns, [10, 4.0, "cart"], [90, 9.0, "orders"], [1, None, "new"])

    result = answered(httpserver, answer, f"{ERRORS} | STATS n = COUNT(*), took = AVG(took) BY service.name")
    assert result.columns == ("n", "took", "service.name", "n before", "took before")
    assert result.rows == ((10, 4.0, "cart", 20, 4.5), (90, 9.0, "orders", 10, 1.0), (1, None, "new", None, None))
    assert result.signal == 1.0 and result.reason.startswith("orders: ")


def test_groups_that_are_as_usual_are_no_signal(httpserver: HTTPServer) -> None:
    def answer(said: str, before: bool) -> dict[str, Any]:
        return table({"n": "long", "service.name": "keyword"}, [20 if before else 10, "cart"])

    assert answered(httpserver, answer, f"{ERRORS} | STATS n = COUNT(*) BY service.name").signal == 0.0


@pytest.mark.parametrize(
    "lie",
    [
        {},
        {"columns": [], "values": 3},
        {"columns": [{"name": "a"}], "values": []},
        {"columns": {"a": "long"}, "values": [[1]]},
        {"columns": [{"name": "a", "type": "long"}], "values": [[1, 2]]},
        {"columns": None, "values": None},
    ],
)
def test_an_answer_of_another_form_is_an_error_of_the_source(httpserver: HTTPServer, lie: dict[str, Any]) -> None:
    with pytest.raises(SourceError, match="not Elasticsearch's"):
        answered(httpserver, lambda said, before: lie, ERRORS)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -(10**400), 10**400])
def test_figures_beyond_all_bounds_are_left_out(httpserver: HTTPServer, number: float) -> None:
    result = answered(httpserver, lambda said, before: table({"n": "long"}, [number]), f"{ERRORS} | STATS n = COUNT(*)")
    assert result.rows == ((None, None),) and result.signal == 0.0


def test_opensearch_says_that_it_speaks_no_esql(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/logs-shop/_field_caps").respond_with_json({"fields": {}})
    httpserver.expect_request("/logs-shop/_search").respond_with_json(LONG_KNOWN)
    backend = Backend(url=httpserver.url_for(""), link="http://dashboards.example")
    tool = OpenSearch(spec("elasticsearch"), backend, PATIENT)
    with pytest.raises(SourceError, match="OpenSearch does not speak"):
        tool.run(question(ERRORS), SCOPE)
    assert tool.link(question(ERRORS), SCOPE) is None
