"""What docker-compose.yml promises: loopback only, all bounded, every image can be made, the names that telemetry bears."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.images.recipes import BACKENDS, application

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: Mapping[str, Any] = COMPOSE["services"]
SHOP = {name for name, service in SERVICES.items() if service.get("profiles") == ["shop"]}
BYTES = {"m": 2**20, "g": 2**30}


def test_both_generations_of_compose_can_read_it() -> None:
    assert "version" not in COMPOSE and "name" not in COMPOSE


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded_watched_and_has_a_role(name: str) -> None:
    service = SERVICES[name]
    assert 0 < service["cpus"] <= 2
    assert service["mem_limit"][-1] in BYTES
    assert service["healthcheck"]["test"][0] == "CMD" and service["healthcheck"]["interval"] in ("3s", "5s")
    assert service["logging"]["options"]["max-size"] == "10m"
    assert service["labels"]["revelio.role"] in ("app", "backend")


def test_the_whole_stack_fits_into_eight_gigabytes() -> None:
    limits = [service["mem_limit"] for service in SERVICES.values()]
    assert sum(int(limit[:-1]) * BYTES[limit[-1]] for limit in limits) <= 8 * 2**30


def test_ports_are_published_on_loopback_only_and_can_be_moved() -> None:
    published = {name: port for name, service in SERVICES.items() for port in service.get("ports", ())}
    assert published == {
        "gateway": "127.0.0.1:${REVELIO_PORT_GATEWAY:-18080}:8000",
        "postgres": "127.0.0.1:${REVELIO_PORT_POSTGRES:-15432}:5432",
        "redis": "127.0.0.1:${REVELIO_PORT_REDIS:-16379}:6379",
        "jaeger": "127.0.0.1:${REVELIO_PORT_JAEGER:-19686}:16686",
        "prometheus": "127.0.0.1:${REVELIO_PORT_PROMETHEUS:-19090}:9090",
        "elasticsearch": "127.0.0.1:${REVELIO_PORT_ELASTICSEARCH:-19200}:9200",
    }
    assert all("network_mode" not in service for service in SERVICES.values())


def test_every_image_can_be_made_where_none_can_be_pulled() -> None:
    made = {recipe.tag for recipe in BACKENDS} | {application("shop").tag}
    assert {service["image"] for service in SERVICES.values()} == made


def test_services_bear_the_same_name_in_compose_and_telemetry() -> None:
    assert {"gateway", "products", "cart", "orders", "payment"} == SHOP
    for name in SHOP:
        assert SERVICES[name]["environment"]["SERVICE_NAME"] == name
        assert SERVICES[name]["command"] == f"python -m apps.shop.{name}"


def test_application_containers_and_no_others_have_their_logs_shipped() -> None:
    shipped = {name for name, service in SERVICES.items() if "labels" in service["logging"]["options"]}
    assert shipped == {name for name, service in SERVICES.items() if service["labels"]["revelio.role"] == "app"}
    assert shipped == SHOP | {"postgres", "redis"}


def test_prometheus_scrapes_every_service_of_the_application() -> None:
    targets = yaml.safe_load((ROOT / "testbed/backends/prometheus/targets/shop.yml").read_text())
    assert {target for group in targets for target in group["targets"]} == {f"{name}:8000" for name in SHOP}


def test_only_known_log_fields_are_indexed() -> None:
    template = json.loads((ROOT / "testbed/backends/logshipper/index-template.json").read_text())["template"]
    mapping = template["mappings"]
    assert mapping["dynamic"] is False
    assert mapping["properties"]["message"] == {"type": "text", "analyzer": "standard"}
    assert mapping["properties"]["log"]["properties"]["level"] == {"type": "keyword"}
