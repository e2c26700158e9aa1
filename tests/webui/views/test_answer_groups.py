"""Answers about one incident stand together in the history."""

from __future__ import annotations

from revelio.store import HistoryEntry
from revelio.store.history import FoundAnswer
from webui.views.answer_groups import answer_groups

HOUR = 3600.0


def answered(name: str, at: float, suspect: str = "cart", recorded: str | None = None, resolved: bool = False) -> FoundAnswer:
    entry = HistoryEntry(name, at, "shop", recorded, "slow", 0.0, "", 0.0, None, suspect=suspect, resolved=resolved)
    return FoundAnswer(entry, "")


def named(*answers: FoundAnswer) -> list[str]:
    return ["".join(a.entry.id for a in group.answers) for group in answer_groups(answers)]


def test_answers_on_one_suspect_stand_together_until_much_time_lies_between() -> None:
    assert named(
        answered("a", 30 * HOUR), answered("b", 29 * HOUR, "orders"), answered("c", 25 * HOUR), answered("d", 10 * HOUR)
    ) == ["ac", "b", "d"]


def test_a_recorded_incident_is_one_group_whatever_was_suspected() -> None:
    assert named(answered("a", 9, "cart", "r1"), answered("b", 8, "orders", "r1"), answered("c", 7, "cart", "r2")) == ["ab", "c"]


def test_a_group_is_resolved_with_any_of_its_answers() -> None:
    (group,) = answer_groups([answered("a", 9), answered("b", 8, resolved=True)])
    assert group.resolved
