"""The Model page lists what was learnt and goes back; the server learns on a schedule without anybody waiting for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from revelio.ranker.artifact import load_manifest
from revelio.ranker.versions import Comparison, LastRun, RankingFigures, Versions
from revelio.service import Service
from revelio.settings import BUNDLED, LearningSettings, Settings
from tests.ranker.test_versions import made
from tests.webui import made as system
from webui.app import create_app
from webui.jobs.learning import LearningJob, environment


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        database=f"sqlite:///{tmp_path}/revelio.db",
        names=["testserver"],
        model=BUNDLED / "model",
        incidents=tmp_path / "incidents",
        learning=LearningSettings(folder=tmp_path / "models"),
    )


@pytest.fixture
def client(settings: Settings, tmp_path: Path) -> Iterator[TestClient]:
    recommender = system.stand_in(system.settings(tmp_path))
    with TestClient(create_app(settings, recommender=recommender), follow_redirects=False) as client:
        yield client


def _versions(settings: Settings) -> Versions:
    return Versions(settings.learning.folder, load_manifest(settings.model))


def _wait_for(versions: Versions) -> LastRun:
    deadline = time.monotonic() + 60
    while (last := versions.last_run()) is None:
        assert time.monotonic() < deadline, "no attempt was made"
        time.sleep(0.05)
    return last


def test_the_model_page_lists_versions_and_the_latest_attempt_and_goes_back(settings: Settings, client: TestClient) -> None:
    assert "No learned versions yet" in client.get("/model").text
    versions = _versions(settings)
    one = made(versions)
    versions.use(one.name)
    versions.record_run(LastRun(at=1.7e9, base=versions.base.name, until=0.0, taken=False, outcome="not taken: <top> 3 falls"))
    page = client.get("/model").text
    assert f'<th scope="row">{one.name}</th>' in page and "<td>active</td>" in page
    assert "The latest version was not activated." in page
    assert "not taken: &lt;top&gt; 3 falls" in page
    reply = client.post("/model/use", data={"version": "base"}, headers={"Sec-Fetch-Site": "same-origin"})
    assert (reply.status_code, reply.headers["location"]) == (303, "/model#learned")
    assert versions.current() == versions.base.name
    assert f'value="{one.name}">Activate' in client.get("/model").text
    refused = client.post("/model/use", data={"version": "../x"}, headers={"Sec-Fetch-Site": "same-origin"})
    assert refused.status_code == 404
    assert versions.current() == versions.base.name


def test_figures_of_the_comparison_stand_beside_their_version(settings: Settings, client: TestClient) -> None:
    versions = _versions(settings)
    was, now = RankingFigures(top1=0.5, top3=0.75), RankingFigures(top1=0.5, top3=0.875)
    compared = [Comparison(name=n, incidents=20, before=was, after=now, base=was) for n in ("held-out incidents", "feedback")]
    manifest = made(versions).model_copy(update={"comparisons": compared, "name": versions.next_name()})
    head = versions.head(f"{versions.base.name}.1")
    assert head is not None
    versions.keep(manifest, head)
    assert client.get("/model").text.count("<strong>") >= 3


def test_an_attempt_on_schedule_runs_by_itself_and_what_fails_stands_on_the_model_page(
    settings: Settings, client: TestClient
) -> None:
    learning = settings.learning.model_copy(update={"every_hours": 1.0, "at_least": 7})
    wanted = settings.model_copy(update={"learning": learning})
    says = "import sys; sys.exit('error: no dataset here, ' + ' '.join(sys.argv[1:]))"
    schedule = LearningJob(Service(wanted), first_s=0.0, command=(sys.executable, "-c", says))
    last = _wait_for(_versions(settings))
    schedule.stop()
    assert last.failed
    assert last.outcome == "no dataset here, --at-least 7"
    assert "The latest run failed." in client.get("/model").text


def test_nothing_is_learnt_on_a_schedule_unless_that_is_wanted(settings: Settings) -> None:
    assert settings.learning.every_hours == 0
    fails = (sys.executable, "-c", "raise SystemExit(1)")
    schedule = LearningJob(Service(settings), first_s=0.0, command=fails)
    time.sleep(0.2)
    schedule.stop()
    assert _versions(settings).last_run() is None


def test_an_attempt_under_way_is_ended_with_the_server(settings: Settings) -> None:
    learning = settings.learning.model_copy(update={"every_hours": 1.0})
    wanted = settings.model_copy(update={"learning": learning})
    schedule = LearningJob(Service(wanted), first_s=0.0, command=(sys.executable, "-c", "import time; time.sleep(600)"))
    time.sleep(1.0)
    began = time.monotonic()
    schedule.stop()
    assert time.monotonic() - began < 9
    assert _versions(settings).last_run() is None


def test_the_process_that_learns_reads_the_settings_of_the_server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(settings, {}).items():
        monkeypatch.setenv(name, value)
    read = Settings()
    assert (read.database, read.model, read.mask) == (settings.database, settings.model, settings.mask)
    assert read.learning == settings.learning
    assert read.catalog == settings.catalog
