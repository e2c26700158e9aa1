"""Which queries are right answers for a fault: ``labels.yaml``, expanded over the place where it was injected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from fault_injection.yaml_file import read_yaml
from revelio.errors import InvalidInputError
from revelio.types import Query

LABELS = Path(__file__).with_name("labels.yaml")
ROLES = ("place", "callers", "callees", "caller", "callee", "place operations", "caller operations", "place table")
CALLERS_OF = "callers of "
"""Begins the role of the callers of another service: not every place of a fault is called."""
Grade = Literal[1, 2, 3]


class Accepted(BaseModel):
    """One accepted template. ``blanks`` gives each blank a role with regard to the place, ``callers of NAME`` or ``=value``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    template: str
    grade: Grade
    blanks: dict[str, str] = {}
    at: tuple[str, ...] = Field((), description="Only for faults at these places; anywhere when empty")


@dataclass(frozen=True, slots=True)
class Cause:
    """Where a fault is, and what is accepted as right answers for faults of its kind."""

    place: str
    accepted: tuple[Accepted, ...]


class _Labels(RootModel[dict[str, list[Accepted]]]):
    pass


@dataclass(frozen=True, slots=True)
class Call:
    """One service calls another, or a store."""

    caller: str
    callee: str


def load_labels(path: Path = LABELS) -> dict[str, tuple[Accepted, ...]]:
    """Accepted templates by fault kind; ``InvalidInputError`` names what is wrong in the file."""
    parsed = read_yaml(path, _Labels)
    for kind, entries in parsed.root.items():
        for entry in entries:
            for blank, role in entry.blanks.items():
                if role not in ROLES and not role.startswith(("=", CALLERS_OF)):
                    raise InvalidInputError(f"{path}: {kind}.{entry.template}: {blank}: {role!r} is none of {', '.join(ROLES)}")
    return {kind: tuple(entries) for kind, entries in parsed.root.items()}


def accepted_queries(
    entries: Iterable[Accepted], place: str, candidates: Iterable[Query], calls: Iterable[Call]
) -> dict[Query, Grade]:
    """Every candidate that is a right answer for a fault at ``place``, with the best grade that it has."""
    entries, calls = tuple(entries), frozenset(calls)
    found: dict[Query, Grade] = {}
    for query in candidates:
        for entry in entries:
            if entry.template == query.template.id and (not entry.at or place in entry.at) and _fits(entry, query, place, calls):
                found[query] = max(found.get(query, entry.grade), entry.grade)
    return found


def apart_from(own: Mapping[Query, Grade], place: str, others: Mapping[Query, Grade], their_place: str) -> dict[Query, Grade]:
    """Grades of a fault's queries while another one is active: what both accept has grade 1, unless it names only its place."""
    generic = {q for q in own.keys() & others.keys() if not _names(q, place) or _names(q, their_place)}
    return {query: 1 if query in generic else grade for query, grade in own.items()}


def _names(query: Query, place: str) -> bool:
    """Whether a query is bound to the place, or to a part of it."""
    bound = {part for _, value in query.bindings for part in (value, *value.split("->"), *value.split(": "))}
    return not bound.isdisjoint((place, *place.split("->")))


def _fits(entry: Accepted, query: Query, place: str, calls: frozenset[Call]) -> bool:
    bound = dict(query.bindings)
    return all(name in bound and _plays(role, bound[name], place, calls) for name, role in entry.blanks.items())


def _plays(role: str, value: str, place: str, calls: frozenset[Call]) -> bool:
    owner = value.split(": ", 1)[0]
    caller, _, callee = place.partition("->")
    return {
        "place": value == place,
        "callers": Call(value, place) in calls,
        "callees": Call(place, value) in calls,
        "caller": callee != "" and value == caller,
        "callee": callee != "" and value == callee,
        "place operations": ": " in value and owner == place,
        "place table": ": " in value and value.split(": ", 1)[1] == place,
        "caller operations": ": " in value and (Call(owner, place) in calls or (callee != "" and owner == caller)),
    }.get(role, Call(value, role.removeprefix(CALLERS_OF)) in calls or value == role.removeprefix("="))
