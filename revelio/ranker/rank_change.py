"""Why a query stands where it stands once results came back, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from revelio.anomaly import SIGNIFICANT
from revelio.ranker.rerank import Reranked

_STANDS_OUT, _DULL = "stands out", "shows nothing unusual"


@dataclass(frozen=True, slots=True)
class RankChange:
    """Where a query stood before any was run, from 1, and in words why it stands where it stands now."""

    before: int
    because: str


def rank_change(reranked: Reranked, found: Mapping[int, float], index: int, before: int, place: int) -> RankChange:
    """The move of a candidate to ``place``; ``found`` is the signal of every candidate that was run, by index."""
    up = place < before
    moved = f"{'Up' if up else 'Down'} from {before}" if place != before else "Same place"
    if index in found:
        significant = found[index] >= SIGNIFICANT
        joint = ":" if place == before or significant == up else ", although"
        return RankChange(before, f"{moved}{joint} its result {_STANDS_OUT if significant else _DULL}")
    if place == before:
        return RankChange(before, f"{moved}: no result yet")
    mover = reranked.mover(index, up=up)
    if mover is None:
        return RankChange(before, f"{moved}: others {'fell' if up else 'gained'}")
    title = reranked.encoded.queries[mover].title
    return RankChange(before, f"{moved}: “{title}” {_STANDS_OUT if found[mover] >= SIGNIFICANT else _DULL}")
