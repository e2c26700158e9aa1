"""Revelio speaks to the backends of its settings alone, and writes into its own folders alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.journey import ROOT, WATCHED, environment
from tests.hostile.tally import Tally

_FAR = "192.0.2.9"
"""An address for documentation: it belongs to nobody."""

_ALONE = """
set -e
ip link set lo up
ip route add default dev lo
ip -6 route add default dev lo
exec "$@"
"""
_SPOKEN = re.compile(
    r"(connect|sendto|sendmsg|sendmmsg)\(.*?sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\""
)
_WRITTEN = re.compile(
    r"\b(?:open|openat|openat2|creat|mkdir|mkdirat|rename|renameat|renameat2|link|linkat|symlink)\("
    r"(?P<told>.*?)\)\s+= (?!-1)(?P<got>\d+)"
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_DEVICES = ("/dev/null", "/dev/tty", "/proc/self/", "/proc/thread-self/")


@pytest.fixture
def alone(tmp_path: Path) -> list[str]:
    """The beginning of a command line that gives a command a network of its own, whose default route leads to nobody."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "ip", "strace"))):
        pytest.skip("what leaves is seen by root only, with unshare, ip and strace")
    prefix = ["unshare", "--net", "--", "sh", "-c", _ALONE, "sh"]
    watched = [*prefix, "strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"]
    tried = subprocess.run(watched, check=False, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no network namespace to be watched here: {tried.stderr.strip()[:200]}")
    return prefix


def spoken(log: str) -> Iterator[tuple[str, int]]:
    """Address and port of everybody spoken to."""
    return ((found[3], int(found[2])) for found in _SPOKEN.finditer(log))


def written(log: str) -> Iterator[str]:
    """Every path that was opened for writing, made or moved to."""
    for line in log.splitlines():
        found = _WRITTEN.search(line)
        if found is None:
            continue
        opened = "open" in found[0].partition("(")[0]
        if opened and not re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", found["told"]):
            continue
        yield from _QUOTED.findall(found["told"])


def inside(path: str, folder: Path) -> bool:
    """Whether it lies in the folder, or is no place at all."""
    return Path(os.path.normpath(folder / path)).is_relative_to(folder) or path.startswith(_DEVICES)


def test_a_whole_day_speaks_to_the_backends_alone_and_writes_into_its_folders_alone(
    alone: list[str], tmp_path: Path, tally: Tally
) -> None:
    day = [*alone, sys.executable, "-m", "tests.hostile.journey", str(tmp_path)]
    done = subprocess.run(day, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    logs = {path.stem: path.read_text(errors="replace") for path in tmp_path.glob("*.strace")}
    assert set(logs) == {"serve", "doctor", "recommend", "run", "learn", "mcp"}
    everybody = {who for log in logs.values() for who in spoken(log)}
    backends = {("127.0.0.1", port) for port in json.loads((tmp_path / "ports.json").read_text())}
    for address, port in sorted(everybody - backends):
        tally.found("strangers", f"{address}:{port}")
    tally.figures["named backends spoken to in a whole day, in a namespace"] = str(len(everybody & backends))
    assert everybody == backends
    outside = {path for log in logs.values() for path in written(log) if not inside(path, tmp_path)}
    assert outside == set()
    assert list((tmp_path / "home").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("far", [(_FAR, 443), ("2001:db8::9", 443)])
def test_what_does_leave_is_seen(alone: list[str], tmp_path: Path, far: tuple[str, int]) -> None:
    family = "AF_INET6" if ":" in far[0] else "AF_INET"
    code = (
        f"import os, socket; s = socket.socket(socket.{family}); s.setblocking(False); s.connect_ex({far!r});"
        f"u = socket.socket(socket.{family}, socket.SOCK_DGRAM); u.sendto(b'x', ({far[0]!r}, 53));"
        f"os.mkdir({str(tmp_path / 'a')!r}); open({str(tmp_path / 'a' / 'b')!r}, 'w').close()"
    )
    log = tmp_path / "x.strace"
    watched = ["strace", "-f", "--seccomp-bpf", "-qq", "-s", "300", "-e", WATCHED, "-o", str(log), sys.executable, "-c", code]
    subprocess.run([*alone, *watched], check=True, timeout=120)
    assert {far, (far[0], 53)} <= set(spoken(log.read_text()))
    assert {str(tmp_path / "a"), str(tmp_path / "a" / "b")} <= set(written(log.read_text()))
    assert not inside(str(tmp_path / "a"), tmp_path / "other")
