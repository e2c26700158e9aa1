"""Nautobot (Django, Celery, Redis, PostgreSQL): from pip, with its own metrics, Flower and the exporters of its stores."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from tests.foreign.application import CACHE
from tests.foreign.faults import Fault, Undo, filled, killed, leads, lost, paused, refused, restarted, shows, small_disk
from tests.foreign.machine import Machine, wait_until
from tests.foreign.programs import POSTGRES
from tests.foreign.users import Page

FOLDER = CACHE / "nautobot"
BIN = FOLDER / "venv" / "bin"
DATA = FOLDER / "postgres"
SITE = "http://127.0.0.1:8001"
TOKEN = "0123456789abcdef0123456789abcdef01234567"

_CLIENT = "prometheus-client<0.22"
"""With the later ones that it asks for, Nautobot answers 406 to a Prometheus 2, which does not know their format."""

_ENVIRONMENT = {
    "NAUTOBOT_ROOT": str(FOLDER / "root"),
    "NAUTOBOT_DB_USER": "nautobot",
    "NAUTOBOT_DB_HOST": "127.0.0.1",
    "NAUTOBOT_DB_NAME": "nautobot",
    "NAUTOBOT_REDIS_HOST": "127.0.0.1",
    "NAUTOBOT_SECRET_KEY": "only-for-a-machine-of-its-own-0123456789abcdefghijk",
    "NAUTOBOT_ALLOWED_HOSTS": "*",
    "NAUTOBOT_METRICS_ENABLED": "True",
    "NAUTOBOT_INSTALLATION_METRICS_ENABLED": "False",
    "DJANGO_SETTINGS_MODULE": "nautobot_config",
    "DO_NOT_TRACK": "1",
}


class Nautobot:
    """A source of truth for networks, with jobs in the background."""

    name = "nautobot"
    title = "Nautobot 2 (Django, Celery, Redis, PostgreSQL)"
    words: Mapping[str, str] = {
        "list": "the list of sites",
        "search": "the search for prefixes",
        "save": "saving a tag",
        "login": "the login page",
        "job": "starting a job",
    }
    packages: tuple[str, ...] = (
        "postgresql-15",
        "redis-server",
        "prometheus",
        "prometheus-node-exporter",
        "prometheus-process-exporter",
        "prometheus-postgres-exporter",
        "prometheus-redis-exporter",
        "prometheus-blackbox-exporter",
    )

    def lacking(self) -> str:
        """The programs that are not there."""
        if not (shutil.which("redis-server") and POSTGRES.is_dir()):
            return f"apt-get install --no-install-recommends {' '.join(self.packages)}"
        return "" if (FOLDER / "ready").exists() else "python -m tests.foreign install nautobot"

    def install(self) -> None:
        """The application in an environment of its own, and its database with all migrations."""
        if (FOLDER / "ready").exists():
            return
        FOLDER.mkdir(parents=True, exist_ok=True)
        if not (BIN / "nautobot-server").is_file():
            subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "venv")], check=True, timeout=300)
            for wanted in (["nautobot==2.4.*", "flower"], [_CLIENT]):
                subprocess.run([str(BIN / "pip"), "install", "-q", *wanted], check=True, timeout=1800)
        if not (FOLDER / "root" / "nautobot_config.py").is_file():
            new = ["init", "--disable-installation-metrics", str(FOLDER / "root" / "nautobot_config.py")]
            subprocess.run([str(BIN / "nautobot-server"), *new], check=True, timeout=300)
        again = [sys.executable, "-m", "tests.foreign.applications.nautobot"]
        from tests.foreign.machine import on_a_machine_of_its_own

        subprocess.run(on_a_machine_of_its_own(again), check=True, timeout=3600)

    def start(self, machine: Machine) -> None:
        """Stores, web server, worker and Flower."""
        data = small_disk(machine, "pgdata", 500) / "main"
        subprocess.run(["cp", "-a", str(DATA), str(data)], check=True, timeout=120)
        _stores(machine, data)
        programs = machine.programs
        environment = {**_ENVIRONMENT, "prometheus_multiproc_dir": str(_folder(machine.folder / "multiproc"))}
        ini = machine.folder / "uwsgi.ini"
        ini.write_text(
            "[uwsgi]\nhttp-socket = 127.0.0.1:8001\nprocesses = 2\nthreads = 2\nmaster = true\nenable-threads = true\n"
            "buffer-size = 8192\nlisten = 100\nlazy-apps = false\nsingle-interpreter = true\ndie-on-term = true\n",
            encoding="utf-8",
        )
        programs.run("nautobot", [str(BIN / "nautobot-server"), "start", "--ini", str(ini)], environment)
        worker = ["celery", "worker", "--loglevel", "INFO", "--concurrency", "1", "-E", "-n", "worker@jobs"]
        programs.run("worker", [str(BIN / "nautobot-server"), *worker], environment)
        flower = [str(BIN / "celery"), "--broker=redis://127.0.0.1:6379/0", "flower", "--address=127.0.0.1", "--port=5555"]
        programs.run("flower", flower, {"FLOWER_UNAUTHENTICATED_API": "true"}, folder=machine.folder)
        wait_until(lambda: httpx.get(f"{SITE}/login/", timeout=30.0).status_code == 200, 300.0, "Nautobot")
        machine.scrape("nautobot", "127.0.0.1:8001", "/metrics/")
        machine.scrape("flower", "127.0.0.1:5555")
        machine.host("uwsgi", "nautobot-server", "celery", "postgres", "redis-server", "pg_dump", "gzip")
        machine.probe(f"{SITE}/login/")

    def pages(self) -> tuple[str, Mapping[str, tuple[Page, float]], float]:
        """Engineers who look things up, and scripts that change them."""
        pages: dict[str, tuple[Page, float]] = {
            "list": (lambda c: c.get("/api/dcim/locations/", headers=_HEADERS), 4),
            "search": (lambda c: c.get("/api/ipam/prefixes/", params={"q": "10."}, headers=_HEADERS), 3),
            "save": (_tag, 2),
            "login": (lambda c: c.get("/login/"), 2),
            "job": (_job, 1),
        }
        return SITE, pages, 2.5

    def faults(self) -> tuple[Fault, ...]:
        """Faults of each layer."""
        return (
            Fault(
                "redis-killed",
                "process_killed",
                "redis",
                killed("redis"),
                (shows("cache_up", cache="redis"), shows("memory", container="redis-server")),
            ),
            Fault(
                "worker-killed",
                "process_killed",
                "worker",
                killed("worker"),
                (
                    shows("queue_consumers", queue="*"),
                    shows("queue_messages", queue="*"),
                    shows("memory", container="celery"),
                    leads("handling_rate", service="*"),
                ),
                lambda machine: "" if machine.programs.running("worker") else "no worker takes jobs",
            ),
            Fault(
                "tags-locked",
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
            Fault("postgres-killed", "process_killed", "postgres", killed("postgres"), (shows("db_up", database="postgres"),)),
            Fault(
                "too-few-connections",
                "wrong_configuration",
                "postgres",
                restarted("postgres", lambda c: [*c, "-c", "max_connections=6", "-c", "superuser_reserved_connections=1"]),
                (shows("db_connections_used", database="postgres"), shows("db_up", database="postgres")),
            ),
            Fault(
                "redis-full",
                "memory_limit",
                "redis",
                _redis_full,
                (shows("cache_memory_of_limit", cache="redis"), shows("cache_memory", cache="redis")),
            ),
            Fault("redis-refuses", "refused_connection", "redis", refused(6379), (shows("cache_up", cache="redis"),)),
            Fault("disk-full", "disk_full", "pgdata", _fill, (shows("disk_used", volume="*pgdata"),), _is_full),
            Fault(
                "packets-lost",
                "packet_loss",
                "postgres",
                lost(5432, 0.2),
                (shows("retransmits", container="node"), shows("failed_connections", container="node")),
            ),
            Fault("web-hangs", "process_paused", "nautobot", paused("nautobot"), (shows("up", service="nautobot"),)),
        )


_HEADERS = {"Authorization": f"Token {TOKEN}"}


def _stores(machine: Machine, data: Path) -> None:
    programs = machine.programs
    machine.folder.chmod(0o777)
    server = [str(POSTGRES / "postgres"), "-D", str(data), "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=64MB"]
    programs.run("postgres", [*server, "-c", f"unix_socket_directories={machine.folder}"], user="postgres", folder=machine.folder)
    redis = ["redis-server", "--port", "6379", "--bind", "127.0.0.1", "--save", "", "--maxmemory", "96mb"]
    programs.run("redis", [*redis, "--maxmemory-policy", "noeviction", "--dir", str(machine.folder)])
    wait_until(lambda: sql(machine, "SELECT 1"), 60.0, "PostgreSQL")
    programs.run(
        "postgres-exporter",
        ["prometheus-postgres-exporter", "--web.listen-address=127.0.0.1:9187"],
        {"DATA_SOURCE_NAME": "postgresql://exporter@127.0.0.1:5432/nautobot?sslmode=disable"},
    )
    machine.scrape("postgres", "127.0.0.1:9187")
    keys = ["-check-single-keys", "default,celery"]
    address = ["-redis.addr", "redis://127.0.0.1:6379", "-web.listen-address", "127.0.0.1:9121"]
    programs.run("redis-exporter", ["prometheus-redis-exporter", *address, *keys])
    machine.scrape("redis", "127.0.0.1:9121")


def sql(machine: Machine, text: str, database: str = "postgres") -> bool:
    """Whether the administrator's statements went through."""
    client = ["psql", "-q", "-h", str(machine.folder), "-U", "postgres", "-d", database, "-c", text]
    return subprocess.run(client, capture_output=True, check=False, timeout=60).returncode == 0


def _locked(machine: Machine) -> Undo:
    client = subprocess.Popen(
        ["psql", "-q", "-h", str(machine.folder), "-U", "postgres", "-d", "nautobot"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert client.stdin
    client.stdin.write(b"BEGIN; LOCK TABLE extras_tag IN ACCESS EXCLUSIVE MODE;\n")
    client.stdin.flush()

    def undo() -> None:
        client.kill()
        client.wait()
        sql(machine, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")

    return undo


def _redis_full(machine: Machine) -> Undo:
    def command(*words: str) -> None:
        subprocess.run(["redis-cli", "-p", "6379", *words], capture_output=True, check=True, timeout=60)

    command("EVAL", "for i=1,1000 do redis.call('SET', 'report:'..i, string.rep('x', 95000)) end", "0")
    command("CONFIG", "SET", "maxmemory", "90mb")

    def undo() -> None:
        command("CONFIG", "SET", "maxmemory", "200mb")
        command("EVAL", "for i=1,1000 do redis.call('DEL', 'report:'..i) end", "0")
        command("CONFIG", "SET", "maxmemory", "96mb")
        if not machine.programs.running("worker"):  # it ends when Redis refuses what it writes
            machine.programs.start("worker")

    return undo


def _tag(client: httpx.Client) -> httpx.Response:
    name = f"rack-{random.randrange(10**9)}"
    body = {"name": name, "content_types": ["dcim.location"], "color": "ff0000"}
    return client.post("/api/extras/tags/", json=body, headers=_HEADERS)


def _job(client: httpx.Client) -> httpx.Response:
    found = client.get("/api/extras/jobs/", params={"name": "Logs Cleanup", "limit": "1"}, headers=_HEADERS)
    listed = found.json().get("results", []) if found.status_code == 200 else []
    if not listed:
        return found
    client.patch(f"/api/extras/jobs/{listed[0]['id']}/", json={"enabled": True}, headers=_HEADERS)
    data = {"data": {"cleanup_types": ["extras.ObjectChange"], "max_age": 90}}
    return client.post(f"/api/extras/jobs/{listed[0]['id']}/run/", json=data, headers=_HEADERS)


def _folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path


def _fill(machine: Machine) -> Undo:
    return filled(machine.folder / "pgdata")


def _is_full(machine: Machine) -> str:
    left = shutil.disk_usage(machine.folder / "pgdata").free
    return f"{left} bytes are left" if left < 1_000_000 else ""


def _make_database() -> None:
    """The database that each run begins with: all migrations, and a user whose token is known."""
    from tests.foreign.programs import Programs

    shutil.rmtree(DATA, ignore_errors=True)
    work = Path(f"/var/tmp/nautobot-{os.getpid()}")
    work.mkdir()
    place = work / "main"
    place.mkdir()
    shutil.chown(place, "postgres")
    machine = Machine(Programs(work))
    run: Callable[..., subprocess.CompletedProcess[bytes]] = subprocess.run
    try:
        setup = [str(POSTGRES / "initdb"), "-D", str(place), "-A", "trust", "-U", "postgres"]
        run(setup, check=True, capture_output=True, user="postgres", cwd=place, timeout=120)
        _stores(machine, place)
        for line in ("CREATE USER nautobot SUPERUSER", "CREATE USER exporter IN ROLE pg_monitor", "CREATE DATABASE nautobot"):
            assert sql(machine, line), line
        assert sql(machine, "ALTER USER nautobot NOSUPERUSER") and sql(machine, "ALTER DATABASE nautobot OWNER TO nautobot")
        environment = {**os.environ, **_ENVIRONMENT}
        server = str(BIN / "nautobot-server")
        run([server, "migrate"], check=True, env=environment, timeout=3000)
        run([server, "collectstatic", "--no-input"], check=True, env=environment, timeout=600)
        account = {"NAUTOBOT_SUPERUSER_API_TOKEN": TOKEN, "DJANGO_SUPERUSER_PASSWORD": "admin"}
        new = "from nautobot.users.models import *; u = User.objects.create_superuser('admin', 'admin@example.org', 'admin'); "
        new += f"Token.objects.create(user=u, key='{TOKEN}')"
        run([server, "nbshell", "--command", new], check=True, env={**environment, **account}, timeout=600)
        machine.programs.end("postgres")
        run(["cp", "-a", str(place), str(DATA)], check=True, timeout=120)
        (FOLDER / "ready").touch()
    finally:
        machine.close()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _make_database()
