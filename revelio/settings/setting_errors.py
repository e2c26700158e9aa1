"""What is wrong with settings, in words of the person who wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from revelio.support.suggestion import VERY_CLOSE, closest, suggestion

PREFIX = "REVELIO_"
ELSEWHERE = frozenset({"config"})
"""Variables with the prefix that are no settings, without it."""

_NOT = {"int": "a whole number", "float": "a number", "bool": "true or false", "decimal": "a number"}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
_SHAPES = {
    "list": "a list",
    "dict": "a table",
    "model": "a table",
    "dataclass": "a table",
    "string": "a text in quotes",
    "path": "a path in quotes",
    "ip": "an address or a network, such as 10.0.0.0/8",
}


def explained(error: ValidationError, settings: type[BaseModel]) -> str:
    """The first error: which setting it is, what is wrong with it, and what it can be instead."""
    errors = error.errors()
    # A name that is misspelt explains one that is missing.
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    path = tuple(first["loc"])
    wrong = _wrong(first, path, settings)
    joined = f" {wrong}" if wrong.startswith(("is ", "has ")) else f": {wrong}"
    return f"setting {'.'.join(map(str, path))}{joined}; see `revelio docs settings`"


def unreadable(error: Exception, settings: type[BaseModel]) -> str | None:
    """What to write into a variable of the environment that should be JSON and is not; None for any other error."""
    found = re.search(r'field "(\w+)" from source "EnvSettings', str(error))
    if found is None:
        return None
    name = found[1]
    field = settings.model_fields.get(name)
    example = "'[\"...\"]'" if field is not None and get_origin(field.annotation) is list else "'{\"...\": ...}'"
    return f"setting {name}: {PREFIX}{name.upper()} has to be JSON, as in {PREFIX}{name.upper()}={example}"


def misspelt_variable(environment: Iterable[str], settings: type[BaseModel]) -> str | None:
    """What to write in place of the first variable whose name is close to that of a setting; None where there is none.

    Other variables with the prefix are left alone: container engines and clusters make some of their own.
    """
    known = {*settings.model_fields, *ELSEWHERE}
    for variable in sorted(environment):
        name = variable.lower().removeprefix(PREFIX.lower()).partition("__")[0]
        if variable.upper().startswith(PREFIX) and name not in known and (meant := closest(name, known, VERY_CLOSE)):
            rest = variable[len(PREFIX) + len(name) :]
            return f"{variable} in the environment is no setting; did you mean {PREFIX}{meant.upper()}{rest}?"
    return None


def _wrong(first: Mapping[str, Any], path: Sequence[int | str], settings: type[BaseModel]) -> str:
    kind, given, about = str(first["type"]), first["input"], first.get("ctx") or {}
    noun, _, rest = kind.partition("_")
    if kind == "extra_forbidden":
        return f"is unknown; {suggestion(str(path[-1]), _names(settings, path[:-1]))}"
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        return f"is {given!r}; choose from {about['expected']}"
    if noun in _NOT and (rest in ("parsing", "type") or kind == "int_from_float"):
        return f"is {given!r}, which is not {_NOT[noun]}"
    if bound := next((b for b in _BOUNDS if b in about), ""):
        return f"is {given!r}; it has to be {_BOUNDS[bound]} {about[bound]:g}"
    if kind == "value_error":
        return str(about["error"])
    if kind == "string_pattern_mismatch":  # what was given may hold a password
        return f"is not of the form {about['pattern']}"
    return f"has to be {_SHAPES[noun]}" if noun in _SHAPES else str(first["msg"])


def _names(kind: Any, path: Sequence[int | str]) -> tuple[str, ...]:
    """The settings below a path."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not path:
            return tuple(kind.model_fields)
        field = kind.model_fields.get(str(path[0]))
        return _names(field.annotation, path[1:]) if field else ()
    if get_origin(kind) is dict:
        return _names(get_args(kind)[1], path[1:])
    return next((names for part in get_args(kind) if (names := _names(part, path))), ())
