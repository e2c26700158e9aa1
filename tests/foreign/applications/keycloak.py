"""Keycloak (Quarkus, Micrometer) behind HAProxy, with MariaDB: the distribution of its makers, from Maven."""

from __future__ import annotations

import random
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping

import httpx

from tests.foreign import mariadb
from tests.foreign.application import CACHE
from tests.foreign.faults import Fault, Undo, filled, killed, leads, lost, paused, refused, restarted, shows, small_disk
from tests.foreign.machine import Machine, wait_until
from tests.foreign.users import Page

VERSION = "26.0.7"
FOLDER = CACHE / "keycloak"
HOME = FOLDER / f"keycloak-{VERSION}"
FRONT = "http://127.0.0.1:8000"
_BUILD = ("--db=mariadb", "--metrics-enabled=true", "--health-enabled=true", "--features=persistent-user-sessions")

_HAPROXY = """global
 maxconn 500
defaults
 mode http
 timeout connect 2s
 timeout client 20s
 timeout server 20s
 option httpchk GET /realms/master
frontend web
 bind 127.0.0.1:8000
 default_backend login
backend login
 server keycloak 127.0.0.1:{port} check inter 5s
frontend stats
 bind 127.0.0.1:8404
 http-request use-service prometheus-exporter if {{ path /metrics }}
 no log
"""


class Keycloak:
    """Single sign-on."""

    name = "keycloak"
    title = "Keycloak 26 (Quarkus with Micrometer, HAProxy, MariaDB)"
    words: Mapping[str, str] = {
        "login": "logging in",
        "page": "the login page",
        "profile": "my profile",
        "account": "signing up",
        "settings": "the single sign-on of our other programs",
    }
    packages: tuple[str, ...] = (
        "default-jre-headless",
        "maven",
        "haproxy",
        "prometheus",
        "prometheus-node-exporter",
        "prometheus-process-exporter",
        "prometheus-blackbox-exporter",
        *mariadb.PACKAGES,
    )

    def lacking(self) -> str:
        """The programs that are not there."""
        if not all(map(shutil.which, ("java", "haproxy", "mariadbd"))):
            return f"apt-get install --no-install-recommends {' '.join(self.packages)}"
        return (
            "" if (HOME / "lib" / "quarkus" / "build-system.properties").is_file() else "python -m tests.foreign install keycloak"
        )

    def install(self) -> None:
        """Its distribution, unpacked and put together for MariaDB."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        archive = FOLDER / f"keycloak-quarkus-dist-{VERSION}.zip"
        if not archive.is_file():
            wanted = f"-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
            copy = ["mvn", "-B", "-q", "dependency:copy", wanted, f"-DoutputDirectory={FOLDER}"]
            subprocess.run(copy, check=True, timeout=900)
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(FOLDER)
        (HOME / "bin" / "kc.sh").chmod(0o755)
        subprocess.run([str(HOME / "bin" / "kc.sh"), "build", *_BUILD], check=True, timeout=900)

    def start(self, machine: Machine) -> None:
        """Database, Keycloak, and HAProxy in front of it."""
        folder, programs = machine.folder, machine.programs
        mariadb.start(machine, "keycloak", data=small_disk(machine, "mysql-data", 400))
        options = [
            "start",
            "--optimized",
            "--http-enabled=true",
            "--http-port=8080",
            "--hostname-strict=false",
            "--proxy-headers=xforwarded",
            "--cache=local",
            "--db-url=jdbc:mariadb://127.0.0.1:3306/keycloak?connectTimeout=3000&socketTimeout=20000",
            "--db-username=app",
            "--db-password=app",
            "--http-metrics-histograms-enabled=true",
        ]
        programs.run(
            "keycloak",
            [str(HOME / "bin" / "kc.sh"), *options, "--db-pool-max-size=20"],
            {
                "KC_BOOTSTRAP_ADMIN_USERNAME": "admin",
                "KC_BOOTSTRAP_ADMIN_PASSWORD": "admin",
                "JAVA_OPTS_KC_HEAP": "-Xms128m -Xmx384m",
                "JAVA_OPTS_APPEND": "-XX:TieredStopAtLevel=1",
            },
            folder=folder,
        )
        for name, port in (("haproxy", 8080), ("haproxy-new", 8088)):
            (folder / f"{name}.cfg").write_text(_HAPROXY.format(port=port), encoding="utf-8")
        programs.run("haproxy", ["haproxy", "-W", "-db", "-f", str(folder / "haproxy.cfg")])
        wait_until(lambda: httpx.get(f"{FRONT}/realms/master", timeout=5.0).status_code == 200, 600.0, "Keycloak")
        machine.scrape("keycloak", "127.0.0.1:9000")
        machine.scrape("haproxy", "127.0.0.1:8404")
        machine.host("java", "mariadbd", "haproxy", "gzip", "mariadb-dump")
        machine.probe(f"{FRONT}/realms/master")

    def pages(self) -> tuple[str, Mapping[str, tuple[Page, float]], float]:
        """People who log in, look at their profile, and sign up."""
        pages: dict[str, tuple[Page, float]] = {
            "login": (_token, 3),
            "page": (_page, 3),
            "profile": (_profile, 2),
            "account": (_account, 1),
            "settings": (lambda c: c.get("/realms/master/.well-known/openid-configuration"), 3),
        }
        return FRONT, pages, 1.0

    def faults(self) -> tuple[Fault, ...]:
        """Faults of each layer."""
        return (
            Fault(
                "database-hangs",
                "process_paused",
                "mariadb",
                paused("mariadb"),
                (shows("db_up", database="mysql"), shows("up", service="mysql"), leads("pool_waiting", service="keycloak")),
            ),
            Fault(
                "keycloak-killed",
                "process_killed",
                "keycloak",
                killed("keycloak"),
                (shows("up", service="keycloak"), shows("backend_down", backend="login"), shows("memory", container="java")),
            ),
            Fault(
                "sessions-locked",
                "database_lock",
                "mariadb",
                mariadb.held(
                    "LOCK TABLES OFFLINE_USER_SESSION WRITE, OFFLINE_CLIENT_SESSION WRITE; SELECT SLEEP(900);", "keycloak"
                ),
                (
                    leads("pool_use", service="keycloak"),
                    shows("db_active", database="mysql"),
                    shows("db_lock_waits", database="mysql"),
                    leads("pool_waiting", service="keycloak"),
                ),
            ),
            Fault(
                "wrong-port",
                "wrong_configuration",
                "haproxy",
                restarted("haproxy", lambda c: [*c[:-1], c[-1].replace("haproxy.cfg", "haproxy-new.cfg")]),
                (shows("backend_down", backend="login"), leads("backend_errors", backend="login")),
            ),
            Fault(
                "small-pool",
                "wrong_configuration",
                "keycloak",
                _small_pool,
                (shows("pool_use", service="keycloak"), shows("pool_waiting", service="keycloak")),
            ),
            Fault("database-refuses", "refused_connection", "mariadb", refused(3306), (shows("db_up", database="mysql"),)),
            Fault("disk-full", "disk_full", "mysql-data", _fill, (shows("disk_used", volume="*mysql-data"),), _is_full),
            Fault("database-killed", "process_killed", "mariadb", killed("mariadb"), (shows("db_up", database="mysql"),)),
            Fault(
                "packets-lost",
                "packet_loss",
                "mariadb",
                lost(3306, 0.2),
                (shows("retransmits", container="node"), shows("failed_connections", container="node")),
            ),
            Fault(
                "small-heap",
                "memory_limit",
                "keycloak",
                restarted("keycloak", list, JAVA_OPTS_KC_HEAP="-Xms64m -Xmx88m"),
                (
                    shows("heap_of_limit", service="keycloak"),
                    shows("gc_share", service="keycloak"),
                    leads("uptime", service="keycloak"),
                ),
            ),
        )


def _small_pool(machine: Machine) -> Undo:
    change: Callable[[Machine], Undo] = restarted(
        "keycloak", lambda c: [word.replace("--db-pool-max-size=20", "--db-pool-max-size=1") for word in c]
    )
    return change(machine)


def _sign_in(client: httpx.Client) -> httpx.Response:
    form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": "admin"}
    return client.post("/realms/master/protocol/openid-connect/token", data=form)


def _token(client: httpx.Client) -> httpx.Response:
    answer = _sign_in(client)
    if answer.status_code == 200:
        client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
    return answer


_CHALLENGE = {"code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256"}


def _page(client: httpx.Client) -> httpx.Response:
    where = {"client_id": "security-admin-console", "redirect_uri": f"{FRONT}/admin/master/console/", "response_type": "code"}
    return client.get("/realms/master/protocol/openid-connect/auth", params={**where, "scope": "openid", **_CHALLENGE})


def _profile(client: httpx.Client) -> httpx.Response:
    answer = client.get("/admin/realms/master/users", params={"max": "5"})
    return _token(client) if answer.status_code == 401 else answer


def _account(client: httpx.Client) -> httpx.Response:
    name = f"user{random.randrange(10**9)}"
    body = {"username": name, "email": f"{name}@example.org", "enabled": True}
    answer = client.post("/admin/realms/master/users", json=body)
    return _token(client) if answer.status_code == 401 else answer


def _fill(machine: Machine) -> Undo:
    return filled(machine.folder / "mysql-data")


def _is_full(machine: Machine) -> str:
    left = shutil.disk_usage(machine.folder / "mysql-data").free
    return f"{left} bytes are left" if left < 1_000_000 else ""
