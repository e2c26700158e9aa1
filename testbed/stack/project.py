"""Which stack is meant: an application, the Compose project it runs as, and where its run-time state lies."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from testbed.errors import StackError

ROOT = Path(__file__).parents[2]
COMPOSE_FILE = ROOT / "docker-compose.yml"
APPS = ROOT / "testbed" / "apps"
PORTS = {"gateway": 18080, "prometheus": 19090, "jaeger": 19686, "elasticsearch": 19200, "postgres": 15432, "redis": 16379}
"""Where the first application's stack is published; each further one is published `APART` higher, so that none collide."""
APART = 100
ORDER = ("shop", "forum", "travel")
"""Applications by the place of their ports."""


@dataclass(frozen=True, slots=True)
class Project:
    """`name` is the Compose project: `REVELIO_PROJECT`, by default `revelio-APP`."""

    app: str
    name: str

    @property
    def state(self) -> Path:
        """Folder of the stack's process ids, its users' output and notes."""
        return ROOT / "var" / "testbed" / self.name

    @property
    def changes(self) -> Path:
        """Compose file of the settings that an operator has changed since; it need not be there."""
        return self.state / "changes.yml"

    @property
    def compose_files(self) -> tuple[Path, ...]:
        """Stores and backends, then the application's own services, then what an operator has changed."""
        files = (COMPOSE_FILE, APPS / self.app / "compose.yml")
        return (*files, self.changes) if self.changes.exists() else files

    @property
    def ports(self) -> dict[str, int]:
        """Published port by service: `REVELIO_PORT_<SERVICE>` where that is set, else the application's own block."""
        shift = APART * ORDER.index(self.app)
        return {name: int(os.environ.get(f"REVELIO_PORT_{name.upper()}") or port + shift) for name, port in PORTS.items()}

    @property
    def environment(self) -> dict[str, str]:
        """What the Compose files ask for."""
        ports = {f"REVELIO_PORT_{name.upper()}": str(port) for name, port in self.ports.items()}
        return {"REVELIO_PROJECT": self.name, "REVELIO_APP": self.app, **ports}

    @property
    def url(self) -> str:
        """Where the application's public service is published."""
        return f"http://127.0.0.1:{self.ports['gateway']}"


def shared_services() -> dict[str, Any]:
    """Stores and backends beside which an application runs; what has a profile in that file is not of the testbed."""
    services: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text())["services"]
    return {name: service for name, service in services.items() if "profiles" not in service}


def applications() -> tuple[str, ...]:
    """The applications that can be brought up: those that have services."""
    return tuple(app for app in ORDER if (APPS / app / "compose.yml").exists())


def find_project(app: str) -> Project:
    """The project of an application. Raises StackError for one that does not exist, or a name that Compose would refuse."""
    if not COMPOSE_FILE.exists():
        raise StackError(f"{COMPOSE_FILE} is not there: the testbed runs from a checkout of the project")
    if app not in applications():
        raise StackError(f"there is no application {app!r}; there is {', '.join(applications()) or 'none'}")
    name = os.environ.get("REVELIO_PROJECT") or f"revelio-{app}"
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise StackError(f"REVELIO_PROJECT={name!r} cannot name a project: use lower-case letters, digits, - and _")
    return Project(app, name)
