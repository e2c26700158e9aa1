"""Every kind of fault, found by its class: the subclasses of ``FaultKind`` in this package that have a name."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from fault_injection.apps import App
from fault_injection.spec import Fault, FaultKind
from revelio.errors import FaultError


@cache
def kinds() -> tuple[FaultKind, ...]:
    """Every kind, by category and name."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    found = (kind() for kind in _subclasses(FaultKind) if "name" in vars(kind) and kind.__module__.startswith(f"{__name__}."))
    return tuple(sorted(found, key=lambda kind: (kind.category, kind.name)))


def kind_named(name: str) -> FaultKind:
    """The kind of that name; ``FaultError`` lists those there are."""
    for kind in kinds():
        if kind.name == name:
            return kind
    raise FaultError(f"no fault kind {name!r}; there are: {', '.join(k.name for k in kinds())}")


def validate(app: App, fault: Fault) -> FaultKind:
    """The fault's kind, when it can be applied there; ``FaultError`` with what is possible otherwise."""
    kind = kind_named(fault.kind)
    kind.validate(app, fault)
    return kind


def _subclasses(parent: Any) -> Iterator[type[FaultKind]]:
    for kind in parent.__subclasses__():
        yield kind
        yield from _subclasses(kind)
