"""The applications that faults can be injected into: their parts and where they answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revelio.errors import FaultError
from testbed.errors import StackError
from testbed.stack import find_project, parts_of


@dataclass(frozen=True, slots=True)
class App:
    """An application of the testbed. ``stores`` are containers without code of its own; ``store_users`` says who uses which.

    ``entrance`` is the service that users reach, ``address`` where they reach it.
    """

    name: str
    project: str
    services: tuple[str, ...]
    stores: tuple[str, ...]
    store_users: tuple[tuple[str, str], ...]
    entrance: str
    address: str
    service_port: int
    state: Path

    @property
    def places(self) -> tuple[str, ...]:
        """Every container that belongs to the application."""
        return self.services + self.stores


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
        stores=parts.stores,
        store_users=parts.store_users,
        entrance=parts.public,
        address=project.url,
        service_port=8000,
        state=state / project.name,
    )
