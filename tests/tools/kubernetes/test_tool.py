"""Kubernetes: what changed about workloads, from recorded replies of an API server and from a real one."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from pytest_httpserver import HTTPServer

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.systems.system import open_system
from revelio.tools.base import Scope
from revelio.tools.kubernetes.changes import changes_in
from revelio.tools.kubernetes.cluster import Cluster
from revelio.tools.kubernetes.kubeconfig import resolved
from revelio.tools.kubernetes.state import Workload
from revelio.tools.kubernetes.tool import Kubernetes
from revelio.types import Window
from tests.tools.conftest import QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.kubernetes.server import kubernetes, real_server
from tests.tools.recorded import Recording


@pytest.fixture(params=["recorded", "real"])
def asked(request: pytest.FixtureRequest, httpserver: HTTPServer, tmp_path: Path) -> Iterator[tuple[Backend, Scope]]:
    """An API server with a shop in it, and the scope of what went wrong there."""
    if request.param == "recorded":
        recording = Recording.load("kubernetes")
        recording.replay(httpserver)
        yield Backend(url=httpserver.url_for("").rstrip("/")), recording.scope
    else:
        with real_server(tmp_path) as found:
            yield found


def test_an_api_server_shows_what_happened_in_the_shop(asked: tuple[Backend, Scope]) -> None:
    """One test, so that a real server starts once."""
    backend, scope = asked
    with kubernetes(backend) as tool:
        shows_the_shop(tool, scope)


def shows_the_shop(tool: Kubernetes, scope: Scope) -> None:
    assert tool.ping().startswith("Kubernetes v1.")
    assert tool.namespaces().keys() == {"shop"}
    seen = tool.snapshot(scope)
    assert [e.name for e in seen.entities] == ["cart", "orders", "payments"]
    told = {(c.entity.name, c.field) for c in seen.changes}
    assert told == {
        *(("cart", field) for field in ("config", "health", "limits", "oom", "replicas", "state")),
        ("payments", "state"),
        ("one", "node"),
    }, "orders is well"
    results = {
        view: tool.run(bound(f"containers.{view}", container="cart"), scope) for view in ("limits", "oom", "config", "health")
    }
    assert {view: r.signal for view, r in results.items()} == dict.fromkeys(results, 1.0)
    assert "256Mi → cart memory limit 128Mi" in results["limits"].summary
    assert "cart:1 → cart image cart:2" in results["config"].summary
    state = tool.run(bound("containers.state", container="cart"), scope)
    assert state.rows[0][1:4] == ("cart", "CrashLoopBackOff", 137)
    for view in ("state", "limits", "oom", "config", "health"):
        assert tool.run(bound(f"containers.{view}", container="orders"), scope).signal == 0.0, view
    assert {r[1] for r in tool.run(bound("kubernetes.versions", container="cart"), scope).rows} == {"cart-settings", "cart-keys"}
    assert tool.run(bound("kubernetes.scaling", container="cart"), scope).summary.startswith("cart is at its limit of 2 pods")
    assert tool.run(bound("kubernetes.nodes"), scope).reason == "one: DiskPressure is True"
    assert tool.run(bound("kubernetes.quotas"), scope).summary == "pods: 3 of 3 used"
    assert tool.run(bound("containers.state", container="gone"), scope).summary == "there is no workload gone"


def test_what_config_maps_and_secrets_hold_is_never_asked_for() -> None:
    """The server was told it: no reply that was recorded has it, and neither has a value of a secret variable been shown."""
    recording = Recording.load("kubernetes")
    lists = [text for key, (_, _, text) in recording.replies.items() if "configmaps" in key or "secrets" in key]
    assert len(lists) == 2
    assert all("PartialObjectMetadataList" in text and "do-not-tell" not in text for text in lists)


def test_no_result_shows_a_secret_variable(httpserver: HTTPServer) -> None:
    recording = Recording.load("kubernetes")
    recording.replay(httpserver)
    with kubernetes(Backend(url=httpserver.url_for("").rstrip("/"))) as tool:
        shown = tool.run(bound("containers.config", container="cart"), recording.scope)
        assert "hunter22" not in repr(shown)
        assert "hunter22" not in repr(tool.snapshot(recording.scope))


def test_a_system_in_kubernetes_asks_about_containers_and_what_only_kubernetes_knows(httpserver: HTTPServer) -> None:
    recording = Recording.load("kubernetes")
    recording.replay(httpserver)
    backends = {"kubernetes": Backend(url=httpserver.url_for("").rstrip("/"), link="https://dash.example/")}
    with closing(open_system("shop", SystemSettings(backends=backends), bundled_catalog(), 10.0)) as system:
        evidence = system.snapshot(recording.scope)
        asked = candidates(system.catalog, inventory(evidence))
        assert {q.template.id.partition(".")[0] for q in asked} == {"containers", "kubernetes"}
        query = bound("containers.oom", container="cart")
        assert system.source(query) == "Kubernetes"
        assert system.render(query, evidence).endswith("--namespace shop | grep -F -- cart")
        assert system.link(query, evidence) == "https://dash.example/#/search?namespace=shop&q=cart"
        assert system.run(bound("kubernetes.quotas"), evidence).signal == 1.0
    assert not any(q.template.id.startswith("kubernetes") for q in candidates(bundled_catalog(), evidence.entities))


def test_lists_that_an_account_may_not_read_are_left_out(httpserver: HTTPServer) -> None:
    recording = Recording.load("kubernetes")
    for key, (_, kind, text) in recording.replies.items():
        forbidden = any(name in key for name in ("secrets", "nodes", "horizontalpod"))
        recording.replies[key] = (403, "application/json", '{"message": "forbidden"}') if forbidden else (200, kind, text)
    recording.replay(httpserver)
    with kubernetes(Backend(url=httpserver.url_for("").rstrip("/"))) as tool:
        assert ("cart", "oom") in {(c.entity.name, c.field) for c in tool.snapshot(recording.scope).changes}
        assert tool.run(bound("kubernetes.nodes"), recording.scope).signal == 0.0


def test_a_workload_that_is_down_now_says_nothing_of_an_hour_ago() -> None:
    cluster = Cluster("shop", workloads=(Workload("Deployment", "cart", 2, 0, 0.0),))
    now = time.time()
    assert [c.after for c in changes_in(Window(now - 600.0, now), cluster)] == ["none of 2 pods is there"]
    assert changes_in(Window(now - 4200.0, now - 3600.0), cluster) == ()


def test_a_namespace_without_workloads_is_told(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/").respond_with_json({})
    for path in ("pods", "events", "configmaps", "secrets", "resourcequotas"):
        httpserver.expect_request(f"/api/v1/namespaces/shop/{path}").respond_with_json({"items": []})
    with kubernetes(Backend(url=httpserver.url_for(""))) as tool, pytest.raises(SourceError):
        tool.snapshot(SCOPE)


@given(hostile())
def test_no_name_breaks_out_of_a_command(name: str) -> None:
    import shlex

    tool = Kubernetes(spec("containers"), Backend(url="http://127.0.0.1:9"), QUICK)
    for query in filled("containers", name):
        words = shlex.split(tool.render(query, SCOPE))
        assert words[0] == "kubectl"
        assert len(words) == len(shlex.split(tool.render(query, SCOPE).replace("\n", " "))) or "\n" in name


def config(**user: object) -> str:
    cluster = {"server": "https://10.0.0.1:6443", "certificate-authority-data": base64.b64encode(b"CA").decode()}
    return yaml.safe_dump(
        {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        }
    )


def test_a_kubeconfig_says_where_and_who(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(config(token="abc"))
    found = resolved("kubernetes", Backend(url=f"kubeconfig:{path}"), tmp_path)
    assert (found.url, found.token.get_secret_value()) == ("https://10.0.0.1:6443", "abc")
    assert found.ca_file is not None
    assert found.ca_file.read_bytes() == b"CA"
    assert found.ca_file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("url", "text", "words"),
    [
        ("kubeconfig:{}", config(exec={"command": "aws"}), "gets its credentials from a program, which is not run"),
        ("kubeconfig:{}#there", config(token="a"), "has no such context"),
        ("kubeconfig:{}", "- 1", "is not one"),
        ("kubeconfig:/nowhere", "", "cannot be read: No such file"),
        ("in-cluster", "", "this does not run in a pod"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why(
    tmp_path: Path, url: str, text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        Kubernetes(spec("containers"), Backend(url=url.format(path)), QUICK).ping()
    assert words in caught.value.reason
