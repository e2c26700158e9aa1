"""Every template of the catalog lights up on the real stack where it should, and stays dark where nothing is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.campaigns.campaign import run
from fault_injection.campaigns.plan import expand, load_plan
from fault_injection.campaigns.setup import open_environment
from fault_injection.dataset.template_coverage import TemplateCoverage, template_coverage
from fault_injection.labels import load_labels
from revelio.catalog import bundled_catalog
from tests.fault_injection.campaigns.test_every_template import PLAN
from tests.stack.stacks import Stacks

pytestmark = [pytest.mark.stack, pytest.mark.thorough]

APP, DISTURBS = "shop", True
TEMPLATES = bundled_catalog().templates


@pytest.fixture(scope="module")
def recorded(stacks: Stacks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan's runs, those of them that came to something."""
    stacks.have(APP)
    out = tmp_path_factory.mktemp("every_template")
    run(load_plan(PLAN), out, open_environment(APP), progress=lambda _: None)
    return out


@pytest.fixture(scope="module")
def lights(recorded: Path) -> dict[str, TemplateCoverage]:
    """Every template over those runs."""
    return {light.template: light for light in template_coverage([recorded], [(t.id, t.tool) for t in TEMPLATES], load_labels())}


def test_users_feel_every_fault_of_the_plan_and_some_tool_shows_its_cause(recorded: Path) -> None:
    discarded = recorded / "discarded.jsonl"
    kept = {path.name.partition(".")[0] for path in (recorded / "incidents").iterdir()}
    lost = [f"{r.fault.kind} at {r.fault.place}" for r in expand(load_plan(PLAN)) if r.id not in kept]
    assert not lost, discarded.read_text() if discarded.is_file() else lost


@pytest.mark.parametrize("template", [t.id for t in TEMPLATES])
def test_it_lights_up_in_an_incident_and_stays_dark_with_nothing_wrong(
    template: str, lights: dict[str, TemplateCoverage]
) -> None:
    light = lights[template]
    # Of two quiet times one may hold something that is nobody's fault.
    assert light.quiet >= 1, f"asked in {light.controls} runs without a fault, and never dark"
    assert not light.never_proven, f"a right answer in {light.accepted} incidents, and never shown"
