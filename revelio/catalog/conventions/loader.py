"""Reads the bundled signals and conventions. A mistake is a ``CatalogError`` that names the file and what is wrong there."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from revelio.catalog.conventions.model import Convention, Label, Merge, Provenance, Rule, Signal
from revelio.errors import CatalogError
from revelio.support.bounded_yaml import read_yaml
from revelio.types import Direction

_FOLDER = Path(str(files("revelio.catalog.conventions")))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _SignalFile(_Strict):
    entity: str
    unit: str
    noise_floor: float
    meaning: str
    direction: Direction = "up"
    absent_is_zero: bool = False
    merge: Merge = "max"
    presence: bool = False


class _RuleFile(_Strict):
    query: str
    views: dict[str, str] = {}
    labels: list[str] = []
    fallback: bool = False


class _LabelFile(_Strict):
    label: str
    only: str = ""


class _SpellingFile(_Strict):
    title: str
    leaves_out: str
    source: Provenance
    command: str = ""


class _ConventionFile(_Strict):
    title: str
    component: list[str | _LabelFile]
    source: Provenance
    command: str = ""
    exporter: str = ""
    hint: str = ""
    of_process: bool = False
    marker: str = ""
    spellings: dict[str, _SpellingFile] = {}
    signals: dict[str, str | _RuleFile | list[str | _RuleFile]]


@cache
def signals() -> dict[str, Signal]:
    """Every signal by name, in the order of the table."""
    found = _read(_FOLDER / "signals.yaml")
    return {
        name: Signal(name=name, **_checked(_SignalFile, value, f"signals.yaml: {name}").model_dump())
        for name, value in found.items()
    }


@cache
def conventions() -> dict[str, Convention]:
    """Every bundled convention by name, which is its file's, or that of another spelling in the file."""
    found = [one for path in sorted((_FOLDER / "exporters").glob("*.yaml")) for one in load_conventions(path)]
    return {one.name: one for one in found}


def load_conventions(path: Path) -> tuple[Convention, ...]:
    """The conventions of a file: the one it spells out, and those whose exporters leave a part of each metric's name out.

    ``CatalogError`` when the file is wrong or names a signal that is not in the table.
    """
    parsed = _checked(_ConventionFile, _read(path), path.name)
    plain = _convention(parsed, path)
    return (plain, *(_spelt(plain, name, other) for name, other in parsed.spellings.items()))


def _spelt(plain: Convention, name: str, other: _SpellingFile) -> Convention:
    part = other.leaves_out
    rules = tuple(
        replace(r, query=r.query.replace(part, ""), views=tuple((view, text.replace(part, "")) for view, text in r.views))
        for r in plain.rules
        if part in r.query
    )
    return replace(plain, name=name, title=other.title, rules=rules, source=other.source, command=other.command, hint="")


def _convention(parsed: _ConventionFile, path: Path) -> Convention:
    rules = []
    for signal, written in parsed.signals.items():
        if signal not in signals():
            raise CatalogError(f"{path.name}: there is no signal {signal!r}; signals.yaml lists those there are")
        for variant, one in enumerate(written if isinstance(written, list) else [written], 1):
            rule = one if isinstance(one, _RuleFile) else _RuleFile(query=one)
            rules.append(Rule(signal, rule.query, variant, tuple(rule.views.items()), tuple(rule.labels), rule.fallback))
    empty = next((r.signal for r in rules if not r.metrics), None)
    if empty:
        raise CatalogError(f"{path.name}: {empty}: no metric{{${{where}}}} stands in the pattern")
    labels = tuple(Label(c) if isinstance(c, str) else Label(c.label, c.only) for c in parsed.component)
    told = parsed.model_dump(include={"title", "source", "command", "exporter", "hint", "of_process", "marker"})
    return Convention(name=path.stem, components=labels, rules=tuple(rules), **told)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise CatalogError(f"{path}: cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CatalogError(f"{path}: has to be a mapping")
    return found


def _checked(kind: type[Any], value: object, where: str) -> Any:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise CatalogError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
