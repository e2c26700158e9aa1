"""Everything a campaign works with: where it plays, who watches, who writes and which tools look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fault_injection.apps import App
from fault_injection.campaigns.health import ProbeUsers
from fault_injection.campaigns.proof import LiveSystem
from fault_injection.engine import Engine
from revelio.catalog import Catalog
from revelio.systems.incidents.exchange import Note, Report
from revelio.types import Window


class Reporters(Protocol):
    """Chooses texts for what probe users noted."""

    def complaints(self, notes: tuple[Note, ...], window: Window) -> tuple[str, ...]:
        """The symptoms that the window's visits call for, as ``app/feature/symptom``, the worst first; none when users were
        content.
        """

    def choose(
        self, notes: tuple[Note, ...], window: Window, split: str, seed: str, *, site_wide: bool = True
    ) -> tuple[Report, ...]:
        """Reports of this split's writers that fit the notes; none when no text fits.

        Without ``site_wide`` the notes are those of some features alone, so that no text is about the site as a whole.
        """


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything a campaign works with: the application, its engine, users, reporters, tools and catalog."""

    app: App
    engine: Engine
    users: ProbeUsers
    reporters: Reporters
    system: LiveSystem
    catalog: Catalog
    renew: Callable[[], None]
    """Takes the application's stack down and brings it up again."""
