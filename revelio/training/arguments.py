"""The arguments of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from revelio.catalog import Catalog
from revelio.errors import InvalidInputError

LEARNING_RATE, CONTINUED_LEARNING_RATE = 2e-3, 5e-4
"""From random weights, and from those of a model."""


@dataclass(frozen=True, slots=True)
class TrainArguments:
    """Everything that determines the outcome, validated when made."""

    dataset: Path
    out: Path
    catalog: Catalog
    """The catalog of incidents whose dataset has none."""
    dataset_catalog: Catalog | None = None
    """The catalog of ``dataset`` in place of that in its folder."""
    others: tuple[tuple[Path, Catalog | None], ...] = ()
    """Further datasets to train on, each with its own catalog."""
    start: Path | None = None
    """A model folder to continue from: its networks, and its report encoder unless ``encoder`` is given."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    resume: bool = False
    deterministic: bool = False
    seed: int = 0
    epochs: int = 45
    """Maximal epochs; a run with held-out incidents stops early when their loss no longer falls."""
    patience: int = 15
    """Epochs without improvement before it stops."""
    folds: int = 3
    partners: int = 2
    """With so many others each incident is superposed, for examples of two faults at once."""
    simulated: int = 0
    """Simulated incidents to train on as well; they are never evaluated on."""
    simulated_share: float = 1 / 3
    """The share of the incidents of an epoch that are simulated, at most: other ones in each epoch."""
    pretrain: int = 10
    """Maximal epochs on simulated incidents alone, before those on all."""
    members: int = 3
    """Networks of the ensemble; they differ in their random seed only."""
    batch_size: int = 16
    learning_rate: float = LEARNING_RATE
    weight_decay: float = 0.05
    share: float = 1.0
    """Share of the training incidents to use, for learning curves."""
    also: tuple[str, ...] = ()
    """Ids of incidents of other splits to add to the training set, for few-shot studies."""
    fine_tune: int = 3
    """Maximal epochs of fine-tuning the report encoder; 0 keeps the published encoder."""
    pairs: tuple[Path, ...] = ()
    """Files of alert texts with their expressions, to fine-tune the report encoder on as well."""
    factors: Literal[1, 2, 3] = 3
    """Softmaxes per probability; fewer than three are ablations."""
    blind_to: tuple[str, ...] = ()
    """Features set to 0, for ablations."""
    quantize: bool = True
    """Whether to export the report encoder in int8; fp32 is four times as large."""
    encoder: Path | None = None
    """A model folder whose exported report encoder is copied instead of fine-tuning one."""

    def __post_init__(self) -> None:
        """Raise ``InvalidInputError`` for invalid values."""
        if self.start is not None and self.factors != 3:
            raise InvalidInputError("an ablation cannot continue from a model")
        if min(self.epochs, self.batch_size, self.members) < 1 or self.folds < 0 or not 0 < self.share <= 1:
            raise InvalidInputError("epochs, batch size and members must be at least 1, folds at least 0, share within (0, 1]")
        if self.simulated < 0 or self.pretrain < 0 or not 0 <= self.simulated_share < 1:
            raise InvalidInputError("simulated incidents and epochs on them must be at least 0, their share within [0, 1)")
        if self.patience < 1 or self.fine_tune < 0 or self.partners < 0:
            raise InvalidInputError("patience must be at least 1, epochs of fine-tuning and partners at least 0")
