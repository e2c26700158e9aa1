"""Some tests here start real servers for minutes: they run where they are asked for by name (``make test-foreign``)."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip them in every other run."""
    if "foreign" not in str(config.option.markexpr):
        for item in items:
            if item.get_closest_marker("foreign"):
                item.add_marker(pytest.mark.skip(reason="starts real servers: make test-foreign"))
