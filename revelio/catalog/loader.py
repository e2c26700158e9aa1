"""Reads catalog files. A mistake is reported as ``file:line: what is wrong``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from revelio.bounded_file import read_bounded
from revelio.bounded_yaml import DeepError, Loader, check_depth
from revelio.conventions import signals
from revelio.errors import CatalogError
from revelio.types import NO_ROLE, Blank, ColumnRole, Direction, QueryTemplate, Reading, ResultKind

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_AMBIENT = frozenset({"window", "baseline", "project"})
"""Placeholders that are filled by the run itself, not by an entity."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A series that a snapshot reads for every entity of one kind. A count that is not there may be zero.

    ``query`` reads it with one request, and ``label`` names the entity there; a signal has neither, a convention reads it.
    """

    name: str
    query: str
    entity: str
    label: str
    unit: str
    noise_floor: float
    direction: Direction
    absent_is_zero: bool = False


@dataclass(frozen=True, slots=True)
class ResultForm:
    """What the rows of a template are: the kind of the result, and the role of each column by its position."""

    kind: ResultKind = "table"
    roles: tuple[ColumnRole, ...] = ()

    def roles_of(self, columns: tuple[str, ...]) -> tuple[ColumnRole, ...]:
        """One role for each column; none has one where their number differs."""
        return self.roles if len(self.roles) == len(columns) else (NO_ROLE,) * len(columns)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as its YAML file declares it. ``metrics`` is what a snapshot reads, where the tool has series.

    ``forms`` holds the form of results by template id, where that is more than a table.
    """

    name: str
    title: str
    about: str
    templates: tuple[QueryTemplate, ...]
    metrics: tuple[Metric, ...] = ()
    forms: Mapping[str, ResultForm] = field(default_factory=dict, hash=False)

    def form_of(self, template: QueryTemplate) -> ResultForm:
        """The form of a template's results."""
        return self.forms.get(template.id, ResultForm())

    @property
    def shown(self) -> tuple[Metric, ...]:
        """The metrics that some template reads."""
        read = {r.metric for t in self.templates for r in t.reads}
        return tuple(m for m in self.metrics if m.name in read)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All tools, in the order of their files."""

    tools: tuple[ToolSpec, ...]

    @property
    def templates(self) -> tuple[QueryTemplate, ...]:
        """Every template of every tool."""
        return tuple(t for tool in self.tools for t in tool.templates)

    def template(self, template_id: str) -> QueryTemplate:
        """The template with that id; ``CatalogError`` when there is none."""
        for template in self.templates:
            if template.id == template_id:
                return template
        raise CatalogError(f"no template {template_id!r}; `revelio catalog list` shows those there are")

    @property
    def digest(self) -> str:
        """12 hex digits that change when any template changes."""
        return hashlib.sha256(repr([asdict(t) for t in self.templates]).encode()).hexdigest()[:12]


class _ReadingFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    source: str = Field(pattern="^(series|logs|spans|changes|features)$")
    metric: str
    direction: str = Field("up", pattern="^(up|down|both)$")


class _FormFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: ResultKind
    roles: list[ColumnRole] = []


class _TemplateFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(pattern=r"^[A-Za-z0-9_.\-]+$", max_length=80)
    title: str = Field(min_length=1)
    shows: str = ""
    body: str | dict[str, Any] = ""
    blanks: dict[str, str] = {}
    reads: list[_ReadingFile] = []
    result: _FormFile | None = None


class _MetricFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: str
    entity: str
    label: str
    unit: str = ""
    noise_floor: FiniteFloat = Field(0.0, validation_alias=AliasChoices("noise_floor", "noise"))  # `noise`: deprecated alias
    direction: str = Field("up", pattern="^(up|down|both)$")
    absent_is_zero: bool = False


class _ToolFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tool: str = Field(pattern=r"^[A-Za-z0-9_\-]+$")
    title: str = ""
    about: str = ""
    metrics: dict[str, _MetricFile] = {}
    signals: bool = False
    templates: list[_TemplateFile]


_MOST_VALUES = 100_000
"""Values of one catalog file with every alias written out. The largest bundled one has 2,000."""


def load_catalog(*paths: Path) -> Catalog:
    """Read one YAML document or several per file (``---`` between tools). Raises ``CatalogError`` with file and line.

    A tool that comes again has its templates and metrics added to the first one's, so that a file can extend a bundled tool.
    """
    tools: dict[str, ToolSpec] = {}
    seen: dict[str, str] = {}
    for path in paths:
        try:
            text = read_bounded(path).decode("utf-8")
        except (OSError, ValueError) as error:
            raise CatalogError(f"{path}:1: cannot be read: {error}") from error
        for tool, node in _parse(text, str(path)):
            for index, template in enumerate(tool.templates):
                where = f"{path}:{_line(node, ('templates', index, 'id'))}"
                if template.id in seen:
                    raise CatalogError(f"{where}: template id {template.id!r} is already used at {seen[template.id]}")
                seen[template.id] = where
            tools[tool.name] = (
                _joined(tools[tool.name], tool, f"{path}:{_line(node, ('metrics',))}") if tool.name in tools else tool
            )
    if not tools:
        raise CatalogError(f"{', '.join(map(str, paths)) or 'catalog'}:1: no tool is declared")
    return Catalog(tuple(tools.values()))


def _joined(first: ToolSpec, more: ToolSpec, where: str) -> ToolSpec:
    twice = {m.name for m in first.metrics} & {m.name for m in more.metrics}
    if twice:
        raise CatalogError(f"{where}: tool {first.name!r} has a metric {sorted(twice)[0]!r} already")
    return replace(
        first,
        templates=(*first.templates, *more.templates),
        metrics=(*first.metrics, *more.metrics),
        forms={**first.forms, **more.forms},
    )


@cache
def bundled_catalog() -> Catalog:
    """The catalog that ships with Revelio."""
    folder = Path(str(files("revelio.catalog")))
    return load_catalog(*sorted(folder.glob("*.yaml")))


def _parse(text: str, name: str) -> list[tuple[ToolSpec, yaml.Node]]:
    try:
        check_depth(text)
        nodes = list(yaml.compose_all(text, Loader=Loader))
        for node in nodes:
            _refuse_twins(node, name)
        documents = [yaml.SafeLoader("").construct_document(node) for node in nodes]
        return [found for found in map(partial(_document, name), nodes, documents) if found is not None]
    except (RecursionError, DeepError) as error:
        raise CatalogError(f"{name}:1: nested too deeply to be a catalog") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise CatalogError(f"{name}:{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # of a date or a number that cannot be
        raise CatalogError(f"{name}:1: not valid YAML: {error}") from error


def _document(name: str, node: yaml.Node, document: object) -> tuple[ToolSpec, yaml.Node] | None:
    if document is None:
        return None
    try:
        parsed = _ToolFile.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "document"
        raise CatalogError(f"{name}:{_line(node, first['loc'])}: {where}: {first['msg']}") from error
    return _tool(parsed, node, name), node


def _tool(parsed: _ToolFile, node: yaml.Node, name: str) -> ToolSpec:
    templates = []
    for index, item in enumerate(parsed.templates):
        body = item.body if isinstance(item.body, str) else yaml.safe_dump(item.body, sort_keys=False)
        placeholders = set(_PLACEHOLDER.findall(body + item.title + item.shows))
        unknown = placeholders - set(item.blanks) - _AMBIENT
        if unknown:
            line = _line(node, ("templates", index))
            raise CatalogError(f"{name}:{line}: templates.{item.id}: ${{{sorted(unknown)[0]}}} is not among its blanks")
        templates.append(
            QueryTemplate(
                id=item.id,
                tool=parsed.tool,
                title=item.title,
                shows=item.shows,
                body=body,
                blanks=tuple(Blank(k, v) for k, v in item.blanks.items()),
                reads=tuple(Reading(r.source, r.metric, r.direction) for r in item.reads),  # type: ignore[arg-type]
            )
        )
    known = signals().values() if parsed.signals else ()
    metrics = [Metric(s.name, "", s.entity, "", s.unit, s.noise_floor, s.direction, s.absent_is_zero) for s in known]
    metrics += [Metric(name=k, **v.model_dump()) for k, v in parsed.metrics.items()]
    forms = {t.id: ResultForm(t.result.kind, tuple(t.result.roles)) for t in parsed.templates if t.result}
    return ToolSpec(parsed.tool, parsed.title or parsed.tool, parsed.about, tuple(templates), tuple(metrics), forms)


def _refuse_twins(root: yaml.Node, name: str) -> None:
    """A key that is written twice is an error: YAML would silently take the last one. So are aliases that grow without end."""
    waiting, count = [root], 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > _MOST_VALUES:
            raise CatalogError(f"{name}:1: holds more than {_MOST_VALUES:,} values, aliases included; split the file")
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                if isinstance(key.value, str) and key.value in keys:
                    raise CatalogError(f"{name}:{key.start_mark.line + 1}: {key.value!r} is written twice here")
                keys.add(str(key.value))
                waiting.append(value)


def _line(node: yaml.Node | None, path: tuple[int | str, ...]) -> int:
    """The 1-based line of the deepest part of ``path`` that exists under ``node``."""
    line = node.start_mark.line + 1 if node else 1
    for part in path:
        found: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            found = next((v for k, v in node.value if k.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = node.value[part]
        if found is None:
            break
        node, line = found, found.start_mark.line + 1
    return line
