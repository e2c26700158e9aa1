"""What coverage says about what is not seen: the kinds of things that are there, one by one; the others in a line."""

from __future__ import annotations

import threading
import time
from typing import cast

import pytest

from revelio.catalog import Catalog, bundled_catalog
from revelio.catalog.conventions import signals
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.support.deadline import end
from revelio.systems.coverage import Signals, coverage, coverage_of_all, reasons
from revelio.systems.system import System
from revelio.tools.base import Scope, Tool
from revelio.tools.discovery.prometheus import NOTHING
from revelio.types import Evidence


def test_reasons_are_given_for_the_kinds_of_entities_that_are_there() -> None:
    databases = {name for name, signal in signals().items() if signal.entity == "database"}
    lacking = {name: NOTHING for name in signals() if name not in databases} | {"db_size": "too old"}
    told = reasons(Signals(len(databases) - 1, len(signals()), lacking))
    assert told[0] == "db size: too old"
    assert told[1].startswith("nothing measures any service, ")
    assert len(told) == 2


def test_only_reasons_that_can_be_acted_on_are_given() -> None:
    lacking = {"db_size": f"{NOTHING}; add an exporter", "db_sessions": NOTHING}
    assert reasons(Signals(len(signals()) - 2, len(signals()), lacking)) == ["db size: add an exporter"]


def test_where_nothing_is_lacking_nothing_is_said() -> None:
    assert reasons(Signals(len(signals()), len(signals()), {})) == []


class Half:
    """A tool whose backend answers, with a clock of its own."""

    name, retrospective = "jaeger", True

    def ping(self) -> str:
        return "Jaeger, 3 services"

    def snapshot(self, scope: Scope) -> Evidence:
        return Evidence(scope.window, scope.baseline)

    def notes(self, project: str) -> tuple[str, ...]:
        return ("its clock is 95 s ahead of the one here",)


class Elsewhere(Half):
    """A tool at whose address something else answers."""

    name = "loki"

    def ping(self) -> str:
        raise SourceError("loki", "has nothing at this address")


def test_each_source_says_what_it_knows_of_itself_and_what_answers_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def identify_other_product(catalog: Catalog, product: str, url: str) -> str:
        asked.append((product, url))
        return "Jaeger answers; name it as backends.jaeger"

    monkeypatch.setattr("revelio.systems.coverage.identify_other_product", identify_other_product)
    settings = SystemSettings(backends={"jaeger": Backend(url="http://j"), "loki": Backend(url="http://l")})
    tools = cast(dict[str, Tool], {"jaeger": Half(), "loki": Elsewhere()})
    seen = coverage(System("shop", settings, bundled_catalog(), tools))
    assert seen.notes[0] == "Jaeger: its clock is 95 s ahead of the one here"
    assert seen.sources["loki"].detail == "http://l is no Loki: Jaeger answers; name it as backends.jaeger"
    assert asked == [("loki", "http://l")]


def test_all_systems_are_looked_at_together_and_one_that_hangs_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging, together = threading.Event(), threading.Barrier(2, timeout=5.0)

    def look(system: object) -> str:
        if system == "hangs":
            hanging.wait(5.0)
        else:
            together.wait()
        return f"of {system}"

    monkeypatch.setattr("revelio.systems.coverage.coverage", look)
    looked = coverage_of_all({name: name for name in ("a", "b", "hangs")}, 1.0)  # type: ignore[misc]
    hanging.set()
    assert dict[str, object](looked) == {"a": "of a", "b": "of b", "hangs": None}


def test_what_is_asked_has_to_be_over_before_the_look_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.systems.coverage.coverage", lambda system: end(60.0) - time.monotonic())
    (left,) = coverage_of_all({"a": None}, 10.0).values()  # type: ignore[dict-item]
    assert 0.0 < left < 9.0  # type: ignore[operator]
