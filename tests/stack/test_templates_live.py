"""Every template of the catalog lights up on the real stack where it should, and stays dark where nothing is wrong."""

from __future__ import annotations

import time
from pathlib import Path

import docker
import pytest

from fault_injection.apps import app_named
from fault_injection.campaign import run
from fault_injection.engine import DockerEngine
from fault_injection.labels import load_labels
from fault_injection.lighting import Light, lighting
from fault_injection.opening import open_stage
from fault_injection.plan import expand, load_plan
from fault_injection.proof import healthy_scope
from revelio.anomaly import PRESENT
from revelio.catalog import bundled_catalog
from revelio.tools.base import Scope
from revelio.types import Window
from tests.fault_injection.test_every_template import PLAN, SHOWN_BY_HAND
from tests.stack.stacks import Stacks
from tests.tools.conftest import bound

pytestmark = [pytest.mark.stack, pytest.mark.thorough]

APP, DISTURBS = "shop", True
TEMPLATES = bundled_catalog().templates
SEEN_S = 18.0
"""So long are a baseline and a window."""


@pytest.fixture(scope="module")
def recorded(stacks: Stacks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan's runs, those of them that came to something."""
    stacks.have(APP)
    out = tmp_path_factory.mktemp("every_template")
    run(load_plan(PLAN), out, open_stage(APP), progress=lambda _: None)
    return out


@pytest.fixture(scope="module")
def lights(recorded: Path) -> dict[str, Light]:
    """Every template over those runs."""
    return {light.template: light for light in lighting(recorded, [(t.id, t.tool) for t in TEMPLATES], load_labels())}


def test_users_feel_every_fault_of_the_plan_and_some_tool_shows_its_cause(recorded: Path) -> None:
    void = recorded / "void.jsonl"
    kept = {path.name.partition(".")[0] for path in (recorded / "incidents").iterdir()}
    lost = [f"{r.fault.kind} at {r.fault.place}" for r in expand(load_plan(PLAN)) if r.id not in kept]
    assert not lost, void.read_text() if void.is_file() else lost


@pytest.mark.parametrize("template", [t.id for t in TEMPLATES])
def test_it_lights_up_in_an_incident_and_stays_dark_with_nothing_wrong(template: str, lights: dict[str, Light]) -> None:
    light = lights[template]
    # Of two quiet times one may hold something that is nobody's fault.
    assert light.dark >= 1, f"asked in {light.controls} runs without a fault, and never dark"
    if template in SHOWN_BY_HAND:
        assert light.never_lit, f"proven for {', '.join(light.kinds)}: need not be shown by hand any more"
    else:
        assert not light.never_lit, f"a right answer in {light.accepted} incidents, and never shown"


def test_processes_that_pile_up_show() -> None:
    stage = open_stage(APP)
    container = DockerEngine(app_named(APP).project).container_id("products")
    query = bound("prometheus.processes", container="products")
    time.sleep(SEEN_S)
    began = time.time()
    client = docker.from_env()
    try:
        pile = "for i in $(seq 60); do sleep 25 & done; wait"
        client.containers.get(container).exec_run(["sh", "-c", pile], detach=True)
        time.sleep(SEEN_S)
    finally:
        client.close()
    scope = Scope(stage.app.project, Window(began, time.time()), Window(began - SEEN_S, began))
    found, before = stage.system.run(query, scope), stage.system.run(query, healthy_scope(scope))
    assert found.signal >= PRESENT, found.summary
    assert before.signal < PRESENT, before.summary
    time.sleep(25.0)
