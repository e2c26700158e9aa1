"""What happened in the shop, as it travels through queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

PLACED = "order-placed"
"""The queue of orders that were paid for."""


def placed(order: asyncpg.Record, lines: Sequence[asyncpg.Record]) -> dict[str, Any]:
    """All that has to be told of an order, so that nobody has to ask back."""
    return {
        "order": order["id"],
        "owner": order["owner"],
        "total": order["total"],
        "shipping": order["shipping"],
        "arrives": order["arrives"].isoformat(),
        "lines": [dict(line) for line in lines],
    }
