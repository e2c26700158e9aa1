"""What each part of the model and of the data is worth: models trained without it, scored like the whole one.

All but the whole are single networks, which train in a third of the time: what differs between them would in a committee too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from revelio.encoders.query import COMPONENT, FEATURES, RARITY
from revelio.errors import InvalidInputError
from revelio.evaluation.results import Evaluation
from revelio.evaluation.runner import Progress, evaluate, prefixed
from revelio.evaluation.trained import Trained
from revelio.incidents.dataset import Dataset, open_dataset
from revelio.ranker.artifact import MANIFEST, load_ranker
from revelio.training.arguments import TrainArguments
from revelio.training.train import train

NEW_APP = "new_app"
FEW = (10, 30)
"""Incidents of the new application that a few-shot model is shown."""
MIN_SCORED = 15
"""Incidents of the new application that no variant may be shown."""
RANKS = tuple(n for n in (*FEATURES, *COMPONENT) if n.endswith("rank") or n in ("gap", "best", "peers_out"))
"""Features that compare a component or a query with its peers."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One model of the study. ``few`` incidents of the new application are learned from, and scored no more by any variant."""

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
        """How to train it; ``shown`` are the new application's incidents to show, in order."""
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
    Variant("whole", "the model as it is shipped", members=3),
    Variant("single", "one network and not the mean of three, as all below"),
    Variant("no_factorisation", "one softmax over all queries", factors=1),
    Variant("no_tool_first", "a template is chosen without choosing a tool first", factors=2),
    Variant("no_rarity", "nothing is compared with what other causes show", blind_to=RARITY),
    Variant("no_rank_features", "nothing is compared with its peers", blind_to=RANKS),
    Variant("no_fine_tuning", "the report encoder as published", fine_tuned=False),
    Variant("no_quantization", "as no_fine_tuning, with the report encoder in fp32", fine_tuned=False, quantized=False),
    Variant("share_25", "a quarter of the training incidents", share=0.25),
    Variant("share_50", "half of the training incidents", share=0.5),
    *(Variant(f"few_{n}", f"shown {n} incidents of the new application", few=n) for n in FEW),
)


def study(whole: TrainArguments, only: Sequence[str] = (), progress: Progress = lambda what, done, total: None) -> Evaluation:
    """Train the variants that are not in ``whole.out`` yet, then score them all; the first stands as the evaluation's model.

    The new application is scored on incidents that no variant was shown. Raises ``InvalidInputError`` for a variant that
    there is not, ``DatasetError`` when there is nothing to learn from or to score.
    """
    names = [v.name for v in VARIANTS]
    if unknown := sorted(set(only) - set(names)):
        raise InvalidInputError(f"no variant {unknown[0]!r}; there are: {', '.join(names)}")
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
    """Which of the new application's incidents are shown to few-shot models, by lot: enough of them stay to be scored."""
    there = sorted((i.record.id for i in dataset.read(NEW_APP)), key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    return there[: max((n for n in FEW if n + MIN_SCORED <= len(there)), default=0)]
