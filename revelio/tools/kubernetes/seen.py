"""What a view is made from."""

from __future__ import annotations

from dataclasses import dataclass

from revelio.tools.base import Scope
from revelio.tools.kubernetes.cluster import Cluster
from revelio.types import StateChange


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """A namespace, the changes in the window, and the workload that is asked about; None for all."""

    cluster: Cluster
    changes: tuple[StateChange, ...]
    scope: Scope
    workload: str | None

    def of(self, *fields: str) -> tuple[StateChange, ...]:
        """The changes of these fields."""
        return tuple(c for c in self.changes if c.field in fields)
