"""Addresses of tools' own pages: exactly as those pages read them, whatever the names in them are."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given

from revelio.settings import Backend
from revelio.tools.jaeger.tool import Jaeger
from revelio.tools.links import (
    dashboards_filter,
    grafana_explore,
    jaeger_search,
    kibana_esql,
    kibana_filter,
    prometheus_graph,
    rison,
    vmui_graph,
)
from revelio.tools.prometheus.tool import Prometheus
from revelio.types import Window
from tests.tools.conftest import QUICK, SCOPE, bound, hostile, spec

WHOLE = Window(SCOPE.baseline.start, SCOPE.window.end)
GRAFANA = Backend(url="http://x", link="http://prom.example", grafana="https://grafana.example/g/", datasource="P1809")


def test_prometheus_graph_exactly() -> None:
    assert prometheus_graph("http://prom.example/", 'up{a="b c"}', WHOLE) == (
        "http://prom.example/graph?g0.expr=up%7Ba%3D%22b+c%22%7D&g0.tab=0&g0.range_input=90s&g0.end_input=2023-11-14+22%3A13%3A20"
    )


@pytest.mark.parametrize("base", ["http://vm.example/select/0/", "http://vm.example/select/0/prometheus"])
def test_vmui_exactly(base: str) -> None:
    assert vmui_graph(base, 'up{a="b c"}', WHOLE) == (
        "http://vm.example/select/0/vmui/#/?g0.expr=up%7Ba%3D%22b+c%22%7D&g0.tab=0&g0.range_input=90s"
        "&g0.end_input=2023-11-14T22%3A13%3A20&g0.relative_time=none"
    )


def test_opensearch_dashboards_exactly() -> None:
    link = dashboards_filter("http://os.example/", "abc", {"term": {"service.name": "cart"}}, WHOLE)
    assert unquote(link) == (
        "http://os.example/app/data-explorer/discover#?"
        "_a=('discover':('columns':!('_source'),'isDirty':!f,'sort':!()),'metadata':('indexPattern':'abc','view':'discover'))"
        "&_g=('filters':!(),'time':('from':'2023-11-14T22:11:50.000Z','to':'2023-11-14T22:13:20.000Z'))"
        "&_q=('filters':!(('meta':('type':'custom','key':'query','alias':'from Revelio','disabled':!f,'negate':!f,'index':'abc'),"
        "'query':('term':('service.name':'cart')))),'query':('language':'kuery','query':''))"
    )
    default = unquote(dashboards_filter("http://os.example", "", {"match_all": {}}, WHOLE))
    assert "'metadata':('view':'discover')" in default and "'index'" not in default


def test_grafana_explore_exactly() -> None:
    link = grafana_explore("https://grafana.example/", "P1809", "up", WHOLE)
    assert unquote(link.replace("+", "%20")) == (
        'https://grafana.example/explore?schemaVersion=1&panes={"revelio":{"datasource":"P1809","queries":[{"refId":"A",'
        '"datasource":{"type":"prometheus","uid":"P1809"},"editorMode":"code","expr":"up","range":true,"instant":false}],'
        '"range":{"from":"1699999910000","to":"1700000000000"}}}'
    )


def test_jaeger_search_exactly() -> None:
    tool = Jaeger(spec("jaeger"), Backend(url="http://x", link="http://jaeger.example/"), QUICK)
    assert tool.link(bound("jaeger.error_operation", operation="cart: GET /c"), SCOPE) == (
        "http://jaeger.example/search?service=cart&operation=GET+%2Fc&tags=%7B%22error%22%3A+%22true%22%7D"
        "&start=1699999970000000&end=1700000000000000&limit=20&lookback=custom"
    )


def test_kibana_discover_exactly() -> None:
    time = "('time':('from':'2023-11-14T22:11:50.000Z','to':'2023-11-14T22:13:20.000Z'))"
    esql = unquote(kibana_esql("http://kibana.example/k", "FROM logs-shop", WHOLE))
    state = "('dataSource':('type':'esql'),'query':('esql':'FROM logs-shop'))"
    assert esql == f"http://kibana.example/k/app/discover#/?_g={time}&_a={state}"
    filtered = unquote(kibana_filter("http://kibana.example", "logs", {"match_all": {}}, WHOLE))
    meta = "('type':'custom','key':'query','alias':'from Revelio','disabled':!f,'index':'logs')"
    state = (
        "('dataSource':('dataViewId':'logs','type':'dataView'),"
        f"'filters':!(('meta':{meta},'query':('match_all':()))),'query':('language':'kuery','query':''))"
    )
    assert filtered == f"http://kibana.example/app/discover#/?_g={time}&_a={state}"


@given(hostile())
def test_no_name_adds_a_parameter_or_a_fragment_to_any_address(name: str) -> None:
    clean = name.encode("utf-8", errors="replace").decode()
    graph = urlsplit(prometheus_graph("http://p", name, WHOLE))
    assert [key for key, _ in parse_qsl(graph.query)] == ["g0.expr", "g0.tab", "g0.range_input", "g0.end_input"]
    assert (parse_qs(graph.query)["g0.expr"], graph.fragment) == ([clean], "")
    vmui = urlsplit(vmui_graph("http://v", name, WHOLE))
    assert (vmui.path, vmui.query) == ("/vmui/", "")
    assert parse_qs(vmui.fragment.removeprefix("/?"))["g0.expr"] == [clean]
    explore = urlsplit(grafana_explore("http://g", name, name, WHOLE))
    assert [key for key, _ in parse_qsl(explore.query)] == ["schemaVersion", "panes"]
    pane = json.loads(parse_qs(explore.query)["panes"][0])["revelio"]
    assert (pane["queries"][0]["expr"], explore.fragment) == (clean, "")
    search = urlsplit(jaeger_search("http://j", {"service": clean}))
    assert (parse_qs(search.query), search.fragment) == ({"service": [clean], "lookback": ["custom"]}, "")
    for link in (kibana_esql("http://k", name, WHOLE), kibana_filter("http://k", name, {"term": {"a": name}}, WHOLE)):
        discover = urlsplit(link)
        assert discover.path == "/app/discover"
        assert [part.partition("=")[0] for part in discover.fragment.removeprefix("/?").split("&")] == ["_g", "_a"]
    dashboards = urlsplit(dashboards_filter("http://k", name, {"term": {"a": name}}, WHOLE))
    assert [part.partition("=")[0] for part in dashboards.fragment.removeprefix("?").split("&")] == ["_a", "_g", "_q"]


@given(hostile())
def test_no_name_ends_its_rison_string(name: str) -> None:
    written = rison({"a": name})
    inside = written.removeprefix("('a':'").removesuffix("')")
    assert "'" not in inside.replace("!!", "").replace("!'", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, True, False, None]}, "('a':!(1,2.5,!t,!f,!n))"),
        ("it's!", "'it!'s!!'"),
        (0, "0"),
        ([], "!()"),
    ],
)
def test_rison_is_written_as_kibana_reads_it(value: object, text: str) -> None:
    assert rison(value) == text


def test_prometheus_queries_open_in_grafana_where_one_is_set() -> None:
    query = bound("prometheus.up", service="cart")
    link = Prometheus(spec("prometheus"), GRAFANA, QUICK).link(query, SCOPE)
    assert link is not None
    assert link.startswith("https://grafana.example/g/explore?schemaVersion=1&panes=")
    without = GRAFANA.model_copy(update={"datasource": ""})
    link = Prometheus(spec("prometheus"), without, QUICK).link(query, SCOPE)
    assert link is not None
    assert link.startswith("http://prom.example/graph?")
