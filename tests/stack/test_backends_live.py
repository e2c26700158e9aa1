"""What is collected beside metrics, logs and traces: links, packets, database statistics, disk traffic, container events.

`APP=forum` has them looked at beside another application.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import docker
import httpx
import psycopg
import pytest
from docker.models.containers import Container
from psycopg import sql

from testbed.images.observer.names import MOST as NAMES_BYTES
from testbed.stack import Status
from testbed.stack.engine import ROLE_LABEL, SERVICE_LABEL, containers, engine
from testbed.stack.project import find_project

DISTURBS = True
pytestmark = pytest.mark.stack

APP = os.environ.get("APP", "shop")
CAPTURE_BYTES = 96_000_000 + 8_000_000 + NAMES_BYTES
"""The ring, the file that is being written, and the name server's packets."""


@pytest.fixture
def stack(running_stack: Status) -> Status:
    return running_stack


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine() as found:
        yield found


@pytest.fixture
def ports() -> dict[str, int]:
    return find_project(APP).ports


def of_service(client: docker.DockerClient, stack: Status, service: str) -> Container:
    return next(c for c in containers(client, stack.project) if c.labels[SERVICE_LABEL] == service)


def of_application(stack: Status) -> set[str]:
    return {container.service for container in stack.containers if container.role == "app"}


def public(client: docker.DockerClient, stack: Status, port: int) -> Container:
    """The container that visitors reach."""
    bound = (
        (container, binding["HostPort"])
        for container in containers(client, stack.project)
        if container.labels[ROLE_LABEL] == "app"
        for bindings in container.ports.values()
        for binding in bindings or ()
    )
    return next(container for container, at in bound if at == str(port))


def eventually(look: Callable[[], Any], within: float) -> Any:
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError(f"not there after {within} s")


def ask(ports: dict[str, int], query: str) -> list[dict[str, str]]:
    answer = httpx.get(f"http://127.0.0.1:{ports['prometheus']}/api/v1/query", params={"query": query}, timeout=10).json()
    return [{**sample["metric"], "value": sample["value"][1]} for sample in answer["data"]["result"]]


def packets(client: docker.DockerClient, stack: Status, start: float, end: float, *options: str) -> list[list[str]]:
    """What tshark says of that time, a list of fields for each line."""
    asked = ["packets", f"{start:.0f}", f"{end:.0f}", *options]
    return [line.split("\t") for line in said(of_service(client, stack, "capture"), *asked).splitlines()]


def said(container: Container, *command: str) -> str:
    """What a command in the container writes to its standard output."""
    code, (out, err) = container.exec_run(list(command), demux=True)
    assert code == 0, err
    return bytes(out or b"").decode()


LINK_SERIES = (
    *("node_qdisc_bytes_total", "node_qdisc_drops_total", "node_qdisc_overlimits_total", "node_qdisc_backlog"),
    *("node_network_receive_bytes_total", "node_network_transmit_drop_total", "node_network_mtu_bytes"),
)
NAMESPACE_SERIES = (
    *("node_netstat_Tcp_RetransSegs", "node_netstat_Tcp_OutRsts", "node_netstat_TcpExt_TCPTimeouts"),
    *("node_netstat_TcpExt_ListenDrops", "node_sockstat_TCP_inuse"),
)


def test_every_application_container_has_its_links_figures_and_no_backend_has(stack: Status, ports: dict[str, int]) -> None:
    for name in (*LINK_SERIES, *NAMESPACE_SERIES):
        seen = ask(ports, name)
        assert {sample["container"] for sample in seen} == of_application(stack), name
        assert {sample["project"] for sample in seen} == {stack.project}
    assert all(sample["device"].startswith("eth") for sample in ask(ports, "node_qdisc_backlog"))
    established = ask(ports, 'sum by (container) (node_tcp_connection_states{state="established"})')
    assert any(float(sample["value"]) > 0 for sample in established)


@contextmanager
def narrow_link(pid: int) -> Iterator[None]:
    """Nothing faster than 64 kbit/s leaves that process's namespace meanwhile."""
    qdisc = ("nsenter", "--target", str(pid), "--net", "tc", "qdisc")
    limit = ("tbf", "rate", "64kbit", "burst", "1600", "limit", "6000")
    subprocess.run([*qdisc, "add", "dev", "eth0", "root", *limit], check=True)
    try:
        yield
    finally:
        subprocess.run([*qdisc, "del", "dev", "eth0", "root"], check=True)


def test_a_narrow_link_shows_as_backlog_and_drops_within_six_seconds(
    stack: Status, client: docker.DockerClient, ports: dict[str, int]
) -> None:
    front = public(client, stack, ports["gateway"])
    name = front.labels[SERVICE_LABEL]

    def narrow() -> bool:
        with pytest.raises(httpx.HTTPError):  # its answer does not fit through within that time
            httpx.get(f"http://127.0.0.1:{ports['gateway']}/", timeout=0.3).raise_for_status()
        waiting = ask(ports, f'node_qdisc_backlog{{container="{name}", kind="tbf"}} > 0')
        dropped = ask(ports, f'node_qdisc_drops_total{{container="{name}", kind="tbf"}} > 0')
        return bool(waiting and dropped)

    with narrow_link(front.attrs["State"]["Pid"]):
        eventually(narrow, within=6)
    eventually(lambda: ask(ports, f'node_qdisc_backlog{{container="{name}", kind!="tbf"}} == 0'), within=10)


def test_disk_traffic_is_counted_by_container(stack: Status, client: docker.DockerClient, ports: dict[str, int]) -> None:
    written = 'sum(container_fs_writes_bytes_total{container="postgres"})'
    before = float(ask(ports, written)[0]["value"])
    statement = "SELECT pg_switch_wal(), pg_logical_emit_message(false, 'test', repeat('x', 4000000)); CHECKPOINT"
    said(of_service(client, stack, "postgres"), "psql", "-U", APP, "-d", APP, "-c", statement)
    eventually(lambda: float(ask(ports, written)[0]["value"]) > before + 3_000_000, within=10)
    assert ask(ports, 'container_fs_reads_bytes_total{container="postgres"}')


DATABASE_SERIES = (
    *("pg_up", "pg_settings_max_connections", "pg_stat_database_numbackends", "pg_stat_database_blks_hit", "pg_locks_waiting"),
    *("pg_stat_activity_max_tx_duration", "pg_stat_user_tables_seq_tup_read", "pg_stat_user_tables_idx_scan"),
    *("pg_stat_wal_wal_sync_time", "pg_stat_statements_seconds_total"),
)


def test_the_database_is_told_of_by_state_table_and_lock(stack: Status, ports: dict[str, int]) -> None:
    for name in DATABASE_SERIES:
        seen = ask(ports, name)
        assert seen and {(s["container"], s["project"]) for s in seen} == {("postgres", stack.project)}, name
    sessions = ask(ports, "sum by (service, state) (pg_stat_activity_count)")
    assert {sample["service"] for sample in sessions} <= of_application(stack) | {"", "psql"}
    assert {sample["state"] for sample in sessions} >= {"active", "idle", "idle in transaction"}


@pytest.fixture
def observer(ports: dict[str, int]) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    address = f"postgresql://observer:observer@127.0.0.1:{ports['postgres']}/{APP}"
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


WRITES = (
    "CREATE TABLE observed (id int)",
    "CREATE TEMPORARY TABLE observed (id int)",
    "CREATE SCHEMA observed",
    "SELECT lo_create(0)",
    "SELECT pg_stat_statements_reset()",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> current_user AND datname IS NOT NULL",
)


@pytest.mark.parametrize("statement", WRITES)
def test_the_observer_cannot_write_even_when_it_insists(observer: psycopg.Connection[tuple[Any, ...]], statement: str) -> None:
    observer.execute("SET default_transaction_read_only = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        observer.execute(sql.SQL(statement))


def test_the_observer_sees_every_statistic_and_no_row(observer: psycopg.Connection[tuple[Any, ...]]) -> None:
    assert observer.execute("SHOW default_transaction_read_only").fetchone() == ("on",)
    others = observer.execute("SELECT query FROM pg_stat_activity WHERE usename <> current_user AND state IS NOT NULL").fetchall()
    assert others and "<insufficient privilege>" not in {query for (query,) in others}
    assert observer.execute("SELECT count(*) > 0 FROM pg_stat_statements").fetchone() == (True,)
    tables = observer.execute("SELECT relname FROM pg_stat_user_tables ORDER BY 1").fetchall()
    for (table,) in tables:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            observer.execute(sql.SQL("SELECT 1 FROM {}").format(sql.Identifier(table)))
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)):
            observer.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
    assert tables


def test_traffic_between_two_services_is_captured_by_their_names(
    stack: Status, client: docker.DockerClient, ports: dict[str, int]
) -> None:
    began = time.time()
    front = public(client, stack, ports["gateway"]).labels[SERVICE_LABEL]
    for _ in range(5):
        httpx.get(f"http://127.0.0.1:{ports['gateway']}/", timeout=10).raise_for_status()
    time.sleep(2.5)
    talk = packets(client, stack, began - 1, time.time(), "-Y", "tcp", "-T", "fields", "-e", "ip.src_host", "-e", "ip.dst_host")
    pairs = {(source, target) for source, target in talk}
    others = of_application(stack) - {front}
    assert ("host", front) in pairs and (front, "host") in pairs
    assert any((front, other) in pairs and (other, front) in pairs for other in others)
    backends = {container.service for container in stack.containers if container.role == "backend"}
    assert not {name for pair in pairs for name in pair} & backends


def test_a_question_to_the_name_server_is_captured_with_its_answer(
    stack: Status, client: docker.DockerClient, ports: dict[str, int]
) -> None:
    front = public(client, stack, ports["gateway"])
    began, wanted = time.time(), f"no-such-{time.time_ns()}"
    front.exec_run(["python", "-c", f"import socket; socket.getaddrinfo('{wanted}', 80)"])
    time.sleep(1.5)
    fields = ("frame.interface_name", "dns.flags.response", "dns.flags.rcode")
    shown = [part for field in fields for part in ("-e", field)]
    told = packets(client, stack, began - 1, time.time() + 1, "-Y", f'dns.qry.name == "{wanted}"', "-T", "fields", *shown)
    mine = [line for line in told if line[0] == front.labels[SERVICE_LABEL]]
    assert [front.labels[SERVICE_LABEL], "0", ""] in mine
    assert [front.labels[SERVICE_LABEL], "1", "3"] in mine  # no such name


def test_the_capture_is_bounded_and_fresh(stack: Status, client: docker.DockerClient) -> None:
    listing = 'find /capture -name "*.pcap*" -printf "%s %T@\\n"'
    told = said(of_service(client, stack, "capture"), "sh", "-c", listing)
    files = [(int(size), float(at)) for size, at in (line.split() for line in told.splitlines())]
    assert sum(size for size, _ in files) <= CAPTURE_BYTES
    assert time.time() - max(at for _, at in files) < 15


def test_what_happened_to_a_container_can_be_found_later(
    stack: Status, client: docker.DockerClient, ports: dict[str, int]
) -> None:
    began = int(time.time() * 1000)
    store = of_service(client, stack, "redis")
    store.pause()
    time.sleep(1.0)
    store.unpause()
    store.restart(timeout=3)

    def found() -> list[dict[str, Any]]:
        wanted = [{"term": {"container.name": "redis"}}, {"range": {"@timestamp": {"gte": began}}}]
        body = {"query": {"bool": {"filter": wanted}}, "sort": ["@timestamp"], "size": 50}
        answer = httpx.post(f"http://127.0.0.1:{ports['elasticsearch']}/events-{stack.project}/_search", json=body, timeout=10)
        return [hit["_source"] for hit in answer.json()["hits"]["hits"]]

    eventually(
        lambda: {event["event"]["action"] for event in found()} >= {"pause", "unpause", "die", "start", "restart"}, within=15
    )
    actions = [event["event"]["action"] for event in found()]
    assert actions.index("pause") < actions.index("unpause") < actions.index("die") < actions.index("start")
    death = next(event for event in found() if event["event"]["action"] == "die")
    assert death["process"]["exit_code"] == 0 and death["service"] == {"name": "redis"}
    start = next(event for event in found() if event["event"]["action"] == "start")
    assert start["container"]["memory"]["limit"] == 128 * 2**20

    def well() -> bool:
        store.reload()
        return bool(store.attrs["State"]["Health"]["Status"] == "healthy")

    eventually(well, within=30)
