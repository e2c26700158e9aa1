"""Evidence to draw, as plain values shared by page, terminal and messages. Numbers are finite or None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from revelio.types import Cell, Window


@dataclass(frozen=True, slots=True)
class Line:
    """One series: its points, its figures before and now (``anomaly.levels``), and its highest value now."""

    name: str
    times: tuple[float, ...]
    values: tuple[float | None, ...]
    before: float | None
    now: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class Chart:
    """Series of one unit over baseline and window. ``left_out`` counts those that would be too many to tell apart."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    baseline: Window
    window: Window
    left_out: int = 0
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True, slots=True)
class Bar:
    """One span; ``start`` and ``width`` are shares of the trace's time, ``own_ms`` is what its child spans do not cover.

    ``mark`` says what to look at: spans that ``failed``, the ``origin`` of a failure (a failed span below which nothing
    failed), and else the ``slow`` one, whose own time is most of the trace.
    """

    service: str
    operation: str
    depth: int
    start: float
    width: float
    duration_ms: float
    own_ms: float
    mark: Literal["", "failed", "origin", "slow"] = ""


@dataclass(frozen=True, slots=True)
class Waterfall:
    """One trace, every span under its caller."""

    bars: tuple[Bar, ...]
    total_ms: float
    left_out: int = 0
    kind: Literal["waterfall"] = "waterfall"


@dataclass(frozen=True, slots=True)
class Group:
    """One item now and before: log lines of a pattern, packets of a flow, spans of an operation.

    ``before`` is None where it is unknown; ``mark`` says what is anomalous.
    """

    label: str
    about: tuple[str, ...]
    now: float | None
    before: float | None
    mark: Literal["", "new", "more", "gone"] = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Groups:
    """What is compared and in which unit. Counts are of the whole window and the whole baseline, whose lengths may differ."""

    title: str
    unit: str
    groups: tuple[Group, ...]
    now_s: float
    before_s: float
    left_out: int = 0
    kind: Literal["groups"] = "groups"


@dataclass(frozen=True, slots=True)
class Moment:
    """A change at one time; ``during`` when it was in the window."""

    at: float
    entity: str
    what: str
    before: str
    after: str
    during: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """Changes, oldest first."""

    moments: tuple[Moment, ...]
    baseline: Window
    window: Window
    left_out: int = 0
    kind: Literal["timeline"] = "timeline"


@dataclass(frozen=True, slots=True)
class Node:
    """One line of a tree. ``mark`` is set where others wait for it."""

    depth: int
    name: str
    detail: str
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """Blocked sessions under the session that blocks them."""

    title: str
    nodes: tuple[Node, ...]
    left_out: int = 0
    kind: Literal["tree"] = "tree"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as the tool gave them; ``redundant`` when another panel says the same in a form that reads better."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: tuple[bool, ...]
    redundant: bool = False
    kind: Literal["table"] = "table"


Panel = Chart | Waterfall | Groups | Timeline | Tree | Table


@dataclass(frozen=True, slots=True)
class EvidencePanels:
    """A result to show: its summary, its signal, whether that is ``significant``, and its panels in reading order."""

    summary: str
    reason: str
    signal: float
    significant: bool
    panels: tuple[Panel, ...]
    truncated: bool
    took_ms: float
    error: str | None = None
