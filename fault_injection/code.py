"""Faults of code: a service rolled out as a new version with a bug in it."""

from __future__ import annotations

from fault_injection.spec import FaultKind

KINDS: tuple[FaultKind, ...] = ()
