"""Calls the Compose program, `docker compose` or `docker-compose`, whichever is installed."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping

import yaml

from testbed.errors import StackError
from testbed.stack.project import ROOT, Project

INSTALL = "install Docker Compose (Debian package docker-compose, or Docker's compose plugin)"


def program() -> list[str]:
    """The command that starts Compose. Raises StackError when there is none."""
    if (
        shutil.which("docker")
        and subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0
    ):
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise StackError(f"Docker Compose is not there: {INSTALL}")


def run(project: Project, *arguments: str) -> None:
    """Run one Compose command on the project. Raises StackError with what Compose said when it fails."""
    files = [part for path in project.compose_files for part in ("--file", str(path))]
    command = [*program(), *files, "--project-name", project.name, *arguments]
    env = {"COMPOSE_HTTP_TIMEOUT": "300", **os.environ, **project.environment}
    env["REVELIO_BACKENDS_CONFIG"] = _mounted_configuration()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        progress = re.compile(
            r"^(Creating|Recreating|Starting|Stopping|Removing) .*\.\.\. ?(done)?$|^Encountered errors|is up-to-date$|^$"
        )
        said = [line for line in done.stderr.splitlines() if not progress.search(line)][-5:]
        raise StackError(f"`{' '.join(arguments)}` of {project.name} failed: {' | '.join(dict.fromkeys(said))}")


def reconfigure(project: Project, service: str, changed: Mapping[str, str]) -> None:
    """Roll one service out again with some variables of its environment changed; with none, as its files have it.

    What was changed for other services stays so. Raises StackError.
    """
    project.state.mkdir(parents=True, exist_ok=True)
    kept = yaml.safe_load(project.changes.read_text())["services"] if project.changes.exists() else {}
    services = {name: entry for name, entry in kept.items() if name != service}
    if changed:
        services[service] = {"environment": dict(changed)}
    if services:
        project.changes.write_text(yaml.safe_dump({"services": services}))
    else:
        project.changes.unlink(missing_ok=True)
    run(project, "up", "--detach", "--no-build", "--no-deps", service)


def _mounted_configuration() -> str:
    """A hash of the mounted configuration, so that Compose recreates a backend when its configuration has changed."""
    files = sorted(path for path in (ROOT / "testbed" / "backends").rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
