"""Real servers and the exporters that their documentation recommends, on free loopback ports in a folder of their own."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

PACKAGES = {
    "prometheus": "prometheus",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "prometheus-redis-exporter": "prometheus-redis-exporter",
    "prometheus-postgres-exporter": "prometheus-postgres-exporter",
    "prometheus-mysqld-exporter": "prometheus-mysqld-exporter",
    "prometheus-nginx-exporter": "prometheus-nginx-exporter",
    "redis-server": "redis-server",
    "mariadbd": "mariadb-server",
    "nginx": "nginx-light",
    "haproxy": "haproxy",
    "etcd": "etcd-server",
}
"""Debian packages by the program that is needed of them."""

POSTGRES = Path("/usr/lib/postgresql/15/bin")


@dataclass(frozen=True, slots=True)
class Target:
    """What Prometheus scrapes: a job at an address."""

    job: str
    address: str
    path: str = "/metrics"


def lacking() -> list[str]:
    """The Debian packages that would have to be installed."""
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    return missing + ([] if POSTGRES.is_dir() else ["postgresql-15"])


def free_port() -> int:
    """A port of 127.0.0.1 where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class _Program:
    """How a program is started, to start it once more."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    user: str
    folder: Path | None


class Programs:
    """Starts programs and, whatever happens, ends all of them."""

    def __init__(self, folder: Path) -> None:
        """``folder`` holds their data and logs."""
        self.folder = folder
        self.targets: list[Target] = []
        self._known: dict[str, _Program] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        user: str = "",
        folder: Path | None = None,
    ) -> None:
        """Start one in the foreground, in a process group of its own."""
        demoted = user if user and os.geteuid() == 0 else ""
        self._known[name] = _Program(tuple(command), {**os.environ, **(environment or {})}, demoted, folder)
        self.start(name)

    def start(self, name: str) -> None:
        """Start one as it was started before."""
        program = self._known[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                list(program.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=program.environment,
                cwd=program.folder,
                start_new_session=True,
                user=program.user or None,
                group=pwd.getpwnam(program.user).pw_gid if program.user else None,
                extra_groups=[] if program.user else None,
            )

    def changed(
        self, name: str, command: Callable[[tuple[str, ...]], Sequence[str]], environment: Mapping[str, str]
    ) -> Callable[[], None]:
        """End it and start it with another command and further variables; the answer starts it as it was."""
        known = self._known[name]

        def start(program: _Program) -> None:
            self.end(name)
            self._known[name] = program
            self.start(name)

        start(replace(known, command=tuple(command(known.command)), environment={**known.environment, **environment}))
        return lambda: start(known)

    def running(self, name: str) -> bool:
        """Whether it was started and has not ended."""
        return name in self._running and self._running[name].poll() is None

    def resident(self, name: str) -> float:
        """Bytes of memory that it and its children hold."""
        group = self._running[name].pid
        listed = subprocess.run(["ps", "-eo", "pgid=,rss="], capture_output=True, text=True, check=True, timeout=30).stdout
        rows = (line.split() for line in listed.splitlines())
        return sum(1024.0 * float(rss) for own, rss in rows if int(own) == group)

    def send(self, name: str, how: signal.Signals) -> None:
        """Send a signal to it and its children."""
        if self.running(name):
            os.killpg(self._running[name].pid, how)

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, and wait until it has."""
        self.send(name, how)
        try:
            self._running[name].wait(20.0)
        except subprocess.TimeoutExpired:
            self.send(name, signal.SIGKILL)
            self._running[name].wait(10.0)

    def owned(self, name: str, user: str) -> Path:
        """A folder that a user may write."""
        path = self.folder / name
        path.mkdir()
        if os.geteuid() == 0:
            shutil.chown(path, user)
        return path

    def exporter(self, job: str, command: Callable[[str], Sequence[str]], environment: Mapping[str, str] | None = None) -> None:
        """An exporter that listens on the address that its command gets."""
        address = f"127.0.0.1:{free_port()}"
        self.run(f"{job}-exporter", command(address), environment)
        self.targets.append(Target(job, address))

    def close(self) -> None:
        """End them, gently first."""
        for how in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
            for name in self._running:
                self.send(name, how)
            deadline = time.monotonic() + (10.0 if how != signal.SIGCONT else 0.0)
            while time.monotonic() < deadline and any(map(self.running, self._running)):
                time.sleep(0.1)


def start_all(programs: Programs) -> None:
    """A host, a cache, two databases, a key-value store, two proxies and an application, each with its exporter."""
    programs.exporter("node", lambda at: ["prometheus-node-exporter", f"--web.listen-address={at}"])
    _redis(programs)
    _postgres(programs)
    _mariadb(programs)
    _nginx_and_haproxy(programs)
    _etcd(programs)
    page = free_port()
    programs.run("shop", [sys.executable, str(Path(__file__).parent / "shop.py"), str(page)])
    programs.targets.append(Target("shop", f"127.0.0.1:{page}"))


def wait_for(targets: Sequence[Target], seconds: float = 60.0) -> dict[str, str]:
    """What each target writes, once all of them answer with metrics."""
    deadline = time.monotonic() + seconds
    cut_off: list[str] = []
    while True:
        try:
            pages = {t.job: httpx.get(f"http://{t.address}{t.path}", timeout=5.0).raise_for_status().text for t in targets}
            cut_off = [job for job, page in pages.items() if re.search(r"^(redis|pg|mysql|nginx)_up 0$", page, re.MULTILINE)]
            if not cut_off:
                return pages
        except httpx.HTTPError as error:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not every exporter answers: {error!r}") from error
        if time.monotonic() > deadline:
            raise TimeoutError(f"exporters that do not reach their server: {', '.join(cut_off)}")
        time.sleep(0.5)


def prometheus(programs: Programs, scrape: str = "15s") -> str:
    """A Prometheus that scrapes all targets; its address."""
    address = f"127.0.0.1:{free_port()}"
    jobs = [Target("prometheus", address), *programs.targets]
    lines = [f"global: {{scrape_interval: {scrape}}}", "scrape_configs:"]
    lines += [f'- {{job_name: {t.job}, metrics_path: {t.path}, static_configs: [{{targets: ["{t.address}"]}}]}}' for t in jobs]
    config = programs.folder / "prometheus.yml"
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = programs.folder / "tsdb"
    programs.run(
        "prometheus",
        ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={data}", f"--web.listen-address={address}"],
    )
    return f"http://{address}"


def _redis(programs: Programs) -> None:
    port = str(free_port())
    limits = ["--save", "", "--maxmemory", "64mb"]
    programs.run("redis", ["redis-server", "--port", port, "--bind", "127.0.0.1", *limits, "--dir", str(programs.folder)])
    programs.exporter(
        "redis", lambda at: ["prometheus-redis-exporter", "-redis.addr", f"redis://127.0.0.1:{port}", "-web.listen-address", at]
    )


def _postgres(programs: Programs) -> None:
    port, data = free_port(), programs.owned("postgres", "postgres")
    setup = [str(POSTGRES / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres"]
    demote = "postgres" if os.geteuid() == 0 else None
    subprocess.run(setup, check=True, capture_output=True, user=demote, cwd=data, timeout=120)
    server = [str(POSTGRES / "postgres"), "-D", str(data), "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
    programs.run("postgres", [*server, "-c", f"unix_socket_directories={data}"], user="postgres")
    dsn = f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
    programs.exporter(
        "postgres", lambda at: ["prometheus-postgres-exporter", f"--web.listen-address={at}"], {"DATA_SOURCE_NAME": dsn}
    )


def _mariadb(programs: Programs) -> None:
    port, data = free_port(), programs.owned("mariadb", "mysql")
    setup = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    subprocess.run([*setup, *(["--user=mysql"] if os.geteuid() == 0 else [])], check=True, capture_output=True, timeout=120)
    start = programs.folder / "mariadb.sql"
    start.write_text("CREATE USER exporter@'127.0.0.1';\nGRANT ALL ON *.* TO exporter@'127.0.0.1';\n", encoding="utf-8")
    start.chmod(0o644)
    server = [
        "mariadbd",
        "--no-defaults",
        f"--datadir={data}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
    ]
    programs.run("mariadb", [*server, f"--socket={data}/s", f"--pid-file={data}/pid", f"--init-file={start}"], user="mysql")
    programs.exporter(
        "mysql",
        lambda at: ["prometheus-mysqld-exporter", f"--web.listen-address={at}"],
        {"DATA_SOURCE_NAME": f"exporter@(127.0.0.1:{port})/"},
    )


def _nginx_and_haproxy(programs: Programs) -> None:
    web, front, stats = free_port(), free_port(), free_port()
    folder = programs.folder
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.err; events {{}}\n"
        f"http {{ access_log off; {paths} server {{ listen 127.0.0.1:{web};"
        " location / { return 200 ok; } location /stub_status { stub_status; } } }\n",
        encoding="utf-8",
    )
    programs.run("nginx", ["nginx", "-c", str(folder / "nginx.conf")])
    status = f"http://127.0.0.1:{web}/stub_status"
    programs.exporter(
        "nginx", lambda at: ["prometheus-nginx-exporter", f"-nginx.scrape-uri={status}", f"-web.listen-address={at}"]
    )
    (folder / "haproxy.cfg").write_text(
        "defaults\n mode http\n timeout connect 2s\n timeout client 5s\n timeout server 5s\n"
        f"frontend web\n bind 127.0.0.1:{front}\n default_backend app\n"
        f"backend app\n option httpchk GET /\n server one 127.0.0.1:{web} check\n"
        f"frontend stats\n bind 127.0.0.1:{stats}\n http-request use-service prometheus-exporter if {{ path /metrics }}\n",
        encoding="utf-8",
    )
    programs.run("haproxy", ["haproxy", "-f", str(folder / "haproxy.cfg")])
    programs.targets.append(Target("haproxy", f"127.0.0.1:{stats}"))


def _etcd(programs: Programs) -> None:
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    listen = [f"--listen-client-urls={client}", f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}"]
    cluster = [f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"]
    programs.run("etcd", ["etcd", "--data-dir", str(programs.folder / "etcd"), *listen, *cluster])
    programs.targets.append(Target("etcd", client.removeprefix("http://")))
