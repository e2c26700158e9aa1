"""Reads catalog files. A mistake is reported as ``file:line: what is wrong``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from revelio.catalog.conventions import signals
from revelio.catalog.products import Product
from revelio.catalog.specs import Catalog, Metric, ResultForm, ToolSpec
from revelio.errors import CatalogError
from revelio.support.bounded_file import read_bounded
from revelio.support.bounded_yaml import DeepError, Loader, check_depth
from revelio.types import Blank, ColumnRole, Origin, QueryTemplate, Reading, ResultKind

M = TypeVar("M", bound=BaseModel)

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_AMBIENT = frozenset({"window", "baseline", "project", "rate_interval"})
"""Placeholders that are filled by the run itself, not by an entity."""


class _ReadingFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    source: str = Field(pattern="^(series|logs|spans|changes|features)$")
    metric: str
    direction: str = Field("up", pattern="^(up|down|both)$")


class _FormFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: ResultKind
    roles: list[ColumnRole] = []


class _OriginFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    credit: str
    url: str = ""


class _TemplateFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(pattern=r"^[A-Za-z0-9_.\-]+$", max_length=80)
    title: str = Field(min_length=1)
    shows: str = ""
    body: str | dict[str, Any] = ""
    blanks: dict[str, str] = {}
    reads: list[_ReadingFile] = []
    result: _FormFile | None = None
    origin: _OriginFile | None = None


class _MetricFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: str
    entity: str
    label: str
    unit: str = ""
    noise_floor: FiniteFloat = Field(0.0, validation_alias=AliasChoices("noise_floor", "noise"))  # `noise`: deprecated alias
    direction: str = Field("up", pattern="^(up|down|both)$")
    absent_is_zero: bool = False


class _ProductFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    product: str = Field(pattern=r"^[A-Za-z0-9_\-]+$")
    tool: str
    title: str
    bodies: dict[str, str | dict[str, Any]] | None = None
    templates: list[_TemplateFile] = []


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
    return Catalog(tuple(_with_products(tool) for tool in tools.values()))


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


def _with_products(tool: ToolSpec) -> ToolSpec:
    """The tool and those bundled products that can answer each question of theirs there."""
    ids = {t.id for t in tool.templates}
    own = tuple(p for p in bundled_products() if p.tool == tool.name)
    forms = {t: form for p, of in _bundled_products() for t, form in of.items() if p.tool == tool.name}
    kept = tuple(replace(p, templates=tuple(t for t in p.templates if t.id not in ids)) for p in own)
    return replace(tool, products=kept, forms={**forms, **tool.forms})


def bundled_products() -> tuple[Product, ...]:
    """The products that ship with Revelio."""
    return tuple(product for product, _ in _bundled_products())


@cache
def _bundled_products() -> tuple[tuple[Product, Mapping[str, ResultForm]], ...]:
    folder = Path(str(files("revelio.catalog"))) / "products"
    return tuple(found for path in sorted(folder.glob("*.yaml")) for found in _products(path))


def _products(path: Path) -> Iterator[tuple[Product, Mapping[str, ResultForm]]]:
    for node, document in _documents(path.read_text(encoding="utf-8"), str(path)):
        parsed = _validated(_ProductFile, document, node, str(path))
        bodies = None if parsed.bodies is None else {k: _body(v) for k, v in parsed.bodies.items()}
        own = _templates(parsed.templates, parsed.tool, node, str(path))
        yield Product(parsed.product, parsed.tool, parsed.title, bodies, own), _forms(parsed.templates)


@cache
def bundled_catalog() -> Catalog:
    """The catalog that ships with Revelio."""
    folder = Path(str(files("revelio.catalog")))
    return load_catalog(*sorted(folder.glob("*.yaml")))


def _parse(text: str, name: str) -> list[tuple[ToolSpec, yaml.Node]]:
    return [(_tool(_validated(_ToolFile, document, node, name), node, name), node) for node, document in _documents(text, name)]


def _documents(text: str, name: str) -> list[tuple[yaml.Node, object]]:
    """Every document that says something."""
    try:
        check_depth(text)
        nodes = list(yaml.compose_all(text, Loader=Loader))
        for node in nodes:
            _refuse_twins(node, name)
        read = [(node, yaml.SafeLoader("").construct_document(node)) for node in nodes]
        return [(node, document) for node, document in read if document is not None]
    except (RecursionError, DeepError) as error:
        raise CatalogError(f"{name}:1: nested too deeply to be a catalog") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise CatalogError(f"{name}:{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # of a date or a number that cannot be
        raise CatalogError(f"{name}:1: not valid YAML: {error}") from error


def _validated(model: type[M], document: object, node: yaml.Node, name: str) -> M:
    try:
        return model.model_validate(document)
    except RecursionError as error:
        raise CatalogError(f"{name}:1: nested too deeply to be a catalog") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "document"
        raise CatalogError(f"{name}:{_line(node, first['loc'])}: {where}: {first['msg']}") from error


def _tool(parsed: _ToolFile, node: yaml.Node, name: str) -> ToolSpec:
    templates = _templates(parsed.templates, parsed.tool, node, name)
    known = signals().values() if parsed.signals else ()
    metrics = [Metric(s.name, "", s.entity, "", s.unit, s.noise_floor, s.direction, s.absent_is_zero) for s in known]
    metrics += [Metric(name=k, **v.model_dump()) for k, v in parsed.metrics.items()]
    return ToolSpec(parsed.tool, parsed.title or parsed.tool, parsed.about, templates, tuple(metrics), _forms(parsed.templates))


def _templates(items: list[_TemplateFile], tool: str, node: yaml.Node, name: str) -> tuple[QueryTemplate, ...]:
    templates = []
    for index, item in enumerate(items):
        body = _body(item.body)
        placeholders = set(_PLACEHOLDER.findall(body + item.title + item.shows))
        unknown = placeholders - set(item.blanks) - _AMBIENT
        if unknown:
            line = _line(node, ("templates", index))
            raise CatalogError(f"{name}:{line}: templates.{item.id}: ${{{sorted(unknown)[0]}}} is not among its blanks")
        templates.append(
            QueryTemplate(
                id=item.id,
                tool=tool,
                title=item.title,
                shows=item.shows,
                body=body,
                blanks=tuple(Blank(k, v) for k, v in item.blanks.items()),
                reads=tuple(Reading(r.source, r.metric, r.direction) for r in item.reads),  # type: ignore[arg-type]
                origin=Origin(item.origin.credit, item.origin.url) if item.origin else None,
            )
        )
    return tuple(templates)


def _body(written: str | dict[str, Any]) -> str:
    return written if isinstance(written, str) else yaml.safe_dump(written, sort_keys=False)


def _forms(items: list[_TemplateFile]) -> dict[str, ResultForm]:
    return {t.id: ResultForm(t.result.kind, tuple(t.result.roles)) for t in items if t.result}


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
