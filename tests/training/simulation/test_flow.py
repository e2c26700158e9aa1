"""Trouble spreads along calls, from what is called to what calls it, and nowhere else."""

from __future__ import annotations

from revelio.training.simulation.flow import REFUSED, TIMEOUT, Disturbance, Place, flow
from revelio.training.simulation.system import Call, Component, Feature, System, Visit
from revelio.training.simulation.vocabulary import FeatureWords

WORDS = FeatureWords(("reading",), ("reader",), ("GET /read",))


def system(loss: float = 1.0, timeout_ms: float = 1000.0) -> System:
    """``web`` calls ``reader``, which asks ``db``, and ``writer``, which asks nothing."""
    store = Call(Visit("db", "", 5.0), 2.0, loss, timeout_ms)
    read = Visit("web", "GET /read", 1.0, (Call(Visit("reader", "GET /read", 10.0, (store,)), 1.0, 1.0, timeout_ms),))
    write = Visit("web", "POST /write", 1.0, (Call(Visit("writer", "POST /write", 10.0), 1.0, 1.0, timeout_ms),))
    parts = (("web", "entry"), ("reader", "service"), ("writer", "service"), ("db", "sql"))
    features = (Feature(WORDS, "reading", 10.0, read), Feature(WORDS, "writing", 5.0, write))
    return System("small", tuple(Component(n, r) for n, r in parts), features, (), ())


def test_a_slow_store_makes_its_callers_slow_and_leaves_others_alone() -> None:
    healthy, now = flow(system(), {}), flow(system(), {"db": (Disturbance(slow=20.0),)})
    assert now.components["reader"].mean_ms > healthy.components["reader"].mean_ms + 150.0
    assert now.components["reader"].self_ms == healthy.components["reader"].self_ms
    assert now.operations["web", "GET /read"].mean_ms > healthy.operations["web", "GET /read"].mean_ms + 150.0
    assert now.components["writer"] == healthy.components["writer"]
    assert now.felt[1] == healthy.felt[1]


def test_failures_reach_callers_as_far_as_these_depend_on_them() -> None:
    broken: dict[Place, tuple[Disturbance, ...]] = {"db": (Disturbance(fail=1.0),)}
    assert flow(system(loss=1.0), broken).felt[0][1] == 1.0
    assert flow(system(loss=0.0), broken).felt[0][1] == 0.0
    part = flow(system(loss=0.5), broken)
    assert part.felt[0][1] == 0.5
    assert part.calls["reader", "db"].failed == 1.0


def test_what_is_gone_refuses_and_answers_nothing() -> None:
    now = flow(system(), {"db": (Disturbance(gone=True),)})
    assert "db" not in now.components
    assert now.calls["reader", "db"].reason == REFUSED


def test_a_caller_waits_no_longer_than_its_timeout() -> None:
    now = flow(system(timeout_ms=500.0), {"db": (Disturbance(add=9000.0),)})
    edge = now.calls["reader", "db"]
    assert edge.mean_ms == 500.0
    assert edge.reason == TIMEOUT
    assert edge.failed >= 0.9


def test_trouble_of_one_call_is_not_that_of_the_called_one() -> None:
    now = flow(system(), {("reader", "db"): (Disturbance(add=300.0),)})
    assert now.components["db"].mean_ms == 5.0
    assert now.calls["reader", "db"].mean_ms == 305.0


def test_a_part_that_is_called_more_often_takes_more_of_the_time() -> None:
    now = flow(system(), {"reader": (Disturbance(more=10.0, to="db"),)})
    assert now.calls["reader", "db"].rate == 200.0
    assert now.felt[0][0] > 100.0
