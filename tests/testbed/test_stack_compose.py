"""What the Compose files promise: loopback only, all bounded, every image can be made, the names that telemetry bears."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from fault_injection.testbed_system import system_of
from testbed.images.recipes import BACKENDS, application
from testbed.stack import applications, find_project, parts_of
from testbed.stack.parts import STORES, source_of
from testbed.stack.project import PORTS, shared_services

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SHARED: Mapping[str, Any] = shared_services()
OWN: Mapping[str, Mapping[str, Any]] = {
    app: yaml.safe_load((ROOT / "testbed" / "apps" / app / "compose.yml").read_text())["services"] for app in applications()
}
SERVICES = {f"{app}/{name}": service for app, services in {"": SHARED, **OWN}.items() for name, service in services.items()}
BYTES = {"m": 2**20, "g": 2**30}
LEAST = {"shop": 10, "forum": 4, "travel": 10}
"""Services that each application has at least."""


@pytest.fixture(params=OWN)
def app(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_both_generations_of_compose_can_read_it() -> None:
    assert "version" not in COMPOSE and "name" not in COMPOSE


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded_watched_and_has_a_role(name: str) -> None:
    service = SERVICES[name]
    assert 0 < service["cpus"] <= 2
    assert service["mem_limit"][-1] in BYTES
    assert service["healthcheck"]["test"][0] == "CMD" and "/health/steady" in service["healthcheck"]["test"]
    assert service["logging"]["options"]["max-size"] == "10m"
    assert service["labels"]["revelio.role"] in ("app", "backend")


def test_each_application_fits_into_eight_gigabytes_beside_the_backends(app: str) -> None:
    limits = [service["mem_limit"] for service in (*SHARED.values(), *OWN[app].values())]
    assert sum(int(limit[:-1]) * BYTES[limit[-1]] for limit in limits) <= 8 * 2**30


def test_ports_are_published_on_loopback_only_and_can_be_moved(app: str) -> None:
    published = {name: port for name, service in {**SHARED, **OWN[app]}.items() for port in service.get("ports", ())}
    public = parts_of(app).public
    inside = {"postgres": 5432, "redis": 6379, "jaeger": 16686, "prometheus": 9090, "elasticsearch": 9200, public: 8000}
    for name, port in published.items():
        host, outside, container = port.rpartition(":")[0].partition(":")[0], port, int(port.rpartition(":")[2])
        place = "GATEWAY" if name == public else name.upper()
        assert host == "127.0.0.1" and f"${{REVELIO_PORT_{place}:-" in outside and container == inside[name]
    assert set(published) == set(inside)


def test_ports_by_default_are_those_of_the_first_application() -> None:
    published = [
        port for services in (SHARED, *OWN.values()) for service in services.values() for port in service.get("ports", ())
    ]
    defaults = {part.split(":-")[0]: int(part.split(":-")[1]) for port in published for part in re.findall(r"\{(.*?)\}", port)}
    assert defaults == {f"REVELIO_PORT_{name.upper()}": port for name, port in PORTS.items()}


def test_stacks_of_different_applications_share_no_port_and_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("REVELIO_P")]:
        monkeypatch.delenv(name)
    projects = [find_project(app) for app in OWN]
    ports = [port for project in projects for port in project.ports.values()]
    assert len(set(ports)) == len(ports)
    assert len({project.name for project in projects}) == len({project.state for project in projects}) == len(OWN)


def test_revelio_asks_the_applications_where_the_testbed_publishes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("REVELIO_P")]:
        monkeypatch.delenv(name)
    for app in OWN:
        project, system = find_project(app), system_of(app)
        assert system.project == project.name
        for tool in ("prometheus", "jaeger", "elasticsearch"):
            assert system.backends[tool].url == f"http://127.0.0.1:{project.ports[tool]}"


def test_every_image_can_be_made_where_none_can_be_pulled(app: str) -> None:
    made = {recipe.tag for recipe in BACKENDS} | {application(app).tag}
    assert {service["image"] for service in (*SHARED.values(), *OWN[app].values())} == made


def test_services_bear_the_same_name_in_compose_and_telemetry(app: str) -> None:
    assert len(OWN[app]) >= LEAST[app]
    for name, service in OWN[app].items():
        assert service["environment"]["SERVICE_NAME"] == name
        assert service["command"] == f"python -m apps.{app}.{name}"


def test_a_service_is_told_of_those_that_it_calls_and_no_others(app: str) -> None:
    for name, service in OWN[app].items():
        source = source_of(app, name)
        told = {setting for setting in service["environment"] if setting.endswith("_URL")}
        # Peers are named in the lines that make them, or in the list that such a line goes through.
        made = "\n".join(line for line in source.splitlines() if "peer(settings" in line or line.startswith("_READS"))
        assert {setting for setting in told if setting not in STORES} == {
            f"{peer.upper()}_URL" for peer in OWN[app] if f'"{peer}"' in made
        }, name
        assert ("DATABASE_URL" in told) == ("Database(settings" in source), name
        assert ("REDIS_URL" in told) == ("settings.redis" in source), name


def test_application_containers_and_no_others_have_their_logs_shipped(app: str) -> None:
    services = {**SHARED, **OWN[app]}
    shipped = {name for name, service in services.items() if "labels" in service["logging"]["options"]}
    assert shipped == {name for name, service in services.items() if service["labels"]["revelio.role"] == "app"}
    assert shipped == set(OWN[app]) | {"postgres", "redis"}


def test_prometheus_scrapes_every_service_of_the_application(app: str) -> None:
    targets = yaml.safe_load((ROOT / f"testbed/backends/prometheus/targets/{app}.yml").read_text())
    assert {target for group in targets for target in group["targets"]} == {f"{name}:8000" for name in OWN[app]}


def test_only_known_log_fields_are_indexed() -> None:
    template = json.loads((ROOT / "testbed/backends/logshipper/index-template.json").read_text())["template"]
    mapping = template["mappings"]
    assert mapping["dynamic"] is False
    assert mapping["properties"]["message"] == {"type": "text", "analyzer": "standard"}
    assert mapping["properties"]["log"]["properties"]["level"] == {"type": "keyword"}
