"""Every kind of fault there is, by name. A category's file lists its own."""

from __future__ import annotations

from fault_injection.apps import App
from fault_injection.kinds import (
    clock,
    code,
    component,
    configuration,
    control,
    database,
    disk,
    load,
    network,
    redis_server,
    resource,
)
from fault_injection.spec import Fault, FaultKind
from revelio.errors import FaultError

ALL: tuple[FaultKind, ...] = (
    *resource.KINDS,
    *disk.KINDS,
    *component.KINDS,
    *configuration.KINDS,
    *code.KINDS,
    *database.KINDS,
    *redis_server.KINDS,
    *load.KINDS,
    *network.KINDS,
    *clock.KINDS,
    *control.KINDS,
)


def kinds() -> tuple[FaultKind, ...]:
    """Every kind, by category."""
    return ALL


def kind_named(name: str) -> FaultKind:
    """The kind of that name; ``FaultError`` lists those there are."""
    for kind in ALL:
        if kind.name == name:
            return kind
    raise FaultError(f"no fault kind {name!r}; there are: {', '.join(k.name for k in ALL)}")


def validate(app: App, fault: Fault) -> FaultKind:
    """The fault's kind, when it can be applied there; ``FaultError`` with what is possible otherwise."""
    kind = kind_named(fault.kind)
    kind.validate(app, fault)
    return kind
