"""One dataclass a page: all that its template may read, under the name ``page``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from revelio.ranker.versions import LastRun, Version
from revelio.service.snapshots import SystemSnapshot
from revelio.systems.health import Health
from revelio.types import QueryTemplate
from webui.views.answer_groups import AnswerGroup
from webui.views.model import ModelFolder
from webui.views.service_map import ServiceMap
from webui.views.settings import ActiveSetting


@dataclass(frozen=True, slots=True)
class Page:
    """What every page has: its template and the navigation entry that is lit."""

    template: ClassVar[str] = ""
    here: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of the select: ``value`` is ``system:NAME`` or ``incident:ID``; ``usable`` unless nothing of it can be seen."""

    value: str
    label: str
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Example:
    """A report to start from, asked about the recorded incident that it was written for."""

    incident: str
    report: str


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The fields of the time, as typed."""

    since: str = ""
    at: str = ""
    window: str = ""

    @property
    def any(self) -> bool:
        """Whether one is filled."""
        return bool(self.since or self.at or self.window)


@dataclass(frozen=True, slots=True)
class AskPage(Page):
    """The ask form, empty or rejected: ``when`` is the time as typed, ``masks`` names what is masked before saving.

    ``troubles`` says why Revelio cannot answer at present.
    """

    template: ClassVar[str] = "ask.html"
    here: ClassVar[str] = "ask"
    report: str
    chosen: str
    systems: tuple[Choice, ...]
    recorded: tuple[Choice, ...]
    examples: tuple[Example, ...]
    max_chars: int
    masks: str
    when: AskedTime = field(default_factory=AskedTime)
    refused: str = ""
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """One data source while a question is answered: ``state`` is "asking", "answered" or "silent"."""

    title: str
    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ProgressPart(Page):
    """The data sources of a question alone, for a page that waits for its answer."""

    template: ClassVar[str] = "parts/progress.html"
    rows: tuple[ProgressRow, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage(Page):
    """Answers that match what was typed into the filters, by incident, newest first.

    ``shown`` of ``total`` answers are on this page; ``newer`` and ``older`` are addresses of pages.
    """

    template: ClassVar[str] = "history.html"
    here: ClassVar[str] = "history"
    groups: tuple[AnswerGroup, ...]
    shown: int
    total: int
    first: int
    filters: HistoryFilters
    systems: tuple[str, ...]
    newer: str
    older: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class HistoryFilters:
    """The filters as typed: dates are YYYY-MM-DD, in UTC."""

    q: str = ""
    system: str = ""
    verdict: str = ""
    since: str = ""
    until: str = ""

    @property
    def any(self) -> bool:
        """Whether one is set."""
        return bool(self.q or self.system or self.verdict or self.since or self.until)


@dataclass(frozen=True, slots=True)
class BackendRow:
    """One data source of a system: ``up`` is None before the first check or without a backend."""

    tool: str
    title: str
    set_up: bool
    up: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system: whether it can be asked live, and how many recorded incidents there are of it."""

    name: str
    live: bool
    recorded: int
    health: Health
    backends: tuple[BackendRow, ...]


@dataclass(frozen=True, slots=True)
class SystemsPage(Page):
    """All systems."""

    template: ClassVar[str] = "systems.html"
    here: ClassVar[str] = "systems"
    systems: tuple[SystemRow, ...]
    trouble: str


@dataclass(frozen=True, slots=True)
class SystemPage(Page):
    """One system. ``missing`` names the data sources that did not answer; ``looked`` is True after "Query now"."""

    template: ClassVar[str] = "system.html"
    here: ClassVar[str] = "systems"
    row: SystemRow
    snapshot: SystemSnapshot | None
    missing: tuple[str, ...]
    looked: bool
    map: ServiceMap | None


@dataclass(frozen=True, slots=True)
class CatalogTool:
    """A tool with the templates that match."""

    name: str
    title: str
    about: str
    templates: tuple[QueryTemplate, ...]


@dataclass(frozen=True, slots=True)
class CatalogPage(Page):
    """What can be asked; ``names`` are all tools (name, title), ``total`` all templates."""

    template: ClassVar[str] = "catalog.html"
    here: ClassVar[str] = "catalog"
    tools: tuple[CatalogTool, ...]
    names: tuple[tuple[str, str], ...]
    q: str
    tool: str
    total: int


@dataclass(frozen=True, slots=True)
class Learning:
    """Versions learned from feedback: ``current`` is active, ``base`` is the model as trained.

    ``last`` is the latest run, ``trouble`` why the chosen version is not active; ``every_hours`` is 0
    without a schedule. ``may_choose`` is True when the viewer may activate versions.
    """

    base: str
    current: str
    versions: tuple[Version, ...]
    last: LastRun | None
    trouble: str
    every_hours: float
    may_choose: bool


@dataclass(frozen=True, slots=True)
class ModelPage(Page):
    """The model; ``catalog`` is the digest of the active catalog, ``learning`` None when the base model cannot be read."""

    template: ClassVar[str] = "model.html"
    here: ClassVar[str] = "model"
    folder: ModelFolder
    catalog: str
    troubles: tuple[str, ...]
    learning: Learning | None


@dataclass(frozen=True, slots=True)
class SettingsGroup:
    """The settings of the server ("") or of one system."""

    system: str
    settings: tuple[ActiveSetting, ...]


@dataclass(frozen=True, slots=True)
class SettingsPage(Page):
    """All active settings."""

    template: ClassVar[str] = "settings.html"
    here: ClassVar[str] = "settings"
    groups: tuple[SettingsGroup, ...]


@dataclass(frozen=True, slots=True)
class ErrorPage(Page):
    """What went wrong, for a person."""

    template: ClassVar[str] = "error.html"
    here: ClassVar[str] = ""
    status: int
    title: str
    detail: str
