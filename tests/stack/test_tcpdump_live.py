"""The stack's own packet capture: every question lights up with a real cause made by hand and stays dark in health.

Causes are made in the network namespaces of the application's containers and by small programs inside of them. Each is asked
about twice, as a campaign does: in its window, and in the time before, when nothing was wrong.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import docker
import pytest
from docker.errors import APIError
from docker.models.containers import Container

from fault_injection.campaigns.proof import healthy_scope
from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates
from revelio.settings import Backend
from revelio.support.anomaly import SIGNIFICANT
from revelio.tools.base import Limits, Scope
from revelio.tools.tcpdump.tool import Tcpdump
from revelio.types import Query, Result, Window
from testbed.stack import find_project, parts_of
from testbed.stack.engine import SERVICE_LABEL, containers, engine
from tests.tools.conftest import bound, spec

DISTURBS = True
pytestmark = [pytest.mark.stack, pytest.mark.thorough]

APP = "shop"
PROJECT = find_project(APP).name
CALM_S, FAULT_S = 30.0, 12.0
READABLE_S = 1.5
"""A packet can be read about a second after it passed."""

CLIENT, SERVER = "gateway", "cart"
PORT, OWN_PORT = 8000, 9999
"""The service's, and one where nothing listens."""

LIMITS = Limits(seconds=30.0)
"""Tests share two cores with all that they watch."""


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with engine() as found:
        yield found


@pytest.fixture(scope="module")
def tool(client: docker.DockerClient) -> Tcpdump:
    return Tcpdump(spec("tcpdump"), Backend(url=f"docker:///{part(client, 'capture').name}"), LIMITS)


def part(client: docker.DockerClient, service: str) -> Container:
    return next(c for c in containers(client, PROJECT) if c.labels[SERVICE_LABEL] == service)


def edge(view: str) -> Query:
    return bound(f"tcpdump.{view}", service=CLIENT, peer=SERVER, capture="tcpdump")


@contextmanager
def rule(container: Container, what: str) -> Iterator[None]:
    """A rule for what comes into that container, as long as the block lasts."""
    inside = ("nsenter", "--target", str(container.attrs["State"]["Pid"]), "--net", "iptables", "-w")
    subprocess.run([*inside, "-I", "INPUT", *what.split()], check=True)
    try:
        yield
    finally:
        subprocess.run([*inside, "-D", "INPUT", *what.split()], check=True)


@contextmanager
def program(container: Container, text: str) -> Iterator[None]:
    """A Python program in that container, at the latest ended with the block."""
    command = ["timeout", "-k", "1", "120", "python", "-c", text]
    api: Any = container.client.api if container.client else None
    made = api.exec_create(container.id, command)
    api.exec_start(made["Id"], detach=True)
    try:
        yield
    finally:
        # `timeout` leads a process group of its own, which the program belongs to.
        with suppress(ProcessLookupError):
            os.killpg(api.exec_inspect(made["Id"])["Pid"], signal.SIGKILL)


def proven(tool: Tcpdump, query: Query, since: float) -> Result:
    """What a question shows of a cause in force since then, while it was dark before."""
    time.sleep(READABLE_S)
    now = time.time() - READABLE_S
    scope = Scope(PROJECT, Window(since, now), Window(since - CALM_S + 4.0, since))
    found = tool.run(query, scope)
    before = tool.run(query, healthy_scope(scope))
    assert found.signal >= SIGNIFICANT, (query.title, found.summary, found.reason, found.rows)
    assert before.signal < SIGNIFICANT, (query.title, before.summary, before.reason, before.rows)
    assert shown(tool, query, scope), "the command that is offered shows nothing of it"
    return found


def shown(tool: Tcpdump, query: Query, scope: Scope) -> list[str]:
    """The lines that the offered command writes when it is pasted."""
    words = shlex.split(tool.render(query, scope))
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return [line for line in done.stdout.splitlines() if line.strip()]


def calm() -> float:
    """The moment after a while in which nothing was done."""
    time.sleep(CALM_S)
    return time.time()


def test_in_health_a_snapshot_names_the_application_and_nearly_no_question_is_alarmed(tool: Tcpdump) -> None:
    now = time.time() - READABLE_S
    scope = Scope(PROJECT, Window(now - 30.0, now), Window(now - 90.0, now - 30.0))
    seen = tool.snapshot(scope)
    parts = parts_of(APP)
    hosts = {e.name for e in seen.entities if e.kind == "host"}
    assert hosts == {*parts.services, "postgres", "redis"}
    ends = {end for e in seen.entities if e.kind == "edge" for end in e.name.split("->")}
    assert ends <= hosts
    asked = candidates(Catalog((spec("tcpdump"),)), seen.entities)
    assert len(asked) > 100
    alarmed = [(q.title, r.reason) for q in asked if (r := tool.run(q, scope)).signal >= SIGNIFICANT]
    assert len(alarmed) < 0.05 * len(asked), alarmed


def test_lost_packets_are_retransmissions(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    with rule(part(client, SERVER), "-p tcp --dport 8000 -m statistic --mode random --probability 0.4 -j DROP"):
        time.sleep(FAULT_S)
        found = proven(tool, edge("retransmissions"), since)
    assert (CLIENT, SERVER, PORT) in {row[:3] for row in found.rows}


def test_a_firewall_that_resets_shows_as_resets(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    with rule(part(client, SERVER), "-p tcp --dport 8000 -j REJECT --reject-with tcp-reset"):
        time.sleep(FAULT_S)
        found = proven(tool, edge("resets"), since)
    assert found.rows[0][:3] == (SERVER, CLIENT, PORT)


CONNECT = """
import socket, time
while True:
    try:
        socket.create_connection(("{host}", {port}), timeout={patience}).close()
    except OSError:
        pass
    time.sleep(0.2)
"""


def test_dropped_syns_are_unanswered(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    asking = CONNECT.format(host=SERVER, port=PORT, patience=0.5)
    dropping = rule(part(client, SERVER), "-p tcp --dport 8000 --syn -j DROP")
    with dropping, program(part(client, CLIENT), asking):
        time.sleep(FAULT_S)
        found = proven(tool, edge("unanswered_syns"), since)
    assert found.rows[0][:3] == (CLIENT, SERVER, PORT)


def test_a_port_where_nothing_listens_refuses(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    with program(part(client, CLIENT), CONNECT.format(host=SERVER, port=OWN_PORT, patience=2)):
        time.sleep(FAULT_S)
        found = proven(tool, bound("tcpdump.refused", host=SERVER), since)
    assert found.rows[0][:3] == (CLIENT, SERVER, OWN_PORT)


def test_an_icmp_refusal_is_one_as_well(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    asking = CONNECT.format(host=SERVER, port=OWN_PORT, patience=0.5)
    rejecting = rule(part(client, SERVER), "-p tcp --dport 9999 -j REJECT --reject-with icmp-port-unreachable")
    with rejecting, program(part(client, CLIENT), asking):
        time.sleep(FAULT_S)
        found = proven(tool, bound("tcpdump.refused", host=CLIENT), since)
    assert (CLIENT, SERVER, OWN_PORT, "ICMP") in {row[:4] for row in found.rows}


def test_a_stopped_service_answers_late_or_never(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    stopped = part(client, SERVER)
    stopped.pause()
    try:
        time.sleep(FAULT_S)
        found = proven(tool, edge("slow_answers"), since)
    finally:
        with suppress(APIError):
            stopped.unpause()
    assert found.rows[0][:3] == (CLIENT, SERVER, PORT)


READER = """
import socket, time
listener = socket.create_server(("", 9999))
listener.settimeout(30)
taken = []
while True:
    taken.append(listener.accept())
"""
WRITER = """
import socket, time
while True:
    try:
        writer = socket.create_connection(("{host}", 9999), timeout=3)
        writer.sendall(bytes(50_000_000))
    except OSError:
        time.sleep(0.2)
"""


def test_a_reader_that_has_stopped_announces_zero_windows(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    with program(part(client, SERVER), READER), program(part(client, CLIENT), WRITER.format(host=SERVER)):
        time.sleep(FAULT_S)
        found = proven(tool, bound("tcpdump.zero_windows", host=SERVER), since)
    assert found.rows[0][:3] == (SERVER, CLIENT, OWN_PORT)


LOOK_UP = """
import socket, time
while True:
    try:
        socket.getaddrinfo("nowhere-at-all", 80)
    except OSError:
        time.sleep(0.3)
"""


def test_a_name_that_there_is_not_is_a_failed_look_up(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    with program(part(client, SERVER), LOOK_UP):
        time.sleep(FAULT_S)
        found = proven(tool, bound("tcpdump.dns_failures", host=SERVER), since)
    assert any(row[0] == SERVER and str(row[1]).startswith("nowhere-at-all") and row[2] != "found" for row in found.rows)


STREAM = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    sender.sendto(bytes(1400), ("{host}", 5004))
    time.sleep(0.005)
"""


def test_a_stream_of_datagrams_is_the_largest_flow(tool: Tcpdump, client: docker.DockerClient) -> None:
    since = calm()
    silent = rule(part(client, SERVER), "-p udp --dport 5004 -j DROP")
    with silent, program(part(client, CLIENT), STREAM.format(host=SERVER)):
        time.sleep(FAULT_S)
        found = proven(tool, bound("tcpdump.flows", host=SERVER), since)
    assert found.rows[0][:4] == (CLIENT, SERVER, 5004, "UDP")
