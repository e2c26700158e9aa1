"""What decides the outcome of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from revelio.catalog import Catalog
from revelio.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class TrainArguments:
    """Everything that decides the outcome, checked when made."""

    dataset: Path
    out: Path
    catalog: Catalog
    device: Literal["auto", "cpu", "cuda"] = "auto"
    resume: bool = False
    deterministic: bool = False
    seed: int = 0
    epochs: int = 60
    """Epochs at most: a run ends early when it no longer gets better on the incidents held out from it."""
    patience: int = 30
    """Epochs without getting better before it ends."""
    folds: int = 5
    members: int = 3
    """Networks whose mean is the model; they differ by chance alone."""
    batch_size: int = 16
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    share: float = 1.0
    """Share of the incidents to learn from: for learning curves."""
    also: tuple[str, ...] = ()
    """Ids of incidents of other splits to learn from as well: for few-shot studies only."""
    fine_tune: int = 3
    """Epochs of the report encoder's fine-tuning at most; 0 takes the published encoder as it is."""
    factors: Literal[1, 2, 3] = 3
    """Softmaxes that a probability is made of; fewer than three are ablations."""
    blind_to: tuple[str, ...] = ()
    """Features that are always 0: for ablations."""
    quantize: bool = True
    """Whether the report encoder is exported in int8; in fp32 it is four times as large."""
    encoder: Path | None = None
    """A model folder whose exported report encoder is taken as it is, instead of fine-tuning and exporting one."""

    def __post_init__(self) -> None:
        """``InvalidInputError`` for values that cannot work."""
        if min(self.epochs, self.batch_size, self.members) < 1 or self.folds < 0 or not 0 < self.share <= 1:
            raise InvalidInputError("epochs, batch size and members must be at least 1, folds at least 0, share within (0, 1]")
        if self.patience < 1 or self.fine_tune < 0:
            raise InvalidInputError("patience must be at least 1, epochs of fine-tuning at least 0")
