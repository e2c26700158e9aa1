"""The model in force and a new one, side by side on incidents that neither learnt from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from revelio.evaluation.metrics import auroc
from revelio.learning.examples import Case, Judged
from revelio.ranker.fit_head import TrainingExample
from revelio.ranker.head import Head
from revelio.ranker.scoring import Ranking
from revelio.ranker.versions import Comparison, Figures

TOLERANCE = 0.01
"""A new model may lose this much of a share: one point."""

FOLDS = 5
HELD_OUT, FEEDBACK = "held-out incidents", "earlier feedback"

Fit = Callable[[Sequence[Judged]], Head | None]
"""Fits a head to judged answers; None is the base model."""


def held_out(cases: Sequence[Case], before: Head | None, after: Head) -> Comparison:
    """On labelled incidents, each counted once whatever the number of its reports."""
    told = [(c.incident, c.example) for c in cases]
    figures = [_figures([(i, x, _ranked(x, head)) for i, x in told]) for head in (before, after, None)]
    return Comparison(name=HELD_OUT, incidents=len({i for i, _ in told}), before=figures[0], after=figures[1], base=figures[2])


def cross_validated(answers: Sequence[Judged], before: Fit, after: Fit) -> Comparison:
    """On answers where somebody found the cause, each ranked by models that were fitted without its incident.

    Without a second incident to learn from there is nothing to compare: no incidents.
    """
    groups = sorted({a.group for a in answers if a.found})
    folds = min(FOLDS, len(groups))
    told: list[list[tuple[str, TrainingExample, Ranking]]] = [[], [], []]
    for fold in range(folds if folds > 1 else 0):
        out = set(groups[fold::folds])
        rest = [a for a in answers if a.group not in out]
        heads = (before(rest), after(rest), None)
        for answer in answers:
            if answer.group in out and answer.found:
                for place, head in zip(told, heads, strict=True):
                    place.append((answer.group, answer.found, _ranked(answer.found, head)))
    figures = [_figures(rows) for rows in told]
    count = len({group for group, _, _ in told[0]})
    return Comparison(name=FEEDBACK, incidents=count, before=figures[0], after=figures[1], base=figures[2])


def worse(comparisons: Sequence[Comparison]) -> str:
    """Where the new model is worse than the better of the one in force and the base model, in words; "" where it is not.

    The base model is held against it too, so that a point lost each time cannot add up.
    """
    found = []
    for compared in comparisons:
        if not compared.incidents:
            continue
        for name, words in (("top1", "top 1"), ("top3", "top 3"), ("auroc", "telling controls from faults")):
            was, now = max(_share(compared.before, name), _share(compared.base, name)), _share(compared.after, name)
            if now < was - TOLERANCE - 1e-9:
                found.append(f"{words} on {compared.name} falls from {was:.1%} to {now:.1%}")
    return "; ".join(found)


def _share(figures: Figures, name: str) -> float:
    value = getattr(figures, name)
    return 0.0 if value is None else float(value)


def _ranked(example: TrainingExample, head: Head | None) -> Ranking:
    return example.ranking if head is None else head.apply(example.encoded, example.ranking)


def _figures(rows: Sequence[tuple[str, TrainingExample, Ranking]]) -> Figures:
    places: dict[str, list[int]] = defaultdict(list)
    calm: dict[bool, list[float]] = {True: [], False: []}
    for incident, example, ranking in rows:
        right = example.right[:-1]
        calm[not right.any()].append(ranking.abstain)
        if right.any():
            places[incident].append(int(np.flatnonzero(right[ranking.order()])[0]) + 1)
    if not places:
        return Figures()
    each = np.array([[np.mean(np.array(p) <= 1), np.mean(np.array(p) <= 3), np.mean(1.0 / np.array(p))] for p in places.values()])
    top1, top3, mrr = (round(float(v), 4) for v in each.mean(axis=0))
    told_apart = round(auroc(np.array(calm[True]), np.array(calm[False])), 4) if calm[True] else None
    return Figures(top1=top1, top3=top3, mrr=mrr, auroc=told_apart)
