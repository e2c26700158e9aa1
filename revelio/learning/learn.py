"""One attempt to learn: fit, compare, and let the new version answer only if it is not worse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from revelio.catalog import Catalog
from revelio.encoders.query import FEATURES
from revelio.incidents.dataset import open_dataset
from revelio.learning.comparison import cross_validated, held_out, worse
from revelio.learning.examples import Case, Judged, judged, labelled
from revelio.ranker.artifact import RANKER_WEIGHTS, load_manifest, load_ranker
from revelio.ranker.fit_head import TrainingExample, fit_head
from revelio.ranker.head import Head
from revelio.ranker.session import Ranker
from revelio.ranker.versions import Comparison, LastRun, LearnedFrom, VersionManifest, Versions
from revelio.store import Store
from revelio.store.judged import judged_answers, verdicts_after

L2_VALUES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""How much a labelled incident weighs that is gone through again, and how tightly weights are held to zero.

More is tried when less gave a head that is worse.
"""

NEWEST = 1000
"""Judged answers that are learnt from, the latest."""
REPLAYED, HELD_OUT = 80, 80
"""Labelled incidents that are gone through again so that nothing is forgotten, and that are kept out to compare."""

REPLAY_TEMPERATURE = 2.0
"""At which the model ranks what it goes through again.

It learnt from those incidents, so that its own certainty would hide what a new weight does to others like them.
"""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class LearnArguments:
    """From what, and whether a version may be written. ``at_least`` verdicts have to be new since the latest attempt."""

    model: Path
    folder: Path
    dataset: Path
    catalog: Catalog
    at_least: int = 1
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """How it went: ``before`` answered when it began, ``after`` answers now; ``outcome`` says why, in words."""

    before: str
    after: str
    outcome: str
    learned: LearnedFrom | None = None
    comparisons: tuple[Comparison, ...] = ()
    version: str | None = None

    @property
    def taken(self) -> bool:
        """Whether a new version answers."""
        return self.version is not None and self.after == self.version


def learn(arguments: LearnArguments, store: Store, progress: Progress = lambda what, done, total: None) -> Attempt:
    """Fit what people said since training, compare, and switch when that is not worse.

    Raises ``ArtifactError`` for a damaged model, ``DatasetError`` when there is nothing to compare on, ``InvalidInputError``
    when another process is learning, ``StoreError`` when the database fails.
    """
    versions = Versions(arguments.folder, load_manifest(arguments.model))
    with versions.learning():
        last = versions.last_run()
        new = verdicts_after(store, last.until if last else 0.0)
        active = versions.current()
        if new < arguments.at_least and not arguments.dry_run:
            return Attempt(active, active, f"{new} new verdicts, and {arguments.at_least} are needed")
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
    progress("read the feedback", 0, 3)
    answers = judged(judged_answers(store, NEWEST), ranker, arguments.catalog)
    if not answers:
        return Attempt(active, active, "nobody has judged a query yet that can still be asked")
    progress("read labelled incidents", 1, 3)
    replayed, kept = _labelled(arguments, ranker)
    progress("fit and compare", 2, 3)
    l2, head, comparisons, why = _fitted(answers, replayed, kept, before, _known_to(versions, active))
    learned = LearnedFrom(
        answers=len(answers),
        found=sum(a.verdicts[0] for a in answers),
        helpful=sum(a.verdicts[1] for a in answers),
        not_useful=sum(a.verdicts[2] for a in answers),
        until=max(a.until for a in answers),
    )
    progress("fit and compare", 3, 3)
    if why:
        return Attempt(active, active, f"not taken: {why}", learned, comparisons)
    if arguments.dry_run:
        return Attempt(active, active, "would be taken: not worse anywhere", learned, comparisons)
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
        outcome = f"kept, but not taken: somebody chose {versions.current()} meanwhile"
        return Attempt(active, versions.current(), outcome, learned, comparisons, made.name)
    return Attempt(active, versions.use(made.name), "taken: not worse anywhere", learned, comparisons, made.name)


def _labelled(arguments: LearnArguments, ranker: Ranker) -> tuple[list[Case], list[Case]]:
    dataset = open_dataset(arguments.dataset)
    replayed = labelled(dataset, ranker, arguments.catalog, "train", most=REPLAYED, temperature=REPLAY_TEMPERATURE)
    return replayed, labelled(dataset, ranker, arguments.catalog, most=HELD_OUT)


def _fitted(
    answers: Sequence[Judged],
    replayed: Sequence[Case],
    kept: Sequence[Case],
    before: Head | None,
    known: VersionManifest | None,
) -> tuple[float, Head, tuple[Comparison, ...], str]:
    """The least caution whose head is not worse, or the most with where it is."""
    fit = partial(_fit, replayed)

    def past(rest: Sequence[Judged]) -> Head | None:
        """What the version in force would be without the answers that are kept out."""
        return fit([a for a in rest if a.until <= known.learned.until], known.l2) if known else None

    for l2 in L2_VALUES:
        head = fit(answers, l2)
        comparisons: tuple[Comparison, ...] = (held_out(kept, before, head),)
        if not worse(comparisons):
            comparisons = (*comparisons, cross_validated(answers, past, partial(fit, l2=l2)))
        why = worse(comparisons)
        if not why:
            break
    return l2, head, comparisons, why


def _fit(replayed: Sequence[Case], answers: Sequence[Judged], l2: float) -> Head:
    examples: list[TrainingExample] = [x for a in answers for x in a.examples]
    again = [replace(c.example, weight=l2) for c in replayed]
    return fit_head([*examples, *again], [t for a in answers for t in a.templates], l2)


def _known_to(versions: Versions, name: str) -> VersionManifest | None:
    return None if name == versions.base.name else versions.get(name)
