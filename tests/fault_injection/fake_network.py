"""A container engine in memory whose networks keep the rules, shaping and routes that commands put into them."""

from __future__ import annotations

import json

from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine

DEVICE = "veth7"


class FakeNetwork(FakeEngine):
    """``kept`` holds what was added by service and not deleted; ``netem`` says whether the kernel has it."""

    def __init__(self, *services: str) -> None:
        super().__init__(*services)
        self.kept: dict[str, list[str]] = {s: [] for s in services}
        self.netem = False
        self.sent = 0
        self.queue = {"bytes": 0, "drops": 0, "overlimits": 0, "backlog": 0}
        self.growth = {"bytes": 100_000, "drops": 20, "overlimits": 50, "backlog": 9_000}
        self.dropped = 9
        self.again = 0
        self.buffers = "4096\t131072\t6291456"

    def address(self, service: str) -> str:
        return f"10.0.0.{sorted(self.ids).index(service) + 2}"

    def in_network(self, service: str, *command: str) -> str:
        if command[0] == "unshare":
            if not self.netem:
                raise FaultError("Specified qdisc kind is unknown")
            return ""
        if command[0] == "sh":
            service, command = "host", command[4:]
            self.kept.setdefault("host", [])
        if command[:3] == ("sysctl", "-q", "-w"):
            usual = command[3].endswith(" ".join(self.buffers.split()))
            self.kept[service] = [] if usual else [command[3]]
            self._act(f"net {service} {' '.join(command)}")
            return ""
        for add, delete in (("-A", "-D"), ("add", "del")):
            if add in command:
                self.kept[service].append(_thing(command, add))
                self._act(f"net {service} {' '.join(command)}")
                return ""
            if delete in command:
                self._act(f"net {service} {' '.join(command)}")
                if _thing(command, delete) not in self.kept[service]:
                    raise FaultError("no such rule")
                self.kept[service].remove(_thing(command, delete))
                return ""
        return self._shown(service, command)

    def _shown(self, service: str, command: tuple[str, ...]) -> str:
        if command[0] == "iptables":
            return "".join(f"-A {rule} -c {self.dropped} 900\n" for rule in self.kept[service] if "tc" not in rule.split()[0])
        if command[0] == "tc":
            shaped = any(thing.startswith("tc") for thing in self.kept[service])
            for name, growth in self.growth.items():
                self.queue[name] = self.queue[name] + growth if name != "backlog" else growth
            return json.dumps([{"kind": "tbf", **self.queue}] if shaped else [])
        if command[0] == "sysctl":
            return f"{self.buffers}\n"
        if command == ("cat", "/proc/net/netstat"):
            self.again += 4 if self.kept[service] else 0
            return f"TcpExt: SyncookiesSent TCPToZeroWindowAdv\nTcpExt: 0 {self.again}\nIpExt: A\nIpExt: 1\n"
        if command[0] == "cat":
            self.again += 4
            return f"Tcp: InSegs RetransSegs\nTcp: 5 {self.again}\n"
        if command[:3] == ("ip", "-s", "-j"):
            self.sent += 20_000
            return json.dumps([{"stats64": {"tx": {"bytes": self.sent}}}])
        if "route" in command:
            return json.dumps([{"dst": "10.0.0.0/24"}])
        if command[:2] == ("ip", "-j"):
            return json.dumps([{"ifname": "eth0", "ifindex": 3, "link_index": 7}, {"ifname": DEVICE, "ifindex": 7}])
        return ""


def _thing(command: tuple[str, ...], verb: str) -> str:
    """What an adding and a deleting command have in common."""
    words = [word for word in command[: command.index(verb)] if word not in ("-w", "5")]
    rest = command[command.index(verb) + 1 :]
    # A root queue is deleted by its device alone.
    return " ".join([*words, *(rest[:3] if command[0] == "tc" else rest)]).removeprefix("iptables ")
