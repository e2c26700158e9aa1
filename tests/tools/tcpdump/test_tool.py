"""Packet captures: no name changes a command, nothing goes through a shell, and a bad tshark or engine is an error in time."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.system import open_system
from revelio.tools.base import Limits
from revelio.tools.tcpdump.filter import escape
from revelio.tools.tcpdump.tool import Tcpdump
from revelio.types import Entity, Evidence, Query, QueryTemplate
from tests.tools.conftest import HOSTILE_NAMES, NOW, QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.tcpdump.test_rows import ACK, AT, RST, SYN, dns, handshake, row, tcp
from tests.tools.test_fetch import raw_server

_STRING = re.compile(r'"((?:[^"\\$]|\\x[0-9a-f]{2})*)"')
LIMITS = Limits(seconds=3.0)
EDGE = {"service": "gateway", "peer": "cart", "capture": "tcpdump"}


def tool(url: str = "", limits: Limits = LIMITS) -> Tcpdump:
    return Tcpdump(spec("tcpdump"), Backend(url=url), limits)


def told(inside: str) -> str:
    """A string of a display filter as tshark reads it."""
    return re.sub(
        rb"\\x([0-9a-f]{2})|(.)", lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], inside.encode(), flags=re.DOTALL
    ).decode()


# --- the language -----------------------------------------------------------------------------------------------------------


@given(hostile())
def test_no_name_changes_the_structure_of_any_command(name: str) -> None:
    clean = name.replace("\x00", "�").encode("utf-8", errors="replace").decode()
    for url in ("docker:///c", "file:///var/captures"):
        asker = tool(url)
        for harmless, query in zip(filled("tcpdump", "cart"), filled("tcpdump", name), strict=True):
            words, plain = shlex.split(asker.render(query, SCOPE)), shlex.split(asker.render(harmless, SCOPE))
            assert [_STRING.sub('""', w) for w in words] == [_STRING.sub('""', w) for w in plain], query.template.id
            strings = [told(m[1]) for w in words for m in _STRING.finditer(w)]
            assert strings and set(strings) == {clean}


@given(hostile())
def test_an_escaped_name_has_nothing_that_a_filter_knows(name: str) -> None:
    assert not set(escape(name)) & {'"', "$", "\n", "\x00"}
    assert re.fullmatch(r"(?:[^\\]|\\x[0-9a-f]{2})*", escape(name))


def test_every_bundled_template_leaves_no_hole_open_and_has_a_filter() -> None:
    for query in filled("tcpdump", "cart"):
        text = tool("docker:///c").render(query, SCOPE)
        assert "${" not in text
        assert text.startswith("docker exec c packets 1699999970.000 1700000000.000 -")
        assert 'host == "cart"' in text


def test_a_command_is_what_an_engineer_would_paste() -> None:
    query = bound("tcpdump.resets", **EDGE)
    assert tool("docker:///shop_capture_1").render(query, SCOPE) == (
        "docker exec shop_capture_1 packets 1699999970.000 1700000000.000 "
        """-Y 'tcp.flags.reset == 1 && ip.host == "gateway" && ip.host == "cart"'"""
    )
    assert tool("file:///my%20captures").render(query, SCOPE) == (
        "mergecap -F pcapng -w - '/my captures'/*.pcap* | editcap -A 1699999970.000 -B 1700000000.000 - - | "
        """tshark -N n -r - -Y 'tcp.flags.reset == 1 && ip.host == "gateway" && ip.host == "cart"'"""
    )
    assert tool().render(query, SCOPE).startswith("mergecap ")


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_tshark_itself_takes_every_hostile_name_as_a_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / "one.pcap"
    file.write_bytes(ONE_PACKET)
    clean = name.replace("\x00", "�").encode("utf-8", errors="replace").decode()
    usable = not re.search(r"\s", clean) and clean.isprintable() and len(clean) < 60 and "#" not in clean
    (tmp_path / "hosts").write_text(f"10.0.0.2 {clean}\n" if usable else "10.0.0.2 plain\n")
    filters, taps = [], []
    for query in filled("tcpdump", name):
        first, *rest = tool()._question(query, SCOPE).options
        if first == "-Y":
            filters += [f"({text})" for text in rest]
        else:
            taps += [first, *rest]
    words = ["tshark", "-Q", "-H", str(tmp_path / "hosts"), "-N", "n", "-r", str(file), "-Y", " || ".join(filters), *taps]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert ("<->" in done.stdout) is usable


IP = bytes.fromhex("4500002c000100004006000a0a0000020a000003")
SEGMENT = bytes.fromhex("9c401f40000000010000000050020400000000000204ffff")
ONE_PACKET = (
    bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    + int(AT).to_bytes(4, "little")
    + bytes(4)
    + (14 + 44).to_bytes(4, "little") * 2
    + bytes(12)
    + b"\x08\x00"
    + IP
    + SEGMENT
)
"""A SYN from 10.0.0.2 to 10.0.0.3, in a capture file."""


# --- where it is a candidate ------------------------------------------------------------------------------------------------


def test_where_nothing_was_captured_its_questions_are_no_candidates() -> None:
    known = [Entity("service", "cart"), Entity("container", "cart"), Entity("edge", "gateway->cart")]
    assert [q for q in candidates(bundled_catalog(), known) if q.template.tool == "tcpdump"] == []
    asked = candidates(bundled_catalog(), [*known, Entity("capture", "tcpdump"), Entity("host", "cart")])
    assert {q.template.id for q in asked if q.template.tool == "tcpdump"} == {t.id for t in spec("tcpdump").templates}


@pytest.mark.parametrize("url", ["docker://127.0.0.1:9/capture", "file:///nowhere/at/all"])
def test_a_capture_that_is_away_is_named_as_missing(url: str) -> None:
    system = open_system("s", SystemSettings(backends={"tcpdump": Backend(url=url)}), bundled_catalog(), 0.5)
    assert list(system.tools) == ["tcpdump"]
    seen = system.snapshot(time.time())
    assert (seen.missing, seen.entities) == (("tcpdump",), ())
    assert not system.ping()[0].up
    system.close()


def test_a_system_without_a_capture_has_no_such_tool() -> None:
    assert open_system("s", SystemSettings(backends={}), bundled_catalog()).tools == {}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "no address is set"),
        ("http://127.0.0.1", "has to be docker:///CONTAINER"),
        ("docker:///", "has to be docker:///CONTAINER"),
        ("file://elsewhere/captures", "has to be docker:///CONTAINER"),
        ("docker://[1/x", "url cannot be read"),
        ("docker://nameonly/x", "HOST:PORT/CONTAINER is needed"),
        ("docker://127.0.0.1:1/x", r"cannot be reached at 127\.0\.0\.1:1"),
        ("file:///nowhere/at/all", "No such file or directory; is its url right"),
    ],
)
def test_a_wrong_address_is_an_error_that_says_what_to_do(url: str, words: str) -> None:
    for ask in (lambda: tool(url).ping(), lambda: tool(url).snapshot(SCOPE)):
        with pytest.raises(SourceError, match=words):
            ask()


@pytest.mark.parametrize(
    "body",
    [
        "view: nothing",
        "{view: flows}",
        "{view: flows, between: [], tshark: []}",
        "{view: flows, between: [a], tshark: -q}",
        "- a",
        "{",
    ],
)
def test_a_body_that_is_no_question_is_an_error_of_the_source(body: str) -> None:
    with pytest.raises(SourceError):
        tool("docker:///c").render(Query(QueryTemplate("own", "tcpdump", "mine", "", body)), SCOPE)


# --- a folder and the programs of this machine ------------------------------------------------------------------------------


@contextmanager
def programs(monkeypatch: pytest.MonkeyPatch, folder: Path, tshark: str) -> Iterator[Path]:
    """A folder with a capture file, and a ``tshark`` that is this shell script; each of its starts is written down."""
    for name, script in {"mergecap": "exec cat /dev/null", "editcap": "exec cat", "tshark": tshark}.items():
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho $$ >> {folder}/{name}.started\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    captures = folder / "captures"
    captures.mkdir()
    (captures / "x.pcap00").write_bytes(b"")
    yield captures
    for name in ("mergecap", "editcap", "tshark"):
        for pid in _started(folder, name):
            assert not _runs(pid), f"{name} still runs"


def _started(folder: Path, name: str) -> list[int]:
    file = folder / f"{name}.started"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def saying(folder: Path, *rows: bytes) -> str:
    """A script that writes these rows."""
    file = folder / "rows"
    file.write_bytes(b"".join(line + b"\n" for line in rows))
    return f"exec cat {file}"


CALM = [
    line
    for i in range(85)
    for at in [NOW - 89.0 + i]
    for line in (
        tcp(at, "gateway", "cart", ACK, 100, stream=i % 3),
        tcp(at + 0.02, "cart", "gateway", ACK, 400, stream=i % 3),
        dns(at, "cart", "redis", i),
        dns(at + 0.001, "cart", "redis", i, answer=0),
    )
]


def with_fault(make: Callable[[float, int], list[bytes]]) -> list[bytes]:
    """A calm minute and a half with a fault twice a second in the last 25 s."""
    more = [line for i in range(48) for line in make(NOW - 25.0 + i / 2, 100 + i)]
    return sorted([*CALM, *more], key=lambda line: float(line.split(b"\t")[0]))


FAULTS: dict[str, Callable[[float, int], list[bytes]]] = {
    "retransmissions": lambda at, n: [tcp(at, "gateway", "cart", ACK, 100, stream=n, tcp_analysis_retransmission="1")],
    "resets": lambda at, n: [*handshake(at, n), tcp(at + 0.1, "cart", "gateway", RST, stream=n)],
    "unanswered_syns": lambda at, n: [tcp(at, "gateway", "cart", SYN, stream=n)],
    "slow_answers": lambda at, n: [
        tcp(at, "gateway", "cart", ACK, 100, stream=n),
        tcp(at + 1.5, "cart", "gateway", ACK, 400, stream=n),
    ],
    "zero_windows": lambda at, n: [tcp(at, "cart", "gateway", ACK, stream=n, tcp_analysis_zero_window="1")],
    "refused": lambda at, n: [tcp(at, "gateway", "cart", SYN, stream=n), tcp(at + 0.001, "cart", "gateway", RST | ACK, stream=n)],
    "dns_failures": lambda at, n: [dns(at, "cart", "nowhere", n), dns(at + 0.001, "cart", "nowhere", n, answer=3)],
    "flows": lambda at, n: [row(at, "orders", "cart", 60_000, udp_srcport=40_000, udp_dstport=5004)],
}


def question(view: str) -> Query:
    template = bundled_catalog().template(f"tcpdump.{view}")
    return bound(f"tcpdump.{view}", **({"host": "cart"} if len(template.blanks) == 1 else EDGE))


@pytest.mark.parametrize("view", sorted(FAULTS))
def test_a_question_lights_up_for_its_fault_and_not_in_health(view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with programs(monkeypatch, tmp_path, saying(tmp_path, *with_fault(FAULTS[view]))) as captures:
        found = tool(captures.as_uri()).run(question(view), SCOPE)
    assert found.signal >= SIGNIFICANT, found
    assert found.rows and len(found.columns) == len(found.rows[0])
    assert "before" in found.summary and "packets read" in found.summary
    saying(tmp_path, *CALM)
    calm = tool(captures.as_uri()).run(question(view), SCOPE)
    assert calm.signal < 0.1, calm


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.tools.tcpdump.tool.SNAPSHOT_S", 90.0)


def test_a_snapshot_reads_the_last_of_baseline_and_window_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.tools.tcpdump.tool.SNAPSHOT_S", 5.0)
    with engine(b"".join(frame(1, line + b"\n") for line in CALM)) as running:
        seen = tool(running.url).snapshot(SCOPE)
    [command] = running.commands
    assert command[4:7] == ["packets", f"{SCOPE.baseline.end - 5.0:.3f}", f"{SCOPE.window.end:.3f}"]
    assert (seen.window, seen.baseline) == (SCOPE.window, SCOPE.baseline)


def test_a_snapshot_and_all_questions_about_one_time_share_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with programs(monkeypatch, tmp_path, saying(tmp_path, *CALM)) as captures:
        asker = tool(captures.as_uri())
        seen: list[Evidence] = []
        threads = [threading.Thread(target=lambda: seen.append(asker.snapshot(SCOPE))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for view in FAULTS:
            asker.run(question(view), SCOPE)
    assert len(_started(tmp_path, "tshark")) == 1
    assert seen[0] == seen[3]
    assert {e.name for e in seen[0].entities} == {"tcpdump", "cart", "gateway", "gateway->cart"}


def test_rows_beyond_the_limit_are_left_out_and_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [tcp(AT, f"h{n}", "cart", SYN, stream=n) for n in range(80)]
    with programs(monkeypatch, tmp_path, saying(tmp_path, *rows)) as captures:
        found = tool(captures.as_uri(), Limits(seconds=3.0, rows=50)).run(question("flows"), SCOPE)
    assert (len(found.rows), found.truncated) == (50, True)


def test_a_hosts_file_beside_the_captures_gives_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with programs(monkeypatch, tmp_path, f'echo "$@" > {tmp_path}/said; exec cat > /dev/null') as captures:
        (captures / "hosts").write_text("10.0.0.2 cart\n")
        tool(captures.as_uri()).snapshot(SCOPE)
    assert f"-H {captures}/hosts -N n -r -" in (tmp_path / "said").read_text()


def test_the_capture_files_of_that_time_are_read_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with programs(monkeypatch, tmp_path, "exec cat > /dev/null") as captures:
        (tmp_path / "bin" / "mergecap").write_text(f'#!/bin/sh\nfor f in "$@"; do echo "$f"; done > {tmp_path}/merged\n')
        for name, at in (("old.pcap", NOW - 500), ("new.pcapng", NOW - 20), ("-w x.pcap1", NOW - 50), ("notes.txt", NOW)):
            (captures / name).write_bytes(b"")
            os.utime(captures / name, (at, at))
        (captures / "x.pcap00").unlink()
        tool(captures.as_uri()).snapshot(SCOPE)
    merged = (tmp_path / "merged").read_text().splitlines()
    assert merged == ["-F", "pcapng", "-w", "-", f"{captures}/-w x.pcap1", f"{captures}/new.pcapng"]


def test_a_folder_that_nobody_writes_to_any_more_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with programs(monkeypatch, tmp_path, "exec cat") as captures:
        os.utime(captures / "x.pcap00", (NOW - 500, NOW - 500))
        with pytest.raises(SourceError, match="nothing was captured into"):
            tool(captures.as_uri()).snapshot(SCOPE)


def test_without_tshark_here_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with programs(monkeypatch, tmp_path, "exec cat") as captures:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(SourceError, match="tshark is not installed here; install tshark"):
            tool(captures.as_uri()).ping()


BAD = {
    "hangs": ("exec sleep 20", "read no packets of the window within"),
    "hangs and hears nothing": ("trap '' TERM INT HUP; while true; do sleep 1; done", "read no packets of the window within"),
    "floods": ("exec yes", "in a form that is not its own"),
    "floods a line": ("exec cat /dev/zero", "read no packets of the window within"),
    "floods what it says of errors": ("exec yes >&2", "read no packets of the window within"),
    "says something else": ("echo hello", "in a form that is not its own"),
    "says bytes": ("head -c 5000 /dev/urandom; echo", "in a form that is not its own"),
    "fails": ("echo 'tshark: the file is damaged' >&2; exit 2", "tshark ended with code 2: tshark: the file is damaged"),
    "fails in silence": ("exit 3", "tshark ended with code 3"),
    "dies": ("kill -9 $$", "tshark ended with code -9"),
    "leaves its output open": ("sleep 20 & exit 0", "read no packets of the window within"),
}


@pytest.mark.parametrize("how", sorted(BAD))
def test_a_tshark_that_does_ill_is_ended_and_an_error_in_time(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, words = BAD[how]
    with programs(monkeypatch, tmp_path, script) as captures:
        began = time.monotonic()
        with pytest.raises(SourceError, match=words):
            tool(captures.as_uri(), Limits(seconds=1.0)).snapshot(SCOPE)
        assert time.monotonic() - began < 2.5


def test_a_tshark_that_hangs_on_the_way_gives_what_it_had_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = [line for line in CALM if float(line.split(b"\t")[0]) < NOW - 12.0]
    with programs(monkeypatch, tmp_path, saying(tmp_path, *most).removeprefix("exec ") + "; exec sleep 20") as captures:
        found = tool(captures.as_uri(), Limits(seconds=1.0)).run(question("flows"), SCOPE)
    assert found.truncated and "cut off" in found.summary
    assert found.signal < 0.1  # what was not read is not silence


def test_a_tshark_that_hangs_before_the_window_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [line for line in CALM if float(line.split(b"\t")[0]) < NOW - 29.0]
    script = f"{saying(tmp_path, *few).removeprefix('exec ')}; exec sleep 20"
    late = pytest.raises(SourceError, match="read no packets of the window within")
    with programs(monkeypatch, tmp_path, script) as captures, late:
        tool(captures.as_uri(), Limits(seconds=1.0)).snapshot(SCOPE)


def test_more_packets_than_fit_are_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.tools.tcpdump.tool.MAX_PACKETS", len(CALM) - 8)
    with programs(monkeypatch, tmp_path, saying(tmp_path, *CALM)) as captures:
        assert tool(captures.as_uri()).run(question("flows"), SCOPE).truncated


def test_who_waits_for_another_reading_waits_no_longer_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with programs(monkeypatch, tmp_path, "exec sleep 20") as captures:
        asker, errors = tool(captures.as_uri(), QUICK), []

        def ask() -> None:
            try:
                asker.snapshot(SCOPE)
            except SourceError as error:
                errors.append(error)

        began = time.monotonic()
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - began < 2.0
        assert len(errors) == 3


# --- a container, through the engine ----------------------------------------------------------------------------------------


class FakeExec:
    """An engine with one container, in which every command writes the same. Keeps what it was asked to run."""

    def __init__(self, frames: bytes, code: int | None = 0, drip: int = 0) -> None:
        self.frames, self.code, self.drip = frames, code, drip
        self.commands: list[list[str]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"docker://127.0.0.1:{self._listener.getsockname()[1]}/shop%2Fcapture%201"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += connection.recv(65536)
        head, _, body = asked.partition(b"\r\n\r\n")
        length = int((re.search(rb"content-length: (\d+)", head, re.IGNORECASE) or [b"", b"0"])[1])
        while len(body) < length:
            body += connection.recv(65536)
        path = head.split()[1].decode()
        if path == "/containers/shop%2Fcapture%201/exec":
            told = json.loads(body)
            assert not told.get("Tty") and not told.get("Privileged")
            self.commands.append(told["Cmd"])
            answer = b'{"Id":"e1"}'
        elif path == "/exec/e1/start":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\n\r\n")
            step = self.drip or len(self.frames) or 1
            for start in range(0, len(self.frames), step):
                connection.sendall(self.frames[start : start + step])
            return
        elif path == "/exec/e1/json":
            answer = json.dumps({"ExitCode": self.code, "Running": False}).encode()
        else:
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
            return
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: " + str(len(answer)).encode() + b"\r\n\r\n" + answer)

    def close(self) -> None:
        self._listener.close()


@contextmanager
def engine(frames: bytes, code: int | None = 0, drip: int = 0) -> Iterator[FakeExec]:
    running = FakeExec(frames, code, drip)
    yield running
    running.close()


def frame(stream: int, said: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(said).to_bytes(4, "big") + said


def test_a_container_is_asked_by_an_argument_list_that_ends_by_itself() -> None:
    out = b"".join(line + b"\n" for line in CALM)
    frames = frame(2, b"Running as user nobody\n") + b"".join(frame(1, out[i : i + 1000]) for i in range(0, len(out), 1000))
    with engine(frames) as running:
        seen = tool(running.url).snapshot(SCOPE)
    assert {e.name for e in seen.entities} == {"tcpdump", "cart", "gateway", "gateway->cart"}
    [command] = running.commands
    assert command[:3] == ["timeout", "-k", "1"] and 0 < float(command[3]) <= LIMITS.seconds
    assert command[4:7] == ["packets", f"{NOW - 90:.3f}", f"{NOW:.3f}"]
    assert not {"sh", "bash", "-c"} & set(command[:7])


@pytest.mark.parametrize("drip", [1, 7, 8, 9, 1001])
def test_frames_may_come_in_any_pieces(drip: int) -> None:
    out = b"".join(line + b"\n" for line in CALM[-8:])
    with engine(frame(1, out[:300]) + frame(2, b"x" * 9) + frame(1, b"") + frame(1, out[300:]), drip=drip) as running:
        found = tool(running.url).run(question("flows"), SCOPE)
    assert found.summary.endswith("; 8 packets read")


def test_the_version_is_tsharks_in_the_container() -> None:
    with engine(frame(1, b"TShark (Wireshark) 4.0.17 (Git v4.0.17).\nCopyright\n")) as running:
        assert tool(running.url).ping() == "TShark (Wireshark) 4.0.17"
    assert running.commands[0][4:] == ["tshark", "--version"]


@pytest.mark.parametrize(
    ("frames", "code", "words"),
    [
        (frame(2, b"nothing was captured since 1699999910\n"), 1, "ended with code 1: nothing was captured since"),
        (b"", 127, "packets in container shop/capture 1 ended with code 127"),
        (b"", 124, "read no packets of the window within"),
        (b"HTTP/1.1 nonsense", 0, "does not answer like a container engine"),
        (frame(1, b"hello\n"), 0, "in a form that is not its own"),
        (frame(1, b"x" * 100_000), 0, "read no packets of the window within"),
    ],
)
def test_what_goes_wrong_in_the_container_is_an_error_that_says_so(frames: bytes, code: int, words: str) -> None:
    with engine(frames, code) as running, pytest.raises(SourceError, match=words):
        tool(running.url).snapshot(SCOPE)


def test_a_container_that_is_not_there_is_said_so() -> None:
    with engine(b"") as running, pytest.raises(SourceError, match="there is no container other; is its url right"):
        tool(running.url.replace("shop%2Fcapture%201", "other")).snapshot(SCOPE)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00" * 100,
        b"HTTP/1.1 200 OK\r\n\r\nnot json",
        b"HTTP/1.1 200 OK\r\n\r\n[]",
        b"HTTP/1.1 500 No\r\n\r\n<html>",
        b"{}" * 9000,
    ],
)
def test_an_engine_that_is_none_is_an_error(answer: bytes) -> None:
    with raw_server(answer) as url, pytest.raises(SourceError):
        tool(url.replace("http", "docker") + "/c").snapshot(SCOPE)


@pytest.mark.parametrize("how", [{"hang": True}, {"drip_s": 0.1}])
def test_an_engine_that_hangs_or_drips_is_given_up_in_time(how: dict[str, float]) -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 1000, **how) as url:  # type: ignore[arg-type]
        began = time.monotonic()
        with pytest.raises(SourceError, match="read no packets of the window within"):
            tool(url.replace("http", "docker") + "/c", QUICK).snapshot(SCOPE)
        assert time.monotonic() - began < 1.5
