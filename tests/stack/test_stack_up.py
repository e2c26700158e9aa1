"""The real stack: everything is up and bounded to loopback, and each kind of telemetry arrives with the names it should bear."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from testbed.stack import Status, parts_of
from testbed.stack.engine import containers, engine
from testbed.stack.project import ROOT
from tests.stack.stacks import Stacks

pytestmark = pytest.mark.stack

SERVICES = set(parts_of("shop").services)
STORES = {"postgres", "redis"}
BACKENDS = {"jaeger", "prometheus", "elasticsearch", "cadvisor", "logshipper", "links", "capture", "events", "postgres-exporter"}


@pytest.fixture(scope="module")
def stack(stacks: Stacks) -> Status:
    return stacks.have("shop")


@pytest.fixture(scope="module")
def address(stack: Status) -> Callable[[str], str]:
    urls = {endpoint.service: endpoint.url for endpoint in stack.endpoints}
    return lambda service: urls[service]


def eventually(look: Callable[[], Any], within: float) -> tuple[Any, float]:
    began = time.monotonic()
    while time.monotonic() - began < within:
        found = look()
        if found:
            return found, time.monotonic() - began
        time.sleep(0.1)
    raise AssertionError(f"not there after {within} s")


def prometheus(base: str, query: str) -> list[dict[str, str]]:
    answer = httpx.get(f"{base}/api/v1/query", params={"query": query}).json()
    return [{**sample["metric"], "value": sample["value"][1]} for sample in answer["data"]["result"]]


def test_every_container_is_healthy_and_has_its_role(stack: Status) -> None:
    assert stack.up
    roles = {container.service: container.role for container in stack.containers}
    assert roles == {**dict.fromkeys(SERVICES | STORES, "app"), **dict.fromkeys(BACKENDS, "backend")}
    assert {user.name for user in stack.users if user.pid} == {"load", "probes"}


def test_everything_published_is_on_loopback(stack: Status) -> None:
    with engine() as client:
        bound = [binding for c in containers(client, stack.project) for at in c.ports.values() for binding in at or []]
    assert len(bound) == 6 and {binding["HostIp"] for binding in bound} == {"127.0.0.1"}


def test_prometheus_sees_services_by_name_and_containers_of_the_application_only(
    stack: Status, address: Callable[[str], str]
) -> None:
    base = address("prometheus")
    eventually(lambda: {s["service"] for s in prometheus(base, 'up{job="app"} == 1')} == SERVICES, within=15)
    usage, _ = eventually(lambda: prometheus(base, "container_cpu_usage_seconds_total"), within=15)
    assert {sample["container"] for sample in usage} == SERVICES | STORES
    assert {sample["project"] for sample in usage} == {stack.project}
    assert {s["container"] for s in prometheus(base, "container_spec_memory_limit_bytes > 0")} == SERVICES | STORES
    assert all(float(sample["value"]) > 0 for sample in prometheus(base, "container_file_descriptors"))
    told = {label for sample in prometheus(base, '{job="cadvisor"}') for label in sample}
    assert not {label for label in told if label.startswith("container_label_") or label in ("image", "name", "id")}


def test_a_log_line_is_searchable_within_three_seconds_as_ecs(stack: Status, address: Callable[[str], str]) -> None:
    marker = f"marker{time.time_ns()}"
    line = {
        "@timestamp": datetime.now(UTC).isoformat(),
        "log.level": "error",
        "message": f"cannot reserve {marker}",
        "trace": {"id": "0af7"},
    }
    line |= {
        "service": {"name": "cart"},
        "error": {"type": "KeyError", "stack_trace": "Traceback\n  File x"},
        "ecs.version": "1.6.0",
    }
    with engine() as client:
        cart = next(c for c in containers(client, stack.project) if c.labels["com.docker.compose.service"] == "cart")
        cart.exec_run(["sh", "-c", 'printf "%s\\n" "$LINE" > /proc/1/fd/1'], environment={"LINE": json.dumps(line)})
        assert marker in cart.logs(tail=200).decode()
    search = f"{address('elasticsearch')}/logs-{stack.project}/_search?q=message:{marker}"
    hits, took = eventually(lambda: httpx.get(search).json()["hits"]["hits"], within=10)
    assert took < 3
    document = hits[0]["_source"]
    assert document.pop("@timestamp") == line["@timestamp"]
    assert document == {
        "message": f"cannot reserve {marker}",
        "log": {"level": "ERROR"},
        "service": {"name": "cart"},
        "trace": {"id": "0af7"},
        "error": {"type": "KeyError", "stack_trace": "Traceback\n  File x"},
    }


def test_a_stores_plain_line_becomes_a_document_of_that_store(stack: Status, address: Callable[[str], str]) -> None:
    marker = f"no_such_table_{time.time_ns()}"
    with engine() as client:
        postgres = next(c for c in containers(client, stack.project) if c.labels["com.docker.compose.service"] == "postgres")
        postgres.exec_run(
            ["psql", "-U", "shop", "-d", "shop", "-c", f"SELECT * FROM {marker}"], environment={"PGPASSWORD": "shop"}
        )
    search = f"{address('elasticsearch')}/logs-{stack.project}/_search"
    body = {"query": {"match_phrase": {"message": marker}}, "sort": ["@timestamp"]}
    hits, _ = eventually(lambda: httpx.post(search, json=body).json()["hits"]["hits"], within=10)
    first = hits[0]["_source"]
    assert first["service"] == {"name": "postgres"} and first["log"]["level"] == "ERROR"
    assert "does not exist" in first["message"]


def test_no_field_is_indexed_that_nobody_asked_for(stack: Status, address: Callable[[str], str]) -> None:
    index = f"logs-{stack.project}"
    mapping = httpx.get(f"{address('elasticsearch')}/{index}/_mapping").json()[index]["mappings"]
    assert mapping["dynamic"] == "false"
    assert set(mapping["properties"]) == {"@timestamp", "message", "log", "service", "trace", "span", "error"}


def test_a_request_becomes_one_trace_through_the_services_it_touched(address: Callable[[str], str]) -> None:
    trace = f"{time.time_ns():032x}"
    httpx.get(address("gateway") + "/", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}).raise_for_status()

    def touched() -> set[str]:
        answer = httpx.get(f"{address('jaeger')}/api/traces/{trace}").json()
        processes = [process for found in answer["data"] or [] for process in found["processes"].values()]
        return {process["serviceName"] for process in processes}

    eventually(lambda: touched() >= {"gateway", "products"}, within=15)
    services = httpx.get(f"{address('jaeger')}/api/services").json()["data"]
    assert set(services) <= SERVICES


SECOND = {
    "REVELIO_PROJECT": "revelio-second",
    **{
        f"REVELIO_PORT_{name}": str(28080 + i)
        for i, name in enumerate(("GATEWAY", "PROMETHEUS", "JAEGER", "ELASTICSEARCH", "POSTGRES", "REDIS"))
    },
}


def second(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "testbed.stack", *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **SECOND}, capture_output=True, text=True, check=False)


@pytest.fixture
def second_stack(stack: Status) -> Iterator[dict[str, Any]]:
    try:
        done = second("up", "shop", "--no-users", "--json")
        assert done.returncode == 0, done.stderr
        yield json.loads(done.stdout)
    finally:
        second("down", "shop")


@pytest.mark.thorough
def test_a_second_stack_runs_beside_the_first_and_leaves_nothing_behind(stack: Status, second_stack: dict[str, Any]) -> None:
    assert second_stack["up"] and second_stack["project"] == "revelio-second"
    assert httpx.get("http://127.0.0.1:28080/healthz").is_success
    with engine() as client:
        frozen = next(c for c in containers(client, "revelio-second") if c.labels["com.docker.compose.service"] == "redis")
        frozen.pause()
    done = second("down", "shop")
    assert done.returncode == 0, done.stderr
    with engine() as client:
        assert containers(client, "revelio-second") == []
        mine = {"label": "com.docker.compose.project=revelio-second"}
        assert client.networks.list(filters=mine) == [] and client.volumes.list(filters=mine) == []
        assert len(containers(client, stack.project)) == len(stack.containers)
    assert second("status", "shop", "--json").returncode == 1
