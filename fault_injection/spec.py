"""A fault as data: what it is, where and how strongly, and the steps that make and unmake it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from fault_injection.apps import App
from fault_injection.engine import Engine
from revelio.errors import FaultError

Category = Literal[
    "resource", "component", "network", "configuration", "code", "database", "load and queue", "clock", "control", "noise"
]
HARMLESS: tuple[Category, ...] = ("control", "noise")
"""Categories of what is no fault. Noise goes on through baseline and window; a control is all that a run does."""
Value = str | int | float


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one kind at one place. ``variant`` picks among a kind's equivalent forms (the bug's text, say)."""

    kind: str
    place: str
    strength: str
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One act on one container, as data, so that it can be written to the journal before it is done.

    ``container`` is the id that the container had then: a step on a container that was since replaced is moot. It is empty
    for a step that is about the service, whichever container it has: its settings, or the data that it keeps.
    """

    action: str
    service: str
    container: str
    arguments: tuple[tuple[str, Value], ...] = ()

    def argument(self, name: str) -> Value:
        """One argument's value; ``FaultError`` when the step does not have it (a journal of another version)."""
        for key, value in self.arguments:
            if key == name:
                return value
        raise FaultError(f"step {self.action} at {self.service} lacks {name!r}; the journal is from another version")


@dataclass(frozen=True, slots=True)
class Change:
    """What injecting will do and what undoing it will take, both known before the first act."""

    do: tuple[Step, ...]
    undo: tuple[Step, ...]
    parameters: tuple[tuple[str, Value], ...] = ()


class FaultKind(ABC):
    """One kind of fault. A new kind is a subclass with a ``name`` in a module of ``fault_injection.kinds``; it needs no list."""

    name: ClassVar[str]
    category: ClassVar[Category]
    mechanism: ClassVar[str] = ""
    """What is done to make it, as ``leakage_features.yaml`` names it; empty where nothing is done."""
    explanation: ClassVar[str]
    strengths: ClassVar[Mapping[str, Mapping[str, Value]]]
    settle_s: ClassVar[float] = 8.0
    """Longest wait for the measurement that shows that it took effect."""
    counts_once_settled: ClassVar[bool] = False
    """Whether its window begins only when it is settled: then the act itself is not part of what users and tools see."""
    burdens_host: ClassVar[bool] = False
    """Whether it takes so much of the machine that another application on it would feel it."""

    @abstractmethod
    def places(self, app: App) -> tuple[str, ...]:
        """Where in that application it can be applied."""

    def strengths_at(self, app: App, place: str) -> tuple[str, ...]:
        """Those of its strengths that it has at that place."""
        return tuple(self.strengths)

    @abstractmethod
    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """The steps, given how things stand now. Raises ``FaultError`` when it cannot be done. Changes nothing."""

    @abstractmethod
    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Measure from outside, once and within about 3 s, whether it is active."""

    def stands_on(self, app: App, fault: Fault) -> str:
        """The container that must answer again once it is undone; empty when there is none."""
        return fault.place if fault.place in app.places else ""

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Measure once whether its effect has cleared after it was undone, besides that container answering."""
        return Effect(True, "nothing else to look at")

    def validate(self, app: App, fault: Fault) -> None:
        """``FaultError`` that lists what is possible, when place or strength are not."""
        if fault.place not in self.places(app):
            possible = ", ".join(self.places(app)) or "none"
            raise FaultError(f"{self.name} cannot be applied at {fault.place!r} of {app.name}; possible places: {possible}")
        if fault.strength not in (strengths := self.strengths_at(app, fault.place)):
            raise FaultError(f"{self.name} at {fault.place} has no strength {fault.strength!r}; possible: {', '.join(strengths)}")


@dataclass(frozen=True, slots=True)
class Effect:
    """What a measurement showed: whether it confirmed what was asked, and the figures in words."""

    confirmed: bool
    figures: str
