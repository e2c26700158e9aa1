"""What an application consists of, as its Compose files have it."""

from dataclasses import dataclass
from typing import Any

import yaml

from testbed.stack.project import APPS, COMPOSE_FILE

WORKER_LABEL = "revelio.worker"
STORES = {"DATABASE_URL": "postgres", "REDIS_URL": "redis"}
"""The setting by which a service is told of a store."""


@dataclass(frozen=True, slots=True)
class Parts:
    """``public`` is the service that users reach, ``workers`` those that handle queues, ``store_users`` who uses which store."""

    services: tuple[str, ...]
    workers: tuple[str, ...]
    public: str
    stores: tuple[str, ...]
    store_users: tuple[tuple[str, str], ...]


def parts_of(app: str) -> Parts:
    """The parts of an application."""
    services: dict[str, Any] = yaml.safe_load((APPS / app / "compose.yml").read_text())["services"]
    shared: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text())["services"]
    public = next(name for name, service in services.items() if service.get("ports"))
    return Parts(
        services=(public, *(name for name in services if name != public)),
        workers=tuple(name for name, service in services.items() if WORKER_LABEL in service["labels"]),
        public=public,
        stores=tuple(name for name, service in shared.items() if service["labels"]["revelio.role"] == "app"),
        store_users=tuple(
            (name, store)
            for name, service in services.items()
            for setting, store in STORES.items()
            if setting in service["environment"]
        ),
    )
