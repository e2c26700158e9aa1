"""Faults between two parts of the application: what one sends the other is lost, refused, or goes the wrong way."""

from __future__ import annotations

import ipaddress
import json
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.probe import Outcome, call, greeting, must_run
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import network_step


class BetweenTwo(FaultKind):
    """A fault at an edge, ``caller->callee``."""

    category = "network"
    mechanism = "packets"
    settle_s = 10.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every edge of the application."""
        return tuple(f"{caller}->{callee}" for caller, callee in app.edges)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """A call from the caller's network."""
        outcome, words = self._called(app, fault, engine)
        return Effect(not outcome.answered, words)

    def stands_on(self, app: App, fault: Fault) -> str:
        """The callee."""
        return ends(fault)[1]

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The callee answers the caller."""
        outcome, words = self._called(app, fault, engine)
        return Effect(outcome.answered, words)

    def _called(self, app: App, fault: Fault, engine: Engine) -> tuple[Outcome, str]:
        caller, callee = ends(fault)
        outcome = call(app, caller, callee, engine, seconds=1.0)
        return outcome, f"{callee}, called from {caller}: {outcome.words} after {outcome.seconds:.2f} s"


class Partition(BetweenTwo):
    """What the caller sends does not arrive."""

    name = "partition"
    explanation = "The network between two parts is cut: what one sends the other does not arrive, and nothing says so."
    strengths: ClassVar = {"whole": {"share": 1.0}, "most": {"share": 0.7}}

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Dropped where it would arrive, so that the attempts are on the network; what the callee sends, where it leaves."""
        caller, callee = _running_ends(fault, engine)
        address = engine.address(caller)
        chance = _chance(float(self.strengths[fault.strength]["share"]))
        rules = (("INPUT", "-s", address, *chance, "-j", "DROP"), ("OUTPUT", "-d", address, *chance, "-j", "DROP"))
        return Change(
            do=tuple(network_step(engine, callee, "iptables", "-w", "5", "-A", *rule) for rule in rules),
            undo=tuple(network_step(engine, callee, "iptables", "-w", "5", "-D", *rule, undoes=True) for rule in rules),
            parameters=tuple(self.strengths[fault.strength].items()),
        )


class TcpReset(BetweenTwo):
    """Connections are refused and cut."""

    name = "tcp_reset"
    explanation = "Something between two parts resets their connections: new ones are refused, open ones are cut."
    strengths: ClassVar = {"all": {"share": 1.0, "every_s": 1.0}, "some": {"share": 0.6, "every_s": 0.5}}

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Refuse attempts where they arrive; cut what is open, again and again.

        Refusing packets of open connections would leave the callee's ends of them open for hours.
        """
        caller, callee = _running_ends(fault, engine)
        share, every_s = self.strengths[fault.strength].values()
        refuse = ("-p", "tcp", "--syn", *_chance(float(share)), "-j", "REJECT", "--reject-with", "tcp-reset")
        rule = ("INPUT", "-s", engine.address(caller), *refuse)
        container = engine.container_id(callee)
        cut = (("act", "cut"), ("from", engine.address(caller)), ("port", greeting(app, callee)[0]), ("every_s", every_s))
        return Change(
            do=(
                network_step(engine, callee, "iptables", "-w", "5", "-A", *rule),
                Step("start_background", callee, container, cut),
            ),
            undo=(
                network_step(engine, callee, "iptables", "-w", "5", "-D", *rule, undoes=True),
                Step("stop_background", callee, container),
            ),
            parameters=tuple(self.strengths[fault.strength].items()),
        )


class WrongRoute(BetweenTwo):
    """The caller's routing table knows no good way to the callee."""

    name = "wrong_route"
    explanation = "The caller's routing table has a wrong entry for the callee's address."
    strengths: ClassVar = {"unreachable": {}, "dead gateway": {}}

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """An entry that says that there is no way, or one by a gateway that is not there."""
        caller, callee = _running_ends(fault, engine)
        target = f"{engine.address(callee)}/32"
        route: tuple[str, ...] = ("unreachable", target)
        if fault.strength == "dead gateway":
            route = (target, "via", _nobody(caller, engine))
        return Change(
            do=(network_step(engine, caller, "ip", "route", "add", *route),),
            undo=(network_step(engine, caller, "ip", "route", "del", *route, undoes=True),),
            parameters=(("route", " ".join(route)),),
        )


def ends(fault: Fault) -> tuple[str, str]:
    """Caller and callee of an edge."""
    caller, _, callee = fault.place.partition("->")
    return caller, callee


def _running_ends(fault: Fault, engine: Engine) -> tuple[str, str]:
    for place in ends(fault):
        must_run(place, engine)
    return ends(fault)


def _chance(share: float) -> tuple[str, ...]:
    return () if share >= 1 else ("-m", "statistic", "--mode", "random", "--probability", f"{share:g}")


def _nobody(service: str, engine: Engine) -> str:
    """The last address of the container's own network: addresses are given out from the first on."""
    routes = json.loads(engine.in_network(service, "ip", "-j", "-4", "route", "show", "scope", "link"))
    return str(ipaddress.ip_network(routes[0]["dst"])[-2])
