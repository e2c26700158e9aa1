"""Where in the system a report points: which components it names, and what deviates below them in the call graph.

Words of the report meet words of names one by one (late interaction; Khattab & Zaharia, 2020), and its vector meets theirs, where
words do not meet. What the report is about is then
followed along the calls by a walk with restarts, as in personalised PageRank: once along all calls, and once along those that
deviate (MonitorRank; Kim et al., 2013). Compared with the same walks without a report, they tell what the report adds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.evidence import EvidenceIndex, component, squash
from revelio.encoders.report import Floats, TextEncoder
from revelio.encoders.static_words import WordEncoder, Words

Ints = NDArray[np.int64]

PLACE = (
    *("mention", "operation_mention", "mention_rank", "mention_gap"),
    *("reach", "reach_lift", "suspect", "suspect_rank", "suspect_lift"),
)
"""Of a component: how clearly the report mentions it, and an operation of it, by words; its rank by likeness to the report, and
its distance from the most alike; the share of the walk that ends there along all calls, and how much more that is than without
a report; the same along calls that deviate, with its rank."""
COMPLAINT = (*PLACE, *(f"from_{name}" for name in PLACE))
"""The columns of a target: those of its component and, for an edge, of the component that calls it."""

MOST_NAMES = 2_000
"""Of more names no vectors are computed: their words alone count."""
_FOLLOW, _STEPS = 0.7, 6
"""The probability of following a call, and the steps after which the walk is cut."""
_CALM = 0.05
"""The weight of a call to a component that does not deviate, where a squashed deviation of 1 weighs 1."""
_MOST_LIFT = 3.0
_WORD = re.compile(r"[^\W\d_]{2,}|\d{3}")


@dataclass(frozen=True, slots=True)
class Names:
    """The words of components and of their operations: ``owner [N]`` is the component of each name, ``operation [N]`` whether it
    is that of an operation, ``telling [W]`` how much a word tells among all names, ``vectors [N, D]`` are those of names; None
    for too many."""

    words: Words
    owner: Ints
    operation: NDArray[np.bool_]
    telling: Floats
    vectors: Floats | None


def read_names(components: Sequence[str], operations: Sequence[str], words: WordEncoder, sentences: TextEncoder) -> Names:
    """``operations`` are named ``component: name``; those of unknown components are left out."""
    line = {name: i for i, name in enumerate(components)}
    own = [o for o in operations if component(o) in line]
    texts = [*components, *(o.split(": ", 1)[-1] for o in own)]
    found = spoken(words.words([_spaced(t) for t in texts]))
    owner = np.array([*range(len(components)), *(line[component(o)] for o in own)], dtype=np.int64)
    owners_of: dict[str, set[int]] = {}
    for word, text in zip(found.spelled, found.text_of.tolist(), strict=True):
        owners_of.setdefault(word, set()).add(int(owner[text]))
    spread = np.array([len(owners_of[w]) for w in found.spelled], dtype=np.float32)
    telling = found.weight * np.log((1.0 + len(components)) / spread).astype(np.float32)
    vectors = sentences.encode([*components, *own]) if len(texts) <= MOST_NAMES else None
    return Names(found, owner, np.arange(len(texts)) >= len(components), telling, vectors)


def spoken(words: Words) -> Words:
    """Without signs, single letters and short numbers."""
    keep = np.array([bool(_WORD.search(w)) for w in words.spelled], dtype=bool)
    spelled = tuple(w for w, stays in zip(words.spelled, keep.tolist(), strict=True) if stays)
    return Words(spelled, words.text_of[keep], words.vectors[keep], words.weight[keep])


def shared(names: Words, telling: Floats, count: int, report: Words) -> Floats:
    """``[count]``: how much of each name the report says: the mean over its words of how near the report comes to each."""
    found, total = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    if len(names.spelled) and len(report.spelled):
        near = np.clip((names.vectors @ report.vectors.T).max(axis=1), 0.0, 1.0) ** 2
        np.add.at(found, names.text_of, near * telling)
        np.add.at(total, names.text_of, telling)
    return np.asarray(found / np.maximum(total, 1e-6))


def complaint(view: EvidenceIndex, names: Names, report: Words, vector: Floats) -> Floats:
    """``[M + 1, len(PLACE)]`` of the components of ``view``; the last row, of zeros, is no component. Without words: zeros.

    ``vector`` is that of the report.
    """
    size = len(view.components)
    found = np.zeros((size + 1, len(PLACE)), dtype=np.float32)
    if not size or not len(report.spelled):
        return found
    score = shared(names.words, names.telling, len(names.owner), report)
    own, of_operations = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    np.maximum.at(own, names.owner[~names.operation], score[~names.operation])
    np.maximum.at(of_operations, names.owner[names.operation], score[names.operation])
    alike = score if names.vectors is None else names.vectors @ vector
    named = np.full(size, -np.inf)
    np.maximum.at(named, names.owner, (alike - alike.mean()) / max(1e-6, float(alike.std())))
    begin = np.exp(named - named.max())
    begin /= begin.sum()
    everywhere = np.full(size, 1.0 / size)
    calls = _calls(view)
    bad = _CALM + np.clip(squash(view.families).max(axis=1), 0.0, None).astype(np.float64)
    reach, usual = (_walk(start, calls, np.ones(size), np.zeros(size)) for start in (begin, everywhere))
    stay = np.maximum(bad - _worst_callee(bad, calls), 0.0)
    suspect, suspected = (_walk(_normal(start * bad), calls, bad, stay) for start in (begin, everywhere))
    found[:size] = np.stack(
        [
            own,
            of_operations,
            _rank(named),
            named - named.max(),
            reach / reach.max(),
            _lift(reach, usual),
            suspect / suspect.max(),
            _rank(suspect),
            _lift(suspect, suspected),
        ],
        axis=1,
    )
    return found


def of_targets(found: Floats, view: EvidenceIndex, here: Sequence[str], caller: Sequence[str]) -> Floats:
    """``[P, len(COMPLAINT)]`` of targets by their component and the one that calls it, "" for none."""
    line: Mapping[str, int] = {name: i for i, name in enumerate(view.components)}
    return np.concatenate([found[[line.get(n, -1) for n in names]] for names in (here, caller)], axis=1)


def _spaced(name: str) -> str:
    return re.sub(r"[\W_]+", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", name))


def _calls(view: EvidenceIndex) -> Ints:
    """``[E, 2]``: pairs of components, the caller first."""
    line = {name: i for i, name in enumerate(view.components)}
    pairs = [(line[a], line[b]) for a, b in view.edges if a in line and b in line and a != b]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _walk(start: NDArray[np.float64], calls: Ints, weight: NDArray[np.float64], stay: NDArray[np.float64]) -> NDArray[np.float64]:
    """``[M]``: where a walk with restarts is found that follows calls by the weight of the callee, or stays by ``stay``."""
    a, b = calls.T
    out = np.bincount(a, weight[b], len(start)) + stay
    found, here = start * (1.0 - _FOLLOW), start
    for step in range(1, _STEPS + 1):
        leaving = np.where(out > 0, here / np.maximum(out, 1e-12), 0.0)
        here = np.bincount(b, leaving[a] * weight[b], len(start)) + leaving * stay
        found = found + here * _FOLLOW**step * (1.0 - _FOLLOW)
    return found


def _worst_callee(bad: NDArray[np.float64], calls: Ints) -> NDArray[np.float64]:
    worst = np.zeros_like(bad)
    np.maximum.at(worst, calls[:, 0], bad[calls[:, 1]])
    return worst


def _normal(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(values / values.sum())


def _lift(with_report: NDArray[np.float64], without: NDArray[np.float64]) -> NDArray[np.float64]:
    floor = 0.1 / len(without)
    return np.clip(np.log((with_report + floor) / (without + floor)), -_MOST_LIFT, _MOST_LIFT)


def _rank(values: NDArray[np.floating]) -> NDArray[np.float64]:
    order = np.sort(values)
    return np.asarray(np.searchsorted(order, values, side="left") / max(1, len(values) - 1))
