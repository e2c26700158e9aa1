"""On two networks made for the test and joined by a cable: packets are held back, a stream keeps to its rate, rules are felt."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.mechanisms.cross_traffic import stream
from fault_injection.mechanisms.namespace import network_of
from fault_injection.mechanisms.packet_queue import QUEUE, hold_back
from fault_injection.mechanisms.probe import Outcome, call, look_up
from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine

TOOLS = ("ip", "iptables", "nsenter", "unshare")
pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not all(map(shutil.which, TOOLS)), reason="networks are made by root")
PORT = 8000


def _network(process: object) -> int:
    return Path(f"/proc/{process}/ns/net").stat().st_ino


class Pair(FakeEngine):
    """Two networks as if they were the containers of ``cart`` (10.9.0.1) and ``products`` (10.9.0.2)."""

    def __init__(self) -> None:
        super().__init__("cart", "products")
        self.sleepers = [subprocess.Popen(["unshare", "--net", "sleep", "120"]) for _ in self.ids]
        here = _network("self")
        while any(_network(sleeper.pid) == here for sleeper in self.sleepers):
            time.sleep(0.01)
        self.run("cart", "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", str(self.pid("products")))
        for service in self.ids:
            self.run(service, "ip", "addr", "add", f"{self.address(service)}/24", "dev", "eth0")
            self.run(service, "ip", "link", "set", "lo", "up")
            self.run(service, "ip", "link", "set", "eth0", "up")

    def pid(self, service: str) -> int:
        return self.sleepers[list(self.ids).index(service)].pid

    def address(self, service: str) -> str:
        return f"10.9.0.{list(self.ids).index(service) + 1}"

    def run(self, service: str, *command: str) -> str:
        inside = ["nsenter", "--target", str(self.pid(service)), "--net", *command]
        return subprocess.run(inside, check=True, capture_output=True, text=True).stdout

    def end(self) -> None:
        for sleeper in self.sleepers:
            sleeper.kill()
            sleeper.wait()


@pytest.fixture
def pair() -> Iterator[Pair]:
    found = Pair()
    yield found
    found.end()


@pytest.fixture
def app(tmp_path: Path) -> App:
    return replace(app_named("shop", tmp_path), service_port=PORT)


@contextmanager
def answering(pair: Pair) -> Iterator[None]:
    """Somebody at ``products`` who answers everyone with one letter."""
    with network_of(pair.pid("products")):
        listening = socket.create_server((pair.address("products"), PORT))

    def answer() -> None:
        while True:
            try:
                with listening.accept()[0] as connection:
                    connection.recv(1000)
                    connection.sendall(b"h")
            except OSError:
                return

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        listening.close()


@contextmanager
def going_on(act: object, *arguments: object) -> Iterator[None]:
    """Something that goes on in a thread until it is not wanted."""
    stop = threading.Event()
    thread = threading.Thread(target=act, args=(*arguments, lambda: not stop.is_set()))  # type: ignore[arg-type]
    thread.start()
    try:
        time.sleep(0.2)
        yield
    finally:
        stop.set()
        thread.join()


def asked(app: App, pair: Pair, seconds: float = 1.0) -> Outcome:
    return call(app, "cart", "products", pair, seconds)


def test_sockets_are_made_there_and_the_thread_stays_here(pair: Pair) -> None:
    here = _network("thread-self")
    with network_of(pair.pid("cart")):
        assert _network("thread-self") == _network(pair.pid("cart")) != here
    assert _network("thread-self") == here
    with pytest.raises(FaultError, match="cannot be entered"), network_of(2**22 + 1):
        pass


def test_packets_wait_while_the_queue_is_read_and_only_then(app: App, pair: Pair) -> None:
    rule = ("-o", "eth0", "-j", "NFQUEUE", "--queue-num", str(QUEUE), "--queue-bypass")
    pair.run("products", "iptables", "-w", "5", "-A", "OUTPUT", *rule)
    with answering(pair):
        assert asked(app, pair).seconds < 0.2
        with going_on(hold_back, pair.pid("products"), 0.3, 0.05):
            late = asked(app, pair, seconds=3.0)
        assert late.answered
        assert late.seconds > 0.5
        assert asked(app, pair).seconds < 0.2


def test_a_stream_keeps_to_its_rate(pair: Pair) -> None:
    def sent() -> int:
        return int(json.loads(pair.run("cart", "ip", "-s", "-j", "link", "show", "dev", "eth0"))[0]["stats64"]["tx"]["bytes"])

    with going_on(stream, pair.pid("cart"), pair.pid("products"), pair.address("products"), 200_000):
        first, at = sent(), time.monotonic()
        time.sleep(1.0)
        rate = (sent() - first) / (time.monotonic() - at)
    assert 60_000 < rate < 240_000
    end = sent()
    time.sleep(0.3)
    assert sent() - end < 5_000


def test_a_call_tells_how_it_ended(app: App, pair: Pair) -> None:
    assert asked(app, pair).words == "Connection refused"
    with answering(pair):
        assert asked(app, pair).words == "answered"
        pair.run("cart", "ip", "route", "add", "unreachable", f"{pair.address('products')}/32")
        assert asked(app, pair).words == "No route to host"
        pair.run("cart", "ip", "route", "del", "unreachable", f"{pair.address('products')}/32")
        pair.run("products", "iptables", "-w", "5", "-A", "INPUT", "-s", pair.address("cart"), "-j", "DROP")
        silent = asked(app, pair, seconds=0.3)
        assert (silent.answered, silent.words) == (False, "no answer")


def test_a_look_up_without_a_name_server_is_not_answered(pair: Pair) -> None:
    assert look_up("cart", "products", pair, seconds=0.3).words == "Connection refused"
    pair.run("cart", "iptables", "-w", "5", "-A", "INPUT", "-i", "lo", "-d", "127.0.0.11", "-j", "DROP")
    assert look_up("cart", "products", pair, seconds=0.3).words == "no answer"
