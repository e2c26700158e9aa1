"""Faults of the network: what each adds it takes away again, wherever it is interrupted, and each is measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fault_injection import inject as inject_module
from fault_injection import steps
from fault_injection.apps import App, app_named
from fault_injection.inject import inject, open_faults, undo
from fault_injection.kinds import kind_named, kinds, network, network_buffers, network_edges, network_names
from fault_injection.labels import Accepted, accepted_queries
from fault_injection.mechanisms.probe import Outcome
from fault_injection.spec import Fault
from revelio.errors import FaultError
from revelio.types import Blank, Query, QueryTemplate
from tests.fault_injection.fake_engine import Killed
from tests.fault_injection.fake_network import DEVICE, FakeNetwork

LINKS = ("delay", "loss", "bandwidth", "congestion")
KINDS = tuple(kind for kind in kinds() if kind.category == "network")
EDGES = ("partition", "tcp_reset", "wrong_route")
FAULTS = [
    Fault(kind.name, "orders->payment" if kind.name in EDGES else "cart", strength)
    for kind in KINDS
    for strength in kind.strengths
]


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path)


@pytest.fixture
def engine(app: App) -> FakeNetwork:
    return FakeNetwork(*app.places)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, engine: FakeNetwork) -> Iterator[None]:
    def reached(service: str) -> bool:
        return not any(engine.kept.get(service, []))

    def outcome(*places: str) -> Outcome:
        return Outcome(all(map(reached, places)), 0.01, "answered" if all(map(reached, places)) else "no answer")

    for module in (network, network_buffers):
        monkeypatch.setattr(module, "SAMPLE_S", 0.01)
    monkeypatch.setattr(inject_module, "RECOVERY_S", 0.1)
    for kind in KINDS:
        monkeypatch.setattr(type(kind), "settle_s", 0.05)
    monkeypatch.setattr(inject_module, "answers", lambda app, place, engine, seconds: 0.01)
    monkeypatch.setattr(
        network, "answers", lambda app, place, engine, seconds: 0.01 if reached(place) and reached("host") else 1.5
    )
    monkeypatch.setattr(network_edges, "call", lambda app, caller, callee, engine, seconds: outcome(caller, callee))
    monkeypatch.setattr(network_names, "look_up", lambda service, name, engine, seconds: outcome(service))
    monkeypatch.setattr(steps, "_start_background", lambda step, app, journal, fault_id: engine._act("background"))
    yield


def left(engine: FakeNetwork) -> list[str]:
    return [thing for things in engine.kept.values() for thing in things]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.kind}-{f.strength}")
def test_it_is_verified_and_leaves_nothing(app: App, engine: FakeNetwork, fault: Fault) -> None:
    injection = inject(app, fault, engine)
    assert injection.verified_by
    assert left(engine)
    (undone,) = undo(app, engine)
    assert undone.notes == ()
    assert left(engine) == []
    assert undo(app, engine) == ()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.kind}-{f.strength}")
@pytest.mark.parametrize("acts", range(4))
def test_a_kill_after_any_act_leaves_what_undo_needs(
    app: App, engine: FakeNetwork, monkeypatch: pytest.MonkeyPatch, fault: Fault, acts: int
) -> None:
    engine.die_after = acts
    with monkeypatch.context() as dead:
        dead.setattr(inject_module, "_undo_all", lambda *_: ())
        try:
            inject(app, fault, engine)
        except Killed:
            assert open_faults(app) == (fault,)
    engine.die_after = None
    undo(app, engine)
    assert left(engine) == []
    assert open_faults(app) == ()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.kind}-{f.strength}")
def test_undoing_after_the_container_was_restarted_finds_nothing_to_undo(app: App, engine: FakeNetwork, fault: Fault) -> None:
    inject(app, fault, engine)
    for things in engine.kept.values():
        things.clear()
    undo(app, engine)
    assert open_faults(app) == ()


@pytest.mark.parametrize("kind", LINKS)
def test_a_rule_that_stays_is_told(app: App, engine: FakeNetwork, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    inject(app, Fault(kind, "cart", "hard"), engine)
    engine.refuse = "net"
    with pytest.raises(FaultError, match="cart did not recover: left in its network: "):
        undo(app, engine)


def test_delay_takes_netem_at_the_hosts_end_where_the_kernel_has_it(app: App, engine: FakeNetwork) -> None:
    engine.netem = True
    inject(app, Fault("delay", "cart", "hard"), engine)
    assert engine.acts == [f"net host tc qdisc add dev {DEVICE} root netem delay 600ms 100ms limit 4096"]
    assert engine.kept["cart"] == []


def test_without_netem_packets_pass_while_nobody_reads_the_queue(app: App, engine: FakeNetwork) -> None:
    inject(app, Fault("delay", "cart", "hard"), engine)
    assert engine.acts[0] == "background"
    assert "--queue-bypass" in engine.acts[1]


def test_a_link_without_lost_packets_is_no_fault(app: App, engine: FakeNetwork) -> None:
    engine.dropped = 0
    with pytest.raises(FaultError, match="loss at cart is not active: 0 packets lost so far, 4 sent again"):
        inject(app, Fault("loss", "cart", "hard"), engine)
    assert left(engine) == []


def test_a_link_that_is_wide_enough_is_no_fault(app: App, engine: FakeNetwork) -> None:
    engine.growth["backlog"] = 0
    for kind in ("bandwidth", "congestion"):
        with pytest.raises(FaultError, match=f"{kind} at cart is not active"):
            inject(app, Fault(kind, "cart", "hard"), engine)
    assert left(engine) == []


def test_the_width_is_a_share_of_what_is_sent_now(app: App, engine: FakeNetwork) -> None:
    hard = dict(inject(app, Fault("bandwidth", "cart", "hard"), engine).parameters)
    moderate = dict(inject(app, Fault("bandwidth", "cart", "moderate"), engine).parameters)
    assert hard["bytes_per_s"] == int(0.35 * 20_000 / 0.01)
    assert float(moderate["bytes_per_s"]) > float(hard["bytes_per_s"])


def test_cross_traffic_goes_to_another_container(app: App, engine: FakeNetwork) -> None:
    for place in app.places:
        assert dict(inject(app, Fault("congestion", place, "hard"), engine).parameters)["to"] != place


def test_faults_between_two_are_at_edges_that_there_are(app: App) -> None:
    for kind in map(kind_named, EDGES):
        places = kind.places(app)
        assert {"gateway->cart", "orders->payment", "products->postgres", "cart->redis"} <= set(places)
        with pytest.raises(FaultError, match=r"possible places: .*gateway->products, "):
            kind.validate(app, Fault(kind.name, "payment->orders", next(iter(kind.strengths))))


def test_what_is_cut_off_is_dropped_where_it_would_arrive(app: App, engine: FakeNetwork) -> None:
    inject(app, Fault("partition", "orders->payment", "whole"), engine)
    caller = engine.address("orders")
    assert engine.kept["payment"] == [f"INPUT -s {caller} -j DROP", f"OUTPUT -d {caller} -j DROP"]


def test_a_gateway_that_is_not_there_is_an_address_of_the_network_that_nobody_has(app: App, engine: FakeNetwork) -> None:
    inject(app, Fault("wrong_route", "orders->payment", "dead gateway"), engine)
    assert engine.kept["orders"] == [f"ip route {engine.address('payment')}/32 via 10.0.0.254"]


def test_names_fail_where_names_are_looked_up(app: App) -> None:
    assert set(kind_named("dns_failure").places(app)) == set(app.services)


@pytest.mark.parametrize(
    "fault", [f for f in FAULTS if f.kind in (*EDGES, "dns_failure")], ids=lambda f: f"{f.kind}-{f.strength}"
)
def test_what_is_not_felt_from_the_callers_network_is_no_fault(
    app: App, engine: FakeNetwork, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(network_edges, "call", lambda *_, seconds: Outcome(True, 0.01, "answered"))
    monkeypatch.setattr(network_names, "look_up", lambda *_, seconds: Outcome(True, 0.01, "answered"))
    with pytest.raises(FaultError, match=r"is not active: .* answered after 0\.01 s"):
        inject(app, fault, engine)
    assert left(engine) == []


def test_what_does_not_run_cannot_be_cut_off(app: App, engine: FakeNetwork) -> None:
    engine.stop("payment")
    for fault in FAULTS:
        if fault.kind in EDGES:
            with pytest.raises(FaultError, match="payment is exited, not running"):
                inject(app, fault, engine)


def test_an_edges_ends_fill_the_blanks_of_its_labels() -> None:
    template = QueryTemplate("edge_errors", "prom", "t", "s", "b", (Blank("service", "service"), Blank("peer", "service")))
    there, back = (Query(template, (("peer", peer), ("service", service))) for service, peer in (("a", "b"), ("b", "a")))
    entry = Accepted(template="edge_errors", grade=3, blanks={"service": "caller", "peer": "callee"})
    assert accepted_queries([entry], "a->b", [there, back], ()) == {there: 3}
    assert accepted_queries([entry], "a", [there, back], ()) == {}
