"""Whether the time of a function grows in proportion to its input."""

from __future__ import annotations

import time
from collections.abc import Callable

ATTEMPTS = 4
"""A busy machine slows an attempt; work that grows with the square is slow in each."""


def in_proportion(work: Callable[[str], object], unit: str, length: int) -> bool:
    """Whether ``work`` on ``length`` characters takes less than 30 times as long as on a tenth of them.

    Proportional work takes 10 times as long, work that grows with the square 100 times. A tenth that takes less than
    20 ms of processor time counts as 20 ms.
    """
    return any(_seconds(work, unit, length) < 30 * max(0.02, _seconds(work, unit, length // 10)) for _ in range(ATTEMPTS))


def _seconds(work: Callable[[str], object], unit: str, length: int) -> float:
    text = (unit * length)[:length]
    began = time.process_time()
    work(text)
    return time.process_time() - began
