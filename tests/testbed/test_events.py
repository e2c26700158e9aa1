"""Container events become ECS documents, of the application's containers only, and old ones go."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from testbed.images.observer.events import document, limits
from testbed.images.observer.index import Index

CART, JAEGER = "c" * 64, "j" * 64
NAMES = {CART: "cart"}


def told(action: str, kind: str = "container", identity: str = CART, **attributes: str) -> dict[str, Any]:
    return {
        "Type": kind,
        "Action": action,
        "Actor": {"ID": identity, "Attributes": attributes},
        "timeNano": 1_700_000_000_123_456_789,
    }


def test_a_death_is_told_with_its_exit_code() -> None:
    made = document(told("die", image="revelio/shop:dev", exitCode="137"), NAMES)
    assert made is not None
    identity, ecs = made
    assert identity == f"1700000000123456789-{CART[:12]}-die"
    assert ecs == {
        "@timestamp": "2023-11-14T22:13:20.123Z",
        "event": {"kind": "event", "provider": "docker", "action": "die", "type": ["end"]},
        "container": {"id": CART, "name": "cart", "image": {"name": "revelio/shop:dev"}},
        "service": {"name": "cart"},
        "process": {"exit_code": 137},
        "message": "cart: die (exit code 137)",
    }


def test_health_signals_and_networks_are_told_with_what_changed() -> None:
    health = document(told("health_status: unhealthy"), NAMES)
    assert health is not None and health[1]["event"]["action"] == "health_status"
    assert health[1]["container"]["health"] == "unhealthy" and health[1]["message"] == "cart: health_status (unhealthy)"
    killed = document(told("kill", signal="9"), NAMES)
    assert killed is not None and killed[1]["container"]["signal"] == "9"
    cut = document(told("disconnect", kind="network", identity="n1", container=CART, name="shop_default"), NAMES)
    assert cut is not None and cut[1]["network"] == {"name": "shop_default"} and cut[1]["service"] == {"name": "cart"}


def test_other_containers_are_left_out() -> None:
    assert document(told("die", identity=JAEGER, exitCode="0"), NAMES) is None
    assert document(told("connect", kind="network", identity="n1", container=JAEGER, name="shop_default"), NAMES) is None


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (
            {"NanoCpus": 500_000_000, "CpuQuota": 0, "CpuPeriod": 0, "Memory": 1 << 28},
            {"cpu": {"limit": 0.5}, "memory": {"limit": 1 << 28}},
        ),
        ({"NanoCpus": 0, "CpuQuota": 20_000, "CpuPeriod": 100_000, "Memory": 0}, {"cpu": {"limit": 0.2}}),
        ({"NanoCpus": 0, "CpuQuota": -1, "CpuPeriod": 0, "Memory": 0}, {}),
    ],
)
def test_limits_are_in_cpus_and_bytes(host: dict[str, int], expected: dict[str, Any]) -> None:
    assert limits({"HostConfig": host}) == expected


class Kept:
    """Stands in for Elasticsearch: documents by id."""

    def __init__(self, server: HTTPServer) -> None:
        self.documents: dict[str, Any] = {}
        self.failures: list[int] = []
        server.expect_request("/events/_count").respond_with_handler(lambda _: self._json({"count": len(self.documents)}))
        server.expect_request("/events/_search").respond_with_handler(self._search)
        server.expect_request("/events/_bulk").respond_with_handler(self._bulk)
        server.expect_request("/_cluster/health").respond_with_json({})
        for path in ("/events", "/_index_template/events"):
            server.expect_request(path).respond_with_handler(self._put)

    @staticmethod
    def _json(body: object, status: int = 200) -> Response:
        return Response(json.dumps(body), status, content_type="application/json")

    def _put(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(status=404)
        self.documents[request.path] = request.get_data(as_text=True)
        return self._json({})

    def _search(self, request: Request) -> Response:
        size = json.loads(request.get_data())["size"]
        return self._json({"hits": {"hits": [{"_id": i} for i in sorted(self.documents)[:size]]}})

    def _bulk(self, request: Request) -> Response:
        for line in request.get_data(as_text=True).splitlines():
            del self.documents[json.loads(line)["delete"]["_id"]]
        return self._json({})

    def write(self, request: Request) -> Response:
        if self.failures:
            return self._json({}, self.failures.pop())
        self.documents[request.path.rpartition("/")[2]] = json.loads(request.get_data())
        return self._json({})


@pytest.fixture
def kept(httpserver: HTTPServer) -> Kept:
    kept = Kept(httpserver)
    for i in range(30):
        httpserver.expect_request(f"/events/_doc/{i:02}").respond_with_handler(kept.write)
    return kept


def test_the_index_has_its_mapping_before_the_first_document(httpserver: HTTPServer, kept: Kept) -> None:
    Index(httpserver.url_for("").rstrip("/"), "events").open('{"index_patterns": ["{index}"]}')
    assert json.loads(kept.documents["/_index_template/events"]) == {"index_patterns": ["events"]}
    assert "/events" in kept.documents


def test_an_event_waits_for_elasticsearch_and_twice_is_once(
    httpserver: HTTPServer, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testbed.images.observer.index.time.sleep", lambda _: None)
    kept.failures = [503, 429]
    index = Index(httpserver.url_for("").rstrip("/"), "events")
    index.write("01", {"message": "x"})
    index.write("01", {"message": "x"})
    assert kept.documents == {"01": {"message": "x"}}


def test_a_refused_document_does_not_stop_the_others(httpserver: HTTPServer, kept: Kept) -> None:
    kept.failures = [400]
    index = Index(httpserver.url_for("").rstrip("/"), "events")
    index.write("01", {"message": "x"})
    index.write("02", {"message": "y"})
    assert set(kept.documents) == {"02"}


def test_the_oldest_documents_go(httpserver: HTTPServer, kept: Kept) -> None:
    index = Index(httpserver.url_for("").rstrip("/"), "events", most=5, every=10)
    for i in range(20):
        index.write(f"{i:02}", {})
    assert sorted(kept.documents) == ["15", "16", "17", "18", "19"]
