"""A service on the hand-made system, and a Slack on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.service import Service
from revelio.settings import Settings
from revelio.store import Store
from tests.cli.conftest import revelio
from tests.integrations.fake_slack import FakeSlack, fake_slack
from tests.webui import made

__all__ = ["revelio"]  # a fixture that is shared


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """One recorded incident, and a live system whose backends do not answer."""
    return made.settings(tmp_path, made.record())


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    """A service whose model is the stand-in."""
    service = Service(settings, recommender=made.stand_in(settings), store=Store(settings.database))
    yield service
    service.close()


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    """A Slack with one workspace, whose bot has the token xoxb-one."""
    with fake_slack() as slack:
        yield slack
