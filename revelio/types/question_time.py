"""The time of a question, as an answer tells it. Frozen values, standard library only; times are Unix seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TimeBasis = Literal["asked", "report", "onset", "usual"]
"""What chose the window: the question itself, the words of the report, the onset, or the system's cadence."""


@dataclass(frozen=True, slots=True)
class Onset:
    """When a user-facing signal of a component left its own past, from ``before`` to ``after`` (medians, in ``unit``).

    ``until`` is when it came back; None while it lasts. ``sigma`` is the deviation in σ of that past.
    """

    at: float
    component: str
    signal: str
    unit: str
    before: float
    after: float
    sigma: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class ProposedTime:
    """A time that was found and not applied, because it is ``unsure`` or the question named another."""

    words: str
    unsure: str
    since: float | None = None
    at: float | None = None
    window_s: float | None = None


@dataclass(frozen=True, slots=True)
class QuestionTime:
    """What the window of an answer goes by; ``words`` are those of the report that were applied."""

    basis: TimeBasis = "usual"
    words: str = ""
    onset: Onset | None = None
    proposals: tuple[ProposedTime, ...] = ()
