"""What the Dockerfile and the product's services in docker-compose.yml promise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
PRODUCT = {name: service for name, service in SERVICES.items() if service.get("profiles") == ["product"]}
OURS = {name: service for name, service in PRODUCT.items() if service["image"] == "revelio:dev"}


def test_the_image_holds_locked_packages_and_no_torch() -> None:
    assert "--require-hashes --target /packages -r requirements/run.txt" in DOCKERFILE
    assert not re.search(r"^(torch|transformers|triton)==", (ROOT / "requirements/run.txt").read_text(), flags=re.MULTILINE)


def test_the_image_runs_the_demo_without_rights_and_is_checked() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER \d+:\d+$", last, flags=re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert re.search(r'^CMD \["demo",', last, flags=re.MULTILINE)


def test_files_that_it_copies_are_in_its_context() -> None:
    sources = [word for line in re.findall(r"^COPY (?!--from)(.*)", DOCKERFILE, flags=re.MULTILINE) for word in line.split()[:-1]]
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert [s for s in sources if not (ROOT / s).exists() or s.partition("/")[0] not in allowed] == []


@pytest.mark.parametrize("name", ["demo", "revelio"])
def test_the_product_runs_read_only_on_loopback(name: str) -> None:
    service = OURS[name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_product_s_services_share_a_network_of_their_own() -> None:
    assert set(PRODUCT) == {"demo", "revelio", "revelio-store"}
    assert all(service["networks"] == ["product"] for service in PRODUCT.values())
    assert "ports" not in PRODUCT["revelio-store"]


def test_the_base_is_pinned_by_its_digest() -> None:
    (base,) = re.findall(r"^ARG PYTHON=(.*)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"python:3\.11-slim@sha256:[0-9a-f]{64}", base)
    assert {line.split()[1] for line in DOCKERFILE.splitlines() if line.startswith("FROM ")} == {"${PYTHON}"}
