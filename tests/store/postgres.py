"""A Postgres server of its own for the tests, where Debian's packages have put one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BINARIES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nowhere"), key=lambda p: int(p.parent.name))


def why_not() -> str:
    """Why there is none; "" when there is one."""
    if not (BINARIES / "initdb").exists():
        return "Postgres is not installed here (Debian: apt-get install postgresql)"
    return "" if os.geteuid() or _unprivileged() else "Postgres does not run as root, and there is no user postgres"


@contextmanager
def running() -> Iterator[str]:
    """The SQLAlchemy address of a fresh database; the server ends with the block. No password: loopback, for a moment."""
    folder = Path(tempfile.mkdtemp(prefix="revelio-pg-"))
    user = _unprivileged() if os.geteuid() == 0 else None
    try:
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        _run(user, "initdb", "--no-sync", "--auth=trust", "--username=revelio", "--encoding=UTF8", f"--pgdata={folder}/data")
        words = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=40"
        log = f"--log={folder}/log"
        _run(user, "pg_ctl", "start", "--wait", "--silent", f"--pgdata={folder}/data", log, f"--options={words}")
        try:
            yield f"postgresql://revelio@127.0.0.1:{port}/postgres"
        finally:
            _run(user, "pg_ctl", "stop", "--wait", "--silent", "--mode=immediate", f"--pgdata={folder}/data")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(user: pwd.struct_passwd | None, program: str, *words: str) -> None:
    done = subprocess.run(
        [BINARIES / program, *words],
        user=user.pw_uid if user else None,
        group=user.pw_gid if user else None,
        extra_groups=[] if user else None,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # the server inherits it: a pipe would never end
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{program} {' '.join(words)}: exit code {done.returncode}"


def _unprivileged() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None
