"""The applications that faults can be injected into: their parts and where they answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revelio.errors import FaultError
from testbed.errors import StackError
from testbed.stack import find_project, parts_of
from testbed.stack.project import APPS


@dataclass(frozen=True, slots=True)
class App:
    """An application of the testbed. ``workers`` handle queues, ``stores`` run no code of ours; ``store_users``: who uses which.

    ``edges``: who calls whom, stores among them. ``tables`` are those that visits read and write, ``indexes`` those whose
    absence users notice, by table, the most important one first. ``entrance`` is the service that users reach, ``address``
    where they reach it.
    """

    name: str
    project: str
    services: tuple[str, ...]
    workers: tuple[str, ...]
    callers: tuple[str, ...]
    cachers: tuple[str, ...]
    stores: tuple[str, ...]
    store_users: tuple[tuple[str, str], ...]
    edges: tuple[tuple[str, str], ...]
    tables: tuple[str, ...]
    indexes: tuple[tuple[str, tuple[str, ...]], ...]
    entrance: str
    address: str
    service_port: int
    state: Path

    @property
    def places(self) -> tuple[str, ...]:
        """Every container that belongs to the application."""
        return self.services + self.stores

    def users_of(self, store: str) -> tuple[str, ...]:
        """The services that use a store."""
        return tuple(service for service, used in self.store_users if used == store)

    def indexes_of(self, table: str) -> tuple[str, ...]:
        """The table's indexes whose absence users notice."""
        return dict(self.indexes)[table]

    def main_file(self, service: str) -> str:
        """Where the file that a service starts with lies in its container."""
        package = (APPS / self.name / service).is_dir()
        return f"/app/apps/{self.name}/{service}" + ("/__main__.py" if package else ".py")


def app_named(name: str, state: Path = Path("var/faults")) -> App:
    """The application of that name; ``FaultError`` lists those there are. Journals are kept under ``state``."""
    try:
        project = find_project(name)
    except StackError as error:
        raise FaultError(str(error)) from error
    parts = parts_of(name)
    return App(
        name=name,
        project=project.name,
        services=parts.services,
        workers=parts.workers,
        callers=parts.callers,
        cachers=parts.cachers,
        stores=parts.stores,
        store_users=parts.store_users,
        edges=parts.edges,
        tables=parts.tables,
        indexes=parts.indexes,
        entrance=parts.public,
        address=project.url,
        service_port=8000,
        state=state / project.name,
    )
