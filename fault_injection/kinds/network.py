"""Faults of a container's link: packets come late, are lost, or find it too narrow or too full."""

from __future__ import annotations

import json
import time
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.packet_queue import QUEUE
from fault_injection.mechanisms.probe import answers, must_run
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import network_step
from revelio.errors import FaultError

LINK = "eth0"
SAMPLE_S = 2.0
_HOST = ("sh", "-c", 'exec nsenter --net=/proc/$PPID/ns/net "$@"', "sh")
"""Before a command: run it in the network of who asks for it, which is the host's, and not in the container's."""


class OfLink(FaultKind):
    """A fault of one container's link."""

    category = "network"
    mechanism = "packets"

    def places(self, app: App) -> tuple[str, ...]:
        """Every container of the application."""
        return app.places

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """No rule and no shaping is left in the container's network."""
        rules = [
            line for line in engine.in_network(fault.place, "iptables", "-w", "5", "-S").splitlines() if line.startswith("-A")
        ]
        shown = json.loads(engine.in_network(fault.place, "tc", "-j", "qdisc", "show", "dev", LINK) or "[]")
        shaped = [queue["kind"] for queue in shown if queue.get("kind") in ("tbf", "netem")]
        return Effect(not rules and not shaped, f"left in its network: {', '.join(rules + shaped) or 'nothing'}")


class Delay(OfLink):
    """Every packet that leaves the container comes late."""

    name = "delay"
    explanation = "Every packet that leaves the container is on its way for far longer than usual."
    strengths: ClassVar = {
        "hard": {"delay_s": 0.6, "jitter_s": 0.1},
        "moderate": {"delay_s": 0.3, "jitter_s": 0.05},
    }
    settle_s = 12.0

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """By netem at the host's end of the link where the kernel has it, else by a queue that a process of ours reads."""
        must_run(fault.place, engine)
        strength = tuple(self.strengths[fault.strength].items())
        if _has_netem(fault.place, engine):
            device = _host_end(fault.place, engine)
            delay, jitter = (f"{float(figure) * 1000:.0f}ms" for _, figure in strength)
            add = (*_HOST, "tc", "qdisc", "add", "dev", device, "root", "netem", "delay", delay, jitter, "limit", "4096")
            delete = (*_HOST, "tc", "qdisc", "del", "dev", device, "root")
            return Change(
                do=(network_step(engine, fault.place, *add),),
                undo=(network_step(engine, fault.place, *delete, undoes=True),),
                parameters=strength,
            )
        # Packets pass as they are while no process reads the queue.
        rule = ("OUTPUT", "-o", LINK, "-j", "NFQUEUE", "--queue-num", str(QUEUE), "--queue-bypass")
        container = engine.container_id(fault.place)
        start = Step("start_background", fault.place, container, (("act", "hold_back"), *strength))
        return Change(
            do=(start, network_step(engine, fault.place, *_iptables("-A", rule))),
            undo=(
                network_step(engine, fault.place, *_iptables("-D", rule), undoes=True),
                Step("stop_background", fault.place, container),
            ),
            parameters=strength,
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """A connection's opening and its first answer each wait."""
        waited = answers(app, fault.place, engine, seconds=3.0)
        least = 1.5 * float(self.strengths[fault.strength]["delay_s"])
        words = "no answer in 3.0 s" if waited is None else f"a request to it took {waited:.2f} s"
        return Effect(waited is not None and waited >= least, words)

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Nothing is left in the container's network, and a request to it does not wait."""
        left = super().cleared(app, fault, engine)
        waits = self.active(app, fault, engine)
        return Effect(left.confirmed and not waits.confirmed, f"{left.figures}; {waits.figures}")


class Loss(OfLink):
    """Some of the packets to and from the container are lost."""

    name = "loss"
    explanation = "A share of the packets to and from the container is lost and must be sent again."
    # A packet lost three times in a row is what a user notices: two calls in a hundred at a third, one in eight at a half.
    strengths: ClassVar = {"hard": {"share": 0.5}, "moderate": {"share": 0.35}}
    settle_s = 12.0

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Drop by chance, in both directions."""
        must_run(fault.place, engine)
        chance = ("-m", "statistic", "--mode", "random", "--probability", f"{self.strengths[fault.strength]['share']:g}")
        rules = (("INPUT", "-i", LINK, *chance, "-j", "DROP"), ("OUTPUT", "-o", LINK, *chance, "-j", "DROP"))
        return Change(
            do=tuple(network_step(engine, fault.place, *_iptables("-A", rule)) for rule in rules),
            undo=tuple(network_step(engine, fault.place, *_iptables("-D", rule), undoes=True) for rule in rules),
            parameters=tuple(self.strengths[fault.strength].items()),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """What the kernel counted as dropped, and what it sent again."""
        before = _sent_again(fault.place, engine)
        time.sleep(SAMPLE_S)
        again = _sent_again(fault.place, engine) - before
        dropped = _dropped(engine.in_network(fault.place, "iptables", "-w", "5", "-v", "-S"))
        return Effect(dropped >= 3 and again > 0, f"{dropped} packets lost so far, {again} sent again in {SAMPLE_S:.0f} s")


class Bandwidth(OfLink):
    """The link takes less than the container has to send."""

    name = "bandwidth"
    explanation = "The container's link carries only a fraction of what the container has to send, so packets queue up."
    strengths: ClassVar = {
        "hard": {"share_of_use": 0.35, "queue_s": 3.0},
        "moderate": {"share_of_use": 0.6, "queue_s": 1.5},
    }
    settle_s = 15.0
    LEAST = 400
    """Bytes a second: below this hardly a packet gets through."""

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Measure what it sends now and allow a share of that."""
        must_run(fault.place, engine)
        share, queue_s = (float(self.strengths[fault.strength][name]) for name in ("share_of_use", "queue_s"))
        first = _sent_bytes(fault.place, engine)
        time.sleep(SAMPLE_S)
        used = (_sent_bytes(fault.place, engine) - first) / SAMPLE_S
        rate = max(self.LEAST, int(used * share))
        shape = ("tbf", "rate", f"{rate * 8}bit", "burst", "2000", "limit", str(max(6000, int(rate * queue_s))))
        return Change(
            do=(network_step(engine, fault.place, *_root("add", *shape)),),
            undo=(network_step(engine, fault.place, *_root("del"), undoes=True),),
            parameters=(("bytes_per_s", rate), ("used_before", round(used))),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """How often the link was too narrow within two seconds, and what waits for it."""
        first = _queueing(fault.place, engine)
        time.sleep(SAMPLE_S)
        second = _queueing(fault.place, engine)
        late = second["overlimits"] - first["overlimits"]
        return Effect(
            late > 0 and second["backlog"] > 0,
            f"{late} packets held up in {SAMPLE_S:.0f} s, {second['backlog']} bytes wait now, {second['drops']} dropped so far",
        )


class Congestion(OfLink):
    """Other traffic fills the link."""

    name = "congestion"
    burdens_host = True
    explanation = "A stream of datagrams to another container fills the container's link, so its own packets wait or are dropped."
    strengths: ClassVar = {
        "hard": {"link_bytes_per_s": 125_000, "stream_bytes_per_s": 190_000, "queue_s": 1.0},
        "moderate": {"link_bytes_per_s": 125_000, "stream_bytes_per_s": 145_000, "queue_s": 0.6},
    }
    settle_s = 15.0

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Bound the link at far more than the container sends, then start the stream."""
        must_run(fault.place, engine)
        rate, sent, queue_s = (float(figure) for figure in self.strengths[fault.strength].values())
        sink = next(place for place in (*app.stores, app.entrance) if place != fault.place)
        shape = ("tbf", "rate", f"{int(rate) * 8}bit", "burst", "4000", "limit", str(int(rate * queue_s)))
        container = engine.container_id(fault.place)
        stream = (("act", "stream"), ("to", sink), ("bytes_per_s", int(sent)))
        return Change(
            do=(
                network_step(engine, fault.place, *_root("add", *shape)),
                Step("start_background", fault.place, container, stream),
            ),
            undo=(
                Step("stop_background", fault.place, container),
                network_step(engine, fault.place, *_root("del"), undoes=True),
            ),
            parameters=(("to", sink), *self.strengths[fault.strength].items()),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The link is full: packets wait and are dropped."""
        first = _queueing(fault.place, engine)
        time.sleep(SAMPLE_S)
        second = _queueing(fault.place, engine)
        dropped, rate = second["drops"] - first["drops"], (second["bytes"] - first["bytes"]) / SAMPLE_S
        return Effect(
            dropped > 0 and second["backlog"] > 0,
            f"{rate / 1000:.0f} kB/s on the link, {second['backlog']} bytes wait, {dropped} packets dropped in {SAMPLE_S:.0f} s",
        )


def _iptables(act: str, rule: tuple[str, ...]) -> tuple[str, ...]:
    return ("iptables", "-w", "5", act, *rule)


def _root(act: str, *shape: str) -> tuple[str, ...]:
    return ("tc", "qdisc", act, "dev", LINK, "root", *shape)


def _has_netem(service: str, engine: Engine) -> bool:
    """Tried in a network made for it, which is gone at once."""
    try:
        engine.in_network(service, "unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    except FaultError:
        return False
    return True


def _host_end(service: str, engine: Engine) -> str:
    """The host's name for the other end of the container's link: what is done there shows in nothing that is collected."""
    index = json.loads(engine.in_network(service, "ip", "-j", "link", "show", "dev", LINK))[0]["link_index"]
    links = json.loads(engine.in_network(service, *_HOST, "ip", "-j", "link"))
    return next(str(link["ifname"]) for link in links if link["ifindex"] == index)


def _queueing(service: str, engine: Engine) -> dict[str, int]:
    """The figures of the link's root queue; ``FaultError`` when it is not the one that was put there."""
    shown = json.loads(engine.in_network(service, "tc", "-s", "-j", "qdisc", "show", "dev", LINK))
    for queue in shown:
        if queue.get("kind") == "tbf":
            return {name: int(queue[name]) for name in ("bytes", "drops", "overlimits", "backlog")}
    raise FaultError(f"the link of {service} is not shaped any more: its container was restarted")


def _sent_bytes(service: str, engine: Engine) -> int:
    shown = json.loads(engine.in_network(service, "ip", "-s", "-j", "link", "show", "dev", LINK))
    return int(shown[0]["stats64"]["tx"]["bytes"])


def _sent_again(service: str, engine: Engine) -> int:
    """Segments that TCP sent again since the container started."""
    names, values = (line.split() for line in engine.in_network(service, "cat", "/proc/net/snmp").splitlines() if "Tcp:" in line)
    return int(values[names.index("RetransSegs")])


def _dropped(rules: str) -> int:
    """Packets that rules of chance dropped, of what ``iptables -v -S`` says."""
    words = [line.split() for line in rules.splitlines() if "--probability" in line]
    return sum(int(line[line.index("-c") + 1]) for line in words)
