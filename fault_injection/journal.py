"""The durable journal of faults: what must be undone is on disk before anything is done.

One JSON object a line, synced line by line. Events of one fault in order: ``planned`` (with its undo steps),
``injected``, ``verified``, ``undoing``, ``undone``, ``recovered`` or ``failed`` (with the reason).
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fault_injection.spec import Fault, Step
from revelio.errors import FaultError

EVENTS = ("planned", "injected", "verified", "failed", "undoing", "undone", "recovered")


@dataclass(frozen=True, slots=True)
class OpenFault:
    """A fault that the journal does not show as undone."""

    id: str
    fault: Fault
    undo: tuple[Step, ...]
    undoing: bool = False


class Journal:
    """The journal of one project's faults in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "journal.jsonl"

    def planned(self, fault_id: str, fault: Fault, undo: tuple[Step, ...]) -> None:
        """Write down how to undo a fault; must return before its first act."""
        self._append({"event": "planned", "id": fault_id, "fault": asdict(fault), "undo": [asdict(s) for s in undo]})

    def note(self, fault_id: str, event: str, detail: str = "") -> None:
        """Write down one later event of a fault."""
        if event not in EVENTS[1:]:
            raise ValueError(f"{event!r} is not an event of the journal")
        self._append({"event": event, "id": fault_id, "detail": detail})

    def open_faults(self) -> tuple[OpenFault, ...]:
        """Every fault that was planned and not undone, the latest first. A torn last line was never written."""
        found: dict[str, OpenFault] = {}
        for entry in self.entries():
            if entry["event"] == "planned":
                undo = tuple(_step(s) for s in entry["undo"])
                found[entry["id"]] = OpenFault(entry["id"], Fault(**entry["fault"]), undo)
            elif entry["event"] == "undone":
                found.pop(entry["id"], None)
            elif entry["event"] == "undoing" and entry["id"] in found:
                found[entry["id"]] = replace(found[entry["id"]], undoing=True)
        return tuple(reversed(found.values()))

    def wanted(self, fault_id: str) -> bool:
        """Whether a fault is to go on: planned, and its undoing has not begun."""
        return any(f.id == fault_id and not f.undoing for f in self.open_faults())

    def entries(self) -> Iterator[dict[str, Any]]:
        """The journal's whole lines; ``FaultError`` when one of them cannot be read."""
        if not self.path.is_file():
            return
        whole = self.path.read_bytes().rpartition(b"\n")[0]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                _check(entry)
            except (ValueError, KeyError, TypeError) as error:
                where = f"{self.path}:{number}"
                raise FaultError(f"{where}: damaged: {error}; check the stack by hand, then move the file away") from error
            yield entry

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the project for this process; ``FaultError`` when another one is injecting or undoing right now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise FaultError("another command is injecting or undoing faults here; wait for it or end it") from error
            yield

    def _append(self, entry: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._mend()
        line = json.dumps({"at": round(time.time(), 3), **entry}, ensure_ascii=False).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _mend(self) -> None:
        """Cut off a torn last line, so that the next one does not grow onto it."""
        if not self.path.is_file():
            return
        content = self.path.read_bytes()
        if content and not content.endswith(b"\n"):
            with self.path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)
                os.fsync(file.fileno())


def _check(entry: dict[str, Any]) -> None:
    if entry["event"] not in EVENTS or not isinstance(entry["id"], str):
        raise ValueError(f"unknown event {entry['event']!r}")
    if entry["event"] == "planned":
        Fault(**entry["fault"])
        for step in entry["undo"]:
            _step(step)


def _step(raw: dict[str, Any]) -> Step:
    return Step(raw["action"], raw["service"], raw["container"], tuple((str(k), v) for k, v in raw["arguments"]))
