"""YAML of any origin ends in time: as a value or as an error."""

from __future__ import annotations

import pytest
import yaml

from revelio.support.bounded_yaml import DEEPEST, DeepError, read_yaml


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting_is_refused_before_it_is_parsed(text: str) -> None:
    with pytest.raises(DeepError, match="nested too deeply"):
        read_yaml(text)


def test_what_people_write_is_read() -> None:
    assert read_yaml("a: [1, {b: 'c'}]\nd: |\n  sum(rate(x{a=~'[0-9]+'}[5m]))\n") == {
        "a": [1, {"b": "c"}],
        "d": "sum(rate(x{a=~'[0-9]+'}[5m]))\n",
    }
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert read_yaml(deep)


def test_no_object_is_made() -> None:
    with pytest.raises(yaml.YAMLError):
        read_yaml("!!python/object/apply:os.system ['true']")
