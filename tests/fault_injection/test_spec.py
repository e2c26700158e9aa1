"""Unknown kinds, places and strengths are errors that list what is possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.apps import app_named
from fault_injection.kinds import kind_named, kinds, validate
from fault_injection.spec import Fault
from revelio.errors import FaultError

APP = app_named("shop", Path("unused"))


def test_an_unknown_kind_is_refused_with_a_list_of_kinds() -> None:
    with pytest.raises(FaultError, match=r"no fault kind 'gremlin'; there are: .*cpu_quota.*container_pause"):
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


def test_every_real_fault_can_be_applied_at_three_places_and_two_strengths() -> None:
    for kind in kinds():
        if kind.category != "control":
            assert len(kind.places(APP)) >= 3, kind.name
            assert len(kind.strengths) >= 2, kind.name
