"""Ranks of values within groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.report import Floats

Ints = NDArray[np.int64]


def share_below(group: Ints, values: Floats) -> Floats:
    """For each value, the share of the other values of its group strictly below; 0 when alone."""
    order = np.lexsort((values, group))
    sorted_group, sorted_values = group[order], values[order]
    new_group = np.append(True, np.diff(sorted_group) > 0)
    new_value = new_group | np.append(True, np.diff(sorted_values) > 0)
    position = np.arange(len(order))
    group_start = np.maximum.accumulate(np.where(new_group, position, 0))
    value_start = np.maximum.accumulate(np.where(new_value, position, 0))
    others = np.bincount(group)[sorted_group] - 1
    share = np.zeros(len(order), dtype=np.float32)
    share[order] = (value_start - group_start) / np.maximum(1, others)
    return share
