"""Which stack is meant: an application, the Compose project it runs as, and where its run-time state lies."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import StackError

ROOT = Path(__file__).parents[2]
COMPOSE_FILE = ROOT / "docker-compose.yml"


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
    def url(self) -> str:
        """Where the application's gateway is published."""
        return f"http://127.0.0.1:{os.environ.get('REVELIO_PORT_GATEWAY', '18080')}"


def applications() -> tuple[str, ...]:
    """The applications that can be brought up: those with a Dockerfile."""
    return tuple(sorted(path.parent.name for path in (ROOT / "testbed" / "apps").glob("*/Dockerfile")))


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
