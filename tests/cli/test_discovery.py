"""What `revelio init` finds: replies of real servers recorded, a real VictoriaMetrics, and a Grafana as its API is documented."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from pytest_httpserver import HTTPServer

from revelio.catalog import bundled_catalog
from revelio.cli.discovery import ALWAYS, BackendFinder, FoundBackend, NamedProject
from revelio.cli.settings_file import settings_text
from revelio.errors import SourceError
from revelio.tools.discovery.machine import ComposeEngine
from revelio.tools.probe import ProbeResult
from revelio.tools.registry import probes
from tests.foreign.programs import free_port
from tests.tools.programs import program, running
from tests.tools.recorded import Recording

Serve = Callable[[int, str], None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """A machine where nothing runs but what the test puts at a usual port."""
    served: dict[int, str] = {}
    monkeypatch.setattr("revelio.tools.discovery.machine.engine", lambda path="": None)
    monkeypatch.setattr(
        "revelio.tools.discovery.machine.addresses",
        lambda ports, there: tuple(served[port] for port in ports if port in served),
    )
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return served.__setitem__


def up(found: list[FoundBackend]) -> dict[str, FoundBackend]:
    """Those that answer, by the name of their settings."""
    return {one.name: one for one in found if one.up}


@pytest.mark.parametrize(
    ("product", "port", "told"),
    [
        ("loki", 3100, "Loki, "),
        ("tempo", 3200, "Tempo, "),
        ("opensearch", 9200, "OpenSearch 2.19.1, 5 indices of logs"),
        ("elasticsearch", 9200, "Elasticsearch of a version that it does not tell, 5 indices"),
    ],
)
def test_each_product_is_found_at_its_usual_port_and_taken_for_no_other(
    machine: Serve, httpserver: HTTPServer, product: str, port: int, told: str
) -> None:
    Recording.load(product).replay(httpserver)
    machine(port, f"127.0.0.1:{httpserver.port}")
    found = up(BackendFinder(bundled_catalog()).here())
    assert set(found) == {product}
    assert found[product].detail.startswith(told)


def test_what_is_usually_there_and_is_not_stands_in_the_file_as_a_comment(machine: Serve) -> None:
    written = settings_text("shop", NamedProject("shop"), BackendFinder(bundled_catalog()).here())
    for product in ALWAYS:
        assert f'# [systems."shop".backends.{product}]' in written


def test_what_another_product_of_its_kind_does_is_not_missing(machine: Serve, httpserver: HTTPServer) -> None:
    Recording.load("loki").replay(httpserver)
    machine(3100, f"127.0.0.1:{httpserver.port}")
    absent = {one.name for one in BackendFinder(bundled_catalog()).here() if not one.up}
    assert "elasticsearch" not in absent and "jaeger" in absent


def test_a_victoriametrics_is_found(machine: Serve, tmp_path: Path) -> None:
    port = free_port()
    command = [program("victoria-metrics"), f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={tmp_path}/data"]
    with running(command, tmp_path / "log", f"http://127.0.0.1:{port}/health"):
        machine(8428, f"127.0.0.1:{port}")
        found = up(BackendFinder(bundled_catalog()).here())
        assert httpx.get(f"http://127.0.0.1:{port}/vmui/", timeout=10.0).status_code == 200, "links open this page"
    assert found["victoriametrics"].detail.startswith("VictoriaMetrics")
    assert found["victoriametrics"].page


def test_indices_that_an_agent_ships_to_are_named(machine: Serve, httpserver: HTTPServer) -> None:
    held = [{"index": ".ds-logs-nginx.access-default-2026.11.01-000001", "docs.count": "7"}]
    held += [{"index": f"filebeat-8.19.0-{day}", "docs.count": "40"} for day in ("a", "b")] + [
        {"index": "orders", "docs.count": "9"}
    ]
    httpserver.expect_request("/").respond_with_json({"version": {"number": "8.19.0"}})
    httpserver.expect_request("/_cat/indices").respond_with_json(held)
    found = BackendFinder(bundled_catalog()).at("elasticsearch", httpserver.url_for("/"))
    assert found.settings == {"index": "filebeat-*"}


def test_a_product_that_is_told_apart_leaves_no_other_one_at_its_place(machine: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(3306, "127.0.0.1:3306")

    def seen(catalog: object, product: str, url: str) -> ProbeResult:
        if product != "mariadb":
            raise SourceError(product, "does not answer like it")
        return ProbeResult("MariaDB: put in a user", False)

    monkeypatch.setattr("revelio.cli.discovery.seen_at", seen)
    assert [one.name for one in BackendFinder(bundled_catalog()).here() if one.detail != "not found"] == ["mariadb"]


def test_what_wants_a_password_stands_in_the_file_as_a_comment_that_says_so(machine: Serve, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/loki/api/v1/labels").respond_with_json({"message": "who are you?"}, status=401)
    machine(3100, f"127.0.0.1:{httpserver.port}")
    [loki] = [one for one in BackendFinder(bundled_catalog()).here() if one.tool == "loki"]
    assert not loki.up and "HTTP 401" in loki.detail
    written = settings_text("shop", NamedProject("shop"), [loki])
    assert '# [systems."shop".backends.loki]' in written and "HTTP 401" in written


@pytest.fixture
def grafana(machine: Serve, httpserver: HTTPServer) -> HTTPServer:
    """A Loki, and a Grafana with it, a second Loki and a database among its data sources."""
    Recording.load("loki").replay(httpserver)
    address = f"127.0.0.1:{httpserver.port}"
    machine(3100, address)
    machine(3000, address)
    sources = [
        {"type": "loki", "uid": "L1", "name": "Logs", "url": f"http://{address}"},
        {"type": "loki", "uid": "L2", "name": "Payments' logs", "url": f"http://localhost.localdomain:{httpserver.port}/"},
        {"type": "mysql", "uid": "M", "name": "Orders", "url": "127.0.0.1:3306"},
        {"type": "tempo", "uid": "T", "name": "Traces", "url": "http://127.0.0.1:9"},
    ]
    httpserver.expect_oneshot_request("/api/health").respond_with_json({"database": "ok"})
    httpserver.expect_oneshot_request("/api/datasources").respond_with_json(sources)
    return httpserver


def test_data_sources_of_a_grafana_are_connected_and_linked(grafana: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = BackendFinder(bundled_catalog())
    look = finder._look
    local = f"http://127.0.0.1:{grafana.port}"
    monkeypatch.setattr(
        finder, "_look", lambda product, url: look(product, url.replace("http://localhost.localdomain", local[:16]))
    )
    found = up(finder.here())
    assert {name: one.settings["datasource"] for name, one in found.items()} == {"loki": "L1", "loki-payments-logs": "L2"}
    assert all(one.settings["grafana"] == local for one in found.values())


def test_a_grafana_that_wants_a_login_leaves_its_data_source_to_be_filled_in(machine: Serve, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/health").respond_with_json({"database": "ok"})
    httpserver.expect_request("/api/datasources").respond_with_json({"message": "Unauthorized"}, status=401)
    httpserver.expect_request("/loki/api/v1/labels").respond_with_json({"status": "success", "data": []})
    httpserver.expect_request("/loki/api/v1/status/buildinfo").respond_with_json({"version": "3.3.2"})
    machine(3100, f"127.0.0.1:{httpserver.port}")
    machine(3000, f"127.0.0.1:{httpserver.port}")
    found = up(BackendFinder(bundled_catalog()).here())
    written = settings_text("shop", NamedProject("shop"), list(found.values()))
    assert f'\ngrafana = "http://127.0.0.1:{httpserver.port}"\n# datasource = ""' in written


def test_a_context_whose_server_is_gone_is_named(machine: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config"
    path.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], users: [{name: u, user: {token: secret}}],"
        " clusters: [{name: k, cluster: {server: 'http://127.0.0.1:9'}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(path))
    [kubernetes] = [one for one in BackendFinder(bundled_catalog()).here() if one.tool == "kubernetes"]
    assert (kubernetes.url, kubernetes.up) == ("kubeconfig", False)
    assert "127.0.0.1:9" in kubernetes.detail and "secret" not in kubernetes.detail


def test_ports_that_containers_publish_are_those_of_what_listens_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    from revelio.tools.discovery.machine import addresses

    monkeypatch.setattr("revelio.tools.discovery.machine.listens", lambda port: port == 13100)
    assert addresses((3100,), ComposeEngine(1, {}, {3100: (13100, 13101)})) == ("127.0.0.1:13100",)
    assert addresses((3100,), None) == ()


def test_every_product_with_a_probe_is_one_that_settings_can_name() -> None:
    known = {product.name for product in bundled_catalog().products}
    assert probes().keys() <= known
    assert all(probe.ports or probe.places for probe in probes().values())


def test_a_clusters_own_namespaces_are_counted_by_their_pods(machine: Serve, httpserver: HTTPServer) -> None:
    Recording.load("kubernetes").replay(httpserver)
    found = BackendFinder(bundled_catalog()).at("kubernetes", httpserver.url_for("/"))
    assert found.up and found.detail.startswith("Kubernetes v1.31.3, workloads in 1 namespaces")
    assert list(found.projects) == ["shop"]
