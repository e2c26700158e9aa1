"""What each application's probe users do: one module an application, one function a feature; ``visitors`` says who they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from testbed.users.person import Person, Seen


@dataclass(frozen=True, slots=True)
class Walk:
    """``visitor`` makes the person who walks; ``features`` are the ways through the application by the corpus's names."""

    visitor: Callable[[str, int], Person]
    features: Mapping[str, Callable[[Any], Awaitable[Seen]]]


def walk_of(app: str) -> Walk:
    """The walk through an application: who walks, from ``visitors``, and ``FEATURES`` of its module here."""
    visitor = import_module(f"testbed.users.visitors.{app}").Visitor
    return Walk(visitor, import_module(f"{__name__}.{app}").FEATURES)
