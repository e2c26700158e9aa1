"""Compares the active version and a new one on incidents that neither was trained on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from revelio.ranker.fit_head import TrainingExample
from revelio.ranker.head import Head
from revelio.ranker.scoring import Ranking
from revelio.ranker.versions import Comparison, RankingFigures
from revelio.training.evaluation.metrics import auroc
from revelio.training.feedback.examples import Case, Judged

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


def cross_validated(answers: Sequence[Judged], before: Fit, after: Fit) -> tuple[Comparison, ...]:
    """Compare on answers with a found cause, each ranked by heads fitted without its incident.

    One comparison over all systems, then one for each where there are several: a gain on one does not make up for a loss on
    another. With fewer than two incidents there is nothing to compare, and the comparison has no incidents.
    """
    groups = sorted({a.group for a in answers if a.found})
    folds = min(FOLDS, len(groups))
    ranked: list[_Ranked] = []
    for fold in range(folds if folds > 1 else 0):
        held = set(groups[fold::folds])
        rest = [a for a in answers if a.group not in held]
        heads = (before(rest), after(rest), None)
        for answer in answers:
            if answer.group in held and answer.found:
                found = answer.found
                ranked.append(_Ranked(answer.system, answer.group, found, tuple(_ranked(found, head) for head in heads)))
    systems = sorted({r.system for r in ranked})
    each = [_compared(f"{FEEDBACK}, {s}", [r for r in ranked if r.system == s]) for s in systems]
    return (_compared(FEEDBACK, ranked), *(each if len(each) > 1 else ()))


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A judged answer, ranked by the active version, the new one and the base model."""

    system: str
    group: str
    example: TrainingExample
    rankings: tuple[Ranking, ...]


def _compared(name: str, ranked: Sequence[_Ranked]) -> Comparison:
    before, after, base = (_figures([(r.group, r.example, r.rankings[i]) for r in ranked]) for i in range(3))
    return Comparison(name=name, incidents=len({r.group for r in ranked}), before=before, after=after, base=base)


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


def _share(figures: RankingFigures, name: str) -> float:
    value = getattr(figures, name)
    return 0.0 if value is None else float(value)


def _ranked(example: TrainingExample, head: Head | None) -> Ranking:
    return example.ranking if head is None else head.apply(example.encoded, example.ranking)


def _figures(rows: Sequence[tuple[str, TrainingExample, Ranking]]) -> RankingFigures:
    ranks: dict[str, list[int]] = defaultdict(list)
    no_fault: dict[bool, list[float]] = {True: [], False: []}
    for incident, example, ranking in rows:
        right = example.right[:-1]
        no_fault[not right.any()].append(ranking.abstain)
        if right.any():
            ranks[incident].append(int(np.flatnonzero(right[ranking.order()])[0]) + 1)
    if not ranks:
        return RankingFigures()
    each = np.array([[np.mean(np.array(p) <= 1), np.mean(np.array(p) <= 3), np.mean(1.0 / np.array(p))] for p in ranks.values()])
    top1, top3, mrr = (round(float(v), 4) for v in each.mean(axis=0))
    separation = round(auroc(np.array(no_fault[True]), np.array(no_fault[False])), 4) if no_fault[True] else None
    return RankingFigures(top1=top1, top3=top3, mrr=mrr, auroc=separation)
