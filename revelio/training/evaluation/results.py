"""The results of an evaluation, in the shape of ``revelio eval --json``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from revelio.training.evaluation.details import Detail
from revelio.training.evaluation.metrics import Bin
from revelio.training.evaluation.runs import RunsCurve

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FaultFigures:
    """One method on one split of incidents that have a fault. Each incident counts once, as the mean over its reports.

    ``left_out`` incidents have no proven query that shows the cause. ``confidence`` is the mean probability of the first
    query, to compare with ``top1``. ``ece_chance`` is the expected ``ece`` of perfect calibration on so few incidents.
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
    """One method on controls: ``auroc`` is that of its no-fault probability against the splits with faults."""

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
    """The model on one fault kind in one split, and the most frequent wrong first template."""

    split: str
    kind: str
    incidents: int
    top1: float
    top3: float
    mistaken_for: str


@dataclass(frozen=True, slots=True)
class Missed:
    """An incident whose cause is not first: its fault, the mean rank of its cause, and the queries ranked first."""

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
    details: tuple[Detail, ...] = ()

    @property
    def failed(self) -> int:
        """The number of examples on which a method raised."""
        return len(self.failures)

    @property
    def by_method(self) -> dict[str, BySplit]:
        """Model, baselines and ablations, in display order."""
        return {self.model: self.splits} | self.baselines | self.ablations

    def json(self) -> dict[str, Any]:
        """As plain values, ready for ``json.dumps``; without the details."""
        found = asdict(replace(self, details=())) | {"failed": self.failed}
        del found["details"]
        return found
