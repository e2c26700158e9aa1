"""Recorded systems, behind the methods of live ones."""

from __future__ import annotations

from revelio.catalog import Catalog
from revelio.catalog.unreachable import presence
from revelio.errors import NotFoundError
from revelio.settings import SystemSettings
from revelio.systems.incidents.exchange import Record
from revelio.systems.sources import unconnected
from revelio.systems.time_range import TimeRange
from revelio.tools.base import Scope, Tool
from revelio.types import Evidence, Incident, Query, Result


class RecordedSystem:
    """A recorded system: queries return their recorded results."""

    def __init__(self, record: Record, catalog: Catalog, settings: SystemSettings | None = None) -> None:
        """``settings``, when the system is still known, give addresses for deep links."""
        self.name = record.system
        self.record = record
        self.catalog = catalog
        self.settings = settings or SystemSettings()
        self._tools: dict[str, Tool | None] = {}

    @property
    def project(self) -> str:
        """The project name in its backends."""
        return self.settings.project or self.name

    def source(self, query: Query) -> str:
        """Nothing but the tool is known of who answered."""
        return ""

    def snapshot(self, scope: Scope | float, window_s: float | None = None, baseline_s: float | None = None) -> Evidence:
        """The recorded evidence, whatever the scope."""
        return self.record.evidence

    def snapshot_at(self, asked: TimeRange, now: float) -> Evidence:
        """The recorded evidence, whatever is asked for."""
        return self.record.evidence

    def incident(self, report: str, evidence: Evidence) -> Incident:
        """The recorded incident with that report."""
        return self.record.incident(report)

    def scope(self, evidence: Evidence) -> Scope:
        """The scope of that evidence."""
        return Scope(self.project, evidence.window, evidence.baseline)

    def render(self, query: Query, scope: Scope | Evidence) -> str:
        """The query in its tool's own language. Needs no backend."""
        tool = None if presence(query) else self._tool(query)
        return query.body if tool is None else tool.render(query, self._scope(scope))

    def link(self, query: Query, scope: Scope | Evidence) -> str | None:
        """The address that opens it in its tool's own page, where the settings name one."""
        tool = self._tool(query)
        return None if tool is None else tool.link(query, self._scope(scope))

    def run(self, query: Query, scope: Scope | Evidence) -> Result:
        """What the query showed when the incident was recorded; ``NotFoundError`` when it was not run then."""
        key = query.template.id, query.bindings
        found = next((r.result for r in reversed(self.record.results) if (r.template, r.bindings) == key), None)
        if found is None:
            raise NotFoundError(f"{query.id} was not run when {self.record.id} was recorded; ask a live system instead")
        return found

    def _tool(self, query: Query) -> Tool | None:
        name = query.template.tool
        if name not in self._tools:
            named = {p.tool: b for n, b in self.settings.backends.items() if (p := self.catalog.product(b.product or n))}
            own = self.settings.backends.get(name) or named.get(name)
            self._tools[name] = unconnected(self.catalog, name, own)
        return self._tools[name]

    def _scope(self, scope: Scope | Evidence) -> Scope:
        return scope if isinstance(scope, Scope) else self.scope(scope)
