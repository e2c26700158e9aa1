"""Elasticsearch: requests that stay what they are, limits of time and size, and signals high on a fault and low in health."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.elasticsearch.tool import ElasticsearchLogs
from revelio.types import Entity, Query, QueryTemplate
from tests.tools.conftest import QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.test_fetch import raw_server

HEADERS = {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/vnd.elasticsearch+json;compatible-with=8"}
Document = dict[str, Any]


def line(at: float, message: str, level: str = "info", service: str = "cart", **more: str) -> Document:
    """A document as the shop's services write it."""
    return {"@timestamp": at, "log.level": level, "message": message, "service.name": service, **more}


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _matches(query: Any, document: Document) -> bool:
    """As much of the query language as the catalog uses."""
    [(kind, inner)] = query.items()
    if kind == "match_all":
        return True
    if kind == "bool":
        return (
            all(_matches(q, document) for q in inner.get("filter", []))
            and not any(_matches(q, document) for q in inner.get("must_not", []))
            and ("should" not in inner or any(_matches(q, document) for q in inner["should"]))
        )
    field: str = inner["field"] if kind == "exists" else next(iter(inner))
    value: Any = inner[field] if kind != "exists" else None
    told: Any = document.get(field)
    if kind == "exists":
        return told is not None
    if kind == "range":
        return bool(_moment(value["gte"]) <= told < _moment(value["lt"]))
    if kind == "term":
        return bool(told == value)
    if kind == "terms":
        return told in value
    words = str(value).lower().split()
    message = str(told or "").lower()
    return " ".join(words) in message if kind == "match_phrase" else any(w in message.split() for w in words)


def _found(request: dict[str, Any], documents: list[Document]) -> dict[str, Any]:
    every = [d for d in documents if _matches(request["query"], d)]
    hits = sorted(
        (d for d in every if _matches(request.get("post_filter", {"match_all": {}}), d)), key=lambda d: -d["@timestamp"]
    )
    names = [f["field"] if isinstance(f, dict) else f for f in request.get("fields", [])]
    answer: dict[str, Any] = {
        "took": 3,
        "timed_out": False,
        "hits": {
            "total": {"value": len(hits), "relation": "eq"},
            "hits": [
                {
                    "_id": str(i),
                    "fields": {n: [str(int(d[n] * 1000)) if n == "@timestamp" else d[n]] for n in names if n in d},
                }
                for i, d in enumerate(hits[: request["size"]])
            ],
        },
    }
    aggregations = request.get("aggs", {})
    if "when" in aggregations:
        middle = _moment(aggregations["when"]["date_range"]["ranges"][0]["to"])
        counts = (sum(d["@timestamp"] < middle for d in every), sum(d["@timestamp"] >= middle for d in every))
        answer["aggregations"] = {
            "when": {"buckets": [{"key": k, "doc_count": n} for k, n in zip(("before", "now"), counts, strict=True)]}
        }
    if "level" in aggregations:
        levels: dict[str, dict[int, int]] = {}
        for d in every:
            filters = aggregations["level"]["filters"]["filters"]
            level = next((name for name, query in filters.items() if _matches(query, d)), "INFO")
            stretch = int(d["@timestamp"] // 5 * 5000)
            times = levels.setdefault(level, {})
            times[stretch] = times.get(stretch, 0) + 1
        answer["aggregations"] = {
            "level": {
                "buckets": {
                    k: {"time": {"buckets": [{"key": t, "doc_count": n} for t, n in v.items()]}} for k, v in levels.items()
                }
            }
        }
    if "baseline" in aggregations:
        past = [d["@timestamp"] for d in every if _matches(aggregations["baseline"]["filter"], d)]
        of = {"first": {"value": min(past) * 1000.0 if past else None}, "doc_count": len(past)}
        oldest = min((d["@timestamp"] * 1000.0 for d in every), default=None)
        answer["aggregations"] = {"first": {"value": oldest}, "baseline": of}
    if "patterns" in aggregations:
        middle = SCOPE.window.start
        buckets = {}
        for place, query in aggregations["patterns"]["filters"]["filters"].items():
            at = [d["@timestamp"] for d in every if _matches(query, d)]
            sides = (("before", sum(a < middle for a in at)), ("now", sum(a >= middle for a in at)))
            buckets[place] = {"when": {"buckets": [{"key": k, "doc_count": n} for k, n in sides]}}
        answer["aggregations"] = {"patterns": {"buckets": buckets}}
    return answer


def elasticsearch(httpserver: HTTPServer, documents: list[Document], link: str = "") -> ElasticsearchLogs:
    def search(request: Request) -> Response:
        return Response(json.dumps(_found(json.loads(request.data), documents)), headers=HEADERS)

    httpserver.expect_request("/logs-shop/_search", method="POST").respond_with_handler(search)
    return ElasticsearchLogs(spec("elasticsearch"), Backend(url=httpserver.url_for(""), link=link), Limits(seconds=2.0, rows=50))


def served(start: float, end: float, rate: float = 4.0, service: str = "cart") -> list[Document]:
    """Ordinary lines, unevenly spread."""
    return [
        line(start + i / rate + (i * 7919 % 13) / 20, f"served {i}", service=service) for i in range(int((end - start) * rate))
    ]


HEALTH = served(SCOPE.baseline.start, SCOPE.window.end - 1)


def failing(number: int = 12) -> list[Document]:
    at = [SCOPE.window.start + 2 + i * 2.0 for i in range(number)]
    return [
        line(
            t,
            f"call to redis failed: connection refused after {i} ms",
            "error",
            **{
                "trace.id": f"{i:032x}",
                "error.type": "KeyError",
                "log.origin.file.name": "cart.py",
                "log.origin.file.line": "62",
            },
        )
        for i, t in enumerate(at)
    ]


def warning(number: int = 12) -> list[Document]:
    return [line(SCOPE.window.start + 2 + i * 2.0, f"retrying after timeout {i}", "warning") for i in range(number)]


FAULTS: list[tuple[str, dict[str, str], Callable[[], list[Document]]]] = [
    ("elasticsearch.errors", {"service": "cart"}, failing),
    ("elasticsearch.warnings", {"service": "cart"}, warning),
    ("elasticsearch.exceptions", {"service": "cart"}, failing),
    ("elasticsearch.new_patterns", {}, failing),
    ("elasticsearch.new_patterns_of", {"service": "cart"}, warning),
    ("elasticsearch.log_rate", {"service": "cart"}, failing),
    ("elasticsearch.failing_trace", {"service": "cart"}, failing),
    ("elasticsearch.timeouts", {"service": "cart"}, failing),
    ("elasticsearch.about_peer", {"service": "cart", "peer": "redis"}, failing),
]


@pytest.mark.parametrize(("template", "bindings", "fault"), FAULTS, ids=[f[0] for f in FAULTS])
def test_the_signal_is_present_in_the_fault_and_absent_in_health(
    httpserver: HTTPServer, template: str, bindings: dict[str, str], fault: Callable[[], list[Document]]
) -> None:
    broken = elasticsearch(httpserver, [*HEALTH, *fault()]).run(bound(template, **bindings), SCOPE)
    assert broken.signal >= 0.5, broken.reason
    assert broken.rows or broken.series
    httpserver.clear()
    well = elasticsearch(httpserver, HEALTH).run(bound(template, **bindings), SCOPE)
    assert well.signal < 0.2, well.reason


def test_every_bundled_template_is_tried_above() -> None:
    assert {f[0] for f in FAULTS} == {t.id for t in spec("elasticsearch").templates}


def test_errors_that_were_always_there_are_no_signal(httpserver: HTTPServer) -> None:
    always = [line(SCOPE.baseline.start + i, "cannot parse coupon", "error") for i in range(90)]
    tool = elasticsearch(httpserver, [*HEALTH, *always])
    for template in ("elasticsearch.errors", "elasticsearch.new_patterns_of", "elasticsearch.log_rate"):
        assert tool.run(bound(template, service="cart"), SCOPE).signal < 0.2, template


def test_a_service_that_falls_silent_is_seen_in_its_log_rate(httpserver: HTTPServer) -> None:
    silent = [d for d in HEALTH if d["@timestamp"] < SCOPE.window.start + 4]
    assert elasticsearch(httpserver, silent).run(bound("elasticsearch.log_rate", service="cart"), SCOPE).signal >= 0.5


def test_new_harmless_messages_are_listed_and_are_no_signal(httpserver: HTTPServer) -> None:
    new = [line(SCOPE.window.start + i, "cache warmed") for i in range(20)]
    result = elasticsearch(httpserver, [*HEALTH, *new]).run(bound("elasticsearch.new_patterns_of", service="cart"), SCOPE)
    assert result.signal == 0.0
    assert [row[2] for row in result.rows] == ["cache warmed"]


def test_a_failing_trace_shows_the_lines_of_all_services_in_order(httpserver: HTTPServer) -> None:
    told = failing(1)
    at, trace = told[0]["@timestamp"], told[0]["trace.id"]
    told += [
        line(at + 0.2, "call to cart failed: status 500", "error", "gateway", **{"trace.id": trace}),
        line(at - 0.2, "looking up cart", "info", "gateway", **{"trace.id": trace}),
    ]
    result = elasticsearch(httpserver, [*HEALTH, *told]).run(bound("elasticsearch.failing_trace", service="cart"), SCOPE)
    assert [(row[2], row[1]) for row in result.rows] == [("gateway", "INFO"), ("cart", "ERROR"), ("gateway", "ERROR")]


def test_exceptions_are_grouped_by_type_and_line_of_code(httpserver: HTTPServer) -> None:
    result = elasticsearch(httpserver, failing(9)).run(bound("elasticsearch.exceptions", service="cart"), SCOPE)
    assert [row[:4] for row in result.rows] == [("cart", "KeyError", "cart.py:62", 9)]
    assert "most often KeyError at cart.py:62" in result.summary


def test_a_snapshot_counts_patterns_now_and_before_in_five_searches(httpserver: HTTPServer) -> None:
    evidence = elasticsearch(httpserver, [*HEALTH, *failing(), *served(*_both(), service="gateway")]).snapshot(SCOPE)
    assert sum(request.path.endswith("/_search") for request, _ in httpserver.log) == 5
    assert evidence.entities == (Entity("log_source", "cart"), Entity("log_source", "gateway"))
    first = evidence.logs[0]
    assert (first.level, first.count, first.baseline_count) == ("ERROR", 12, 0)
    assert first.pattern == "call to redis failed: connection refused after <n> ms [KeyError]"
    assert first.first_seen == pytest.approx(SCOPE.window.start + 2)
    usual = next(p for p in evidence.logs if p.entity.name == "cart" and p.level == "INFO")
    assert usual.baseline_count == pytest.approx(240, abs=4)


def test_a_store_younger_than_the_baseline_is_compared_with_what_it_saw(httpserver: HTTPServer) -> None:
    """An error a second all the time is usual, also where a sixth of the baseline is known."""
    began = SCOPE.window.start - 10.0
    usual = [line(began + i, "no such order in the shop", "error") for i in range(40)]
    tool = elasticsearch(httpserver, usual)
    assert tool.snapshot(SCOPE).baseline.seconds == pytest.approx(10.0)
    result = tool.run(bound("elasticsearch.errors", service="cart"), SCOPE)
    assert result.signal == 0.0
    assert "in the 10 s before, all the history there is" in result.summary


def test_without_any_history_nothing_is_new(httpserver: HTTPServer) -> None:
    tool = elasticsearch(httpserver, failing())
    assert tool.snapshot(SCOPE).baseline.seconds == 0.0
    assert tool.run(bound("elasticsearch.new_patterns"), SCOPE).signal == 0.0
    assert "nothing was recorded then" in tool.run(bound("elasticsearch.errors", service="cart"), SCOPE).summary


def test_counts_come_from_counts_where_only_a_part_of_the_lines_is_read(httpserver: HTTPServer) -> None:
    """The newest thousand lines are not like the others: what they lack is not gone, and what they lacked before is not new."""
    start, middle, end = SCOPE.baseline.start, SCOPE.window.start, SCOPE.window.end
    early = [line(start + i / 20, "lost the lease of the scheduler", "error") for i in range(300)]
    crowd = [line(middle - 20 + i / 100, f"served a page of shop {i}") for i in range(1950)]
    late = [line(middle + 1 + i / 10, "lost the lease of the scheduler", "error") for i in range(87)]
    busy = [line(middle + i / 100, f"upstream of shop is slow {i}", "error") for i in range(int((end - middle) * 100) - 1)]
    seen = elasticsearch(httpserver, [*early, *crowd, *late, *busy]).snapshot(SCOPE)
    lease = next(p for p in seen.logs if p.pattern.startswith("lost the lease"))
    assert (lease.count, lease.baseline_count) == (87, 300)


def _both() -> tuple[float, float]:
    return SCOPE.baseline.start, SCOPE.window.end


def _shape(node: Any) -> Any:
    """A request with every string emptied, and its keys kept."""
    if isinstance(node, dict):
        return {k: _shape(v) for k, v in node.items()}
    if isinstance(node, list):
        return [_shape(v) for v in node]
    return "" if isinstance(node, str) else node


@given(hostile())
def test_no_name_changes_the_shape_of_a_request(name: str) -> None:
    tool = ElasticsearchLogs(spec("elasticsearch"), Backend(url="http://nowhere", link="http://kibana.example"), QUICK)
    for harmless, query in zip(filled("elasticsearch", "cart"), filled("elasticsearch", name), strict=True):
        usual, odd = tool.render(harmless, SCOPE), tool.render(query, SCOPE)
        head, _, body = odd.partition("\n")
        assert head == "GET logs-shop/_search"
        request = json.loads(body)
        assert _shape(request) == _shape(json.loads(usual.partition("\n")[2]))
        if query.bindings:
            assert json.dumps(name)[1:-1] in json.dumps(request)
        link = tool.link(query, SCOPE)
        assert link is not None
        assert link.count("#") == 1


def linking(data_view: str = "") -> ElasticsearchLogs:
    backend = Backend(url="http://nowhere", link="http://kibana.example/", data_view=data_view)
    return ElasticsearchLogs(spec("elasticsearch"), backend, QUICK)


def test_the_link_opens_discover_on_a_data_view_with_the_same_filter() -> None:
    link = linking("logs-of-the-shop").link(bound("elasticsearch.log_rate", service="o'hara!"), SCOPE)
    assert link is not None
    assert link.startswith("http://kibana.example/app/discover#/?_g=")
    assert "'dataSource':('dataViewId':'logs-of-the-shop','type':'dataView')" in unquote(link)
    assert "'query':('term':('service.name':'o!'hara!!'))" in unquote(link)


def test_without_a_data_view_the_link_says_the_same_in_esql() -> None:
    link = linking().link(bound("elasticsearch.errors", service="o'hara"), SCOPE)
    assert link is not None
    levels = ", ".join(f'"{level}"' for level in ("ERROR", "error", "CRITICAL", "critical", "FATAL", "fatal"))
    said = f'FROM logs-shop | WHERE service.name == "o!\'hara" AND log.level IN ({levels}) | SORT @timestamp DESC | LIMIT 500'
    assert unquote(link).endswith(f"&_a=('dataSource':('type':'esql'),'query':('esql':'{said}'))")


def test_every_bundled_search_can_be_linked_without_a_data_view() -> None:
    assert all(linking().link(query, SCOPE) for query in filled("elasticsearch", "cart"))


def test_what_esql_cannot_say_has_no_link_without_a_data_view() -> None:
    fuzzy = Query(QueryTemplate("own-text", "elasticsearch", "t", "", "{query: {fuzzy: {message: {value: tmeout}}}}"))
    assert linking().link(fuzzy, SCOPE) is None
    assert linking("logs").link(fuzzy, SCOPE) is not None


def test_without_a_kibana_there_is_no_link() -> None:
    tool = ElasticsearchLogs(spec("elasticsearch"), Backend(url="http://nowhere", data_view="logs"), QUICK)
    assert tool.link(bound("elasticsearch.log_rate", service="a"), SCOPE) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{view: pie}", "there are: lines"),
        ("{index: other, query: {match_all: {}}}", "'index'"),
        ("{query: {script: {script: 'x'}}}", "uses 'script', which is not searched with"),
        ("{query: {bool: {filter: [{script_score: {}}]}}}", "uses 'script_score'"),
        ("{query: {wrapper: {query: eyJzY3JpcHQiOiB7fX0=}}}", "uses 'wrapper'"),
        ("{query: {terms: {a: {index: other, id: '1', path: b}}}}", "another index"),
        ("{query: {match_all: {}}, aggs: {a: {terms: {field: b}}}}", "'aggs'"),
        ("{query: all}", "query language"),
        ("GET /_all", "mapping"),
    ],
)
def test_bodies_that_are_refused_say_why(body: str, message: str) -> None:
    tool = ElasticsearchLogs(spec("elasticsearch"), Backend(url="http://nowhere"), QUICK)
    with pytest.raises(SourceError, match=message):
        tool.render(Query(QueryTemplate("own-text", "elasticsearch", "t", "", body)), SCOPE)


def quick(url: str) -> ElasticsearchLogs:
    return ElasticsearchLogs(spec("elasticsearch"), Backend(url=url), QUICK)


@contextmanager
def refused(message: str) -> Iterator[None]:
    began = time.monotonic()
    with pytest.raises(SourceError, match=message) as caught:
        yield
    assert caught.value.source == "elasticsearch"
    assert time.monotonic() - began < 3.0  # a busy machine takes its time


ASK = bound("elasticsearch.errors", service="cart")
LATE = r"gave no answer within 0\.5 s"


def test_a_backend_that_is_down_is_named_by_its_address_and_not_in_a_librarys_words() -> None:
    with pytest.raises(SourceError) as caught:
        quick("http://127.0.0.1:9").run(ASK, SCOPE)
    assert "cannot be reached at http://127.0.0.1:9: [Errno 111] Connection refused" in str(caught.value)
    assert "host=" not in str(caught.value)


def test_a_backend_that_hangs_is_given_up_after_the_limit() -> None:
    with raw_server(b"", hang=True) as url, refused(LATE):
        quick(url).run(ASK, SCOPE)


@pytest.mark.parametrize("more_of_a_head", [0, 900])
def test_a_backend_that_drips_is_given_up_after_the_limit(more_of_a_head: int) -> None:
    head = (
        b"HTTP/1.1 200 OK\r\nX-Elastic-Product: Elasticsearch\r\nContent-Length: 9000\r\nX: "
        + b"x" * more_of_a_head
        + b"\r\n\r\n"
    )
    with raw_server(head + b" " * 900, drip_s=0.003) as url, refused(LATE):
        quick(url).run(ASK, SCOPE)


def test_a_backend_that_floods_is_cut_off(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/logs-shop/_search").respond_with_data(b" " * 3_000_000 + b"{}", headers=HEADERS)
    with refused("more than"):
        quick(httpserver.url_for("")).run(ASK, SCOPE)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, "{}", "without aggregations"),
        (200, "[]", "does not answer like Elasticsearch"),
        (
            200,
            '{"aggregations":{"when":{"buckets":[]}},"hits":{"hits":[{"fields":{"@timestamp":["soon"]}}]}}',
            "not Elasticsearch's",
        ),
        (200, "<html>", "is not JSON"),
        (
            404,
            '{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"no such index [logs-shop]"}]}}',
            "are logs shipped",
        ),
        (400, '{"error":{"root_cause":[{"type":"parsing_exception","reason":"unknown query [x]"}]}}', "unknown query"),
        (503, '{"error":"overloaded"}', "refused the search"),
    ],
)
def test_an_answer_that_is_no_answer_is_told_as_it_is(httpserver: HTTPServer, status: int, body: str, message: str) -> None:
    httpserver.expect_request("/logs-shop/_search").respond_with_data(body, status=status, headers=HEADERS)
    with refused(message):
        quick(httpserver.url_for("")).run(ASK, SCOPE)


def test_another_program_at_that_address_is_noticed(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/_cluster/health").respond_with_json({"hits": {}}, headers=HEADERS)
    with refused("is not Elasticsearch or OpenSearch"):
        quick(httpserver.url_for("")).ping()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nonsense", ""])
def test_a_backend_that_is_not_there_is_named(url: str) -> None:
    with refused("cannot be reached|no address"):
        quick(url).run(ASK, SCOPE)


def test_ping_tells_the_clusters_health(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/_cluster/health").respond_with_json({"status": "green"}, headers=HEADERS)
    assert quick(httpserver.url_for("")).ping() == "Elasticsearch, cluster green"
