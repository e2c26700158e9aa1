"""What is known of candidates without evidence: the component of each, and the figures that it reads."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.evidence import EvidenceIndex, Figure, Ints, component
from revelio.types import Query, QueryTemplate, Reading

Bools = NDArray[np.bool_]
H = TypeVar("H", bound=Hashable)

_SILENT_WHEN_WELL = frozenset({"logs", "changes"})
"""Sources without entries for a healthy component: no entry means no problem if the tool answered."""


@dataclass(frozen=True, slots=True)
class Readings:
    """The reads of all candidates, one row each: ``query [R]`` is the index of the candidate.

    ``entity [R, W]`` are indices of the ``entities`` that may have the figure, most specific first, -1 after the last, and
    ``figure [R]`` the index among ``figures``. ``anywhere`` has the reads of candidates without an entity, by row.
    ``up`` and ``down`` say which directions are bad; ``silent`` that a missing figure means no problem if the tool answered;
    ``tool`` is its index in ``tools``.
    """

    query: Ints
    entities: tuple[str, ...]
    entity: Ints
    figures: tuple[Figure, ...]
    figure: Ints
    anywhere: dict[int, Reading]
    up: Bools
    down: Bools
    silent: Bools
    tool: Ints
    tools: tuple[str, ...]

    def deviations(self, view: EvidenceIndex) -> tuple[NDArray[np.float64], Bools]:
        """``[R]``: the deviation of each reading in its bad direction, and whether it is known."""
        line = np.array([*map(view.entities.get, self.entities, repeat(-1)), -1])
        column = np.array([*map(view.figures.get, self.figures, repeat(-1))], dtype=np.int64)
        rows = view.rows[line[self.entity], column[self.figure][:, None]]
        first = rows[np.arange(len(rows)), (rows >= 0).argmax(axis=1)]
        known = first >= 0
        # One more row, which index -1 finds: no such figure.
        up, down = np.append(view.up, 0.0)[first], np.append(view.down, 0.0)[first]
        found = np.where(self.up & self.down, np.maximum(up, down), np.where(self.down, down, up))
        largest = view.largest(set(self.anywhere.values()))
        for row, reading in self.anywhere.items():
            if reading in largest:
                found[row], known[row] = largest[reading], True
        answered = np.array([tool not in view.missing for tool in self.tools], dtype=bool)
        return found, known | (self.silent & answered[self.tool])


@dataclass(frozen=True, slots=True)
class CandidateIndex:
    """The candidates as arrays.

    ``tool_of [T]`` is the tool of each template, ``template_of [N]`` the template of each candidate. ``targets`` are the
    distinct names that candidates are bound to, as rows ``[P, W]`` of indices of ``names``, most specific first, -1 after the
    last; ``target_of [N]`` is the target of each candidate. ``here`` is the component of each target and ``caller`` the one
    that calls it, "" for none; ``near [N]`` numbers the component of each candidate.
    """

    queries: tuple[Query, ...]
    tools: tuple[str, ...]
    templates: tuple[QueryTemplate, ...]
    tool_of: Ints
    template_of: Ints
    names: tuple[str, ...]
    targets: Ints
    target_of: Ints
    here: tuple[str, ...]
    caller: tuple[str, ...]
    near: Ints
    blanks: Ints
    readings: Readings

    def undeclared(self) -> tuple[tuple[QueryTemplate, tuple[str, ...]], ...]:
        """The templates that declare no reads, each with all names that its candidates are bound to."""
        return tuple((t, self._asked_of(number)) for number, t in enumerate(self.templates) if not t.reads)

    def _asked_of(self, number: int) -> tuple[str, ...]:
        at = np.unique(self.targets[np.unique(self.target_of[self.template_of == number])])
        return tuple(self.names[i] for i in at.tolist() if i >= 0)

    def reading(self, reads: Mapping[str, tuple[Reading, ...]]) -> Readings:
        """The reads of the candidates, with ``reads`` by template id for templates that declare none."""
        return _readings(self.queries, [bound_names(q) for q in self.queries], self.tools, reads)


def index_candidates(queries: tuple[Query, ...]) -> CandidateIndex:
    """Index the candidates once."""
    templates = tuple({q.template.id: q.template for q in queries}.values())
    tools = tuple(dict.fromkeys(t.tool for t in templates))
    bound = [bound_names(q) for q in queries]
    targets = tuple(dict.fromkeys(bound))
    names = tuple(sorted({n for at in targets for n in at}))
    here = tuple(component(at[0]) if at else "" for at in targets)
    target_of = _indices(bound, targets)
    return CandidateIndex(
        queries=queries,
        tools=tools,
        templates=templates,
        tool_of=_indices((t.tool for t in templates), tools),
        template_of=_indices((q.template.id for q in queries), tuple(t.id for t in templates)),
        names=names,
        targets=_rows(targets, names),
        target_of=target_of,
        here=here,
        caller=tuple(at[-1] if len(at) > 1 else "" for at in targets),
        near=np.unique(here, return_inverse=True)[1].astype(np.int64)[target_of],
        blanks=np.array([len(q.bindings) for q in queries], dtype=np.int64),
        readings=_readings(queries, bound, tools, {}),
    )


def bound_names(query: Query) -> tuple[str, ...]:
    """Names to look up, most specific first: the edge, then the callee (or only entity), then the caller."""
    bindings = dict(query.bindings)
    if "service" in bindings and "peer" in bindings:
        return (f"{bindings['service']}->{bindings['peer']}", bindings["peer"], bindings["service"])
    return tuple(bindings.values()) if len(bindings) < 2 else tuple(e.name for e in query.entities)


def _readings(
    queries: tuple[Query, ...], bound: list[tuple[str, ...]], tools: tuple[str, ...], inferred: Mapping[str, tuple[Reading, ...]]
) -> Readings:
    rows = [
        (i, at, r)
        for i, (q, at) in enumerate(zip(queries, bound, strict=True))
        for r in q.template.reads or inferred.get(q.template.id, ())
    ]
    entities = tuple(dict.fromkeys(n for at in bound for n in at))
    wanted = [(r.source, r.metric) for _, _, r in rows]
    figures = tuple(dict.fromkeys(wanted))
    return Readings(
        query=np.array([i for i, _, _ in rows], dtype=np.int64),
        entities=entities,
        entity=_rows((at for _, at, _ in rows), entities),
        figures=figures,
        figure=_indices(wanted, figures),
        anywhere={row: r for row, (_, at, r) in enumerate(rows) if not at},
        up=np.array([r.direction != "down" for _, _, r in rows], dtype=bool),
        down=np.array([r.direction != "up" for _, _, r in rows], dtype=bool),
        silent=np.array([r.source in _SILENT_WHEN_WELL for _, _, r in rows], dtype=bool),
        tool=_indices((queries[i].template.tool for i, _, _ in rows), tools),
        tools=tools,
    )


def _indices(items: Iterable[H], among: tuple[H, ...]) -> Ints:
    index = {item: i for i, item in enumerate(among)}
    return np.array([index[item] for item in items], dtype=np.int64)


def _rows(items: Iterable[tuple[H, ...]], among: tuple[H, ...]) -> Ints:
    """The indices of each item in rows of equal length, at least 1, padded with -1."""
    index = {item: i for i, item in enumerate(among)}
    found = [[index[part] for part in item] for item in items]
    width = max((len(row) for row in found), default=1) or 1
    return np.array([row + [-1] * (width - len(row)) for row in found], dtype=np.int64).reshape(-1, width)
