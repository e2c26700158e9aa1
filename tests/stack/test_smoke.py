"""The main job, live: a fault is put into the running shop, a user complains, and the first queries show the cause."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.campaigns.health import wait_until_content
from fault_injection.campaigns.record import calls_of
from fault_injection.campaigns.setup import NotesFile
from fault_injection.docker_engine import DockerEngine
from fault_injection.inject import injected, open_faults
from fault_injection.labels import accepted_queries, load_labels
from fault_injection.spec import Fault
from revelio.catalog.conventions import Cadence
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import load_settings
from revelio.support.anomaly import SIGNIFICANT
from revelio.types import Recommendation
from testbed.stack.project import find_project

pytestmark = [pytest.mark.stack, pytest.mark.thorough]

FELT_S = 25.0
"""So long does a fault last before its user writes."""


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path)


def settle() -> None:
    """Health for as long as a live question looks back, so that the baseline is one."""
    cadence = Cadence(2.0)  # the testbed's scrape interval
    seconds = cadence.baseline_s + cadence.window_s - FELT_S
    users = NotesFile(find_project("shop").state / "notes.jsonl")
    content = wait_until_content(users, seconds, time.time(), seconds + 120.0)
    assert content.confirmed, content.figures


def shown(answer: Recommendation, app: App, fault: Fault) -> list[tuple[int, float]]:
    """Grade and signal of the accepted queries in the answer, best place first."""
    queries = [q.query for q in answer.queries]
    accepted = accepted_queries(load_labels()[fault.kind], fault.place, queries, calls_of(answer.incident.evidence, app))
    return [(accepted[q.query], q.result.signal) for q in answer.queries if q.query in accepted and q.result is not None]


@pytest.mark.parametrize(
    ("fault", "report"),
    [
        (Fault("container_pause", "cart", "whole"), "since a few minutes my basket just hangs and then gives up"),
        (Fault("exception_on_input", "payment", "all"), "paying by card fails with an error page every time"),
        (Fault("cpu_quota", "products", "hard"), "every product page takes ages to load today"),
    ],
    ids=lambda x: x.kind if isinstance(x, Fault) else "",
)
def test_the_cause_is_among_the_first_three_and_running_it_shows_the_fault(app: App, fault: Fault, report: str) -> None:
    settle()
    with injected(app, fault, DockerEngine(app.project)):
        time.sleep(FELT_S)
        with closing(Service(load_settings())) as service:
            answer = service.rank(RecommendRequest(report, system="shop", k=3, run=3))
    assert answer.degraded == ()
    assert any(grade == 3 and signal >= SIGNIFICANT for grade, signal in shown(answer, app, fault)), [
        (q.query.title, q.result.summary if q.result else None) for q in answer.queries
    ]
    assert open_faults(app) == ()


def test_the_command_line_snapshots_ranks_and_runs_against_the_live_system() -> None:
    program = Path(sys.executable).with_name("revelio")
    command = [str(program), "recommend", "the shop is slow", "--system", "shop", "--run", "-k", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["queries"]) == 3
    assert all(q["result"] is not None and q["text"] for q in answer["queries"])


def test_a_backend_that_is_down_degrades_the_answer_and_is_named() -> None:
    settings = load_settings()
    settings.systems["shop"].backends["jaeger"].url = "http://127.0.0.1:1"
    with closing(Service(settings)) as service:
        answer = service.rank(RecommendRequest("the shop is slow", system="shop", k=3))
    assert answer.degraded == ("jaeger",)
    assert answer.queries
