"""A whole application in memory: its containers, networks, files, settings, control groups and the database's indexes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fault_injection.apps import App
from fault_injection.engine import StoredFile
from fault_injection.journal import Journal
from fault_injection.mechanisms.background import wait_until_gone
from fault_injection.spec import Step
from testbed.stack import Project
from tests.fault_injection.fake_network import FakeNetwork

_SETTINGS = {"SERVICE_NAME": "x", "PEER_URL": "http://peer:8000", "REDIS_URL": "redis://redis:6379/0"}
LIMITS = {"blkio": "blkio.throttle.write_iops_device"}


class World(FakeNetwork):
    """Every act on it counts, and the one after ``die_after`` is the last. ``standing`` is all that a fault may change."""

    def __init__(self, app: App, folder: Path) -> None:
        super().__init__(*app.places)
        self.app, self.cgroup = app, folder / "cgroup"
        self.cgroup.mkdir()
        for place in app.places:
            for controller, name in LIMITS.items():
                (self.cgroup / f"{place}.{controller}.{name}").write_text("8:0 0")
        self.original = _SETTINGS | {"DATABASE_URL": f"postgresql://{app.name}:{app.name}@postgres:5432/{app.name}"}
        self.environments = {place: dict(self.original) for place in app.places}
        self.indexes = {name for _, names in app.indexes for name in names}
        self.background: list[Step] = []
        self.small_disks: dict[str, bool] = {}
        self.redis = {"maxmemory": "67108864", "maxmemory-policy": "volatile-lru"}

    def read_file(self, service: str, path: str) -> StoredFile:
        if (service, path) not in self.files:
            source = Path("testbed") / path.removeprefix("/app/")
            if path == "/app/VERSION":
                source = Path("testbed/apps") / self.app.name / "VERSION"
            self.files[service, path] = StoredFile(source.read_bytes(), 0o644, 0, 0, 1.0)
        return self.files[service, path]

    def disk(self, service: str, path: str) -> str:
        return "8:0"

    def volume(self, service: str, path: str) -> Path:
        return Path("/volumes") / service

    def carry_over(self, volume: Path) -> None:
        """In place of a small disk, which is not full yet."""
        self.small_disks[volume.name] = False
        self._act(f"carry over {volume.name}")

    def fill(self, volume: Path) -> None:
        """In place of a large file."""
        self.small_disks[volume.name] = True
        self._act(f"fill {volume.name}")

    def carry_back(self, volume: Path) -> None:
        """In place of the way back."""
        self.small_disks.pop(volume.name, None)
        self._act(f"carry back {volume.name}")

    def reconfigure(self, project: Project, service: str, changed: dict[str, str]) -> None:
        """In place of Compose."""
        self.environments[service] = self.original | changed
        self._act(f"configure {service} {json.dumps(changed)}")

    def carry_out(self, app: App, statement: str) -> None:
        """In place of the database."""
        if dropped := re.search(r"DROP (?:INDEX|CONSTRAINT) (\w+)", statement):
            self.indexes.remove(dropped[1])
        elif made := re.search(r"(?:IF NOT EXISTS|ADD CONSTRAINT) (\w+)", statement):
            self.indexes.add(made[1])
        self._act(f"sql {statement}")

    def ask(self, app: App, question: str, *values: Any) -> list[tuple[Any, ...]]:
        """In place of the database: the indexes that there are, every other one a constraint; figures otherwise."""
        if "pg_get_indexdef" not in question:
            return [(0, 0)]
        there = [name for name in values[0] if name in self.indexes]
        return [(name, f"CREATE INDEX {name} ON t (c)", "UNIQUE (c)" if "key" in name else "") for name in there]

    def redis_settings(self, app: App, *names: str) -> dict[str, str]:
        """In place of Redis: what is set."""
        return {name: self.redis[name] for name in names}

    def redis_figures(self, app: App, section: str) -> dict[str, float]:
        """In place of Redis: it holds two megabytes, and has thrown nothing away."""
        return {"used_memory": 2e6, "maxmemory": float(self.redis["maxmemory"]), "evicted_keys": 0.0}

    def redis_configure(self, app: App, changed: dict[str, str]) -> None:
        """In place of Redis: other settings."""
        self.redis.update(changed)
        self._act(f"redis {json.dumps(changed)}")

    def start_background(self, step: Step, app: App, journal: Journal, fault_id: str) -> None:
        """In place of a process."""
        self.background.append(step)
        self._act(f"background {step.service}")

    def stop_background(self, folder: Path, fault_id: str) -> None:
        """In place of waiting for that process."""
        wait_until_gone(folder, fault_id)
        self.background.clear()
        self._act("background gone")

    def standing(self) -> dict[str, object]:
        """What an undone fault must leave as it was."""
        return {
            "states": dict(self.states),
            "limits": dict(self.limits),
            "bounds": dict(self.bounded),
            "files": {key: file.content for key, file in self.files.items()},
            "file limits": {place: self.file_limit(place) for place in self.app.places},
            "settings": {place: dict(settings) for place, settings in self.environments.items()},
            "control groups": {path.name: path.read_text() for path in sorted(self.cgroup.iterdir())},
            "indexes": sorted(self.indexes),
            "network": {service: list(kept) for service, kept in self.kept.items() if kept},
            "background": list(self.background),
            "redis": dict(self.redis),
            "small disks": dict(self.small_disks),
        }
