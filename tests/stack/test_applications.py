"""Each application on the real stack: healthy, its users content, and seen by every kind of telemetry, through queues too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from testbed.stack import Status, applications, measure, parts_of
from testbed.users.walks import walk_of

pytestmark = [pytest.mark.stack, pytest.mark.parametrize("app", applications())]


def address(stack: Status, service: str) -> str:
    return next(endpoint.url for endpoint in stack.endpoints if endpoint.service == service)


def eventually(look: Callable[[], Any], within: float) -> Any:
    deadline = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < deadline, f"not there after {within} s"
        time.sleep(0.5)
    return found


def prometheus(stack: Status, query: str) -> list[dict[str, str]]:
    answer = httpx.get(f"{address(stack, 'prometheus')}/api/v1/query", params={"query": query}).json()
    return [{**sample["metric"], "value": sample["value"][1]} for sample in answer["data"]["result"]]


def test_every_part_is_healthy(app: str, running_stack: Status) -> None:
    assert running_stack.up
    parts = parts_of(app)
    there = {container.service for container in running_stack.containers if container.role == "app"}
    assert there == {*parts.services, *parts.stores}
    assert {user.name for user in running_stack.users if user.pid} == {"load", "probes"}


def test_probe_users_are_content_with_every_feature(app: str, running_stack: Status) -> None:
    eventually(lambda: prometheus(running_stack, "sum(rate(http_server_request_duration_seconds_count[10s])) > 5"), within=60)
    measured = measure(app, 30.0)
    assert {feature.name for feature in measured.features} == set(walk_of(app).features)
    assert {f.name: f.outcomes for f in measured.features if set(f.outcomes) != {"ok"}} == {}
    assert max(feature.apart for feature in measured.features) < 5.0


def test_a_trace_runs_from_the_entrance_through_a_queue_to_its_worker(app: str, running_stack: Status) -> None:
    entrance = parts_of(app).public
    query = {"service": entrance, "limit": "200", "lookback": "10m", "tags": "{}"}

    def through_a_queue() -> list[set[tuple[str, str]]]:
        found = httpx.get(f"{address(running_stack, 'jaeger')}/api/traces", params=query, timeout=20.0).json()["data"]
        return [steps for steps in map(_steps, found) if {"producer", "consumer"} <= {kind for _, kind in steps}]

    for steps in eventually(through_a_queue, within=90):
        services = {service for service, _ in steps}
        worker = next(service for service, kind in steps if kind == "consumer")
        assert entrance in services and worker != entrance


def _steps(trace: Any) -> set[tuple[str, str]]:
    """Which service took what part in a trace, by the kind of its spans."""
    names = {key: process["serviceName"] for key, process in trace["processes"].items()}
    return {
        (names[span["processID"]], str(tag["value"]))
        for span in trace["spans"]
        for tag in span["tags"]
        if tag["key"] == "span.kind"
    }


def test_each_service_shows_its_requests_pools_and_queues(app: str, running_stack: Status) -> None:
    parts = parts_of(app)
    eventually(lambda: {s["service"] for s in prometheus(running_stack, 'up{job="app"} == 1')} == set(parts.services), within=20)
    served = {
        s["service"] for s in prometheus(running_stack, "sum by (service) (http_server_request_duration_seconds_count) > 0")
    }
    worked = {s["service"] for s in prometheus(running_stack, "sum by (service) (messaging_process_duration_seconds_count) > 0")}
    assert served | worked == set(parts.services)
    pooled = {s["service"] for s in prometheus(running_stack, 'db_client_connection_max{pool="postgres"}')}
    assert pooled == {service for service, store in parts.store_users if store == "postgres"}
    assert worked and {s["service"] for s in prometheus(running_stack, "messaging_queue_depth")} >= worked
    assert prometheus(running_stack, 'sum by (cache) (cache_requests_total{outcome="hit"}) > 0')


def test_each_service_writes_ecs_lines_with_trace_and_source(app: str, running_stack: Status) -> None:
    search = f"{address(running_stack, 'elasticsearch')}/logs-{running_stack.project}/_search"
    body = {
        "size": 0,
        "query": {"bool": {"filter": [{"exists": {"field": "log.origin.file.line"}}]}},
        "aggs": {"services": {"terms": {"field": "service.name", "size": 50}}},
    }
    found = httpx.post(search, json=body).json()["aggregations"]["services"]["buckets"]
    assert {bucket["key"] for bucket in found} == set(parts_of(app).services)
    body["query"]["bool"]["filter"].append({"exists": {"field": "trace.id"}})  # type: ignore[index]
    assert httpx.post(search, json=body).json()["aggregations"]["services"]["buckets"]
