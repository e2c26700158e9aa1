"""What the foreign applications declare can be judged: every cause is a query of the catalog, with its own blanks."""

from __future__ import annotations

import pytest

from revelio.catalog import bundled_catalog
from tests.foreign.application import Application
from tests.foreign.applications import APPLICATIONS
from tests.foreign.campaign import steps
from tests.foreign.faults import Fault

FIRST = ("keycloak", "wordpress", "nautobot")
"""The applications that are recorded with eight faults each."""
TEMPLATES = {t.id: t for t in bundled_catalog().templates}


@pytest.mark.parametrize("app", APPLICATIONS.values(), ids=APPLICATIONS)
def test_each_cause_names_a_template_and_its_blanks(app: Application) -> None:
    for fault in app.faults():
        for cause in fault.causes:
            blanks = {b.name for b in TEMPLATES[cause.template].blanks}
            assert dict(cause.blanks).keys() == blanks, f"{fault.name}: {cause.template} has {blanks}"
        assert any(cause.grade == 3 for cause in fault.causes), fault.name


@pytest.mark.parametrize("app", APPLICATIONS.values(), ids=APPLICATIONS)
def test_faults_and_healthy_moments_are_shared_by_the_machines_side_by_side(app: Application) -> None:
    whole = steps(app, 1, 1)
    faults, healthy = (8, 4) if app.name in FIRST else (6, 3)
    assert sum(isinstance(step, Fault) for step in whole) >= faults
    assert sum(isinstance(step, str) for step in whole) >= healthy
    assert [_name(s) for part in (1, 2) for s in steps(app, part, 2)] == [_name(s) for s in whole]


def _name(step: Fault | str) -> str:
    return step if isinstance(step, str) else step.name
