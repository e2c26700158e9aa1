"""YAML of any origin, read in time that grows with its length."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

import yaml

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml is ten times as fast, where PyYAML was built with it."""
DEEPEST = 200
"""How many brackets can be open: parsers of YAML take time in the square of that, and end in a deep recursion."""


class DeepError(yaml.YAMLError):
    """More brackets are open than ``DEEPEST``."""

    def __init__(self) -> None:
        super().__init__("nested too deeply")


def check_depth(text: str) -> None:
    """Raise ``DeepError`` where too many brackets are open; those within strings count too."""
    if max(accumulate((1 if c in "[{" else -1 for c in re.findall(r"[\[\]{}]", text)), initial=0)) > DEEPEST:
        raise DeepError


def read_yaml(text: str) -> Any:
    """The one document of a text. Raises ``yaml.YAMLError``, or ``ValueError`` for a date or a number that does not exist."""
    check_depth(text)
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 -- a safe loader
    except (RecursionError, OverflowError) as error:
        raise DeepError from error
