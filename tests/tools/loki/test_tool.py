"""Loki: the questions about logs in LogQL, told by its labels whatever they are, from recorded replies and from a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from pytest_httpserver import HTTPServer

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.settings.profile import ProfileSettings
from revelio.systems.system import System, open_system
from revelio.tools.base import Scope
from revelio.tools.loki.labels import Labels, find_labels
from revelio.tools.loki.logql import logql
from revelio.tools.loki.tool import Loki
from revelio.types import Query, QueryTemplate
from tests.tools.conftest import QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.loki.server import loki, real_loki
from tests.tools.recorded import Recording


@pytest.fixture(params=["recorded", "real"])
def asked(request: pytest.FixtureRequest, httpserver: HTTPServer, tmp_path: Path) -> Iterator[tuple[str, Scope]]:
    """The address of a Loki that holds the lines of a shop, and their scope."""
    if request.param == "recorded":
        recording = Recording.load("loki")
        recording.replay(httpserver)
        yield httpserver.url_for("").rstrip("/"), recording.scope
    else:
        with real_loki(tmp_path) as found:
            yield found


def test_a_loki_shows_what_happened_in_the_shop(asked: tuple[str, Scope]) -> None:
    """One test, so that a real Loki starts once."""
    url, scope = asked
    with loki(url) as tool:
        shows_the_shop(tool, scope)


def shows_the_shop(tool: Loki, scope: Scope) -> None:
    assert tool.ping().startswith("Loki")
    seen = tool.snapshot(scope)
    assert {e.name for e in seen.entities} == {"cart", "gateway", "orders", "payments"}, "those of another namespace are kept out"
    told = {(p.entity.name, p.level, p.pattern): (p.count, p.baseline_count) for p in seen.logs}
    assert told == {
        ("orders", "ERROR", "dial tcp <ip>:<n>: connect: connection refused"): (30, 0),
        ("payments", "ERROR", "ERROR charge <n> failed [bank.TimeoutError]"): (20, 0),
        ("gateway", "ERROR", "E<n> <n> <n> server.go:<n>] Unable to reach the node of client <n>"): (120, 0),
        ("gateway", "INFO", "I<n> <n> <n> server.go:<n>] handled a request of client <n>"): (480, 1796),
        ("cart", "INFO", "added item <n> to cart"): (30, 90),
        ("orders", "INFO", "order <n> stored"): (0, 90),
        ("payments", "INFO", "INFO charged <n> EUR"): (0, 60),
    }
    errors = tool.run(bound("elasticsearch.errors", service="orders"), scope)
    assert (errors.kind, errors.signal, len(errors.rows)) == ("log_lines", 1.0, 30)
    assert dict(zip(errors.roles, errors.rows[0], strict=True))["origin"] == "db.go:41"
    exceptions = tool.run(bound("elasticsearch.exceptions", service="payments"), scope)
    assert exceptions.rows[0][:4] == ("payments", "bank.TimeoutError", "/app/charge.py:88", 20)
    assert tool.run(bound("elasticsearch.new_patterns"), scope).signal == 1.0
    assert tool.run(bound("elasticsearch.new_patterns_of", service="cart"), scope).signal == 0.0
    rates = {s.entity.name: s for s in tool.run(bound("elasticsearch.log_rate", service="orders"), scope).series}
    assert set(rates) == {"ERROR", "INFO"}
    assert (sum(rates["ERROR"].values), sum(rates["INFO"].values)) == pytest.approx((30, 90), abs=3)
    assert tool.run(bound("elasticsearch.errors", service="gateway"), scope).summary.startswith("120 lines in 60 s, 0 in")
    rates = {s.entity.name: s for s in tool.run(bound("elasticsearch.log_rate", service="gateway"), scope).series}
    assert sum(rates["ERROR"].values) == pytest.approx(120, abs=10)
    trace = tool.run(bound("elasticsearch.failing_trace", service="orders"), scope)
    assert trace.summary.startswith("trace 000000")
    assert len(tool.run(bound("elasticsearch.timeouts", service="orders"), scope).rows) == 30
    assert len(tool.run(bound("elasticsearch.about_peer", service="orders", peer="postgres"), scope).rows) == 30
    assert tool.run(bound("elasticsearch.warnings", service="orders"), scope).signal == 0.0
    assert tool.run(bound("elasticsearch.errors", service='cart"} or {a="'), scope).rows == ()


def test_a_system_with_a_loki_asks_the_questions_about_logs_and_says_who_answers(httpserver: HTTPServer) -> None:
    recording = Recording.load("loki")
    recording.replay(httpserver)
    backend = Backend(url=httpserver.url_for("").rstrip("/"), grafana="https://grafana.example", datasource="L1")
    settings = SystemSettings(project="shop", backends={"loki": backend})
    with closing(open_system("shop", settings, bundled_catalog(), 10.0)) as system:
        asks_and_says_who_answers(system, recording.scope)


def asks_and_says_who_answers(system: System, scope: Scope) -> None:
    evidence = system.snapshot(scope)
    assert (evidence.sources, evidence.missing) == (("loki",), ())
    asked = candidates(system.catalog, inventory(evidence))
    assert {q.template.tool for q in asked} == {"elasticsearch"}
    query = next(q for q in asked if q.template.id == "elasticsearch.errors" and ("service", "orders") in q.bindings)
    assert query == bound("elasticsearch.errors", service="orders"), "ids and texts are those that the model was trained with"
    assert system.source(query) == "Loki"
    assert system.render(query, evidence).startswith('{namespace="shop", service_name="orders"} | ')
    assert system.run(query, evidence).signal == 1.0
    panes = json.loads(parse_qs(urlsplit(system.link(query, evidence) or "").query)["panes"][0])["revelio"]
    assert (panes["datasource"], panes["queries"][0]["datasource"]["type"]) == ("L1", "loki")


def found(values: dict[str, list[str]], settings: ProfileSettings | None = None) -> Labels:
    return find_labels(
        list(values), lambda name, _: values.get(name, []), frozenset(), "shop", settings or ProfileSettings.model_validate({})
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"service_name": ["cart"], "app": ["x"]}, '{service_name="cart"}'),
        ({"service_name": ["unknown_service"], "app": ["cart"]}, '{app="cart"}'),
        ({"compose_project": ["shop", "x"], "compose_service": ["cart"]}, '{compose_project="shop", compose_service="cart"}'),
        (
            {"namespace": ["shop"], "pod": ["cart-7d9f8c6b5d-x2vqz"]},
            '{namespace="shop", pod=~"cart((-[bcdf-hj-np-tv-xz2456789]{6',
        ),
        ({"job": ["shop/cart", "shop/orders"]}, '{job=~"(.*/)?cart"}'),
    ],
)
def test_the_label_that_names_components_is_found(values: dict[str, list[str]], expected: str) -> None:
    labels = found(values)
    assert logql({"term": {"service.name": "cart"}}, labels).startswith(expected)


def test_lines_without_a_level_are_searched_for_the_word() -> None:
    labels = found({"app": ["cart"]})
    said = logql({"bool": {"filter": [{"term": {"service.name": "cart"}}, {"terms": {"log.level": ["ERROR", "fatal"]}}]}}, labels)
    assert said.startswith('{app="cart"} |~ "(?i)(alert|crit|critical')
    assert ' |~ "(?i)(^|[^a-z])(alert|crit' in said, "no part of a longer word"


def test_settings_override_what_is_found() -> None:
    labels = found(
        {"service_name": ["a"], "team": ["cart"]}, ProfileSettings.model_validate({"component": "team", "selector": 'env="prod"'})
    )
    assert logql({"match_all": {}}, labels) == '{env="prod", team=~".+"}'


@given(hostile())
def test_no_name_breaks_out_of_a_query(name: str) -> None:
    """Outside its strings, the LogQL is the same whatever the name is."""
    tool = Loki(spec("elasticsearch"), Backend(url="http://127.0.0.1:9"), QUICK)
    for query, plain in zip(filled("elasticsearch", name), filled("elasticsearch", "cart"), strict=True):
        assert _outside(tool.render(query, SCOPE)) == _outside(tool.render(plain, SCOPE))


def _outside(said: str) -> str:
    kept, within, index = "", False, 0
    while index < len(said):
        if within and said[index] == "\\":
            index += 2
            continue
        if said[index] == '"':
            within = not within
        if not within:
            kept += said[index]
        index += 1
    assert not within
    return kept


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{view: map}", "view is 'map'"),
        ("{query: {range: {a: {gt: 1}}}}", "the query asks range of 'a'"),
        ("{query: {bool: {boost: 2}}}", "a part of bool"),
    ],
)
def test_a_search_that_logql_cannot_say_is_refused_in_words(body: str, words: str) -> None:
    tool = Loki(spec("elasticsearch"), Backend(url="http://127.0.0.1:9"), QUICK)
    with pytest.raises(SourceError, match=words):
        tool.render(Query(QueryTemplate("x", "loki", "x", "", body)), SCOPE)


def test_a_loki_of_many_tenants_says_that_it_needs_one(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/loki/api/v1/labels").respond_with_data("no org id\n", 401, content_type="text/plain")
    with loki(httpserver.url_for("")) as tool, pytest.raises(SourceError, match="needs a tenant; set headers"):
        tool.ping()


def test_an_answer_of_somebody_else_is_no_loki(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/loki/api/v1/labels").respond_with_json({"data": {"a": 1}})
    with loki(httpserver.url_for("")) as tool, pytest.raises(SourceError, match="not Loki's"):
        tool.snapshot(SCOPE)
