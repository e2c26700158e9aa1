"""What an evaluation found, in the shape of ``revelio eval --json``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from revelio.evaluation.metrics import Bin
from revelio.evaluation.runs import RunsCurve

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FaultFigures:
    """One method on one split of incidents that have a fault. Each incident counts once, as the mean over its reports.

    ``left_out`` incidents had no proven query that shows the cause, so there was nothing to find. ``confidence`` is the
    probability that the first query was given, to be compared with ``top1``. ``ece_chance`` is the
    ``ece`` to be expected of so few incidents were every probability exactly right.
    """

    incidents: int
    examples: int
    left_out: int
    failed: int
    top1: float
    top3: float
    top5: float
    mrr: float
    average_rank: float
    accepted_top1: float
    accepted_top3: float
    template_top1: float
    place_top1: float
    confidence: float
    ece: float
    ece_chance: float
    abstained: float
    ci95: dict[str, Interval]
    reliability: tuple[Bin, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """One method on runs with no fault: does it say so? ``auroc`` is of its abstain score against the splits with faults."""

    incidents: int
    examples: int
    failed: int
    auroc: float | None
    abstained: float
    ci95: dict[str, Interval]


Figures = FaultFigures | ControlFigures
BySplit = dict[str, Figures]


@dataclass(frozen=True, slots=True)
class KindFigures:
    """How the model did on one kind of fault in one split, and which template it named most often where it was wrong."""

    split: str
    kind: str
    incidents: int
    top1: float
    top3: float
    mistaken_for: str


@dataclass(frozen=True, slots=True)
class Missed:
    """An incident whose cause the model did not put first: what was wrong, at which rank that came, what came before."""

    incident: str
    split: str
    kind: str
    place: str
    strength: str
    rank: float
    first: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A method that raised on an incident."""

    method: str
    incident: str
    error: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Every method on every split."""

    model: str
    dataset: str
    splits: BySplit
    baselines: dict[str, BySplit] = field(default_factory=dict)
    ablations: dict[str, BySplit] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    runs: dict[str, RunsCurve] = field(default_factory=dict)
    kinds: tuple[KindFigures, ...] = ()
    missed: tuple[Missed, ...] = ()

    @property
    def failed(self) -> int:
        """How often any method raised."""
        return len(self.failures)

    @property
    def by_method(self) -> dict[str, BySplit]:
        """Model, baselines and ablations, in the order in which they are shown."""
        return {self.model: self.splits} | self.baselines | self.ablations

    def json(self) -> dict[str, Any]:
        """As plain values, ready for ``json.dumps``."""
        return asdict(self) | {"failed": self.failed}
