"""Faults of what a container keeps of packets that its programs have not read yet."""

from __future__ import annotations

import time
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.probe import must_run
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import cut_step, network_step

SETTING = "net.ipv4.tcp_rmem"
SAMPLE_S = 2.0


class ReceiveBufferTooSmall(FaultKind):
    """Hardly anything fits into the container's receive buffers."""

    name = "receive_buffer_too_small"
    category = "network"
    mechanism = "kernel_setting"
    explanation = "The container's TCP receive buffers were set far too small, so its peers must stop sending again and again."
    strengths: ClassVar = {"hard": {"bytes": 500}, "moderate": {"bytes": 650}}
    settle_s = 15.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that is called; workers, Redis and the database are sent few bytes at a time."""
        return tuple(service for service in app.services if service not in app.workers)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """The kernel's setting for the container's network; connections made before have their buffers, so they are cut."""
        must_run(fault.place, engine)
        least = int(self.strengths[fault.strength]["bytes"])
        before = " ".join(engine.in_network(fault.place, "sysctl", "-n", SETTING).split())
        return Change(
            do=(_set(engine, fault.place, f"{least} {least} {least}"), cut_step(engine, fault.place)),
            undo=(_set(engine, fault.place, before, undoes=True), cut_step(engine, fault.place, undoes=True)),
            parameters=(("bytes", least), ("before", before)),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """How often its kernel told a peer to stop."""
        again = _stops(fault.place, engine)
        return Effect(again >= 2, f"told its peers {again} times in {SAMPLE_S:.0f} s to stop sending")

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Its kernel no longer asks senders to stop."""
        again = _stops(fault.place, engine)
        return Effect(again == 0, f"told its peers {again} times in {SAMPLE_S:.0f} s to stop sending")


def _stops(service: str, engine: Engine) -> int:
    before = _stopped(service, engine)
    time.sleep(SAMPLE_S)
    return _stopped(service, engine) - before


def _set(engine: Engine, service: str, value: str, *, undoes: bool = False) -> Step:
    return network_step(engine, service, "sysctl", "-q", "-w", f"{SETTING}={value}", undoes=undoes)


def _stopped(service: str, engine: Engine) -> int:
    """Windows of zero bytes that were announced since the container started."""
    lines = [line.split() for line in engine.in_network(service, "cat", "/proc/net/netstat").splitlines() if "TcpExt:" in line]
    names, values = lines[0], lines[1]
    return int(values[names.index("TCPToZeroWindowAdv")])
