"""Ablation study: models trained without one part of the model or of the data, scored like the whole model.

All variants but the whole are single networks, which train in a third of the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from revelio.encoders.query import COMPONENT, FEATURES, RARITY
from revelio.errors import InvalidInputError
from revelio.ranker.artifact import MANIFEST, load_ranker
from revelio.systems.incidents.dataset import Dataset, open_dataset
from revelio.training.arguments import TrainArguments
from revelio.training.evaluation.results import Evaluation
from revelio.training.evaluation.runner import Progress, evaluate, prefixed
from revelio.training.evaluation.trained import Trained
from revelio.training.train import train

NEW_APP = "new_app"
FEW = (10, 30)
"""Incidents of the new application in the training set of a few-shot model."""
MIN_SCORED = 15
"""Incidents of the new application that no variant is trained on."""
RANKS = tuple(n for n in (*FEATURES, *COMPONENT) if n.endswith("rank") or n in ("gap", "best", "peers_out"))
"""Features that compare a component or a query with its peers."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One model of the study. ``few`` incidents of the new application join its training set; no variant is scored on them."""

    name: str
    about: str
    factors: Literal[1, 2, 3] = 3
    blind_to: tuple[str, ...] = ()
    fine_tuned: bool = True
    quantized: bool = True
    members: int = 1
    share: float = 1.0
    few: int = 0

    def arguments(self, whole: TrainArguments, shown: Sequence[str]) -> TrainArguments:
        """Its training arguments; ``shown`` are the incidents of the new application to train on, in order."""
        return replace(
            whole,
            out=whole.out / self.name,
            factors=self.factors,
            blind_to=self.blind_to,
            fine_tune=whole.fine_tune if self.fine_tuned else 0,
            quantize=self.quantized,
            members=self.members,
            share=self.share,
            also=tuple(shown[: self.few]),
            encoder=whole.encoder if self.fine_tuned else None,
        )


VARIANTS = (
    Variant("whole", "the networks of the bundled model", members=3),
    Variant("single", "one network instead of three, as all below"),
    Variant("no_factorisation", "one softmax over all queries", factors=1),
    Variant("no_tool_first", "templates without a tool first", factors=2),
    Variant("no_rarity", "no null distributions", blind_to=RARITY),
    Variant("no_rank_features", "no comparison with peers", blind_to=RANKS),
    Variant("no_fine_tuning", "the report encoder as published", fine_tuned=False),
    Variant("no_quantization", "as no_fine_tuning, with the report encoder in fp32", fine_tuned=False, quantized=False),
    Variant("share_25", "a quarter of the training incidents", share=0.25),
    Variant("share_50", "half of the training incidents", share=0.5),
    *(Variant(f"few_{n}", f"{n} incidents of the new application added", few=n) for n in FEW),
)


def study(whole: TrainArguments, only: Sequence[str] = (), progress: Progress = lambda what, done, total: None) -> Evaluation:
    """Train the variants missing from ``whole.out``, then score all; the first one is the model of the evaluation.

    The new application is scored on incidents that no variant was trained on. Raises ``InvalidInputError`` for an unknown
    variant, ``DatasetError`` without incidents to train on or to score.
    """
    names = [v.name for v in VARIANTS]
    if unknown := sorted(set(only) - set(names)):
        raise InvalidInputError(f"no variant {unknown[0]!r}; choose from: {', '.join(names)}")
    dataset = open_dataset(whole.dataset)
    shown = _to_show(dataset)
    wanted = [v for v in VARIANTS if (not only or v.name in only) and v.few <= len(shown)]
    found: dict[str, Evaluation] = {}
    for number, variant in enumerate(wanted):
        told = prefixed(progress, f"{variant.name} ({number + 1} of {len(wanted)})")
        folder = whole.out / variant.name
        if not (folder / MANIFEST).is_file():
            train(replace(variant.arguments(whole, shown), resume=True), told)
        trained = Trained(load_ranker(folder))
        found[variant.name] = evaluate(dataset, whole.catalog, trained, leave_out=frozenset(shown), progress=told)
    first, *others = found.items()
    return replace(first[1], model=first[0], ablations={name: e.splits for name, e in others}, kinds=(), missed=())


def _to_show(dataset: Dataset) -> list[str]:
    """The incidents of the new application for few-shot models, in random order; enough remain to be scored."""
    there = sorted((i.record.id for i in dataset.read(NEW_APP)), key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    return there[: max((n for n in FEW if n + MIN_SCORED <= len(there)), default=0)]
