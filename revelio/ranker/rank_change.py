"""Why a query's rank changed after results, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from revelio.ranker.rerank import Reranked
from revelio.support.anomaly import SIGNIFICANT


@dataclass(frozen=True, slots=True)
class RankChange:
    """The rank of a query before any was run, from 1, and why it has another one now; "" where it has not."""

    before: int
    because: str


def rank_change(reranked: Reranked, found: Mapping[int, float], index: int, before: int, rank: int) -> RankChange:
    """The change of a candidate to ``rank``; ``found`` is the signal of every candidate that was run, by index."""
    if rank == before:
        return RankChange(before, "")
    up = rank < before
    return RankChange(before, f"Was {before}: {_reason(reranked, found, index, up=up)}")


def _reason(reranked: Reranked, found: Mapping[int, float], index: int, *, up: bool) -> str:
    signal = found.get(index)
    if signal is not None and (signal >= SIGNIFICANT) == up:
        return f"its result is {'anomalous' if up else 'normal'}"
    mover = reranked.mover(index, up=up)
    if mover is None or mover == index:
        return "others ranked lower after results" if up else "others now explain more"
    title = reranked.encoded.queries[mover].title
    if found[mover] < SIGNIFICANT:
        return f"“{title}” is normal"
    return f"“{title}” is anomalous" if up else f"“{title}” now explains more"
