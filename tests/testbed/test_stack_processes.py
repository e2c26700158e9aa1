"""Projects, users' processes and errors of the stack, without an engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from docker.models.containers import Container
from typer.testing import CliRunner

from testbed.errors import StackError
from testbed.stack import project as projects
from testbed.stack import users
from testbed.stack.__main__ import program
from testbed.stack.project import Project, find_project
from testbed.stack.state import ContainerState, Endpoint, Status, container_state
from testbed.stack.users import User, running, start, stop

SLEEPS = (
    sys.executable,
    "-c",
    "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setattr("testbed.stack.project.ROOT", tmp_path)
    made = Project("shop", "revelio-test")
    yield made
    stop(made)


def test_the_project_is_named_after_the_application_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REVELIO_PROJECT", raising=False)
    assert find_project("shop").name == "revelio-shop"
    monkeypatch.setenv("REVELIO_PROJECT", "second-shop")
    assert find_project("shop").name == "second-shop"
    assert find_project("shop").state == projects.ROOT / "var/testbed/second-shop"
    monkeypatch.setenv("REVELIO_PROJECT", "Second Shop")
    with pytest.raises(StackError, match="lower-case"):
        find_project("shop")


def test_an_unknown_application_is_refused_with_the_known_ones() -> None:
    with pytest.raises(StackError, match=r"no application 'bookshop'; there is .*shop"):
        find_project("bookshop")


def test_without_an_engine_the_error_says_how_to_start_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "testbed.stack", "status", "shop"]
    env = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    done = subprocess.run(command, cwd=projects.ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no Docker engine answers: start it (`sudo systemctl start docker`")
    assert "Traceback" not in done.stderr


def group_is_gone(pid: int) -> bool:
    listed = subprocess.run(["ps", "-o", "pid=,stat=", "-g", str(pid)], capture_output=True, text=True, check=False).stdout
    return all("Z" in line.split()[1] for line in listed.splitlines())


def test_users_are_started_once_and_ended_with_their_children(project: Project) -> None:
    user = User("load", SLEEPS)
    start(project, [user], settle=0.3)
    pid = running(project, "load")
    assert pid is not None
    start(project, [user], settle=0.1)
    assert running(project, "load") == pid
    stop(project)
    assert running(project, "load") is None and list(project.state.glob("*.pid")) == []
    deadline = time.monotonic() + 3
    while not group_is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert group_is_gone(pid)


def test_a_process_that_only_has_the_number_of_an_old_one_is_left_alone(project: Project) -> None:
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as stranger:
        project.state.mkdir(parents=True)
        (project.state / "load.pid").write_text(f"{stranger.pid} 1\n")
        assert running(project, "load") is None
        stop(project)
        assert stranger.poll() is None
        stranger.kill()


def test_a_user_that_ends_at_once_is_an_error_with_its_last_words(project: Project) -> None:
    user = User("probes", (sys.executable, "-c", "raise SystemExit('no such shop')"))
    with pytest.raises(StackError, match="no such shop"):
        start(project, [user], settle=5)
    assert list(project.state.glob("*.pid")) == []


def test_the_users_of_an_application_are_told_where_it_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVELIO_PORT_GATEWAY", "28080")
    load, probes = users.users_of(project)
    assert load.command[1:] == ("-m", "testbed.users.load", "--app", "shop", "--url", "http://127.0.0.1:28080")
    assert probes.command[-2:] == ("--out", str(project.state / "notes.jsonl"))


def container(state: dict[str, object]) -> Container:
    labels = {"com.docker.compose.service": "cart", "revelio.role": "app"}
    return cast("Container", SimpleNamespace(attrs={"State": state}, labels=labels, name="revelio-shop_cart_1"))


def test_a_containers_state_is_the_engines_own() -> None:
    times = {"StartedAt": "2026-03-01T10:00:00.123456789Z", "FinishedAt": "2026-03-01T11:30:00.5Z"}
    paused = container_state(container({"Status": "paused", "Health": {"Status": "healthy"}, **times}))
    assert (paused.service, paused.role, paused.since) == ("cart", "app", datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert not paused.healthy
    exited = container_state(container({"Status": "exited", **times}))
    assert exited.since == datetime(2026, 3, 1, 11, 30, tzinfo=UTC) and not exited.healthy
    created = container_state(
        container({"Status": "created", "StartedAt": "0001-01-01T00:00:00Z", "FinishedAt": "0001-01-01T00:00:00Z"})
    )
    assert created.since is None


def test_a_stack_is_up_when_all_its_containers_are_healthy_and_its_addresses_answer() -> None:
    well = ContainerState("cart", "revelio-shop_cart_1", "app", "running", "healthy", None)
    ill = ContainerState("orders", "revelio-shop_orders_1", "app", "running", "unhealthy", None)
    answers, silent = Endpoint("gateway", "http://127.0.0.1:1", True), Endpoint("gateway", "http://127.0.0.1:1", False)
    assert Status("shop", "p", (well,), (answers,), ()).up
    assert not Status("shop", "p", (), (), ()).up
    assert not Status("shop", "p", (well, ill), (answers,), ()).up
    assert not Status("shop", "p", (well,), (silent,), ()).up


def test_status_prints_json_and_fails_while_the_stack_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.stack.__main__.status", lambda app: Status(app, "revelio-shop", (), (), ()))
    done = CliRunner().invoke(program, ["status", "shop", "--json"])
    assert done.exit_code == 1 and json.loads(done.output)["up"] is False
