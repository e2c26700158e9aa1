"""A real ``revelio serve`` on loopback, with a settings file as a person would write it, and what it costs and logs."""

from __future__ import annotations

import os
import re
import resource
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.hostile.tally import Tally

ROOT = Path(__file__).parent.parent.parent
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*(.*)", re.MULTILINE)
_WAIT_S = 120.0


def canary(name: str) -> str:
    """A secret that no output may ever hold."""
    return f"canary-{name}-{secrets.token_hex(8)}"


def free_port() -> int:
    """A port of loopback that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@dataclass
class Served:
    """One server in ``folder``. ``settings`` is the text of its revelio.toml; ``hidden`` are secrets that must stay so."""

    folder: Path
    tally: Tally
    settings: str = ""
    hidden: Sequence[str] = ()
    wrap: Sequence[str] = ()
    program: Sequence[str] = ("-m", "revelio")
    environment: Mapping[str, str] = field(default_factory=dict)
    descriptors: int = 0
    database: str = ""

    def __post_init__(self) -> None:
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.log = self.folder / "server.log"
        self.client = httpx.Client(base_url=self.url, timeout=30.0, trust_env=False)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Of the process that serves."""
        assert self.process is not None
        return self.process.pid

    def start(self) -> Served:
        """Come up; raises ``AssertionError`` with the log where it does not."""
        config = self.folder / "revelio.toml"
        config.write_text(self.settings, encoding="utf-8")
        kept = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_") and k not in ("CI", "ORT_DISABLE_TELEMETRY")}
        environment = {
            **kept,
            "PYTHONPATH": str(ROOT),
            "REVELIO_CONFIG": str(config),
            "REVELIO_DATABASE": self.database or f"sqlite:///{self.folder}/revelio.db",
            "HOME": str(self.folder),
            **self.environment,
        }

        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.wrap, sys.executable, *self.program, "serve", "--port", str(self.port)],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
            )
        if self.descriptors:
            resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))
        self.wait(lambda: self.client.get("/readyz").status_code == 200)
        return self

    def wait(self, until: Callable[[], bool], seconds: float = _WAIT_S) -> None:
        """Until that is so; raises ``AssertionError`` with the end of the log when the server ends or the time is up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process is not None and self.process.poll() is None, self.said()[-2000:]
            try:
                if until():
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds:g} s: {self.said()[-2000:]}")

    def kill(self) -> None:
        """End it as a power failure would."""
        assert self.process is not None
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        self.look()

    def stop(self, seconds: float = 60.0) -> int:
        """End it as an operator would, and look at what it said; its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it did not end within {seconds:g} s of SIGTERM") from None
        finally:
            self.client.close()
            self.look()

    def look(self) -> None:
        """Search the log for tracebacks and secrets."""
        said = self.said()
        for found in _TRACEBACK.finditer(said):
            self.tally.found("tracebacks", found[1])
        self.search("the log", said)

    def said(self) -> str:
        """Its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def search(self, where: str, text: str) -> None:
        """Search any output for secrets."""
        self.tally.add(searched=len(text))
        for secret in self.hidden:
            if secret in text:
                self.tally.found("secrets", f"{secret.rsplit('-', 1)[0]} in {where}")

    def judge(self, what: str, reply: httpx.Response) -> httpx.Response:
        """Count an answer that should not have been."""
        named = reply.status_code == 502 and '"detail"' in reply.text
        if named:
            self.tally.add(bad_gateway=1)
        elif reply.status_code >= 500 and reply.status_code != 503:
            self.tally.found("failures", f"{reply.status_code} to {what}")
        self.search(f"the answer to {what}", f"{reply.headers}\n{reply.text}")
        return reply

    def send(self, method: str, path: str, **given: Any) -> httpx.Response | None:
        """One hostile request; None where the server hung up or the request cannot be written."""
        self.tally.add(inputs=1)
        try:
            return self.judge(f"{method} {path[:80]}", self.client.request(method, path, **given))
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
            assert self.process is not None and self.process.poll() is None, "the server ended"
            return None

    def memory(self, what: str = "VmRSS") -> float:
        """Resident memory in MB; ``VmHWM`` is the most there was."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))

    def open_files(self) -> int:
        """Descriptors that it holds."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))
