"""A wrong setting changes what it says and nothing else, and counts once the service is up with it, or cannot come up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.kinds import configuration, kind_named, kinds, validate
from fault_injection.kinds.configuration import Misconfigured
from fault_injection.spec import Fault
from revelio.errors import FaultError
from tests.fault_injection.traces import telling_words
from tests.fault_injection.world import World

GIVEN = {
    "DATABASE_URL": "postgresql://shop:secret@postgres:5432/shop",
    "REDIS_URL": "redis://redis:6379/0",
    "CART_URL": "http://cart:8000",
    "USERS_URL": "http://users:8000/base",
}
FORMS = [
    (kind, strength, variant)
    for kind in kinds()
    if isinstance(kind, Misconfigured)
    for strength in kind.strengths
    for variant in range(6)
]


def changed(kind: str, strength: str, variant: int = 0) -> dict[str, str]:
    found = kind_named(kind)
    assert isinstance(found, Misconfigured)
    return found.settings(Fault(kind, "orders", strength, variant), dict(GIVEN))


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path) -> World:
    return World(app, tmp_path)


def test_another_host_keeps_user_port_and_database() -> None:
    assert changed("wrong_db_host", "whole", 1) == {"DATABASE_URL": "postgresql://shop:secret@db-primary:5432/shop"}


def test_another_password_keeps_user_host_and_database() -> None:
    assert changed("wrong_credentials", "whole", 0) == {"DATABASE_URL": "postgresql://shop:changeme@postgres:5432/shop"}


def test_another_port_is_one_peers_and_never_a_stores() -> None:
    assert changed("wrong_upstream_port", "whole", 0) == {"CART_URL": "http://cart:8080"}
    assert changed("wrong_upstream_port", "whole", 1) == {"USERS_URL": "http://users:8001/base"}


@pytest.mark.parametrize(
    ("kind", "strength", "setting"),
    [
        ("timeout_too_short", "hard", {"PEER_TIMEOUT_SECONDS": "0.004"}),
        ("pool_too_small", "one", {"DB_POOL_SIZE": "1"}),
        ("cache_disabled", "whole", {"CACHE_SECONDS": "0"}),
        ("rate_limit_too_low", "moderate", {"RATE_LIMIT_PER_SECOND": "1"}),
    ],
)
def test_a_knob_is_set_to_its_strength(kind: str, strength: str, setting: dict[str, str]) -> None:
    assert changed(kind, strength) == setting


@pytest.mark.parametrize(("kind", "strength", "variant"), FORMS, ids=lambda x: getattr(x, "name", str(x)))
def test_no_setting_gives_anything_away_and_each_is_a_change(kind: Misconfigured, strength: str, variant: int) -> None:
    made = kind.settings(Fault(kind.name, "orders", strength, variant), dict(GIVEN))
    assert telling_words(str(made)) == set()
    assert all(GIVEN.get(name) != value for name, value in made.items())


@pytest.mark.parametrize("kind", ["wrong_db_host", "wrong_credentials"])
def test_a_setting_that_a_service_does_not_have_cannot_be_wrong(app: App, kind: str) -> None:
    with pytest.raises(FaultError, match="the service has no setting DATABASE_URL"):
        found = kind_named(kind)
        assert isinstance(found, Misconfigured)
        found.settings(Fault(kind, "orders", "whole"), {})
    with pytest.raises(FaultError, match="'cart' of shop; possible places: products, "):
        validate(app, Fault(kind, "cart", "whole"))


def test_a_service_that_is_told_of_no_peer_is_refused(app: App, world: World) -> None:
    world.environments["orders"] = {"DATABASE_URL": "x"}
    with pytest.raises(FaultError, match="orders has no setting that names a peer"):
        kind_named("wrong_upstream_port").change(app, Fault("wrong_upstream_port", "orders", "whole"), world)


@pytest.mark.parametrize(
    ("kind", "given", "answered", "restarts", "active"),
    [
        ("pool_too_small", True, 0.01, 0, True),
        ("pool_too_small", True, None, 0, False),
        ("pool_too_small", False, 0.01, 0, False),
        ("wrong_db_host", True, None, 1, True),
        ("wrong_db_host", True, None, 0, False),
        ("wrong_db_host", True, 0.01, 1, False),
    ],
)
def test_a_setting_counts_once_the_service_is_up_with_it_or_cannot_come_up(
    app: App,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    given: bool,
    answered: float | None,
    restarts: int,
    active: bool,
) -> None:
    fault = Fault(kind, "orders", next(iter(kind_named(kind).strengths)))
    monkeypatch.setattr(configuration, "answers", lambda *_, **__: answered)
    world.restart_count = restarts
    if given:
        found = kind_named(kind)
        assert isinstance(found, Misconfigured)
        world.environments["orders"] |= found.settings(fault, world.environments["orders"])
    assert kind_named(kind).active(app, fault, world).confirmed == active
