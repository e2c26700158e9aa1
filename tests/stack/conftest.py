"""Brings the application that a test needs up where it is not up yet, and afterwards takes it down to the last network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.stack import Status, applications
from tests.stack.stacks import Stacks


@pytest.fixture(scope="session")
def stacks() -> Iterator[Stacks]:
    """All stacks of this session."""
    stacks = Stacks()
    yield stacks
    stacks.release()


@pytest.fixture
def app(request: pytest.FixtureRequest) -> str:
    """The application that the test is about: its parameter, or its module's ``APP``."""
    return wanted(request.node)


@pytest.fixture(autouse=True)
def running_stack(stacks: Stacks, request: pytest.FixtureRequest) -> Status:
    """The application that the test is about, with every backend and its users."""
    return stacks.have(wanted(request.node))


def wanted(item: pytest.Item) -> str:
    """Which application a test needs."""
    given = getattr(item, "callspec", None)
    return str(given.params["app"]) if given and "app" in given.params else str(getattr(item.module, "APP", "shop"))  # type: ignore[attr-defined]


def disturbs(item: pytest.Item) -> bool:
    """Whether it stops or restarts parts of the stack, which the tools go on seeing for a while: its module's ``DISTURBS``."""
    return bool(getattr(item.module, "DISTURBS", False))  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of one application follow each other, so that each is brought up once; what breaks things comes last there."""
    here = [item for item in items if "tests/stack/" in item.path.as_posix()]
    ordered = iter(sorted(here, key=lambda item: (applications().index(wanted(item)), disturbs(item))))
    items[:] = [next(ordered) if item in here else item for item in items]
