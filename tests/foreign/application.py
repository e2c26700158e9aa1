"""What each foreign application brings: how it is installed and started, its users' pages, and its faults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from tests.foreign.faults import Fault
from tests.foreign.machine import Machine
from tests.foreign.users import Page

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "revelio" / "foreign"
"""Where applications that are no Debian packages are installed."""


class Application(Protocol):
    """One application by others."""

    name: str
    title: str
    words: Mapping[str, str]
    """What users call each feature."""
    packages: tuple[str, ...]
    """Debian packages."""

    def lacking(self) -> str:
        """What is not installed; "" where all is."""

    def install(self) -> None:
        """Put what is no Debian package into ``CACHE``."""

    def start(self, machine: Machine) -> None:
        """Bring it up with its exporters, and return when it answers."""

    def pages(self) -> tuple[str, Mapping[str, tuple[Page, float]], float]:
        """The base URL, the features with their share of visits, and the pause between two visits in seconds."""

    def faults(self) -> tuple[Fault, ...]:
        """Faults, in the order in which they are injected."""
