"""What stands in for a tool that cannot be used: its client library is not installed, or no source has its name."""

from __future__ import annotations

from revelio.errors import SourceError
from revelio.tools.base import Scope
from revelio.types import Evidence, Query, Result


class UnusableTool:
    """Shows queries as the catalog writes them; whatever needs the backend raises ``SourceError`` with ``reason``."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.retrospective = False
        self.reason = reason

    def ping(self) -> str:
        """Raises ``SourceError``."""
        raise SourceError(self.name, self.reason)

    def snapshot(self, scope: Scope) -> Evidence:
        """Raises ``SourceError``."""
        raise SourceError(self.name, self.reason)

    def render(self, query: Query, scope: Scope) -> str:
        """The template's text with its blanks filled."""
        return query.body

    def link(self, query: Query, scope: Scope) -> str | None:
        """None: the address is the tool's to make."""
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        """Raises ``SourceError``."""
        raise SourceError(self.name, self.reason)
