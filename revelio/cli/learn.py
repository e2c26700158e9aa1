"""``revelio learn``: folds feedback on earlier answers into the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.engine import settings_with
from revelio.cli.output import Json, StepBars, emit, say, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from revelio.ranker.versions import Comparison
    from revelio.training.feedback.learn import Attempt


def learn(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Fit and compare without changing anything.")] = False,
    at_least: Annotated[int, typer.Option("--at-least", min=1, help="New verdicts required to start.")] = 1,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="Labelled incidents to compare on; default: those of the settings.")
    ] = None,
    json: Json = False,
) -> None:
    """Learn from verdicts on earlier answers; the new version becomes active only if it is not worse.

    The new version is compared with the active one and with the base model on held-out labelled incidents, and on earlier
    feedback by cross-validation. It may lose one point of top-1 or top-3 at most. Torch is not needed. Earlier versions stay:
    list them with `revelio models list`, return to one with `revelio models use`.

    \b
    Examples:
      revelio learn --dry-run
      revelio learn
      revelio learn --at-least 20 --json
    """
    from revelio.catalog.plugins import own_catalog
    from revelio.store import Store
    from revelio.training.feedback.learn import LearnArguments
    from revelio.training.feedback.learn import learn as attempt

    settings = settings_with()
    arguments = LearnArguments(
        model=settings.model,
        folder=settings.learning.folder,
        dataset=dataset or settings.learning.dataset,
        catalog=own_catalog(settings),
        at_least=at_least,
        dry_run=dry_run,
    )
    store = Store(settings.database, masked=settings.mask)
    try:
        with StepBars() as bars:
            done = attempt(arguments, store, bars.report)
    finally:
        store.close()
    if json:
        emit(_plain(done))
    else:
        _show(done)


def _plain(done: Attempt) -> dict[str, object]:
    learned = done.learned.model_dump() if done.learned else None
    return {
        "before": done.before,
        "after": done.after,
        "version": done.version,
        "taken": done.taken,
        "outcome": done.outcome,
        "learned": learned,
        "learnt": learned,  # deprecated name
        "comparisons": [c.model_dump() for c in done.comparisons],
    }


def _show(done: Attempt) -> None:
    if done.learned:
        counts = done.learned
        say(f"{counts.answers} judged answers: {counts.found} found, {counts.helpful} helpful, {counts.not_useful} not useful")
    if done.comparisons:
        show_comparisons(done.comparisons)
    say(f"{done.outcome}; active: {done.after}")


def show_comparisons(comparisons: Iterable[Comparison]) -> None:
    """Before and after, one row per set."""
    rows = [
        (c.name, c.incidents, *(f"{was:.1%} -> {now:.1%}" for was, now in pairs))
        for c in comparisons
        if (pairs := [(getattr(c.before, f), getattr(c.after, f)) for f in ("top1", "top3", "mrr")])
    ]
    table("", ("compared on", "incidents", "top 1", "top 3", "MRR"), rows, numbers=(1, 2, 3, 4))
