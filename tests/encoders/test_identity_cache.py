"""Results are cached by the identity of the arguments, not by their value."""

from __future__ import annotations

import gc

from revelio.encoders.identity_cache import cached_by_identity


def test_the_same_argument_is_computed_once_and_an_equal_one_again() -> None:
    computed: list[list[int]] = []

    def total(values: list[int]) -> int:
        computed.append(values)
        return sum(values)

    cached = cached_by_identity(total)
    one, other = [1, 2], [1, 2]
    assert [cached(one), cached(one), cached(other)] == [3, 3, 3]
    assert len(computed) == 2


def test_the_least_recently_used_result_is_dropped_first() -> None:
    computed: list[tuple[str, ...]] = []

    def note(*parts: str) -> tuple[str, ...]:
        computed.append(parts)
        return parts

    cached = cached_by_identity(note, size=2)
    for letter in "aabacab":
        cached(letter, "x")
    assert [first for first, _ in computed] == ["a", "b", "c", "b"]


def test_a_cached_argument_stays_alive_so_that_its_id_is_not_reused() -> None:
    def copied(values: list[int]) -> list[int]:
        return list(values)

    cached = cached_by_identity(copied)
    for number in range(5):
        assert cached([number]) == [number]
        gc.collect()
