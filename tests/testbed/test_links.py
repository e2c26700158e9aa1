"""Links: what the kernel says of a network namespace, read right and shown by node_exporter's names."""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from testbed.images.observer import counters, disks, netlink
from testbed.images.observer.engine import Container, EngineError, found
from testbed.images.observer.kills import Kills
from testbed.images.observer.links import Links, LinksCollector, families, of_kills
from testbed.images.observer.netlink import Device, Qdisc

SNMP = """\
Ip: Forwarding DefaultTTL OutDiscards OutNoRoutes
Ip: 1 64 3 4
Tcp: MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts
Tcp: -1 11 12 13 14 15 16 17 18 19 20
UdpLite: InDatagrams NoPorts
UdpLite: 0 9
"""
NETSTAT = """\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPLostRetransmit TCPTimeouts TCPSynRetrans
TcpExt: 0 1 2 3 4 5
IpExt: InNoRoutes InTruncatedPkts
IpExt: 7 8
"""
SOCKSTAT = """\
sockets: used 16
TCP: inuse 5 orphan 0 tw 3 alloc 90 mem 12
UDP: inuse 1 mem 0
"""


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)


def link_message(name: str, flags: int = 0x1043, index: int = 12) -> bytes:
    statistics = struct.pack("=24Q", *range(1, 25))
    body = struct.pack("=BxHiII", 0, 1, index, flags, 0)
    return body + b"".join(
        attribute(kind, value)
        for kind, value in ((3, name.encode() + b"\0"), (4, struct.pack("=I", 1450)), (16, b"\6"), (23, statistics))
    )


def qdisc_message(kind: str, parent: int = netlink.ROOT, index: int = 12) -> bytes:
    basic, queue = struct.pack("=QI4x", 5_000_000_000, 40), struct.pack("=5I", 7, 1500, 3, 1, 9)
    body = struct.pack("=BxxxiIII", 0, index, 0x80010000, parent, 2)
    statistics = attribute(1, basic) + attribute(3, queue)
    return body + attribute(1, kind.encode() + b"\0") + attribute(7 | 0x8000, statistics)


def a_device(name: str = "eth0") -> Device:
    return Device(name, 1500, True, (1, 2, 3, 4), (5, 6, 7, 8))


def test_a_link_message_becomes_a_device_with_the_counters_of_both_ways() -> None:
    found_device = netlink.device(link_message("eth0"))
    assert found_device == (12, Device("eth0", 1450, True, received=(3, 1, 5, 7), sent=(4, 2, 6, 8)))
    assert netlink.device(link_message("lo", flags=0x49)) is None


def test_a_root_qdisc_shows_what_it_dropped_and_what_waits() -> None:
    named = {12: a_device()}
    assert netlink.qdisc(qdisc_message("tbf"), named) == Qdisc("eth0", "tbf", 5_000_000_000, 40, 3, 1, 9, 1500, 7)
    assert netlink.qdisc(qdisc_message("bfifo", parent=0x80010001), named) is None
    assert netlink.qdisc(qdisc_message("noqueue", index=1), named) is None


def test_protocol_counters_are_those_that_tell_of_trouble() -> None:
    told = counters.netstat(SNMP)
    assert told["node_netstat_Tcp_RetransSegs"] == 18 and told["node_netstat_Tcp_OutRsts"] == 20
    assert told["node_netstat_Ip_OutNoRoutes"] == 4
    assert not any("UdpLite" in name or "MaxConn" in name for name in told)
    assert counters.netstat(NETSTAT) == {
        "node_netstat_TcpExt_ListenOverflows": 1,
        "node_netstat_TcpExt_ListenDrops": 2,
        "node_netstat_TcpExt_TCPLostRetransmit": 3,
        "node_netstat_TcpExt_TCPTimeouts": 4,
        "node_netstat_TcpExt_TCPSynRetrans": 5,
    }


def test_socket_counts_of_the_whole_machine_are_left_out() -> None:
    assert counters.sockstat(SOCKSTAT) == {
        "node_sockstat_TCP_inuse": 5,
        "node_sockstat_TCP_tw": 3,
        "node_sockstat_UDP_inuse": 1,
    }


def test_this_kernel_answers_in_the_forms_that_are_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        states = netlink.tcp_states()
    assert states["listen"] >= 1 and states["established"] >= 2
    devices = netlink.devices()
    assert {qdisc.device for qdisc in netlink.qdiscs(devices)} <= {device.name for device in devices.values()}
    told = counters.of_process(os.getpid())
    assert told["node_netstat_Tcp_OutSegs"] > 0 and told["node_sockstat_TCP_inuse"] >= 0


class Told(Collector):
    def __init__(self, seen: list[Links]) -> None:
        self.seen = seen

    def collect(self) -> Any:
        return families(self.seen)


def test_figures_bear_node_exporters_names_with_container_and_device() -> None:
    registry = CollectorRegistry(auto_describe=False)
    tbf = Qdisc("eth0", "tbf", 10, 2, 3, 0, 5, 1500, 7)
    registry.register(Told([Links("cart", (a_device(),), (tbf,), {"established": 4}, {"node_netstat_Tcp_RetransSegs": 18})]))
    lines = generate_latest(registry).decode().splitlines()
    assert 'node_qdisc_drops_total{container="cart",device="eth0",kind="tbf"} 3.0' in lines
    assert 'node_qdisc_backlog{container="cart",device="eth0",kind="tbf"} 1500.0' in lines
    assert 'node_qdisc_current_queue_length{container="cart",device="eth0",kind="tbf"} 7.0' in lines
    assert 'node_network_transmit_drop_total{container="cart",device="eth0"} 8.0' in lines
    assert 'node_tcp_connection_states{container="cart",state="established"} 4.0' in lines
    assert 'node_netstat_Tcp_RetransSegs{container="cart"} 18.0' in lines


class Listed:
    """Containers that are there as far as the engine knows."""

    def __init__(self, *there: Container) -> None:
        self.there, self.forgotten = there, 0

    def running(self) -> tuple[Container, ...]:
        return self.there

    def forget(self) -> None:
        self.forgotten += 1


def test_a_container_that_ends_meanwhile_is_left_out_and_backends_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(name: str, pid: int) -> Links:
        looked.append(name)
        if name == "gone":
            raise ProcessLookupError
        return Links(name, (a_device(),), (), {}, {})

    monkeypatch.setattr("testbed.images.observer.links.look", look)
    there = [Container(name, name, role, 1, ()) for name, role in (("gone", "app"), ("cart", "app"), ("jaeger", "backend"))]
    listed = Listed(*there)
    figures = list(LinksCollector(listed).collect())  # type: ignore[arg-type]
    told = {s.labels["container"] for metric in figures for s in metric.samples if metric.name != "container_oom_events"}
    assert told == {"cart"} and looked == ["gone", "cart"] and listed.forgotten == 1


class Telling:
    """An engine that tells of events, and then goes."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.events, self.asked = events, 0

    def follow(self, since: float, filters: dict[str, list[str]]) -> Any:
        self.asked += 1
        assert filters["event"] == ["oom"] and "com.docker.compose.project=shop" in filters["label"]
        yield from self.events
        raise EngineError("gone")


def a_kill(service: str, at: int, number: str = "1") -> dict[str, Any]:
    labels = {"com.docker.compose.service": service, "com.docker.compose.container-number": number}
    return {"Actor": {"ID": "c1", "Attributes": labels}, "timeNano": at}


def test_kills_for_memory_are_counted_over_the_lives_of_a_container_and_none_twice() -> None:
    later = time.time_ns() + 10**9
    engine = Telling(a_kill("cart", later), a_kill("web", later + 1, "2"), a_kill("cart", later + 2))
    kills = Kills(engine, "shop")  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(EngineError):
            kills.follow()
    assert engine.asked == 2 and kills.counts() == {"cart": 2, "web-2": 1}


def test_a_container_that_was_never_killed_is_counted_at_zero() -> None:
    told = {s.labels["container"]: s.value for s in of_kills({"cart": 2}, ("cart", "users")).samples}
    assert told == {"cart": 2.0, "users": 0.0}


def test_a_container_is_named_after_its_service_and_its_number() -> None:
    labels = {"com.docker.compose.service": "web", "revelio.role": "app", "com.docker.compose.container-number": "2"}
    listed = {
        "Id": "a1",
        "Labels": labels,
        "NetworkSettings": {"Networks": {"x": {"IPAddress": "10.0.0.2"}, "y": {"IPAddress": ""}}},
    }
    assert found(listed, 7) == Container("a1", "web-2", "app", 7, ("10.0.0.2",))


def test_every_whole_disk_is_counted_by_a_limit_that_none_can_reach(tmp_path: Path) -> None:
    blocks, groups = tmp_path / "block", tmp_path / "blkio"
    for name, number, size in (("vda", "254:0", 100), ("vda1", "254:1", 50), ("zram0", "253:0", 0)):
        (blocks / name).mkdir(parents=True)
        (blocks / name / "dev").write_text(number + "\n")
        (blocks / name / "size").write_text(str(size))
    (blocks / "vda1" / "partition").touch()
    assert disks.whole_disks(blocks) == ["254:0"]
    assert disks.account(groups, blocks) == []  # no cgroup v1
