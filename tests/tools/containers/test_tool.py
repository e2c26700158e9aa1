"""Containers: their state as of the window's end, also when the engine has forgotten what happened."""

from __future__ import annotations

import json
import shlex
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from pytest_httpserver import HTTPServer

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.containers.tool import Containers
from revelio.types import Entity, Query, QueryTemplate, Window
from tests.tools.conftest import HOSTILE_NAMES, QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.containers.fake_engine import FakeContainer, FakeEngine
from tests.tools.test_fetch import raw_server

START, END = SCOPE.window.start, SCOPE.window.end


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    with HTTPServer(threaded=True) as server:
        found = FakeEngine(server)
        found.containers = [FakeContainer("cart"), FakeContainer("redis")]
        yield found
        found.closing.set()


@pytest.fixture
def tool(engine: FakeEngine) -> Iterator[Containers]:
    made = Containers(spec("containers"), Backend(url=engine.url), Limits(seconds=2.0))
    yield made
    engine.closing.set()
    made.close()


def ask(tool: Containers, view: str, container: str = "cart", scope: Scope = SCOPE) -> tuple[float, str]:
    """Signal and summary of a bundled template."""
    result = tool.run(bound(f"containers.{view}", container=container), scope)
    return result.signal, result.summary


@pytest.mark.parametrize("template", [t.id for t in spec("containers").templates])
def test_nothing_that_happened_is_no_signal(tool: Containers, template: str) -> None:
    bindings = {} if template == "containers.all_events" else {"container": "cart"}
    result = tool.run(bound(template, **bindings), SCOPE)
    assert result.signal == 0.0, result.reason
    assert result.summary


def test_a_paused_container_is_a_certain_sign_in_state_and_events_only(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.status = "paused"
    engine.remembered = [cart.event(START + 5, "pause")]
    assert ask(tool, "state") == (1.0, "cart is paused")
    assert ask(tool, "events")[0] == 1.0
    assert tool.run(bound("containers.all_events"), SCOPE).signal == 1.0
    for view in ("restarts", "limits", "oom", "config", "health"):
        assert ask(tool, view)[0] == 0.0, view
    assert ask(tool, "state", "redis") == (0.0, "redis is running")


def test_before_it_was_paused_it_ran(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.status = "paused"
    engine.remembered = [cart.event(START + 5, "pause")]
    earlier = Scope("shop", Window(START - 30, START), Window(START - 60, START - 30))
    assert ask(tool, "state", scope=earlier) == (0.0, "cart is running")


def test_a_pause_that_is_over_still_shows(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    engine.remembered = [cart.event(START + 5, "pause"), cart.event(START + 9, "unpause")]
    signal, summary = ask(tool, "state")
    assert (signal, summary) == (1.0, "cart was paused")


def test_one_that_was_created_after_the_window_does_not_say_that_the_one_before_was_down(
    engine: FakeEngine, tool: Containers
) -> None:
    engine.containers[0].created, engine.containers[0].started = END + 5, END + 6
    assert ask(tool, "state") == (0.0, "cart is not created")


def test_a_pause_whose_event_is_forgotten_is_dated_by_the_last_health_check(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.status, cart.checks = "paused", [(START - 3.0, 0), (START + 2.0, 0)]
    assert ask(tool, "state")[0] == 1.0
    earlier = Scope("shop", Window(START - 30, START), Window(START - 60, START - 30))
    assert ask(tool, "state", scope=earlier)[0] == 0.0
    [change] = tool.snapshot(SCOPE).changes
    assert (change.field, change.after) == ("state", "paused")
    assert change.at == pytest.approx(START + 2.0, abs=0.01)


def test_a_stopped_container_tells_its_exit_code_also_without_events(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.status, cart.finished, cart.exit_code = "exited", START + 7, 137
    result = tool.run(bound("containers.state", container="cart"), SCOPE)
    assert (result.signal, result.summary) == (1.0, "cart is exited")
    assert result.rows[0][:3] == ("cart", "exited", 137)
    [change] = tool.snapshot(SCOPE).changes
    assert change.after == "exited with code 137"


def test_a_container_that_was_already_down_is_down_but_did_not_change(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.status, cart.finished, cart.exit_code = "exited", START - 500, 1
    assert ask(tool, "state")[0] == 1.0
    assert tool.snapshot(SCOPE).changes == ()


def test_a_restart_shows_as_a_start_with_or_without_events(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.finished, cart.started = START + 4, START + 5
    assert ask(tool, "restarts")[0] == 1.0
    engine.remembered = [cart.event(START + 4, "die", exitCode="0"), cart.event(START + 5, "start")]
    assert ask(tool, "restarts")[0] == 1.0
    assert [(c.field, c.after) for c in tool.snapshot(SCOPE).changes] == [("state", "exited with code 0"), ("started", "running")]


def test_a_kill_for_memory(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.status, cart.finished, cart.exit_code, cart.oom_killed = "exited", START + 4, 137, True
    assert ask(tool, "oom")[0] == 1.0
    assert "oom" in {c.field for c in tool.snapshot(SCOPE).changes}


def test_a_replaced_container_and_what_it_runs_without_its_secrets(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.created = cart.started = START + 3
    result = tool.run(bound("containers.config", container="cart"), SCOPE)
    assert result.signal == 1.0
    assert ("cart", "image", "shop:dev") in result.rows
    assert ("cart", "DATABASE_URL", "postgresql://shop:***@postgres/shop") in result.rows
    assert "hunter2" not in repr(result)


def test_a_rollout_between_the_baseline_and_the_window_belongs_to_the_incident(engine: FakeEngine, tool: Containers) -> None:
    cart = engine.containers[0]
    cart.created = cart.started = START - 3
    late = Scope(SCOPE.project, SCOPE.window, Window(SCOPE.baseline.start - 5, START - 5))
    assert ask(tool, "config", scope=late)[0] == 1.0
    assert {c.field for c in tool.snapshot(late).changes} == {"config", "started"}
    assert ask(tool, "config")[0] == 0.0, "it came within the baseline"


def test_a_change_of_limits_tells_them_before_and_after_where_it_was_looked_at_before(
    engine: FakeEngine, tool: Containers
) -> None:
    now = time.time()
    scope = Scope("shop", Window(now - 20, now + 10), Window(now - 80, now - 20))
    assert ask(tool, "limits", scope=scope) == (0.0, "cart: 0.5 CPU cores, 256 MiB memory")
    cart = engine.containers[0]
    cart.nano_cpus = 50_000_000
    engine.remembered = [cart.event(time.time(), "update")]
    signal, summary = ask(tool, "limits", scope=scope)
    assert signal == 1.0
    assert summary == "cart: CPU limit cut 0.5 → 0.05 cores (−90 %)"


def test_limits_of_the_past_are_those_of_then_where_they_were_seen(
    engine: FakeEngine, tool: Containers, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    scope = Scope("shop", Window(now - 20, now + 10), Window(now - 80, now - 20))
    ask(tool, "limits", scope=scope)
    monkeypatch.setattr("revelio.tools.base.time.time", lambda: now + 3600.0)
    engine.containers[0].nano_cpus = 50_000_000
    assert ask(tool, "limits", scope=scope) == (0.0, "cart: 0.5 CPU cores, 256 MiB memory")


def test_limits_before_a_change_that_nobody_saw_are_not_known(engine: FakeEngine, tool: Containers) -> None:
    engine.remembered = [engine.containers[0].event(START + 1, "update")]
    assert "unknown before" in ask(tool, "limits")[1]


def test_failing_health_checks(engine: FakeEngine, tool: Containers) -> None:
    engine.containers[0].checks = [(START + 5 * i, 1 if i > 1 else 0) for i in range(5)]
    signal, summary = ask(tool, "health")
    assert signal == pytest.approx(0.6)
    assert summary == "3 of 5 health checks in the window failed"
    assert [c.field for c in tool.snapshot(SCOPE).changes] == ["health"]


def test_what_the_engine_forgot_is_remembered_by_watching_it(engine: FakeEngine, tool: Containers) -> None:
    now = time.time()
    scope = Scope("shop", Window(now - 20, now + 10), Window(now - 80, now - 20))
    tool.snapshot(scope)
    cart = engine.containers[0]
    engine.tell(cart.event(time.time(), "update"))
    deadline = time.monotonic() + 5
    while not tool.snapshot(scope).changes and time.monotonic() < deadline:
        time.sleep(0.05)
    assert engine.remembered == []
    assert [c.field for c in tool.snapshot(scope).changes] == ["limits"]


def test_only_the_applications_own_containers_are_entities(engine: FakeEngine, tool: Containers) -> None:
    engine.containers += [
        FakeContainer("jaeger", role="backend"),
        FakeContainer("cart", number="2"),
        FakeContainer("billing", role=None),
        FakeContainer("other", project="elsewhere"),
    ]
    found = tool.snapshot(SCOPE).entities
    assert found == tuple(Entity("container", n) for n in ("billing", "cart", "cart-2", "redis"))


def test_a_container_that_is_gone_is_a_certain_sign(tool: Containers) -> None:
    assert ask(tool, "state", "payment") == (1.0, "there is no container payment")


@given(hostile())
def test_no_name_adds_a_word_to_the_command(name: str) -> None:
    tool = Containers(spec("containers"), Backend(url="tcp://127.0.0.1:9"), QUICK)
    for harmless, query in zip(filled("containers", "cart"), filled("containers", name), strict=True):
        usual, odd = tool.render(harmless, SCOPE), tool.render(query, SCOPE)
        before, after = (
            shlex.split(usual.replace("$(", "").rstrip(")")),
            shlex.split(odd.replace("$(docker", "docker").removesuffix(")")),
        )
        assert len(before) == len(after)
        if query.bindings:
            clean = name.replace("\x00", "\ufffd").encode("utf-8", errors="replace").decode()
            assert f"label=com.docker.compose.service={clean}" in after


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_reaches_the_engine_as_part_of_an_address(engine: FakeEngine, tool: Containers, name: str) -> None:
    assert tool.run(bound("containers.state", container=name), SCOPE).signal == 1.0  # no such container, and nothing else asked


def test_bodies_that_are_refused_say_why(tool: Containers) -> None:
    for body, message in [("{view: logs}", "there are: state"), ("docker rm cart", "mapping")]:
        with pytest.raises(SourceError, match=message):
            tool.render(Query(QueryTemplate("own-text", "containers", "t", "", body)), SCOPE)


@pytest.mark.parametrize(
    "lie", [b"{}", b"null", b'[{"Id":5}]', b'[{"Id":"1","Labels":[]}]', b"nonsense", b"[" + b"1," * 400_000 + b"1]"]
)
def test_a_lying_engine_is_an_error_of_the_source(httpserver: HTTPServer, lie: bytes) -> None:
    httpserver.expect_request("/version").respond_with_json({"ApiVersion": "1.41"})
    httpserver.expect_request("/v1.41/containers/json").respond_with_data(lie, mimetype="application/json")
    url = httpserver.url_for("").replace("http://", "tcp://").rstrip("/")
    with closing(Containers(spec("containers"), Backend(url=url), QUICK)) as tool:
        if lie == b'[{"Id":5}]':  # no label of ours: not one of the application's
            assert tool._engine.listed("shop") == json.loads(lie)
            return
        with pytest.raises(SourceError, match="containers"):
            tool.run(bound("containers.all_events"), SCOPE)


def test_an_engine_that_hangs_is_given_up_after_the_limit() -> None:
    with raw_server(b"", hang=True) as url:
        tool = Containers(spec("containers"), Backend(url=url.replace("http", "tcp")), QUICK)
        began = time.monotonic()
        with pytest.raises(SourceError, match="containers"):
            tool.ping()
        assert time.monotonic() - began < 2.0


@pytest.mark.parametrize("url", ["unix:///no/such/socket", "tcp://127.0.0.1:9", "nonsense://x", ""])
def test_an_engine_that_is_not_there_says_what_to_check(url: str) -> None:
    with pytest.raises(SourceError, match=r"may this user read its socket|no address"):
        Containers(spec("containers"), Backend(url=url), QUICK).ping()


def test_ping_tells_the_version(tool: Containers) -> None:
    assert tool.ping() == "Docker Engine 20.10.24"


def test_a_silent_engine_holds_up_no_other(tool: Containers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        other = Containers(spec("containers"), Backend(url=f"tcp://127.0.0.1:{silent.getsockname()[1]}"), Limits(seconds=30.0))

        def ask_in_vain() -> None:
            with pytest.raises(SourceError):
                other.ping()

        asking = threading.Thread(target=ask_in_vain)
        asking.start()
        taken, _ = silent.accept()
        taken.recv(1)
        assert tool.ping()
        assert asking.is_alive(), "the other engine was still waited for"
        taken.close()
        asking.join()
        other.close()
