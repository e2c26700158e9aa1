"""Every command of the tutorials does what they say, on real servers."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parent.parent
SERVERS = ("revelio demo", "revelio serve")


def commands(page: str) -> list[str]:
    text = (ROOT / "docs" / "tutorials" / page).read_text(encoding="utf-8")
    return [
        line for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL) for line in block.splitlines()
    ]


class Reader:
    """Types the commands of a tutorial into a shell, in an empty folder; servers stay on, on ports that are free."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        program = folder / "bin" / "revelio"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m revelio "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REVELIO_")}
        path = f"{program.parent}{os.pathsep}{kept['PATH']}"
        self.environment = kept | {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder), "REVELIO_PORT": str(self.port)}
        self.servers: list[subprocess.Popen[bytes]] = []

    def type(self, command: str) -> str:
        """What the command prints."""
        words = command.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")
        if command in SERVERS:
            port = ["--port", str(self.port)]
            self.servers.append(subprocess.Popen([*words.split(), *port], cwd=self.folder, env=self.environment))
            self._wait()
            return ""
        done = subprocess.run(
            ["bash", "-c", words], cwd=self.folder, env=self.environment, check=False, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def close(self) -> None:
        """End what was started."""
        for server in self.servers:
            server.terminate()
            server.wait(timeout=30)

    def _wait(self) -> None:
        until = time.monotonic() + 240
        while True:
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/readyz").is_success:
                    return
            except httpx.HTTPError:
                pass
            assert time.monotonic() < until, "the server is not ready"
            time.sleep(0.1)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.close()


def test_ten_minutes_on_the_demo(reader: Reader) -> None:
    said = {command: reader.type(command) for command in commands("ten-minutes-on-the-demo.md")}
    assert "demo" in next(iter(said))
    assert "shop-1c17e4b235" in said["revelio incidents list"]
    ran = next(text for command, text in said.items() if "--run" in command)
    assert "Probability of no fault" in ran
    no_fault = next(text for command, text in said.items() if "shop-47365e26b2" in command)
    share = re.search(r"no fault: (\d+)%", no_fault)
    assert share
    assert int(share[1]) > 50
    assert '"queries":[{' in next(text for command, text in said.items() if command.startswith("curl"))


def test_your_own_system(reader: Reader) -> None:
    if shutil.which("prometheus") is None:
        pytest.skip("Prometheus is not installed here (Debian: apt-get install prometheus)")
    with prometheus(reader.folder) as port:
        said = {c: reader.type(c.replace("127.0.0.1:9090", f"127.0.0.1:{port}")) for c in commands("your-own-system.md")}
    assert (reader.folder / "revelio.toml").exists()
    assert "signals" in said["revelio doctor"]
    assert all("Probability of no fault" in text for command, text in said.items() if command.startswith("revelio recommend"))


@contextmanager
def prometheus(folder: Path) -> Iterator[int]:
    """A real one that watches itself."""
    port = _free_port()
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: prometheus, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n",
        encoding="utf-8",
    )
    words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "prometheus.log").open("wb") as log:
        server = subprocess.Popen([*words, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 240
        while not _has_samples(port):
            assert time.monotonic() < until, (folder / "prometheus.log").read_text()
            time.sleep(0.2)
        yield port
    finally:
        server.terminate()
        server.wait(timeout=30)


def _has_samples(port: int) -> bool:
    try:
        asked = httpx.get(f"http://127.0.0.1:{port}/api/v1/query", params={"query": "count_over_time(up[1m]) > 3"})
        return bool(asked.json()["data"]["result"])
    except (httpx.HTTPError, ValueError, KeyError):
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
