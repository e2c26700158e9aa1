"""How clearly a report names the entities that queries are bound to."""

from __future__ import annotations

import re

import numpy as np

from revelio.encoders.report import Floats


class Mentions:
    """The words of entity names: camel case split, words of one or two letters left out."""

    def __init__(self, names: tuple[str, ...]) -> None:
        """Split the names once; there are fewer words than names, since edges and copies share them."""
        parts = [_parts(n) for n in names]
        self._words = tuple(sorted({p for some in parts for p in some}))
        column = {p: i for i, p in enumerate(self._words)}
        self._count = np.zeros((len(names), len(self._words)), dtype=np.float32)
        for line, some in zip(self._count, parts, strict=True):
            for part in some:
                line[column[part]] += 1.0
        self._length = np.array([max(1, len(some)) for some in parts], dtype=np.float32)

    def share(self, report: str) -> Floats:
        """``[len(names)]``: the share of the words of each name that occur in the report, plural or not."""
        told = _tokens(report)
        said = np.array([w in told or w.rstrip("s") in told for w in self._words], dtype=np.float32)
        return np.asarray(self._count @ said / self._length)


def _tokens(text: str) -> set[str]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return set(words) | {w[:-1] for w in words if w.endswith("s")}


def _parts(name: str) -> list[str]:
    return [p for p in re.findall(r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()) if len(p) > 2]
