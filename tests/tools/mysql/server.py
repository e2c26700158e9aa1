"""A real MariaDB for a test; skips where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest

from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.mysql.tool import Mysql
from tests.foreign.programs import free_port
from tests.tools.conftest import spec
from tests.tools.programs import running

FIRST = """\
CREATE USER admin@'127.0.0.1' IDENTIFIED BY 'admin';
GRANT ALL ON *.* TO admin@'127.0.0.1' WITH GRANT OPTION;
CREATE USER observer@'127.0.0.1' IDENTIFIED BY 'secret';
GRANT PROCESS, SLAVE MONITOR, SELECT ON *.* TO observer@'127.0.0.1';
CREATE USER powerless@'127.0.0.1' IDENTIFIED BY 'secret';
CREATE USER app@'127.0.0.1' IDENTIFIED BY 'app';
CREATE DATABASE shop;
GRANT ALL ON shop.* TO app@'127.0.0.1';
CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(50));
INSERT INTO shop.orders VALUES (1, 'a'), (2, 'b');
"""


@dataclass(frozen=True, slots=True)
class Server:
    """Where it listens."""

    port: int

    def url(self, user: str = "observer", password: str = "secret") -> str:
        """What a backend is given."""
        return f"mysql://{user}:{password}@127.0.0.1:{self.port}"

    @contextmanager
    def session(self, user: str = "app", password: str = "app", database: str | None = "shop") -> Iterator[Any]:
        """A client's connection, which begins a transaction with its first statement."""
        with closing(
            pymysql.connect(host="127.0.0.1", port=self.port, user=user, password=password, database=database)
        ) as connection:
            yield connection

    def admin(self, *statements: str) -> None:
        """Carry them out as administrator."""
        with self.session("admin", "admin", None) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    @contextmanager
    def tool(self, user: str = "observer", limits: Limits | None = None) -> Iterator[Mysql]:
        """The tool, as that user."""
        with closing(Mysql(spec("mysql"), Backend(url=self.url(user)), limits or Limits(seconds=10.0))) as made:
            yield made


@contextmanager
def mariadb(folder: Path, *options: str) -> Iterator[Server]:
    """A server with statement statistics, twenty connections and a little table."""
    if shutil.which("mariadbd") is None or shutil.which("mariadb-install-db") is None:
        pytest.skip("mariadbd is not here: install mariadb-server (Debian's package)")
    port, data = free_port(), folder / "mariadb"
    me = ["--user=root"] if os.geteuid() == 0 else []
    setup = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", *me]
    subprocess.run(setup, check=True, capture_output=True, timeout=180)
    first = folder / "first.sql"
    first.write_text(FIRST, encoding="utf-8")
    place = [f"--datadir={data}", f"--port={port}", f"--socket={data}/s", f"--pid-file={data}/pid", f"--init-file={first}"]
    small = ["--innodb-buffer-pool-size=16M", "--max-connections=20", "--performance-schema=ON", "--innodb-log-file-size=8M"]
    command = ["mariadbd", "--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", *place, *small, *me, *options]
    with running(command, folder / "mariadb.log", ""):
        server = Server(port)
        _wait(server)
        yield server


def _wait(server: Server, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with server.session():
                return
        except pymysql.Error:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
