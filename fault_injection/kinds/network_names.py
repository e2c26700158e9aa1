"""Faults of name resolution."""

from __future__ import annotations

from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.probe import RESOLVER, Outcome, look_up, must_run
from fault_injection.spec import Change, Effect, Fault, FaultKind
from fault_injection.steps import cut_step, network_step


class DnsFailure(FaultKind):
    """The resolver does not answer the container."""

    name = "dns_failure"
    category = "network"
    mechanism = "packets"
    explanation = "The container's name server does not answer, and its connections were closed, so that it must look up names."
    strengths: ClassVar = {"whole": {"share": 1.0}, "many": {"share": 0.6}}
    settle_s = 10.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that calls another or uses a store; stores resolve no names."""
        return tuple(service for service in app.services if any(caller == service for caller, _ in app.edges))

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Drop what is asked where the resolver takes it, then close the connections that the service has made, once."""
        must_run(fault.place, engine)
        share = float(self.strengths[fault.strength]["share"])
        chance = () if share >= 1 else ("-m", "statistic", "--mode", "random", "--probability", f"{share:g}")
        rule = ("INPUT", "-i", "lo", "-d", RESOLVER[0], *chance, "-j", "DROP")
        return Change(
            do=(
                network_step(engine, fault.place, "iptables", "-w", "5", "-A", *rule),
                cut_step(engine, fault.place, f"not sport = :{app.service_port}"),
            ),
            undo=(network_step(engine, fault.place, "iptables", "-w", "5", "-D", *rule, undoes=True),),
            parameters=tuple(self.strengths[fault.strength].items()),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """A name is asked for in the container's network."""
        outcome, words = self._looked_up(app, fault, engine)
        return Effect(not outcome.answered, words)

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Three questions in a row are answered."""
        outcomes = [self._looked_up(app, fault, engine) for _ in range(3)]
        return Effect(all(outcome.answered for outcome, _ in outcomes), outcomes[-1][1])

    def _looked_up(self, app: App, fault: Fault, engine: Engine) -> tuple[Outcome, str]:
        callee = next(callee for caller, callee in app.edges if caller == fault.place)
        outcome = look_up(fault.place, callee, engine, seconds=1.0)
        return outcome, f"{callee}, looked up at {fault.place}: {outcome.words} after {outcome.seconds:.2f} s"
