"""The bugs that were written for each application, read from ``fault_injection/bugs``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fault_injection.mechanisms.patch import insert, replace
from revelio.errors import FaultError

FOLDER = Path(__file__).parents[1] / "bugs"
INPUTS = ("all", "many", "some")
"""For how many inputs of a function there is a form of a bug."""


@dataclass(frozen=True, slots=True)
class Bug:
    """One way to get one file of a service wrong: statements at the start of ``function``, or texts replaced by others.

    ``feature`` is what a user does where it shows, ``route`` the service's own where it does; "" when it was not said.
    """

    kind: str
    service: str
    file: str
    strength: str
    feature: str = ""
    function: str = ""
    statements: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    route: str = ""

    def patch(self, source: str) -> str:
        """The source with the bug in it; ``FaultError`` when the place it belongs to is not there any more."""
        if self.function:
            return insert(source, self.function, self.statements, where=self.file)
        return replace(source, self.edits, where=self.file)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    service: str
    file: str


class _Insertion(_Entry):
    kind: Literal["exception_on_input"]
    function: str
    all: str | None = None
    many: str | None = None
    some: str | None = None

    def bugs(self) -> Iterator[Bug]:
        for strength in INPUTS:
            if (statements := getattr(self, strength)) is not None:
                yield Bug(self.kind, self.service, self.file, strength, function=self.function, statements=statements)


class _Edit(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    find: str = Field(min_length=1)
    put: str = Field(alias="with")


class _Replacement(_Edit, _Entry):
    kind: str
    strength: str
    feature: str = ""
    route: str = ""
    also: tuple[_Edit, ...] = ()

    def bugs(self) -> Iterator[Bug]:
        edits = tuple((edit.find, edit.put) for edit in (self, *self.also))
        yield Bug(self.kind, self.service, self.file, self.strength, self.feature, edits=edits, route=self.route)


@cache
def bugs(app_name: str) -> tuple[Bug, ...]:
    """All bugs of an application in the order of its file, none without one. ``FaultError`` says what is wrong in it."""
    path = FOLDER / f"{app_name}.yaml"
    if not path.is_file():
        return ()
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        return tuple(bug for entry in entries for bug in _read(entry).bugs())
    except (yaml.YAMLError, ValidationError) as error:
        raise FaultError(f"{path} cannot be read: {error}") from error


def bugs_of(app_name: str, kind: str) -> tuple[Bug, ...]:
    """Those of one kind."""
    return tuple(bug for bug in bugs(app_name) if bug.kind == kind)


def _read(entry: Any) -> _Insertion | _Replacement:
    form = _Insertion if isinstance(entry, dict) and "function" in entry else _Replacement
    return form.model_validate(entry)
