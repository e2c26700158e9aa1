"""The timeline tells each change once."""

from __future__ import annotations

from revelio.types import Entity, Evidence, StateChange, Window
from webui.views.timeline import changes

CART, WEB = Entity("container", "cart"), Entity("container", "web")


def told(*found: StateChange) -> list[tuple[str, str, str]]:
    return [(m.entity, m.what, m.after) for m in changes(Evidence(Window(50, 100), Window(0, 50), changes=found))]


def test_a_stop_and_the_start_after_it_are_one_restart() -> None:
    stop = StateChange(CART, 60.0, "state", "running", "exited with code 137")
    start = StateChange(CART, 61.5, "started", "not running", "running")
    assert told(stop, start) == [("cart", "restarted", "running again after 1.5 s; had exited with code 137")]


def test_a_stop_alone_and_a_start_elsewhere_stay_two() -> None:
    stop = StateChange(CART, 60.0, "state", "running", "exited with code 0")
    start = StateChange(WEB, 61.0, "started", "not running", "running")
    assert told(stop, start) == [("cart", "state", "exited with code 0"), ("web", "started", "running")]
