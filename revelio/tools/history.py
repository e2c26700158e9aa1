"""What a store has seen of a baseline: one that is a minute old knows nothing of the hour before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from revelio.tools.base import Scope
from revelio.types import Window

_MANY = 20
"""Events from which their mean distance says whether a gap before the first of them is one."""

_SHARE = 0.1
"""The least gap that counts, as a share of the baseline."""


@dataclass(frozen=True, slots=True)
class History:
    """When the ``oldest`` event of a store was (Unix seconds; None where there is none), and those in a baseline.

    ``first`` is when its first event was, ``count`` how many there were.
    """

    oldest: float | None
    first: float | None = None
    count: float = 0.0

    def since(self, baseline: Window) -> float:
        """From when on the baseline was observed; its end where it was not.

        A store without older events began with its first. One that has older ones paused where the gap before the first event
        of the baseline is longer than events are apart.
        """
        if self.oldest is None or self.oldest >= baseline.end:
            return baseline.end
        if self.oldest > baseline.start:
            return self.oldest
        if self.first is None or self.count < _MANY:
            return baseline.start
        gap, usual = self.first - baseline.start, (baseline.end - self.first) / self.count
        return self.first if gap > max(_MANY * usual, _SHARE * baseline.seconds) else baseline.start


def observed(scope: Scope, history: History | None) -> Scope:
    """The scope with that part of its baseline which was observed; the whole of it where the store does not tell."""
    if history is None:
        return scope
    return replace(scope, baseline=Window(history.since(scope.baseline), scope.baseline.end))


def before_words(scope: Scope) -> str:
    """What the figures before the window cover, for a summary: ``in the 3600 s before``."""
    seconds = scope.baseline.seconds
    if seconds <= 0:
        return "before; nothing was recorded then, so nothing can be compared"
    if seconds < scope.window.seconds:
        return f"in the {seconds:.0f} s before, all the history there is"
    return f"in the {seconds:.0f} s before"
