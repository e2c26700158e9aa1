"""The applications that faults can be injected into: their parts and where they answer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from revelio.errors import FaultError


@dataclass(frozen=True, slots=True)
class App:
    """An application of the testbed. ``stores`` are containers without code of its own; ``store_users`` says who uses which."""

    name: str
    project: str
    services: tuple[str, ...]
    stores: tuple[str, ...]
    store_users: tuple[tuple[str, str], ...]
    gateway: str
    service_port: int
    state: Path

    @property
    def places(self) -> tuple[str, ...]:
        """Every container that belongs to the application."""
        return self.services + self.stores


def app_named(name: str, state: Path = Path("var/faults")) -> App:
    """The application of that name; ``FaultError`` lists those there are. Journals are kept under ``state``."""
    if name != "shop":
        raise FaultError(f"no application {name!r}; there is: shop")
    project = os.environ.get("REVELIO_PROJECT") or f"revelio-{name}"
    port = os.environ.get("REVELIO_PORT_GATEWAY", "18080")
    return App(
        name="shop",
        project=project,
        services=("gateway", "products", "cart", "orders", "payment"),
        stores=("postgres", "redis"),
        store_users=(
            ("products", "postgres"),
            ("products", "redis"),
            ("orders", "postgres"),
            ("payment", "postgres"),
            ("cart", "redis"),
        ),
        gateway=f"http://127.0.0.1:{port}",
        service_port=8000,
        state=state / project,
    )
