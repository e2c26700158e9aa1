"""Unknown kinds, places and strengths are errors that list what is possible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fault_injection.apps import app_named
from fault_injection.kinds import kind_named, kinds, validate
from fault_injection.spec import HARMLESS, Fault, FaultKind
from revelio.errors import FaultError
from testbed.stack import applications

APP = app_named("shop", Path("unused"))
APPS = tuple(app_named(name, Path("unused")) for name in applications())
REAL = tuple(kind for kind in kinds() if kind.category not in HARMLESS)
FEWER_PLACES = {
    "disk_slow": "one store beside the database writes to disk before it answers",
    "disk_full": "two containers keep data on a disk",
    "slow_disk_on_db": "there is one database",
    "store_memory_too_small": "there is one Redis",
    "slow_command": "there is one Redis",
    "worker_stopped": "the shop has one worker; the others have two",
    "slow_consumer": "the shop has one worker; the others have two",
}
"""Kinds that the shop has fewer than three places for, and why."""
ALL_OR_NOTHING = {
    "disk_full": "a disk is full or it is not",
    "container_stop": "a container runs or it does not",
    "worker_stopped": "a container runs or it does not",
    "crash_loop": "a version starts or it does not",
    "wrong_db_host": "the name is right or wrong",
    "wrong_credentials": "the password is right or wrong",
    "wrong_upstream_port": "the port is right or wrong",
    "cache_disabled": "a cache is on or off",
}
"""Kinds of one strength, and why."""


def test_an_unknown_kind_is_refused_with_a_list_of_kinds() -> None:
    with pytest.raises(FaultError, match=r"no fault kind 'gremlin'; there are: .*container_pause.*cpu_quota"):
        kind_named("gremlin")


def test_an_impossible_place_is_refused_with_a_list_of_places() -> None:
    with pytest.raises(FaultError, match=r"'redis' of shop; possible places: gateway, products, .*, postgres$"):
        validate(APP, Fault("cpu_quota", "redis", "hard"))


def test_an_unknown_strength_is_refused_with_a_list_of_strengths() -> None:
    with pytest.raises(FaultError, match=r"no strength 'mad'; possible: whole, intermittent"):
        validate(APP, Fault("container_pause", "cart", "mad"))


def test_an_unknown_application_is_refused() -> None:
    with pytest.raises(FaultError, match=r"no application 'bank'; there is shop, "):
        app_named("bank")


def test_every_kind_has_a_unique_name_places_strengths_and_one_sentence() -> None:
    names = [k.name for k in kinds()]
    assert len(names) == len(set(names))
    for kind in kinds():
        assert kind.places(APP), kind.name
        assert kind.strengths, kind.name
        assert kind.explanation.endswith("."), kind.name
        assert kind.explanation.count(". ") == 0, kind.name


def test_every_real_fault_can_be_applied_at_three_places_where_it_makes_sense() -> None:
    for kind in REAL:
        places = {app.name: len(kind.places(app)) for app in APPS}
        assert sum(places.values()) >= 3, kind.name
        assert (places["shop"] >= 3) == (kind.name not in FEWER_PLACES), f"{kind.name}: {places}"


def test_every_real_fault_has_two_strengths_where_it_makes_sense() -> None:
    for kind in REAL:
        assert (len(kind.strengths) >= 2) == (kind.name not in ALL_OR_NOTHING), kind.name


def test_every_excuse_is_about_a_kind_that_there_is() -> None:
    assert set(FEWER_PLACES) | set(ALL_OR_NOTHING) <= {kind.name for kind in REAL}


def test_every_class_with_a_name_is_a_kind_without_being_listed_anywhere() -> None:
    written = {
        name
        for path in Path("fault_injection/kinds").glob("*.py")
        for name in re.findall(r'^    name = "(\w+)"$', path.read_text(), re.MULTILINE)
    }
    assert written == {kind.name for kind in kinds()}


@pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)
def test_every_kind_says_what_is_done_to_make_it(kind: FaultKind) -> None:
    assert kind.mechanism and kind.explanation
