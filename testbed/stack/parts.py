"""What an application consists of, as its Compose files and its description (``app.yaml``) have it."""

from dataclasses import dataclass
from typing import Any

import yaml

from testbed.stack.project import APPS, shared_services

WORKER_LABEL = "revelio.worker"
STORES = {"DATABASE_URL": "postgres", "REDIS_URL": "redis"}
"""The setting that gives a service the address of a store."""


@dataclass(frozen=True, slots=True)
class Parts:
    """``public`` is the service that users reach; ``workers`` handle queues, ``callers`` call other services, ``cachers`` keep a
    cache; ``store_users`` says which service uses which store, ``edges`` who calls whom, stores among them; ``tables`` are those
    that visits read and write, ``indexes`` those whose absence users notice, by table, the most important one first.
    """

    services: tuple[str, ...]
    workers: tuple[str, ...]
    callers: tuple[str, ...]
    cachers: tuple[str, ...]
    public: str
    stores: tuple[str, ...]
    store_users: tuple[tuple[str, str], ...]
    edges: tuple[tuple[str, str], ...]
    tables: tuple[str, ...]
    indexes: tuple[tuple[str, tuple[str, ...]], ...]


def parts_of(app: str) -> Parts:
    """The parts of an application."""
    services: dict[str, Any] = yaml.safe_load((APPS / app / "compose.yml").read_text())["services"]
    shared = shared_services()
    database: dict[str, Any] = yaml.safe_load((APPS / app / "app.yaml").read_text())
    public = next(name for name, service in services.items() if service.get("ports"))
    store_users = tuple(
        (name, store)
        for name, service in services.items()
        for setting, store in STORES.items()
        if setting in service["environment"]
    )
    calls = tuple((name, peer) for name, service in services.items() for peer in _peers(service["environment"]))
    return Parts(
        services=(public, *(name for name in services if name != public)),
        workers=tuple(name for name, service in services.items() if WORKER_LABEL in service["labels"]),
        callers=tuple(name for name, service in services.items() if _peers(service["environment"])),
        cachers=tuple(name for name in services if "cache(settings" in source_of(app, name)),
        public=public,
        stores=tuple(name for name, service in shared.items() if service["labels"]["revelio.role"] == "app"),
        store_users=store_users,
        edges=calls + store_users,
        tables=tuple(database["tables"]),
        indexes=tuple((table, tuple(names)) for table, names in database["indexes"].items()),
    )


def source_of(app: str, service: str) -> str:
    """The source of a service's own files, one after the other."""
    package = APPS / app / service
    files = sorted(package.glob("*.py")) if package.is_dir() else [APPS / app / f"{service}.py"]
    return "\n".join(file.read_text() for file in files)


def _peers(environment: dict[str, str]) -> list[str]:
    return [name.removesuffix("_URL").lower() for name in environment if name.endswith("_URL") and name not in STORES]
