"""Miniflux, a reader of feeds in Go: behind nginx, with PostgreSQL and its exporter; Promtail sends the logs to Loki."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.foreign.application import CACHE
from tests.foreign.faults import Fault, Undo, killed, leads, paused, refused, restarted, shows
from tests.foreign.machine import Machine, wait_until
from tests.foreign.programs import POSTGRES
from tests.foreign.users import Page

FOLDER = CACHE / "miniflux"
LOGS = CACHE.parent
VERSION, LOKI_VERSION = "v2.2.16", "3.3.2"
PROGRAM = FOLDER / "miniflux"
SITE, FEEDS = "http://127.0.0.1:8000", "http://127.0.0.1:8090"
READER = ("reader", "a-long-pass-phrase-9")
SITES = 12

_DATABASE = "postgres://miniflux:miniflux@127.0.0.1:5432/{name}?sslmode=disable"

_NGINX = """daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 2; events {{}}
http {{ access_log {folder}/access.log; {temporary}
 server {{ listen 127.0.0.1:8000; location / {{ proxy_pass http://127.0.0.1:8080; proxy_read_timeout 20s; }} }}
 server {{ listen 127.0.0.1:8081; access_log off; location /stub_status {{ stub_status; }} }} }}
"""
_LOKI = """auth_enabled: false
server: {{http_listen_address: 127.0.0.1, http_listen_port: 3100, grpc_listen_address: 127.0.0.1, grpc_listen_port: 9096}}
common:
  instance_addr: 127.0.0.1
  path_prefix: {folder}/loki
  storage: {{filesystem: {{chunks_directory: {folder}/loki/chunks, rules_directory: {folder}/loki/rules}}}}
  replication_factor: 1
  ring: {{kvstore: {{store: inmemory}}}}
schema_config:
  configs: [{{from: 2020-10-24, store: tsdb, object_store: filesystem, schema: v13, index: {{prefix: index_, period: 24h}}}}]
analytics: {{reporting_enabled: false}}
"""
_PROMTAIL = """server: {{http_listen_address: 127.0.0.1, http_listen_port: 9080, grpc_listen_address: 127.0.0.1}}
positions: {{filename: {folder}/positions.yaml}}
clients: [{{url: "http://127.0.0.1:3100/loki/api/v1/push"}}]
scrape_configs:
- job_name: logs
  static_configs:
{logs}
"""


class Miniflux:
    """A reader of feeds."""

    name = "miniflux"
    title = "Miniflux 2 (Go, PostgreSQL, nginx, Loki)"
    words: Mapping[str, str] = {
        "home": "the front page with the newest articles",
        "article": "an article",
        "search": "the search",
        "save": "marking articles as read",
        "refresh": "refreshing a feed",
        "login": "the login page",
    }
    packages: tuple[str, ...] = (
        "postgresql-15",
        "nginx-light",
        "prometheus",
        "prometheus-node-exporter",
        "prometheus-process-exporter",
        "prometheus-postgres-exporter",
        "prometheus-blackbox-exporter",
        "prometheus-nginx-exporter",
    )

    def lacking(self) -> str:
        """The programs that are not there."""
        if not (shutil.which("nginx") and shutil.which("prometheus-postgres-exporter") and POSTGRES.is_dir()):
            return f"apt-get install --no-install-recommends {' '.join(self.packages)}"
        there = PROGRAM.is_file() and _built("loki").is_file() and _built("promtail").is_file()
        return "" if there else "python -m tests.foreign install miniflux"

    def install(self) -> None:
        """The application, Loki and Promtail, from the Go module proxy: most of it is compiling Loki."""
        _go(PROGRAM, f"miniflux.app/v2@{VERSION}", "miniflux.app/v2")
        for name, package in (("loki", "cmd/loki"), ("promtail", "clients/cmd/promtail")):
            module = f"github.com/grafana/loki/v3@v{LOKI_VERSION}"
            _go(_built(name), module, f"github.com/grafana/loki/v3/{package}")

    def start(self, machine: Machine) -> None:
        """Database, reader, proxy, the feeds of others, and what keeps the logs."""
        folder, programs = machine.folder, machine.programs
        _postgres(machine)
        environment = {
            "DATABASE_URL": _DATABASE.format(name="miniflux"),
            "RUN_MIGRATIONS": "1",
            "CREATE_ADMIN": "1",
            "ADMIN_USERNAME": READER[0],
            "ADMIN_PASSWORD": READER[1],
            "LISTEN_ADDR": "127.0.0.1:8080",
            "METRICS_COLLECTOR": "1",
            "METRICS_REFRESH_INTERVAL": "15",
            "LOG_FORMAT": "json",
            "POLLING_FREQUENCY": "1",
            "POLLING_SCHEDULER": "round_robin",
            "SCHEDULER_ROUND_ROBIN_MIN_INTERVAL": "1",
        }
        programs.run("feeds", [sys.executable, str(Path(__file__).parents[1] / "feeds.py"), "8090"])
        programs.run("miniflux", [str(PROGRAM)], environment)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, temporary=temporary), encoding="utf-8")
        programs.run("nginx", ["nginx", "-c", str(folder / "nginx.conf")])
        wait_until(lambda: httpx.get(f"{SITE}/healthcheck", timeout=5.0).status_code == 200, 120.0, "Miniflux")
        _subscribe()
        _logs(
            machine, {"miniflux": "miniflux.log", "nginx": "nginx.log", "nginx-access": "access.log", "postgres": "postgres.log"}
        )
        machine.scrape("miniflux", "127.0.0.1:8080")
        status = "-nginx.scrape-uri=http://127.0.0.1:8081/stub_status"
        programs.run("nginx-exporter", ["prometheus-nginx-exporter", status, "-web.listen-address=127.0.0.1:9113"])
        machine.scrape("nginx", "127.0.0.1:9113")
        machine.scrape("loki", "127.0.0.1:3100")
        machine.scrape("promtail", "127.0.0.1:9080")
        machine.host("miniflux", "nginx", "postgres", "loki", "promtail")
        machine.probe(f"{SITE}/", f"{FEEDS}/site-1")

    def pages(self) -> tuple[str, Mapping[str, tuple[Page, float]], float]:
        """People who read, and now and then want what is newest."""
        pages: dict[str, tuple[Page, float]] = {
            "home": (lambda c: c.get("/v1/entries", params={"limit": "40", "direction": "desc"}, auth=READER), 5),
            "article": (lambda c: c.get(f"/v1/entries/{random.randrange(1, 200)}", auth=READER), 5),
            "search": (lambda c: c.get("/v1/entries", params={"search": "allotment", "limit": "20"}, auth=READER), 2),
            "save": (_read, 2),
            "refresh": (lambda c: c.put(f"/v1/feeds/{random.randrange(1, SITES + 1)}/refresh", auth=READER), 2),
            "login": (lambda c: c.get("/"), 1),
        }
        return SITE, pages, 0.8

    def faults(self) -> tuple[Fault, ...]:
        """Faults of the store, of what it depends on, and of its settings."""
        return (
            Fault(
                "postgres-killed",
                "process_killed",
                "postgres",
                killed("postgres"),
                (
                    shows("db_up", database="postgres"),
                    shows("memory", container="postgres"),
                    shows("processes", container="postgres"),
                    leads("elasticsearch.errors", service="miniflux"),
                ),
            ),
            Fault(
                "feeds-slow",
                "slow_dependency",
                "feeds",
                restarted("feeds", lambda command: [*command, "5"]),
                (shows("probe_duration", probe="*8090*"), leads("probe_failing", probe="*8090*")),
            ),
            Fault(
                "wrong-database",
                "wrong_configuration",
                "miniflux",
                restarted("miniflux", lambda command: command, DATABASE_URL=_DATABASE.format(name="minifluxdb")),
                (
                    shows("elasticsearch.errors", service="miniflux"),
                    shows("elasticsearch.errors", service="postgres"),
                    shows("elasticsearch.new_patterns_of", service="miniflux"),
                    shows("up", service="miniflux"),
                    leads("processes", container="miniflux"),
                    leads("memory", container="miniflux"),
                ),
            ),
            Fault("reader-hangs", "process_paused", "miniflux", paused("miniflux"), (shows("up", service="miniflux"),)),
            Fault(
                "entries-locked",
                "database_lock",
                "postgres",
                _locked,
                (
                    shows("db_lock_waits", database="postgres"),
                    shows("db_oldest_transaction", database="postgres"),
                    leads("db_active", database="postgres"),
                    leads("db_connections", database="postgres"),
                ),
            ),
            Fault(
                "postgres-refuses",
                "refused_connection",
                "postgres",
                refused(5432),
                (shows("db_up", database="postgres"), leads("elasticsearch.errors", service="miniflux")),
            ),
        )


def _built(name: str) -> Path:
    return LOGS / name / LOKI_VERSION / name


def _go(to: Path, module: str, package: str) -> None:
    """A program of a Go module, with the modules that its own file replaces."""
    if to.is_file():
        return
    work = FOLDER / "build" / module.partition("@")[0].replace("/", "_")
    work.mkdir(parents=True, exist_ok=True)
    to.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "PATH": f"{os.environ['PATH']}:/usr/local/go/bin"}

    def go(*words: str) -> str:
        made = subprocess.run(["go", *words], cwd=work, env=environment, check=True, capture_output=True, text=True, timeout=5400)
        return made.stdout

    if not (work / "go.mod").is_file():
        go("mod", "init", "foreign/reader")
    got = json.loads(go("mod", "download", "-json", module))
    for line in Path(got["GoMod"]).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] == ["replace"] and not words[3].startswith("."):
            go("mod", "edit", "-replace", f"{words[1]}={'@'.join(words[3:5])}")
    (work / "go.sum").write_bytes((Path(got["Dir"]) / "go.sum").read_bytes())
    go("get", "-tool", f"{package}@{module.partition('@')[2]}")
    go("build", "-trimpath", "-ldflags", "-s -w", "-o", str(to), package)


def _postgres(machine: Machine) -> None:
    folder, programs = machine.folder, machine.programs
    folder.chmod(0o777)
    data = folder / "pgdata"
    data.mkdir()
    shutil.chown(data, "postgres")
    setup = [str(POSTGRES / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres"]
    subprocess.run(setup, check=True, capture_output=True, user="postgres", cwd=data, timeout=120)
    server = [str(POSTGRES / "postgres"), "-D", str(data), "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=64MB"]
    programs.run("postgres", [*server, "-c", f"unix_socket_directories={folder}"], user="postgres", folder=folder)
    wait_until(lambda: _sql(machine, "SELECT 1"), 60.0, "PostgreSQL")
    for line in (
        "CREATE USER miniflux SUPERUSER",
        "CREATE USER exporter IN ROLE pg_monitor",
        "CREATE DATABASE miniflux OWNER miniflux",
    ):
        assert _sql(machine, line), line
    programs.run(
        "postgres-exporter",
        ["prometheus-postgres-exporter", "--web.listen-address=127.0.0.1:9187"],
        {"DATA_SOURCE_NAME": "postgresql://exporter@127.0.0.1:5432/miniflux?sslmode=disable"},
    )
    machine.scrape("postgres", "127.0.0.1:9187")


def _sql(machine: Machine, text: str, database: str = "postgres") -> bool:
    client = ["psql", "-q", "-h", str(machine.folder), "-U", "postgres", "-d", database, "-c", text]
    return subprocess.run(client, capture_output=True, check=False, timeout=60).returncode == 0


def _logs(machine: Machine, files: Mapping[str, str]) -> None:
    folder, programs = machine.folder, machine.programs
    (folder / "loki.yaml").write_text(_LOKI.format(folder=folder), encoding="utf-8")
    programs.run("loki", [str(_built("loki")), f"-config.file={folder / 'loki.yaml'}"])
    lines = "\n".join(
        f'  - {{targets: [localhost], labels: {{job: {job}, __path__: "{folder / file}"}}}}' for job, file in files.items()
    )
    (folder / "promtail.yaml").write_text(_PROMTAIL.format(folder=folder, logs=lines), encoding="utf-8")
    wait_until(lambda: httpx.get("http://127.0.0.1:3100/ready", timeout=2.0).status_code == 200, 90.0, "Loki")
    programs.run("promtail", [str(_built("promtail")), f"-config.file={folder / 'promtail.yaml'}"])


def _subscribe() -> None:
    with httpx.Client(base_url=SITE, auth=READER, timeout=30.0) as client:
        for number in range(1, SITES + 1):
            answer = client.post("/v1/feeds", json={"feed_url": f"{FEEDS}/site-{number}", "category_id": 1})
            assert answer.status_code == 201, answer.text[:300]


def _read(client: httpx.Client) -> httpx.Response:
    return client.put("/v1/entries", json={"entry_ids": [random.randrange(1, 200)], "status": "read"}, auth=READER)


def _locked(machine: Machine) -> Undo:
    client = subprocess.Popen(
        ["psql", "-q", "-h", str(machine.folder), "-U", "postgres", "-d", "miniflux"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert client.stdin
    client.stdin.write(b"BEGIN; LOCK TABLE entries IN ACCESS EXCLUSIVE MODE;\n")
    client.stdin.flush()

    def undo() -> None:
        client.kill()
        client.wait()
        _sql(machine, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")

    return undo
