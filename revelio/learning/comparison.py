"""Compares the active version and a new one on incidents that neither was trained on."""

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
"""A new version may lose this much of a share: one point."""

FOLDS = 5
HELD_OUT, FEEDBACK = "held-out incidents", "earlier feedback"

Fit = Callable[[Sequence[Judged]], Head | None]
"""Fits a head to judged answers; None stands for the base model."""


def held_out(cases: Sequence[Case], before: Head | None, after: Head) -> Comparison:
    """Compare on labelled incidents; each counts once, as the mean over its reports."""
    rows = [(c.incident, c.example) for c in cases]
    figures = [_figures([(i, x, _ranked(x, head)) for i, x in rows]) for head in (before, after, None)]
    return Comparison(name=HELD_OUT, incidents=len({i for i, _ in rows}), before=figures[0], after=figures[1], base=figures[2])


def cross_validated(answers: Sequence[Judged], before: Fit, after: Fit) -> Comparison:
    """Compare on answers with a found cause, each ranked by heads fitted without its incident.

    With fewer than two incidents there is nothing to compare, and the comparison has no incidents.
    """
    groups = sorted({a.group for a in answers if a.found})
    folds = min(FOLDS, len(groups))
    ranked: list[list[tuple[str, TrainingExample, Ranking]]] = [[], [], []]
    for fold in range(folds if folds > 1 else 0):
        held = set(groups[fold::folds])
        rest = [a for a in answers if a.group not in held]
        heads = (before(rest), after(rest), None)
        for answer in answers:
            if answer.group in held and answer.found:
                for rows, head in zip(ranked, heads, strict=True):
                    rows.append((answer.group, answer.found, _ranked(answer.found, head)))
    figures = [_figures(rows) for rows in ranked]
    count = len({group for group, _, _ in ranked[0]})
    return Comparison(name=FEEDBACK, incidents=count, before=figures[0], after=figures[1], base=figures[2])


def worse(comparisons: Sequence[Comparison]) -> str:
    """Where the new version is worse than the better of the active and the base model, in words; "" if nowhere.

    Comparing with the base model too prevents a loss of one point per version from adding up.
    """
    found = []
    for compared in comparisons:
        if not compared.incidents:
            continue
        for name, words in (("top1", "top 1"), ("top3", "top 3"), ("auroc", "AUROC of the no-fault probability")):
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
    ranks: dict[str, list[int]] = defaultdict(list)
    no_fault: dict[bool, list[float]] = {True: [], False: []}
    for incident, example, ranking in rows:
        right = example.right[:-1]
        no_fault[not right.any()].append(ranking.abstain)
        if right.any():
            ranks[incident].append(int(np.flatnonzero(right[ranking.order()])[0]) + 1)
    if not ranks:
        return Figures()
    each = np.array([[np.mean(np.array(p) <= 1), np.mean(np.array(p) <= 3), np.mean(1.0 / np.array(p))] for p in ranks.values()])
    top1, top3, mrr = (round(float(v), 4) for v in each.mean(axis=0))
    separation = round(auroc(np.array(no_fault[True]), np.array(no_fault[False])), 4) if no_fault[True] else None
    return Figures(top1=top1, top3=top3, mrr=mrr, auroc=separation)
