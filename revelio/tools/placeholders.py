"""Fills the placeholders of a template's body without letting a value become part of the query's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

import yaml

from revelio.errors import SourceError
from revelio.support.bounded_yaml import read_yaml
from revelio.tools.base import Scope
from revelio.types import Query

PLACEHOLDER = re.compile(r"\$\{(\w+)\}")

Leaf = str | int | float | bool | None
Tree = Leaf | list["Tree"] | dict[str, "Tree"]


def values(query: Query, scope: Scope) -> dict[str, str]:
    """Every placeholder's value: the bindings, and what the scope gives (``project``; ``window`` and ``baseline`` as ``30s``)."""
    ambient = {"project": scope.project, "window": seconds(scope.window.seconds), "baseline": seconds(scope.baseline.seconds)}
    return ambient | dict(query.bindings)


def seconds(length: float) -> str:
    """A length of time as PromQL and people write it."""
    return f"{max(1, round(length))}s"


def put(text: str, filling: Mapping[str, str], escape: Callable[[str], str] = str) -> str:
    """Put each value where its placeholder stands, once: a placeholder inside a value stays as it is."""
    return PLACEHOLDER.sub(
        lambda placeholder: escape(filling[placeholder[1]]) if placeholder[1] in filling else placeholder[0], text
    )


def tree(query: Query, scope: Scope) -> dict[str, Tree]:
    """A body that is a mapping, parsed first and filled afterwards, so that a value stays one string whatever it holds."""
    try:
        parsed = _parsed(query.template.body)
    except yaml.YAMLError as error:
        raise SourceError(query.template.tool, f"the query is not readable as YAML or JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise SourceError(query.template.tool, "the query has to be a mapping, as the bodies in its catalog file are")
    filling = values(query, scope)
    return {str(key): _fill(value, filling) for key, value in parsed.items()}


@lru_cache(maxsize=1000)
def _parsed(body: str) -> object:
    """Shared and never changed: filling copies it. Parsing is the slowest step of rendering."""
    return read_yaml(body)


def _fill(node: Tree, filling: Mapping[str, str]) -> Tree:
    if isinstance(node, str):
        return put(node, filling)
    if isinstance(node, list):
        return [_fill(item, filling) for item in node]
    if isinstance(node, dict):
        return {str(key): _fill(value, filling) for key, value in node.items()}
    return node
