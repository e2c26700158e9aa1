"""What gives an injected fault away: a classifier for each kind and mechanism, and the features that it could go by.

A small decision tree tells the parts that a kind of fault was done at from the parts in incidents of the other kinds of its
category and in controls. It is asked about incidents that it has not seen. That it does well is no reproach: most features are
those of the fault. What a real fault would not leave, or what has no explanation, is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fault_injection.dataset.accepted_features import AcceptedFeatures, Discussed, Real
from fault_injection.dataset.leakage_features import RunFeatures
from fault_injection.dataset.template_coverage import CONTROL
from revelio.encoders.report import Floats
from revelio.errors import DatasetError
from revelio.support.extras import extras_for

LEAST_INCIDENTS = 3
"""With fewer there is nothing to hold out."""
FOLDS = 5
DEPTH = 3
STRONG = 0.9
"""A feature that alone tells this many right, of parts of either sort in equal shares."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of a kind or mechanism, by itself.

    ``accuracy`` is that of its best threshold; beyond it lie the share ``here`` of the affected parts and the share
    ``elsewhere`` of the others. ``real`` is None where ``leakage_features.yaml`` says nothing of it.
    """

    name: str
    accuracy: float
    here: float
    elsewhere: float
    real: Real | None
    because: str


@dataclass(frozen=True, slots=True)
class Leakage:
    """How well a classifier recognises a kind or mechanism on held-out runs: balanced accuracy, 0.5 is chance.

    ``unreal_accuracy`` is by those features alone that a real fault would not leave or that are not explained, ``by`` the ones
    that the tree then goes by. Both accuracies are None where there are too few incidents. ``features`` are those that are
    strong by themselves, the strongest first; ``unlisted`` those without an explanation that are strong, alone or
    together.
    """

    name: str
    mechanism: str
    incidents: int
    accuracy: float | None
    unreal_accuracy: float | None
    by: tuple[str, ...] = ()
    features: tuple[Feature, ...] = ()
    unlisted: tuple[str, ...] = ()


def find_leakage(
    seen: Sequence[RunFeatures], accepted: AcceptedFeatures, progress: Progress = lambda what, done, total: None
) -> tuple[Leakage, ...]:
    """Each kind of fault that was recorded, then each mechanism. ``DatasetError`` where there is nothing recorded."""
    if not seen:
        raise DatasetError("no incidents to look at; run a campaign first")
    kinds = sorted({s.kind for s in seen if s.affected and s.category != CONTROL})
    there = {s.kind for s in seen if s.affected}
    mechanisms = [name for name, mechanism in accepted.mechanisms.items() if there.intersection(mechanism.kinds)]
    category = {s.kind: s.category for s in seen}
    table, found = _Table(seen), []
    for done, name in enumerate((*kinds, *mechanisms)):
        progress("kinds and mechanisms", done, len(kinds) + len(mechanisms))
        if done < len(kinds):
            here = [s.kind == name for s in seen]
            among = [s.category in (category[name], CONTROL) for s in seen]
            said = partial(accepted.of_kind, name)
        else:
            here = [s.kind in accepted.mechanisms[name].kinds for s in seen]
            among = [True] * len(seen)
            said = partial(accepted.of_mechanism, name)
        found.append(_telling(table, name, accepted.mechanism_of(name) if done < len(kinds) else name, here, among, said))
    progress("kinds and mechanisms", len(found), len(found))
    return tuple(found)


class _Table:
    """Every part of every run as a row of features."""

    def __init__(self, seen: Sequence[RunFeatures]) -> None:
        """Features that no two affected parts have are left out."""
        rows = [(n, part in s.affected, features) for n, s in enumerate(seen) for part, features in sorted(s.parts.items())]
        counts: dict[str, int] = {}
        for _, affected, features in rows:
            for name in features if affected else ():
                counts[name] = counts.get(name, 0) + 1
        self.names = sorted(name for name, count in counts.items() if count > 1)
        column = {name: i for i, name in enumerate(self.names)}
        self.run = np.array([n for n, _, _ in rows], dtype=int)
        self.affected = np.array([affected for _, affected, _ in rows], dtype=bool)
        self.values = np.zeros((len(rows), len(self.names)), dtype=np.float32)
        for row, (_, _, features) in enumerate(rows):
            for name, value in features.items():
                if name in column:
                    self.values[row, column[name]] = value


def _telling(
    table: _Table, name: str, mechanism: str, at: Sequence[bool], among: Sequence[bool], said: Callable[[str], Discussed | None]
) -> Leakage:
    """Affected parts of the runs ``at`` against all parts of the other runs ``among``."""
    of_it = np.array(at)[table.run]
    used = np.flatnonzero(np.where(of_it, table.affected, np.array(among)[table.run]))
    values, right, affected, run = table.values[used], of_it[used], table.affected[used], table.run[used]
    incidents = len(set(run[right]))
    if incidents < LEAST_INCIDENTS or right.all():
        return Leakage(name, mechanism, incidents, None, None)
    weights = _weights(right, affected)
    alone, thresholds = _alone(values, right, weights)
    features = []
    for i in np.argsort(-alone, kind="stable"):
        if alone[i] < STRONG:
            break
        beyond, entry = values[:, i] > thresholds[i], said(table.names[i])
        here, elsewhere = (float(np.average(beyond[rows], weights=weights[rows])) for rows in (right, ~right))
        real, because = (entry.real, entry.because) if entry else (None, "")
        features.append(Feature(table.names[i], float(alone[i]), here, elsewhere, real, because))
    unreal = [i for i, feature in enumerate(table.names) if (entry := said(feature)) is None or entry.real == "no"]
    accuracy, _ = _held_out(values, right, weights, run)
    without, columns = _held_out(values[:, unreal], right, weights, run)
    by = tuple(table.names[unreal[i]] for i in columns)
    unlisted = [feature.name for feature in features if feature.real is None]
    if without >= STRONG:
        unlisted += [feature for feature in by if said(feature) is None]
    return Leakage(name, mechanism, incidents, accuracy, without, by, tuple(features), tuple(dict.fromkeys(unlisted)))


def _weights(right: np.ndarray, affected: np.ndarray) -> Floats:
    """Half for the parts in question; a quarter for other faults' places, a quarter for parts where nothing was done."""
    weights = np.zeros(len(right), dtype=np.float32)
    others = [group for group in (~right & affected, ~right & ~affected) if group.any()]
    for group, share in ((right, 0.5), *((group, 0.5 / len(others)) for group in others)):
        weights[group] = share / group.sum()
    return weights


def _alone(values: Floats, right: np.ndarray, weights: Floats) -> tuple[Floats, Floats]:
    """For each feature the balanced accuracy of "more than a threshold" at its best, and that threshold."""
    order = np.argsort(-values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    gain = np.where(right, weights, -weights)[order].cumsum(axis=0)
    gain[:-1][ordered[:-1] == ordered[1:]] = -1.0  # no threshold lies between equal values
    gain[-1] = 0.0
    best = gain.argmax(axis=0)
    columns = np.arange(values.shape[1])
    following = np.minimum(best + 1, len(values) - 1)
    return 0.5 + gain[best, columns], (ordered[best, columns] + ordered[following, columns]) / 2


def _held_out(values: Floats, right: np.ndarray, weights: Floats, run: np.ndarray) -> tuple[float, list[int]]:
    """Balanced accuracy of small trees on runs that they have not seen, and the columns that one grown on all runs goes by."""
    if not values.shape[1]:
        return 0.5, []
    said, folds = np.zeros(len(right), dtype=bool), _folds(right, run)
    for fold in set(folds.tolist()):
        held = folds == fold
        said[held] = _tree().fit(values[~held], right[~held], sample_weight=weights[~held]).predict(values[held])
    importances = _tree().fit(values, right, sample_weight=weights).feature_importances_
    return float(weights[said == right].sum()), [int(i) for i in np.argsort(-importances) if importances[i] > 0]


def _folds(right: np.ndarray, run: np.ndarray) -> np.ndarray:
    """A fold for each row: all rows of a run in one, and in each about as many of the runs in question."""
    number = min(FOLDS, len(set(run[right])))
    folds = np.zeros(len(right), dtype=int)
    for rows in (right, ~right):
        order = {one: place % number for place, one in enumerate(sorted(set(run[rows].tolist())))}
        folds[rows] = [order[one] for one in run[rows].tolist()]
    return folds


def _tree() -> Any:
    with extras_for("finding leakage"):
        from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415  only training set-ups have it
    return DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
