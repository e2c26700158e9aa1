"""A recorded system answers like the real thing."""

from __future__ import annotations

import time

import pytest

from revelio.catalog import bundled_catalog
from revelio.errors import NotFoundError
from revelio.settings import Backend, SystemSettings
from revelio.systems.incidents.exchange import Record
from revelio.systems.recorded_system import RecordedSystem
from revelio.tools.base import Scope
from revelio.types import Entity, Evidence, Query, RecordedResult, Result, StateChange, Window

SEEN = Scope("shop", Window(970.0, 1000.0), Window(910.0, 970.0))
CART = Entity("service", "cart")
ASKED = Query(bundled_catalog().template("prometheus.up"), (("service", "cart"),))


def recorded(settings: SystemSettings | None = None) -> RecordedSystem:
    evidence = Evidence(SEEN.window, SEEN.baseline, (CART,), changes=(StateChange(CART, 980.0, "state", "running", "paused"),))
    results = (RecordedResult(ASKED.template.id, ASKED.bindings, Result("was down", 1.0, "up is 0", took_ms=7.0)),)
    return RecordedSystem(Record("shop-1", "shop", 1000.0, evidence, results=results), bundled_catalog(), settings)


def test_a_recording_answers_what_it_answered_then() -> None:
    shop = recorded()
    seen = shop.snapshot(time.time())
    assert seen.changes[0].after == "paused"
    assert shop.run(ASKED, seen) == Result("was down", 1.0, "up is 0", took_ms=7.0)
    assert shop.scope(seen) == Scope("shop", SEEN.window, SEEN.baseline)


def test_a_recording_says_when_a_query_was_not_run_then() -> None:
    other = Query(ASKED.template, (("service", "orders"),))
    with pytest.raises(NotFoundError, match="was not run when shop-1 was recorded"):
        recorded().run(other, recorded().snapshot(0.0))


def test_a_recording_renders_without_a_backend_and_links_where_the_system_is_still_known() -> None:
    shop = recorded()
    seen = shop.snapshot(0.0)
    assert shop.render(ASKED, seen) == 'up{project="shop",service="cart"}'
    assert shop.link(ASKED, seen) is None
    known = recorded(SystemSettings(project="p", backends={"prometheus": Backend(url="http://p", link="http://prom.example")}))
    assert (known.link(ASKED, seen) or "").startswith("http://prom.example/graph?g0.expr=up")
    assert known.render(ASKED, seen) == 'up{project="p",service="cart"}'


def test_every_bundled_template_renders_from_a_recording() -> None:
    shop = recorded()
    seen = shop.snapshot(0.0)
    for template in bundled_catalog().templates:
        assert shop.render(Query(template, tuple(sorted((b.name, "cart") for b in template.blanks))), seen), template.id
