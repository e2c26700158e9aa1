"""MariaDB with mysqld_exporter at its usual port, and what can go wrong with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.foreign.faults import Undo
from tests.foreign.machine import Machine, wait_until

PACKAGES = ("mariadb-server", "prometheus-mysqld-exporter")


def start(machine: Machine, *databases: str, data: Path | None = None) -> None:
    """A server with an account ``app`` (password ``app``) for each database, and one for its exporter."""
    programs = machine.programs
    data = data or machine.folder / "mariadb"
    data.mkdir(exist_ok=True)
    _own(data)
    setup = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=socket"]
    subprocess.run([*setup, "--user=mysql"], check=True, capture_output=True, timeout=180)
    first = machine.folder / "mariadb.sql"
    lines = ["CREATE USER exporter@'127.0.0.1' IDENTIFIED BY 'exporter' WITH MAX_USER_CONNECTIONS 3;"]
    lines += ["GRANT PROCESS, REPLICATION CLIENT, SELECT, SLAVE MONITOR ON *.* TO exporter@'127.0.0.1';"]
    lines += ["CREATE USER app@'127.0.0.1' IDENTIFIED BY 'app';"]
    for name in databases:
        lines += [f"CREATE DATABASE {name};", f"GRANT ALL ON {name}.* TO app@'127.0.0.1';"]
    first.write_text("\n".join(lines) + "\n", encoding="utf-8")
    limits = ["--innodb-buffer-pool-size=64M", "--max-connections=60", "--performance-schema=OFF", "--table-open-cache=400"]
    server = ["mariadbd", "--no-defaults", f"--datadir={data}", "--bind-address=127.0.0.1", "--skip-name-resolve", *limits]
    sockets = [f"--socket={machine.folder / 'mysql.sock'}", f"--pid-file={data}/pid", "--innodb-lock-wait-timeout=20"]
    machine.folder.chmod(0o777)
    programs.run("mariadb", [*server, *sockets], user="mysql")
    wait_until(lambda: sql(machine, "SELECT 1"), 60.0, "MariaDB")
    for line in lines:
        assert sql(machine, line), line
    programs.run(
        "mysql-exporter",
        ["prometheus-mysqld-exporter", "--web.listen-address=127.0.0.1:9104"],
        {"DATA_SOURCE_NAME": "exporter:exporter@(127.0.0.1:3306)/"},
    )
    machine.scrape("mysql", "127.0.0.1:9104")


def sql(machine: Machine, text: str, database: str = "") -> bool:
    """Whether the administrator's statements went through."""
    client = ["mariadb", "--no-defaults", f"--socket={machine.folder / 'mysql.sock'}", *([database] if database else [])]
    return subprocess.run([*client, "-e", text], capture_output=True, check=False, timeout=120).returncode == 0


def used_up(most: int) -> Callable[[Machine], Undo]:
    """A program of the application's user leaves its connections open, until there are no more."""

    def begin(machine: Machine) -> Undo:
        client = ["mariadb", "--no-defaults", "-h127.0.0.1", "-uapp", "-papp", "-e", "SELECT SLEEP(1200)"]
        null = subprocess.DEVNULL
        clients = [subprocess.Popen(client, stdin=null, stdout=null, stderr=null) for _ in range(most)]

        def undo() -> None:
            for one in clients:
                one.kill()
                one.wait()

        return undo

    return begin


def held(statement: str, database: str) -> Callable[[Machine], Undo]:
    """A session of an administrator's client holds locks and does not end."""

    def begin(machine: Machine) -> Undo:
        client = subprocess.Popen(
            ["mariadb", "--no-defaults", "-n", f"--socket={machine.folder / 'mysql.sock'}", database],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert client.stdin
        client.stdin.write(f"{statement}\n".encode())
        client.stdin.flush()

        def undo() -> None:
            client.kill()
            client.wait()

        return undo

    return begin


def _own(data: Path) -> None:
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "mysql", str(data)], check=True, timeout=30)
