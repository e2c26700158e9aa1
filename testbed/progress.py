"""How long work tells whoever started it where it stands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing being done: its subject ("image postgres:15"), where it stands, and a short word about it."""

    subject: str
    phase: Phase
    detail: str = ""


Progress = Callable[[Step], None]


def silent(step: Step) -> None:
    """Tell nobody."""
