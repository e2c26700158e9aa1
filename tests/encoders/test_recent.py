"""What was made of large values lately is not made again."""

from __future__ import annotations

from revelio.encoders.recent import Recent


def test_the_same_values_are_worked_on_once_and_equal_ones_are_others() -> None:
    worked: list[list[int]] = []

    def total(values: list[int]) -> int:
        worked.append(values)
        return sum(values)

    recent = Recent(total)
    one, other = [1, 2], [1, 2]
    assert [recent(one), recent(one), recent(other)] == [3, 3, 3]
    assert len(worked) == 2


def test_only_the_last_few_are_remembered() -> None:
    made: list[tuple[str, ...]] = []

    def note(*parts: str) -> tuple[str, ...]:
        made.append(parts)
        return parts

    recent = Recent(note, size=2)
    for letter in "aabacab":
        recent(letter, "x")
    assert [first for first, _ in made] == ["a", "b", "c", "b"]
