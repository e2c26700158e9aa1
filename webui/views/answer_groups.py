"""Answers of the history about one incident, together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from revelio.store.history import FoundAnswer

_APART_S = 6 * 3600.0
"""Answers on one suspect of a live system that lie further apart are about different incidents."""


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Answers about one incident, newest first."""

    answers: tuple[FoundAnswer, ...]

    @property
    def resolved(self) -> bool:
        """Whether one of them is marked as resolved."""
        return any(a.entry.resolved for a in self.answers)


def answer_groups(answers: Iterable[FoundAnswer]) -> tuple[AnswerGroup, ...]:
    """One group for each recorded incident, and for each suspect of a live system; in the order of their first answers."""
    groups: list[list[FoundAnswer]] = []
    for one in answers:
        found = next((group for group in groups if _together(group[-1], one)), None)
        if found is None:
            groups.append([one])
        else:
            found.append(one)
    return tuple(AnswerGroup(tuple(group)) for group in groups)


def _together(newer: FoundAnswer, older: FoundAnswer) -> bool:
    one, other = newer.entry, older.entry
    if one.recorded or other.recorded:
        return one.recorded == other.recorded
    same = (one.system, one.outcome, one.suspect) == (other.system, other.outcome, other.suspect)
    return same and abs(one.saved_at - other.saved_at) <= _APART_S
