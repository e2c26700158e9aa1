"""One attempt to learn from feedback: fit, compare, and activate the new version only if it is not worse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from revelio.catalog import Catalog, bundled_catalog
from revelio.encoders.query import FEATURES
from revelio.ranker.artifact import RANKER_WEIGHTS, load_manifest, load_ranker
from revelio.ranker.fit_head import TrainingExample, fit_head
from revelio.ranker.head import Head
from revelio.ranker.session import Ranker
from revelio.ranker.versions import Comparison, LastRun, LearnedFrom, VersionManifest, Versions
from revelio.settings import BUNDLED
from revelio.store import Store
from revelio.store.judged import judged_answers, verdicts_after
from revelio.systems.incidents.dataset import open_dataset
from revelio.training.feedback.comparison import cross_validated, held_out, worse
from revelio.training.feedback.examples import Case, Judged, judged, labelled

L2_VALUES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""L2 penalties, each also the weight of a replayed incident. The next one is tried when a head is worse."""

UNCOMPARED_L2 = 10.0
"""The least penalty while there is no second incident of the system to compare on."""

NEWEST = 1000
"""The number of judged answers to learn from, the latest ones."""
REPLAYED, HELD_OUT = 80, 80
"""Labelled incidents to replay, which prevents forgetting, and to hold out for the comparison."""

REPLAY_TEMPERATURE = 2.0
"""The softmax temperature on replayed incidents.

The model was trained on them, and its confidence would hide the effect of a new weight on similar incidents.
"""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class LearnArguments:
    """What to learn from, and whether to write a version. ``at_least`` new verdicts since the latest attempt are required."""

    model: Path
    folder: Path
    dataset: Path
    catalog: Catalog
    at_least: int = 1
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result: ``before`` was active at the start, ``after`` is active now; ``outcome`` is the reason in words."""

    before: str
    after: str
    outcome: str
    learned: LearnedFrom | None = None
    comparisons: tuple[Comparison, ...] = ()
    version: str | None = None

    @property
    def taken(self) -> bool:
        """Whether a new version is active."""
        return self.version is not None and self.after == self.version


def learn(arguments: LearnArguments, store: Store, progress: Progress = lambda what, done, total: None) -> Attempt:
    """Fit a head to feedback, compare it, and activate it if it is not worse.

    Raises ``ArtifactError`` for a damaged model, ``DatasetError`` without incidents to compare on, ``InvalidInputError``
    while another process is learning, ``StoreError`` when the database fails.
    """
    versions = Versions(arguments.folder, load_manifest(arguments.model))
    with versions.learning():
        last = versions.last_run()
        new = verdicts_after(store, last.until if last else 0.0)
        active = versions.current()
        if new < arguments.at_least and not arguments.dry_run:
            return Attempt(active, active, f"{new} new verdicts of {arguments.at_least} required")
        attempt = _attempt(arguments, store, versions, progress)
        if not arguments.dry_run:
            until = attempt.learned.until if attempt.learned else time.time()
            versions.record_run(
                LastRun(
                    at=time.time(),
                    base=versions.base.name,
                    until=until,
                    taken=attempt.taken,
                    outcome=attempt.outcome,
                    comparisons=list(attempt.comparisons),
                )
            )
        return attempt


def _attempt(arguments: LearnArguments, store: Store, versions: Versions, progress: Progress) -> Attempt:
    active = versions.current()
    before = versions.head(active)
    ranker = load_ranker(arguments.model, arguments.catalog)
    progress("read feedback", 0, 3)
    answers = judged(judged_answers(store, NEWEST), ranker, arguments.catalog)
    if not answers:
        return Attempt(active, active, "no feedback yet on a query of the current catalog")
    progress("read labelled incidents", 1, 3)
    replayed, kept = _labelled(arguments, ranker, frozenset(t for a in answers for t in a.templates))
    progress("fit and compare", 2, 3)
    l2, head, comparisons, why = fitted(answers, replayed, kept, before, _known_to(versions, active))
    learned = LearnedFrom(
        answers=len(answers),
        found=sum(a.verdicts[0] for a in answers),
        helpful=sum(a.verdicts[1] for a in answers),
        not_useful=sum(a.verdicts[2] for a in answers),
        until=max(a.until for a in answers),
    )
    progress("fit and compare", 3, 3)
    if why:
        return Attempt(active, active, f"not adopted: {why}", learned, comparisons)
    compared = any(c.incidents for c in comparisons)
    reason = "not worse anywhere" if compared else "with a high penalty, until there is a second incident to compare on"
    if arguments.dry_run:
        return Attempt(active, active, f"would be adopted: {reason}", learned, comparisons)
    made = versions.keep(
        VersionManifest(
            name=versions.next_name(),
            base=versions.base.name,
            base_weights=versions.base.files[RANKER_WEIGHTS],
            parent=active,
            made_at=time.time(),
            l2=l2,
            learned=learned,
            comparisons=list(comparisons),
            features=list(FEATURES),
            templates=list(head.templates),
        ),
        head,
    )
    if versions.current() != active:
        outcome = f"saved, but not adopted: {versions.current()} was activated meanwhile"
        return Attempt(active, versions.current(), outcome, learned, comparisons, made.name)
    return Attempt(active, versions.use(made.name), f"adopted: {reason}", learned, comparisons, made.name)


def _labelled(arguments: LearnArguments, ranker: Ranker, judged: frozenset[str]) -> tuple[list[Case], list[Case]]:
    """Labelled incidents to replay and to hold out, of systems on which a head for the ``judged`` templates has an effect."""
    own = None if not arguments.dataset.is_relative_to(BUNDLED) else bundled_catalog()
    dataset = open_dataset(arguments.dataset, catalog=own)
    cases = partial(labelled, dataset, ranker, arguments.catalog, asking=judged)
    return cases("train", most=REPLAYED, temperature=REPLAY_TEMPERATURE), cases(most=HELD_OUT)


def fitted(
    answers: Sequence[Judged],
    replayed: Sequence[Case],
    kept: Sequence[Case],
    before: Head | None,
    known: VersionManifest | None,
) -> tuple[float, Head, tuple[Comparison, ...], str]:
    """The head of the smallest penalty that is not worse; else that of the largest, with where it is worse."""
    fit = partial(_fit, replayed)

    def past(rest: Sequence[Judged]) -> Head | None:
        """The active version, refitted without the held-out answers."""
        return fit([a for a in rest if a.until <= known.learned.until], known.l2) if known else None

    for l2 in L2_VALUES:
        head = fit(answers, l2)
        comparisons: tuple[Comparison, ...] = (held_out(kept, before, head),)
        if not worse(comparisons):
            comparisons = (*comparisons, *cross_validated(answers, past, partial(fit, l2=l2)))
        why = worse(comparisons)
        if not why and (l2 >= UNCOMPARED_L2 or any(c.incidents for c in comparisons)):
            break
    return l2, head, comparisons, why


def _fit(replayed: Sequence[Case], answers: Sequence[Judged], l2: float) -> Head:
    examples: list[TrainingExample] = [x for a in answers for x in a.examples]
    again = [replace(c.example, weight=l2) for c in replayed]
    return fit_head([*examples, *again], [t for a in answers for t in a.templates], l2)


def _known_to(versions: Versions, name: str) -> VersionManifest | None:
    return None if name == versions.base.name else versions.get(name)
