"""Tools of plug-ins: whatever their code does becomes an error of their source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from revelio.catalog import ToolSpec
from revelio.catalog.plugins import Announced
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits, Scope, Tool
from revelio.tools.probe import Probe, ProbeResult
from revelio.types import Evidence, Query, Result

T = TypeVar("T")


class PluginTool:
    """The tool of a plug-in, with the methods of ``revelio.tools.base.Tool``."""

    def __init__(self, of: Announced, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Makes the plug-in's tool; where that fails, every question to it says so."""
        self.name = spec.name
        self._of = of
        self._tool: Tool | None = None
        self._trouble = SourceError(spec.name, f"its plug-in {of.distribution} is broken: {of.trouble}")
        if of.plugin is not None:
            make = of.plugin.tool
            try:
                self._tool = guarded(of, spec.name, lambda: make(spec, backend, limits), object)  # type: ignore[assignment]
            except SourceError as error:
                self._trouble = error
        self.retrospective = bool(getattr(self._tool, "retrospective", False))

    def ping(self) -> str:
        """What its backend is; ``SourceError`` whatever goes wrong."""
        return self._ask(lambda tool: tool.ping(), str)

    def snapshot(self, scope: Scope) -> Evidence:
        """Its part of the evidence; ``SourceError`` whatever goes wrong."""
        return self._ask(lambda tool: tool.snapshot(scope), Evidence)

    def render(self, query: Query, scope: Scope) -> str:
        """The query in its language; where it fails, as the catalog writes it."""
        try:
            return self._ask(lambda tool: tool.render(query, scope), str)
        except SourceError:
            return query.body

    def link(self, query: Query, scope: Scope) -> str | None:
        """The page that opens it; None where it fails, or gives no address of a page."""
        try:
            link = self._ask(lambda tool: tool.link(query, scope) or "", str)
        except SourceError:
            return None
        return link if link.startswith(("http://", "https://")) else None

    def run(self, query: Query, scope: Scope) -> Result:
        """What the query shows; ``SourceError`` whatever goes wrong."""
        return self._ask(lambda tool: tool.run(query, scope), Result)

    def close(self) -> None:
        """Let it close what it holds."""
        close = getattr(self._tool, "close", None)
        if close is not None:
            try:
                guarded(self._of, self.name, close, object)
            except SourceError:
                return

    def _ask(self, ask: Callable[[Tool], T], kind: type[T]) -> T:
        if self._tool is None:
            raise self._trouble
        tool = self._tool
        return guarded(self._of, self.name, lambda: ask(tool), kind)


def guarded(of: Announced, source: str, call: Callable[[], T], kind: type[T]) -> T:
    """What a plug-in's code gives; ``SourceError`` where it raises anything, or gives something else than ``kind``."""
    try:
        made = call()
    except SourceError:
        raise
    except Exception as error:  # it is code of others
        why = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
        raise SourceError(source, f"its plug-in {of.distribution} failed: {why}") from error
    if not isinstance(made, kind):
        raise SourceError(source, f"its plug-in {of.distribution} gave {type(made).__name__} in place of {kind.__name__}")
    return made


def probe_of(of: Announced) -> Probe | None:
    """How a plug-in's backend is found, with its code guarded; None where it does not say."""
    probe = of.plugin.probe if of.plugin else None
    if not isinstance(probe, Probe):
        return None
    look = probe.look

    def places() -> tuple[str, ...]:
        try:
            return tuple(str(url) for url in guarded(of, of.name, probe.places, tuple))
        except SourceError:
            return ()

    def seen(url: str) -> ProbeResult:
        return guarded(of, of.name, lambda: look(url), ProbeResult)  # type: ignore[misc]  # it is there

    return replace(probe, places=places, look=seen if look else None)
