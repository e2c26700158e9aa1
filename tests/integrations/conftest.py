"""A desk on the hand-made system, and a Slack on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.settings import Settings
from revelio.store import Store
from revelio.workbench import Workbench
from tests.cli.conftest import revelio
from tests.integrations.fake_slack import FakeSlack, fake_slack
from tests.webui import made
from webui.desk import Desk
from webui.door import DeskDoor
from webui.figures import Figures

__all__ = ["revelio"]  # a fixture that is shared


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """One recorded incident, and a live system whose backends do not answer."""
    return made.settings(tmp_path, made.record())


@pytest.fixture
def desk(settings: Settings) -> Iterator[Desk]:
    """A desk whose model is the stand-in."""
    desk = Desk(Workbench(settings, recommender=made.stand_in(settings)), Store(settings.database), Figures())
    yield desk
    desk.bench.close()
    desk.store.close()


@pytest.fixture
def door(desk: Desk) -> DeskDoor:
    """What integrations see of it."""
    return DeskDoor(desk)


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    """A Slack with one workspace, whose bot has the token xoxb-one."""
    with fake_slack() as slack:
        yield slack
