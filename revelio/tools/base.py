"""The protocol of tools; every request to a backend goes through one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from revelio.catalog.conventions import Cadence
from revelio.types import Evidence, Query, Result, Series, Window


@dataclass(frozen=True, slots=True)
class Scope:
    """The project name of a system in its backends, and the window and baseline of an incident."""

    project: str
    window: Window
    baseline: Window


PRESENT_S = 120.0
"""How long after the end of a window what a source knows of now is still of then, in seconds."""


def is_past(window: Window) -> bool:
    """Whether a window ended so long ago that the present state says nothing of it."""
    return time.time() - window.end > PRESENT_S


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
    """Whether its backend answers for past windows; otherwise it is queried while the incident lasts."""

    def ping(self) -> str:
        """The backend's version or state in a few words."""

    def snapshot(self, scope: Scope) -> Evidence:
        """A snapshot of its backend, with a small fixed number of requests; only its own parts are filled."""

    def render(self, query: Query, scope: Scope) -> str:
        """The query in the language of the tool, every value escaped. Needs no backend."""

    def link(self, query: Query, scope: Scope) -> str | None:
        """The URL that opens the query in the page of the tool; None when no base URL is set."""

    def run(self, query: Query, scope: Scope) -> Result:
        """Execute it, read only, within the limits."""


@runtime_checkable
class Measured(Protocol):
    """A tool that knows how often its system is measured."""

    def cadence(self, project: str) -> Cadence:
        """How often, and so how long windows are; ``SourceError`` when its backend does not say."""


@runtime_checkable
class Historic(Protocol):
    """A tool whose backend keeps the signals that users feel for longer than a window."""

    def user_facing(self, project: str, span: Window) -> tuple[Series, ...]:
        """Those signals over a span of time, with few requests; ``SourceError`` when its backend does not answer."""


@runtime_checkable
class Noted(Protocol):
    """A tool that knows what its backend shows in part only, or not as it should."""

    def notes(self, project: str) -> tuple[str, ...]:
        """Sentences on that, by what was asked last. Asks nothing."""
