"""`python -m observer.capture`: keeps the last minutes of an application's network traffic on disk, readable while it is written.

tcpdump writes what passes the network's bridge, without the backends' own traffic; NameCapture adds the questions to the name
server, which never leave a container. Networks and containers may come and go.
"""

import logging
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from .engine import PROJECT, Container, Containers, Engine, EngineError
from .names import NameCapture
from .rings import prune

FOLDER = Path("/capture")
ALIVE = Path("/run/capturing")
"""Touched as long as every network is captured: what the health check looks at."""
SNAP = 160
"""Bytes kept of a packet: its headers and the first words of a request."""
EACH_MB, FILES = 8, 12
"""Megabytes after which a new file is begun, and how many stay."""
LOOK_EVERY = 5.0
"""Seconds between two looks at the engine when it tells of no change."""
CHANGES = {"type": ["container", "network"], "event": ["start", "die", "connect", "disconnect", "create", "destroy"]}
log = logging.getLogger("capture")


class BridgeCapture:
    """One tcpdump for each bridge, restarted when it has ended or is to leave out other addresses."""

    def __init__(self, folder: Path) -> None:
        """Starts nothing yet."""
        self._folder = folder
        self._running: dict[tuple[str, str], subprocess.Popen[bytes]] = {}

    def watch(self, bridges: Iterable[str], without: Iterable[str]) -> bool:
        """Capture these bridges from now on, without the packets of these addresses. Whether all of them are there."""
        expression = leaving_out(without)
        wanted = {(bridge, expression) for bridge in bridges}
        for key in [key for key, process in self._running.items() if key not in wanted or process.poll() is not None]:
            end(self._running.pop(key))
        there = {key for key in wanted if Path("/sys/class/net", key[0]).exists()}
        for bridge, _ in there.difference(self._running):
            self._running[bridge, expression] = self._start(bridge, expression)
        prune(self._folder, "link-*.pcap*", EACH_MB * 1_000_000 * FILES)
        return bool(wanted) and wanted == there

    def close(self) -> None:
        """End every tcpdump; what it has seen is on disk then."""
        for process in self._running.values():
            end(process)

    def _start(self, bridge: str, expression: str) -> subprocess.Popen[bytes]:
        file = self._folder / f"link-{time.time():.3f}.pcap"
        # -U: a packet is on disk, whole, as soon as it was seen. -W bounds the disk even without pruning.
        ring = ["-C", str(EACH_MB), "-W", str(FILES), "-w", str(file)]
        options = ["-n", "-U", "-q", "-Z", "root", "-s", str(SNAP), "-B", "4096", *ring]
        log.warning("capturing %s: %s", bridge, expression or "everything")
        return subprocess.Popen(["tcpdump", "-i", bridge, *options, expression], stderr=subprocess.DEVNULL)


def leaving_out(addresses: Iterable[str]) -> str:
    """The filter without these hosts' IP packets."""
    hosts = " or ".join(sorted(addresses))
    return f"not (ip and host ({hosts}))" if hosts else ""


def hosts_file(containers: Iterable[Container], known: dict[str, str]) -> str:
    """Lines of address and name for tshark; `known` remembers, so that packets of a container that is gone keep their names."""
    for container in containers:
        known.update(dict.fromkeys(container.addresses, container.name))
    return "".join(f"{address} {name}\n" for address, name in sorted(known.items()))


def bridge_of(network: Mapping[str, Any]) -> str:
    """The host's device behind a network."""
    return (network.get("Options") or {}).get("com.docker.network.bridge.name") or f"br-{network['Id'][:12]}"


def gateways_of(network: Mapping[str, Any]) -> list[str]:
    """The host's own addresses on a network: who calls through a published port comes from there."""
    return [config["Gateway"] for config in network["IPAM"]["Config"] or () if config.get("Gateway")]


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and wait until it has."""
    process.terminate()
    process.wait()


class Capture:
    """Everything that is captured of one project."""

    def __init__(self, engine: Engine, project: str, folder: Path = FOLDER) -> None:
        """Captures nothing yet."""
        self._engine, self._project, self._folder = engine, project, folder
        self._containers = Containers(engine, project, lifetime=0.0)
        self._addresses: dict[str, str] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, lambda: self._woken.recv(4096))
        self._bridges = BridgeCapture(folder)
        self._names = NameCapture(folder, self._selector)
        self._ending = False

    def run(self) -> None:
        """Capture until asked to end."""
        threading.Thread(target=self._listen, daemon=True).start()
        look_at = 0.0
        while not self._ending:
            if time.monotonic() >= look_at:
                self._look()
                look_at = time.monotonic() + LOOK_EVERY
            for key, _ in self._selector.select(timeout=1.0):
                key.data()
                if key.fileobj is self._woken:
                    look_at = 0.0
        self._bridges.close()

    def end(self, number: int, frame: FrameType | None) -> None:
        """A signal handler."""
        self._ending = True

    def _look(self) -> None:
        try:
            containers = self._containers.running()
            networks = self._engine.ask("/networks", {"label": [f"{PROJECT}={self._project}"], "driver": ["bridge"]})
        except EngineError as error:
            log.warning("the engine does not answer: %s", error)
            return
        backends = [address for container in containers if container.role != "app" for address in container.addresses]
        self._addresses.update({address: "host" for network in networks for address in gateways_of(network)})
        (self._folder / "hosts").write_text(hosts_file(containers, self._addresses))
        self._names.watch(container for container in containers if container.role == "app")
        if self._bridges.watch(map(bridge_of, networks), backends):
            ALIVE.touch()

    def _listen(self) -> None:
        """Wake the other thread at every change, so that the first words of a new container are not missed."""
        while True:
            try:
                for _ in self._engine.follow(time.time(), CHANGES):
                    self._wake.send(b"!")
            except EngineError as error:
                log.warning("the engine tells of no events: %s", error)
            time.sleep(1.0)


def main() -> None:
    """Capture PROJECT's traffic until asked to end."""
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s")
    capture = Capture(Engine(), os.environ["PROJECT"])
    signal.signal(signal.SIGTERM, capture.end)
    capture.run()


if __name__ == "__main__":
    main()
