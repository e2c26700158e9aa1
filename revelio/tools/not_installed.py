"""What stands in for a tool whose client library is not installed."""

from __future__ import annotations

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.tools.base import Scope
from revelio.types import Evidence, Query, Result


class NotInstalled:
    """Shows queries as the catalog writes them; whatever needs the backend raises ``SourceError`` with ``reason``."""

    def __init__(self, spec: ToolSpec, reason: str) -> None:
        self.name = spec.name
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
        """None: the address is the client library's to make."""
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        """Raises ``SourceError``."""
        raise SourceError(self.name, self.reason)
