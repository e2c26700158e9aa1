"""Templates that a file of incidents holds once: its first line, and their ids in candidates.

``{"templates": [...], "format": "revelio.templates/1"}`` comes before the records whose candidates name these templates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from revelio.errors import DatasetError
from revelio.types import QueryTemplate


@dataclass(frozen=True, slots=True)
class TemplatesLine:
    """The templates of the candidates in all later lines of a file."""

    templates: tuple[QueryTemplate, ...]
    format: Literal["revelio.templates/1"] = "revelio.templates/1"

    __pydantic_config__ = ConfigDict(extra="forbid", defer_build=True)


_LINE = TypeAdapter(TemplatesLine)


def is_templates_line(line: bytes) -> bool:
    """Whether a line of a file holds templates, not a record."""
    return b'"revelio.templates/' in line and line.lstrip().startswith((b'{"templates"', b'{"format"'))


def templates_line(line: bytes, where: str) -> dict[str, QueryTemplate]:
    """The templates of such a line by id. ``DatasetError`` starts with ``where``."""
    try:
        return {t.id: t for t in _LINE.validate_json(line).templates}
    except ValidationError as error:
        raise DatasetError(f"{where}: {first_error(error)}") from error


def dump_templates(templates: Iterable[QueryTemplate]) -> Any:
    """The line as plain values."""
    return _LINE.dump_python(TemplatesLine(tuple(templates)), mode="json")


def reference(template: QueryTemplate, shared: Mapping[str, QueryTemplate]) -> Any:
    """How a candidate names its template: by id, or as a whole when the shared one of this id is another."""
    return template.id if shared[template.id] == template else dump_templates((template,))["templates"][0]


def resolved(line: str | bytes, where: str, templates: Mapping[str, QueryTemplate]) -> Any:
    """The JSON of a record, with each template id of a candidate replaced by its template."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: Invalid JSON: {error}") from error
    candidates = value.get("candidates") if isinstance(value, dict) else None
    for number, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
        name = candidate.get("template") if isinstance(candidate, dict) else None
        if isinstance(name, str):
            if name not in templates:
                raise DatasetError(f"{where}: candidates.{number}.template: no template {name!r} in the line of templates")
            candidate["template"] = templates[name]
    return value


def first_error(error: ValidationError) -> str:
    """The path and message of the first error."""
    first = error.errors()[0]
    path = ".".join(str(p) for p in first["loc"])
    return f"{path + ': ' if path else ''}{first['msg']}"
