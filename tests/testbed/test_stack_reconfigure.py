"""A changed setting reaches one service, joins those changed before, and is forgotten when it is taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from testbed.stack import compose, project
from testbed.stack.project import Project


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(project, "ROOT", tmp_path)
    return Project("shop", "revelio-shop")


@pytest.fixture
def rolled_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    services: list[str] = []
    monkeypatch.setattr(compose, "run", lambda _, *arguments: services.append(arguments[-1]))
    return services


def test_changes_join_and_are_taken_back_one_service_at_a_time(shop: Project, rolled_out: list[str]) -> None:
    plain = shop.compose_files
    compose.reconfigure(shop, "cart", {"CACHE_SECONDS": "0"})
    compose.reconfigure(shop, "orders", {"DB_POOL_SIZE": "1"})
    assert shop.compose_files == (*plain, shop.changes)
    assert yaml.safe_load(shop.changes.read_text())["services"] == {
        "cart": {"environment": {"CACHE_SECONDS": "0"}},
        "orders": {"environment": {"DB_POOL_SIZE": "1"}},
    }
    compose.reconfigure(shop, "cart", {})
    assert set(yaml.safe_load(shop.changes.read_text())["services"]) == {"orders"}
    compose.reconfigure(shop, "orders", {})
    assert shop.compose_files == plain
    assert rolled_out == ["cart", "orders", "cart", "orders"]
