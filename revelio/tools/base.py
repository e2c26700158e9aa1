"""What a tool is. Everything that talks to a backend goes through this protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from revelio.conventions import Cadence
from revelio.types import Evidence, Query, Result, Window


@dataclass(frozen=True, slots=True)
class Scope:
    """Where and when to look: the system's project name in its backends, the incident's window and its baseline."""

    project: str
    window: Window
    baseline: Window


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one request to a backend."""

    seconds: float = 5.0
    rows: int = 200
    bytes: int = 4_000_000


class Tool(Protocol):
    """A debugging tool. Methods that reach its backend raise ``SourceError`` when that does not answer as it should."""

    name: str
    retrospective: bool
    """Whether it can be asked later on what it would say now; else it is asked while what it looks at lasts."""

    def ping(self) -> str:
        """The backend's version or state in a few words."""

    def snapshot(self, scope: Scope) -> Evidence:
        """What the tool sees at a glance, with a small fixed number of requests; only its own parts are filled."""

    def render(self, query: Query, scope: Scope) -> str:
        """The query in the tool's own language, every value escaped for it. Needs no backend."""

    def link(self, query: Query, scope: Scope) -> str | None:
        """The address that opens the query in the tool's own page; None when no base address is set."""

    def run(self, query: Query, scope: Scope) -> Result:
        """Execute it, read only, within the limits."""


@runtime_checkable
class Measured(Protocol):
    """A tool that knows how often its system is measured."""

    def cadence(self, project: str) -> Cadence:
        """How often, and so how long windows are; ``SourceError`` when its backend does not say."""
