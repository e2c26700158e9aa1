"""Signals, and the conventions by which exporters and instrumentations store them. Frozen values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from revelio.types import Direction

Merge = Literal["sum", "max"]
Provenance = Literal["recorded", "documentation"]

_METRIC = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{\$\{(?:where|scope)\}")


@dataclass(frozen=True, slots=True)
class Signal:
    """Something measured about one kind of entity. ``noise_floor`` is how much a value varies in health, in ``unit``.

    ``merge`` joins the series of an entity that has several names, as the pods of a workload. A count that is not there
    may be zero (``absent_is_zero``). A signal of ``presence`` says whether something is there and answers: it is read as on or
    off, and no spread of it is normal.
    """

    name: str
    entity: str
    unit: str
    noise_floor: float
    meaning: str
    direction: Direction = "up"
    absent_is_zero: bool = False
    merge: Merge = "max"
    presence: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A label that may name the component. ``only`` is a further matcher that holds where this label is taken."""

    name: str
    only: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """How one signal is read: ``query`` is a pattern of PromQL, ``views`` are others for a breakdown, by its name.

    ``${of}`` stands where the labels of the entity go, ``${where}`` and ``${scope}`` inside braces where its matchers go,
    ``${rate_interval}`` for the range of a rate. ``labels`` follow the component's own label where an entity has a name of
    several parts. A ``fallback`` is used where no other convention has the signal. ``variant`` counts the ways in which one
    convention stores a signal.
    """

    signal: str
    query: str
    variant: int = 1
    views: tuple[tuple[str, str], ...] = ()
    labels: tuple[str, ...] = ()
    fallback: bool = False

    @property
    def id(self) -> str:
        """Its name within the convention."""
        return self.signal if self.variant == 1 else f"{self.signal}~{self.variant}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics without which the pattern gives nothing: those before its first ``or``."""
        return tuple(dict.fromkeys(_METRIC.findall(self.query.split(" or ")[0])))

    def pattern(self, view: str = "") -> str:
        """The pattern of a breakdown, or the plain one where the convention has none of that name."""
        return dict(self.views).get(view, self.query)


@dataclass(frozen=True, slots=True)
class Convention:
    """How one exporter or instrumentation stores signals.

    ``components`` are labels that may name the component, best first. ``exporter`` is the metric by which a scrape is known
    to come from a program that speaks of another one: its own process is then no component, so conventions ``of_process``
    leave it out. Where there is a ``marker``, the convention is followed only if that metric is there. ``command`` made the
    sample, ``hint`` says what to set up where none of it is there.
    """

    name: str
    title: str
    components: tuple[Label, ...]
    rules: tuple[Rule, ...]
    source: Provenance
    command: str = ""
    exporter: str = ""
    hint: str = ""
    of_process: bool = False
    marker: str = ""

    @property
    def metrics(self) -> frozenset[str]:
        """Every metric that some rule needs."""
        return frozenset(m for rule in self.rules for m in rule.metrics)
