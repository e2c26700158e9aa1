"""`revelio init` finds what is there, and what it writes works at once."""

from __future__ import annotations

import io
import json
import re
import time
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.catalog import bundled_catalog
from revelio.catalog.conventions import conventions, recorded_profile
from revelio.cli import init
from revelio.cli.discovery import ALWAYS, BackendFinder, FoundBackend, NamedProject, projects_of
from revelio.cli.settings_file import quoted, settings_text
from tests.cli.made import CommandLine

URLS = {"prometheus": "http://a:9090", "jaeger": "http://b:16686", "elasticsearch": "http://c:9200"}


@pytest.fixture
def backends() -> Iterator[HTTPServer]:
    """Prometheus, Jaeger and Elasticsearch behind one address."""

    labels = {"service": "cart", "container": "cart", "project": "shop", "server_address": "orders"}

    def answer(kind: str, found: list[dict[str, object]]) -> Response:
        body = {"status": "success", "data": {"resultType": kind, "result": found}}
        return Response(json.dumps(body), content_type="application/json")

    def marks(request: Request, label: str) -> list[dict[str, str]]:
        found = re.findall(rf'"{label}", "([^"]+)"', request.values["query"])
        return [labels | {label: mark} for mark in found] or [labels]

    def counts(request: Request) -> Response:
        return answer("vector", [{"metric": m, "value": [time.time(), "1"]} for m in marks(request, "revelio_convention")])

    def curve(request: Request) -> Response:
        end = float(request.form["end"])
        values = [[end - 60 + n, str(n)] for n in range(60)]
        return answer("matrix", [{"metric": m, "values": values} for m in marks(request, "revelio_reading")])

    names = sorted({m for u in recorded_profile().uses for r in conventions()[u.convention].rules for m in r.metrics})
    with HTTPServer() as server:
        server.expect_request("/api/v1/status/buildinfo").respond_with_json({"data": {"version": "2.42.0"}})
        server.expect_request("/api/v1/label/project/values").respond_with_json({"data": ["shop"]})
        server.expect_request("/api/v1/label/service/values").respond_with_json({"data": ["cart", "orders"]})
        server.expect_request("/api/v1/label/__name__/values").respond_with_json({"status": "success", "data": names})
        server.expect_request("/api/v1/query").respond_with_handler(counts)
        server.expect_request("/api/v1/query_range").respond_with_handler(curve)
        server.expect_request("/api/services").respond_with_json({"data": ["cart"]})
        server.expect_request("/").respond_with_json({"version": {"number": "8.17.0"}})
        server.expect_request("/_cat/indices").respond_with_json([{"index": "logs-shop", "docs.count": "12"}])
        yield server


@pytest.fixture
def alone(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line where nothing is set and nothing answers at the usual ports."""
    for variable in ("REVELIO_SYSTEMS", "REVELIO_INCIDENTS"):
        monkeypatch.delenv(variable)
    monkeypatch.setattr("revelio.tools.discovery.machine.engine", lambda: None)
    monkeypatch.setattr("revelio.tools.discovery.machine.listens", lambda port, host="": False)
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    return revelio


def test_what_it_writes_works_at_once(alone: CommandLine, backends: HTTPServer) -> None:
    url = backends.url_for("/")
    ran = alone("init", "--prometheus", url)
    assert ran.code == 0 and "Prometheus 2.42.0, 2 services" in ran.out
    written = tomllib.loads(Path("revelio.toml").read_text(encoding="utf-8"))
    assert written["systems"]["shop"]["project"] == "shop"
    assert set(written["systems"]["shop"]["backends"]) == {"prometheus"}
    assert "questions can be asked" in ran.out
    answer = alone("recommend", "the cart page hangs", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["system"] == "shop" and answer.json["degraded"] == []
    assert {"cart"} <= {v for q in answer.json["queries"] for v in q["bindings"].values()}


def test_an_elasticsearch_that_does_not_tell_its_version_is_one_all_the_same(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/").respond_with_json({"error": "not for this role"}, status=403)
    httpserver.expect_request("/_cat/indices").respond_with_json([{"index": "logs-shop", "docs.count": "12"}])
    found = BackendFinder(bundled_catalog()).at("elasticsearch", httpserver.url_for("/"))
    assert found.up and found.projects == {"shop": 12}


def test_usual_ports_are_looked_at(alone: CommandLine, backends: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = {9090: "localhost", 16686: "127.0.0.1", 9200: "127.1"}  # the same server thrice
    places = {port: (f"{host}:{backends.port}",) for port, host in hosts.items()}
    monkeypatch.setattr(
        "revelio.tools.discovery.machine.addresses", lambda ports, there: places.get(ports[0] if ports else 0, ())
    )
    made = alone("init", "--json").json
    assert (made["system"], made["project"]) == ("shop", "shop")
    assert {b["tool"] for b in made["backends"] if b["up"]} == set(ALWAYS)


def test_sources_are_named_one_by_one(alone: CommandLine, backends: HTTPServer) -> None:
    url = backends.url_for("/").rstrip("/")
    made = alone("init", "--source", f"prometheus-eu={url}", "--source", f"jaeger={url}")
    assert made.code == 0, made.err
    written = tomllib.loads(Path("revelio.toml").read_text(encoding="utf-8"))
    assert written["systems"]["shop"]["backends"]["prometheus-eu"]["url"] == url
    assert set(written["systems"]["shop"]["backends"]) == {"prometheus-eu", "jaeger"}


@pytest.mark.parametrize(("wrong", "why"), [("loki", "is not NAME=URL"), ("carrots=http://127.0.0.1:9", "no source is called")])
def test_a_source_that_is_none_is_refused(alone: CommandLine, wrong: str, why: str) -> None:
    ran = alone("init", "--source", wrong)
    assert ran.code == 1 and why in ran.err


def test_a_second_look_keeps_what_was_edited_and_adds_what_is_new(alone: CommandLine, backends: HTTPServer) -> None:
    url = backends.url_for("/").rstrip("/")
    assert alone("init", "--prometheus", url).code == 0
    path = Path("revelio.toml")
    edited = (
        path.read_text(encoding="utf-8").replace("# port = 8000", "port = 9000").replace(f'link = "{url}"', 'link = "http://p"')
    )
    path.write_text(f"{edited}# our own note\n", encoding="utf-8")
    ran = alone("init", "--prometheus", url, "--source", f"jaeger={url}")
    assert ran.code == 0 and "prometheus: kept." in ran.err and "jaeger: added." in ran.err
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"{edited}# our own note\n")
    assert set(tomllib.loads(text)["systems"]["shop"]["backends"]) == {"prometheus", "jaeger"}
    assert alone("init", "--prometheus", url, "--source", f"jaeger={url}").code == 0
    assert path.read_text(encoding="utf-8") == text
    assert alone("init", "--prometheus", url, "--force").code == 0
    assert "our own note" not in path.read_text(encoding="utf-8")


def test_another_application_is_added_beside_the_first(alone: CommandLine, backends: HTTPServer) -> None:
    url = backends.url_for("/").rstrip("/")
    assert alone("init", "--prometheus", url).code == 0
    assert alone("init", "--prometheus", url, "--system", "forum", "--project", "forum").code == 0
    systems = tomllib.loads(Path("revelio.toml").read_text(encoding="utf-8"))["systems"]
    assert {name: system["project"] for name, system in systems.items()} == {"shop": "shop", "forum": "forum"}
    unclear = alone("init", "--jaeger", url)
    assert unclear.code == 1 and "--system" in unclear.err


def test_a_backend_that_was_absent_is_added_when_it_is_there(alone: CommandLine, backends: HTTPServer) -> None:
    absent = settings_text(
        "shop", NamedProject("shop"), [FoundBackend("jaeger", "http://127.0.0.1:16686", False, "not found", name="jaeger")]
    )
    Path("revelio.toml").write_text(absent, encoding="utf-8")
    assert alone("init", "--jaeger", backends.url_for("/")).code == 0
    text = Path("revelio.toml").read_text(encoding="utf-8")
    assert "not found" not in text and text.count("backends.jaeger]") == 1
    assert tomllib.loads(text)["systems"]["shop"]["backends"]["jaeger"]["url"] == backends.url_for("/").rstrip("/")


@pytest.mark.parametrize("text", ["port = ", "systems = 3", "systems = {shop = {backends = {}}}"])
def test_a_file_that_cannot_be_added_to_stays_as_it_is(alone: CommandLine, backends: HTTPServer, text: str) -> None:
    Path("revelio.toml").write_text(text, encoding="utf-8")
    ran = alone("init", "--prometheus", backends.url_for("/"))
    assert ran.code == 1 and ("--force" in ran.err or "by hand" in ran.err)
    assert Path("revelio.toml").read_text(encoding="utf-8") == text


def test_sources_beside_the_one_that_is_named_are_found(
    alone: CommandLine, backends: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {16686: (f"localhost:{backends.port}",), 9090: ("127.0.0.1:9",)}
    monkeypatch.setattr(
        "revelio.tools.discovery.machine.addresses", lambda ports, there: places.get(ports[0] if ports else 0, ())
    )
    made = alone("init", "--prometheus", backends.url_for("/"), "--json").json
    assert {b["name"]: b["why"] for b in made["backends"]} == {
        "prometheus": "named",
        "jaeger": "at a port that a container publishes",
    }
    made = alone("init", "--prometheus", backends.url_for("/"), "--only", "--force", "--json").json
    assert [b["name"] for b in made["backends"]] == ["prometheus"]


def test_usual_ports_of_another_host_are_looked_at(
    alone: CommandLine, backends: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("revelio.tools.discovery.machine.is_here", lambda host: False)
    monkeypatch.setattr(
        "revelio.tools.discovery.machine.listens", lambda port, host="": (port, host) == (backends.port, "localhost")
    )
    finder = BackendFinder(bundled_catalog())
    jaeger = {"jaeger": replace(finder.probes["jaeger"], ports=(backends.port,))}
    monkeypatch.setattr(finder, "probes", {**finder.probes, **jaeger})
    named = finder.at("prometheus", backends.url_for("/"))
    assert [(one.name, one.up) for one in finder.beside([named])] == [("jaeger", True)]


def test_two_applications_that_share_sources_are_named_with_how_to_choose(alone: CommandLine, backends: HTTPServer) -> None:
    backends.clear()
    backends.expect_request("/api/v1/status/buildinfo").respond_with_json({"data": {"version": "2.42.0"}})
    backends.expect_request("/api/v1/label/project/values").respond_with_json({"data": ["forum", "shop"]})
    backends.expect_request("/api/v1/label/service/values").respond_with_json({"data": []})
    counted = [{"metric": {"namespace": "shop"}, "value": [0, "4"]}, {"metric": {"namespace": "forum"}, "value": [0, "2"]}]
    backends.expect_request("/api/v1/query", method="GET").respond_with_json({"data": {"result": counted}})
    ran = alone("init", "--prometheus", backends.url_for("/"))
    assert ran.code == 0 and "There is also forum" in ran.err and "--project forum adds it" in ran.err


def test_a_person_at_a_terminal_is_asked_which_application_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", type("Terminal", (io.StringIO,), {"isatty": lambda self: True})("forums\nforum\n"))
    assert init._chosen([NamedProject("shop", "named by Loki (4)"), NamedProject("forum")], ask=True) == NamedProject(
        "forum", "chosen"
    )


def test_nothing_there_is_said_and_nothing_written(alone: CommandLine) -> None:
    ran = alone("init")
    assert ran.code == 1 and "--prometheus http://HOST:9090" in ran.err
    assert not Path("revelio.toml").exists()


@pytest.mark.parametrize("wrong", ["http://127.0.0.1:9", "nonsense", "http://", "http://[", "file:///etc/passwd"])
def test_address_that_is_wrong_is_named(alone: CommandLine, wrong: str) -> None:
    ran = alone("init", "--jaeger", wrong)
    assert ran.code == 1 and wrong.rstrip("/") in ran.err
    assert not Path("revelio.toml").exists()


@pytest.mark.parametrize("body", ["{}", "[]", "null", "<html>", '{"data": 3}', '{"version": 3}'])
@pytest.mark.parametrize("tool", ["prometheus", "jaeger", "elasticsearch", "opensearch", "victoriametrics", "loki", "tempo"])
def test_something_else_at_the_address_is_told_apart(httpserver: HTTPServer, tool: str, body: str) -> None:
    httpserver.expect_request("/").respond_with_data(body)
    for path in ("/api/services", "/api/v1/status/buildinfo", "/loki/api/v1/labels", "/api/search/tag/service.name/values"):
        httpserver.expect_request(path).respond_with_data(body)
    found = BackendFinder(bundled_catalog()).at(tool, httpserver.url_for("/"))
    assert not found.up or (tool in ("jaeger", "tempo") and not found.services)


def test_folder_that_cannot_be_written_is_an_error(alone: CommandLine, backends: HTTPServer) -> None:
    ran = alone("init", "--prometheus", backends.url_for("/"), "--out", "nowhere/revelio.toml")
    assert ran.code == 1 and "cannot be written" in ran.err


def test_output_to_a_pipe_has_no_colour(alone: CommandLine, backends: HTTPServer) -> None:
    assert "\x1b" not in alone("init", "--prometheus", backends.url_for("/")).out


def test_project_that_most_backends_name_is_taken() -> None:
    found = [
        FoundBackend("a", "", True, "", {"x": 1, "y": 1}),
        FoundBackend("b", "", True, "", {"y": 5}),
        FoundBackend("c", "", True, "", {"z": 900}),
    ]
    assert [one.name for one in projects_of(found, bundled_catalog())] == ["y", "z", "x"]
    assert projects_of([], bundled_catalog()) == ()


def test_the_label_on_the_containers_outweighs_the_name_of_a_log_index() -> None:
    found = [
        FoundBackend("elasticsearch", "", True, "", {"rides-logs": 90_000}),
        FoundBackend("containers", "", True, "", {"boutique": 4}),
    ]
    chosen, other = projects_of(found, bundled_catalog())
    assert (chosen.name, chosen.reason, other.name) == ("boutique", "named by Containers (4)", "rides-logs")


def test_data_streams_name_no_project_and_labels_of_documents_do(httpserver: HTTPServer) -> None:
    """As an Elasticsearch with Filebeat's and Elastic Agent's data streams answers."""
    field = "container.labels.com_docker_compose_project"
    streams = ("logs-docker.container_logs-default", "filebeat-8.19.0")
    indices = [*(f".ds-{stream}-2026.11.24-000001" for stream in streams), "logs-generic-default"]
    httpserver.expect_request("/").respond_with_json({"version": {"number": "8.19.21"}})
    httpserver.expect_request("/_cat/indices").respond_with_json([{"index": i, "docs.count": "90"} for i in indices])
    caps = {"fields": {field: {"keyword": {"type": "keyword", "aggregatable": True}}}}
    buckets = [{"key": "boutique", "doc_count": 80}, {"key": "rides", "doc_count": 10}]
    httpserver.expect_request("/logs-*/_field_caps").respond_with_json(caps)
    httpserver.expect_request("/logs-*/_search").respond_with_json({"aggregations": {field: {"buckets": buckets}}})
    found = BackendFinder(bundled_catalog()).at("elasticsearch", httpserver.url_for("/"))
    assert found.projects == {"boutique": 80, "rides": 10}


@given(st.text(), st.text(), st.text())
def test_any_name_is_written_as_it_is(name: str, project: str, detail: str) -> None:
    found = [FoundBackend(tool, url, tool != "jaeger", detail, name=tool) for tool, url in URLS.items()]
    read = tomllib.loads(settings_text(name, NamedProject(project), found))["systems"][name]
    assert read["project"] == (project or name)
    assert {t: b["url"] for t, b in read["backends"].items()} == {t: u for t, u in URLS.items() if t != "jaeger"}


@given(st.text())
def test_quoted_text_is_read_back(text: str) -> None:
    assert tomllib.loads(f"x = {quoted(text)}")["x"] == text
