"""What a training has practised before it sees recorded incidents: simulated ones, in which other kinds of fault are held out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from revelio.encoders.null_distribution import NullDistributions
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import TextEncoder
from revelio.ranker.scoring import Calibration
from revelio.training.arguments import TrainArguments
from revelio.training.batch import Example
from revelio.training.calibrate import top_shares
from revelio.training.distributed import ProcessGroup
from revelio.training.examples import simulated_examples
from revelio.training.fit import fit, predict
from revelio.training.load import load_networks
from revelio.training.log import TrainingLog
from revelio.training.network import Network
from revelio.training.simulation import Corpus, simulated

_HELD_OUT = 0.1
"""Simulated incidents of mechanisms and dialects that are not trained on, as a share of those that are."""


@dataclass(frozen=True, slots=True)
class Practice:
    """Simulated ``examples``, and the networks to ``start`` from: pretrained on these, or those of a model folder, or none.

    ``metrics`` are how well the pretrained network does on simulated incidents of mechanisms and dialects that it never saw.
    """

    examples: tuple[Example, ...] = ()
    start: tuple[Network, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)

    @classmethod
    def make(
        cls,
        arguments: TrainArguments,
        texts: Corpus,
        nulls: NullDistributions,
        text: TextEncoder,
        encoder: QueryEncoder,
        key: str,
        group: ProcessGroup,
        log: TrainingLog,
    ) -> Practice:
        """Simulate, and pretrain, as far as ``arguments`` ask for it."""
        start = load_networks(arguments.start) if arguments.start else ()
        if not arguments.simulated:
            return cls((), start)

        def encoded(count: int, *, held_out: bool) -> tuple[Example, ...]:
            some = log.each("simulate incidents", simulated(arguments.seed, count, texts, held_out=held_out))
            return tuple(simulated_examples(some, nulls, arguments.catalog, text, encoder))

        known = encoded(arguments.simulated, held_out=False)
        if not arguments.pretrain:
            return cls(known, start)
        held = encoded(max(1, round(_HELD_OUT * arguments.simulated)), held_out=True)
        own = replace(arguments, epochs=arguments.pretrain)
        network = fit(known, held, "simulated", own, key, group, log, start[0] if start else None)
        unseen = [p for e in held for p in predict(network, e, group.device)]
        return cls(known, (network,), top_shares(unseen, Calibration(), "simulated"))
