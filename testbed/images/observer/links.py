"""`python -m observer.links`: figures of every application container's links for Prometheus, by node_exporter's names.

They are read from outside: the kernel is asked about the container's network namespace, and nothing runs in the container.
Beside them stands what was killed for memory, by cAdvisor's name, which loses count of it when the container ends.
"""

import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, UnknownMetricFamily
from prometheus_client.registry import Collector

from . import counters, disks, netlink
from .engine import Containers, Engine, EngineError
from .kills import Kills
from .netlink import Device, Qdisc

PORT = 9100
WAYS = ("bytes", "packets", "errs", "drop")
log = logging.getLogger("links")


@dataclass(frozen=True, slots=True)
class Links:
    """What the kernel tells of one container's network namespace."""

    container: str
    devices: tuple[Device, ...]
    qdiscs: tuple[Qdisc, ...]
    states: dict[str, int]
    counters: dict[str, int]


def look(container: str, pid: int) -> Links:
    """The container's links now. Raises OSError when it is gone."""
    with netlink.inside(pid):
        devices = netlink.devices()
        qdiscs = netlink.qdiscs(devices)
        states = netlink.tcp_states()
    return Links(container, tuple(devices.values()), tuple(qdiscs), dict(states), counters.of_process(pid))


def families(seen: Iterable[Links]) -> Iterator[Metric]:
    """The figures as Prometheus's metrics."""
    seen = list(seen)
    yield from _of_devices(seen)
    yield from _of_qdiscs(seen)
    states = GaugeMetricFamily("node_tcp_connection_states", "IPv4 TCP sockets by state.", labels=("container", "state"))
    for links in seen:
        for state, count in links.states.items():
            states.add_metric((links.container, state), count)
    yield states
    for name in sorted({name for links in seen for name in links.counters}):
        family = UnknownMetricFamily(name, "As /proc/net has it.", labels=("container",))
        for links in seen:
            if name in links.counters:
                family.add_metric((links.container,), links.counters[name])
        yield family


def _of_devices(seen: list[Links]) -> Iterator[Metric]:
    labels = ("container", "device")
    mtu = GaugeMetricFamily("node_network_mtu_bytes", "The largest packet that the device sends.", labels=labels)
    up = GaugeMetricFamily("node_network_up", "1 while the device is up.", labels=labels)
    ways = {
        (way, i): CounterMetricFamily(f"node_network_{way}_{kind}", f"Network device statistic {way}_{kind}.", labels=labels)
        for way in ("receive", "transmit")
        for i, kind in enumerate(WAYS)
    }
    for links in seen:
        for device in links.devices:
            values = (links.container, device.name)
            mtu.add_metric(values, device.mtu)
            up.add_metric(values, device.up)
            for i in range(len(WAYS)):
                ways["receive", i].add_metric(values, device.received[i])
                ways["transmit", i].add_metric(values, device.sent[i])
    return iter((mtu, up, *ways.values()))


def _of_qdiscs(seen: list[Links]) -> Iterator[Metric]:
    labels = ("container", "device", "kind")
    figures: dict[str, Metric] = {
        "sent_bytes": CounterMetricFamily("node_qdisc_bytes", "Bytes sent.", labels=labels),
        "packets": CounterMetricFamily("node_qdisc_packets", "Packets sent.", labels=labels),
        "drops": CounterMetricFamily("node_qdisc_drops", "Packets dropped.", labels=labels),
        "requeues": CounterMetricFamily("node_qdisc_requeues", "Packets put back.", labels=labels),
        "overlimits": CounterMetricFamily("node_qdisc_overlimits", "Times that sending had to wait.", labels=labels),
        "backlog": GaugeMetricFamily("node_qdisc_backlog", "Bytes waiting to be sent.", labels=labels),
        "length": GaugeMetricFamily("node_qdisc_current_queue_length", "Packets waiting to be sent.", labels=labels),
    }
    for links in seen:
        for qdisc in links.qdiscs:
            for figure, family in figures.items():
                family.add_metric((links.container, qdisc.device, qdisc.kind), getattr(qdisc, figure))  # type: ignore[attr-defined]
    return iter(figures.values())


def of_kills(counts: Mapping[str, int], running: Iterable[str]) -> Metric:
    """Kills by container; zero for those that run and had none, so that the first one is seen as an increase."""
    family = CounterMetricFamily("container_oom_events", "Processes killed because memory ran out.", labels=("container",))
    for name in sorted({*counts, *running}):
        family.add_metric((name,), counts.get(name, 0))
    return family


class LinksCollector(Collector):
    """Looks at the application's containers when Prometheus asks. One that ends meanwhile is left out."""

    def __init__(self, containers: Containers, kills: Callable[[], Mapping[str, int]] = dict) -> None:
        """Looks at nothing yet. ``kills`` tells how many processes of each container were killed for memory so far."""
        self._containers, self._kills = containers, kills

    def collect(self) -> Iterable[Metric]:
        """Raises EngineError when the engine does not answer: the scrape fails, and Prometheus shows that."""
        yield from families(self._seen())
        yield of_kills(self._kills(), (c.name for c in self._containers.running() if c.role == "app"))

    def _seen(self) -> Iterator[Links]:
        for container in self._containers.running():
            if container.role == "app" and container.pid:
                try:
                    yield look(container.name, container.pid)
                except OSError:
                    self._containers.forget()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """A line for every scrape would tell nothing."""


def main() -> None:
    """Serve /metrics until asked to end."""
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    disks.account()
    registry = CollectorRegistry(auto_describe=False)
    containers = Containers(Engine(), os.environ["PROJECT"])
    try:
        containers.running()
    except EngineError as error:
        raise SystemExit(f"the engine does not answer: {error}") from error
    kills = Kills(Engine(), os.environ["PROJECT"])
    kills.start()
    registry.register(LinksCollector(containers, kills.counts))
    with make_server("", PORT, make_wsgi_app(registry, disable_compression=True), handler_class=_Quiet) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
