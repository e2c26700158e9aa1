"""A campaign records whole runs only, retries void ones, resumes where it was, and proves its labels."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import fault_injection.campaigns.campaign as campaign_module
import fault_injection.campaigns.health as health_module
import fault_injection.inject as inject_module
from fault_injection.apps import app_named
from fault_injection.campaigns.campaign import Progress, run
from fault_injection.campaigns.environment import Environment
from fault_injection.campaigns.plan import AppPlan, FaultPlan, Plan, Run, Share, expand
from fault_injection.campaigns.status import discarded_runs
from fault_injection.kinds import component, resource
from fault_injection.labels import Accepted
from fault_injection.spec import Effect, Fault
from revelio.catalog import Catalog, ToolSpec
from revelio.errors import FaultError, InvalidInputError, SourceError
from revelio.systems.incidents.exchange import Note, Record, Report, read_records
from revelio.systems.incidents.files import IncidentFiles
from revelio.tools.base import Scope
from revelio.types import Blank, Entity, Evidence, Query, QueryTemplate, Result, Window
from tests.fault_injection.fake_engine import FakeEngine, Killed

STATE = QueryTemplate("state", "containers", "State of ${container}", "", "", (Blank("container", "container"),))
CATALOG = Catalog((ToolSpec("containers", "Containers", "", (STATE,)),))
PLAN = Plan(
    baseline_s=0.1,
    window_s=0.1,
    apps={
        "shop": AppPlan(
            faults={
                "container_pause": FaultPlan(
                    runs=Share(train=2, new_location=1), places=("cart", "redis"), held_out=("orders",), strengths=("whole",)
                )
            },
            controls={"none": Share(train=1, no_fault=1)},
        ),
        "forum": AppPlan(controls={"none": Share(train=1)}),
    },
)
HERE = tuple(r for r in expand(PLAN) if r.app == "shop")


@dataclass
class FakeUsers:
    """All is well unless a container is paused, or always ``outcome``."""

    engine: FakeEngine
    outcome: str = ""

    def notes(self, start: float, end: float) -> tuple[Note, ...]:
        step = (end - start) / 8
        outcome = self.outcome or ("timeout" if "paused" in self.engine.states.values() else "ok")
        return tuple(Note(start + i * step, "home", outcome, 0.0, 200) for i in range(8))


@dataclass
class FakeReporters:
    """Pass on every complaint, or none, or make one up."""

    deaf: bool = False
    touchy: bool = False

    def complaints(self, notes: tuple[Note, ...], window: Window) -> tuple[str, ...]:
        hurt = {n.feature for n in notes if n.outcome != "ok" and window.start <= n.at <= window.end and not self.deaf}
        return tuple(f"shop/{feature}/timeout" for feature in sorted(hurt | ({"home"} if self.touchy else set())))

    def choose(
        self, notes: tuple[Note, ...], window: Window, split: str, seed: str, *, site_wide: bool = True
    ) -> tuple[Report, ...]:
        about = "site" if site_wide else ", ".join(sorted({n.feature for n in notes}))
        return (Report(f"{about} hangs", "w1" if split == "train" else "w6", "shop/home/slow"),)


@dataclass
class FakeSystem:
    """Sees a paused container as such, but only in a window that the fault touches."""

    engine: FakeEngine
    blind: bool = False
    silent: bool = False
    always: bool = False
    forgetful: bool = True
    asked: list[Scope] = field(default_factory=list)

    def snapshot(self, scope: Scope) -> Evidence:
        entities = tuple(Entity("container", s) for s in sorted(self.engine.ids))
        return Evidence(scope.window, scope.baseline, entities)

    def retrospective(self, query: Query) -> bool:
        return not self.forgetful

    def run(self, query: Query, scope: Scope) -> Result:
        if self.silent:
            raise SourceError("containers", "no answer within 5 s")
        self.asked.append(scope)
        place = dict(query.bindings)["container"]
        recent = scope.window.seconds > 0.07
        bad = not self.blind and (self.always or (recent and self.engine.states[place] == "paused"))
        return Result("state", 0.9 if bad else 0.0, "paused" if bad else "running", ("state",), (("x",),))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(campaign_module, "LAG_S", 0.0)
    monkeypatch.setattr(campaign_module, "LONGEST_WAIT_S", 0.4)
    monkeypatch.setattr(health_module, "POLL_S", 0.02)
    monkeypatch.setattr(component.ContainerPause, "settle_s", 0.05)
    monkeypatch.setattr(component, "answers", lambda app, place, engine, seconds: None)
    monkeypatch.setattr(inject_module, "answers", lambda app, place, engine, seconds: 0.01)
    labels = {"container_pause": (Accepted(template="state", grade=3, blanks={"container": "place"}),)}
    monkeypatch.setattr(campaign_module, "load_labels", lambda: labels)
    monkeypatch.setattr(campaign_module, "SETTLE_S", 0.0)
    yield


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    app = app_named("shop", tmp_path / "faults")
    engine = FakeEngine(*app.places)
    return Environment(app, engine, FakeUsers(engine), FakeReporters(), FakeSystem(engine), CATALOG, lambda: None)


CART_THEN_ORDERS = Run(
    "shop-0123456789", "shop", Fault("container_pause", "cart", "whole"), "train", Fault("container_pause", "orders", "whole")
)


@dataclass
class UsersOfEach:
    """One walks the home page and one each container's own; a user notes since when their container is paused."""

    engine: FakeEngine
    shared: bool = False
    since: dict[str, float] = field(default_factory=dict)

    def notes(self, start: float, end: float) -> tuple[Note, ...]:
        times = [start + number * (end - start) / 40 for number in range(40)]
        return tuple(
            Note(at, feature, "timeout" if at >= self._since(feature) else "ok", 0.0, 200)
            for feature in ("home", "cart", "orders")
            for at in times
        )

    def _since(self, feature: str) -> float:
        paused = {place: at for place, at in self.engine.paused_at.items() if self.engine.states[place] == "paused"}
        return min((at for place, at in paused.items() if self.shared or place == feature), default=1e12)


def go(environment: Environment, out: Path, *, resume: bool = False) -> campaign_module.Outcome:
    return run(PLAN, out, environment, resume=resume, progress=lambda _: None)


def records(out: Path, folder: str = "incidents") -> dict[str, Record]:
    return {r.id: r for r in read_records(out / folder)}


def test_every_run_of_the_plan_is_recorded_with_its_fault_split_and_proven_label(
    environment: Environment, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert go(environment, out).recorded == 5
    found = records(out)
    for item in HERE:
        record = found[item.id]
        assert record.fault is not None
        assert (record.fault.kind, record.fault.place, record.split) == (item.fault.kind, item.fault.place, item.split)
        if item.fault.kind == "container_pause":
            (label,) = record.labels
            assert (label.bindings, label.signal, label.baseline_signal, label.proven) == (
                (("container", item.fault.place),),
                0.9,
                0.0,
                True,
            )
        else:
            assert record.labels == ()


def test_incidents_keep_only_words_and_signal_and_results_keep_the_rows(environment: Environment, tmp_path: Path) -> None:
    out = tmp_path / "out"
    go(environment, out)
    short, whole = next(iter(records(out).values())), next(iter(records(out, "results").values()))
    assert short.results[0].result.rows == () and short.results[0].result.summary == "state"
    assert whole.results[0].result.rows == (("x",),)
    assert len(short.results) == len(environment.app.places)


def test_the_baseline_ends_where_the_fault_begins_and_the_report_comes_at_the_window_s_end(
    environment: Environment, tmp_path: Path
) -> None:
    go(environment, tmp_path / "out")
    for record in records(tmp_path / "out").values():
        assert record.evidence.baseline.end == record.evidence.window.start
        assert record.opened_at == record.evidence.window.end
        assert 0.09 <= record.evidence.window.seconds < 1.0


def test_nothing_is_left_in_force(environment: Environment, tmp_path: Path) -> None:
    go(environment, tmp_path / "out")
    assert isinstance(environment.engine, FakeEngine)
    assert set(environment.engine.states.values()) == {"running"}


def test_a_signal_that_was_there_before_the_fault_proves_nothing(environment: Environment, tmp_path: Path) -> None:
    assert isinstance(environment.system, FakeSystem)
    environment.system.always = True
    outcome = go(environment, tmp_path / "out")
    assert outcome.recorded == 2
    assert {v["stage"] for v in discarded_runs(tmp_path / "out")} == {"no tool shows its cause"}


def test_tools_have_watched_for_the_whole_baseline_of_the_first_run(environment: Environment, tmp_path: Path) -> None:
    looked: list[float] = []
    snapshot = environment.system.snapshot

    def noting(scope: Scope) -> Evidence:
        looked.append(time.time())
        return snapshot(scope)

    environment.system.snapshot = noting  # type: ignore[method-assign]
    go(environment, tmp_path / "out")
    first = min(r.evidence.baseline.start for r in records(tmp_path / "out").values())
    assert looked[0] <= first < looked[1]


def test_a_fault_that_users_did_not_feel_and_a_control_that_they_felt_are_void(environment: Environment, tmp_path: Path) -> None:
    assert isinstance(environment.reporters, FakeReporters)
    environment.reporters.deaf = True
    assert go(environment, tmp_path / "deaf").recorded == 2
    assert len(discarded_runs(tmp_path / "deaf")) == 2 * 3, "each is tried once more"
    assert {v["stage"] for v in discarded_runs(tmp_path / "deaf")} == {"users did not feel it"}
    environment.reporters.deaf, environment.reporters.touchy = False, True
    assert go(environment, tmp_path / "touchy").recorded == 3
    assert {v["stage"] for v in discarded_runs(tmp_path / "touchy")} == {"users felt a control"}


def test_a_void_run_is_tried_three_times_and_then_given_up(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(component, "answers", lambda app, place, engine, seconds: 0.5 if place == "cart" else None)
    outcome = go(environment, tmp_path / "out")
    assert (outcome.recorded, outcome.discarded, len(outcome.given_up)) == (4, 3, 1)
    assert {v["stage"] for v in discarded_runs(tmp_path / "out")} == {"fault not verified"}
    assert {v["place"] for v in discarded_runs(tmp_path / "out")} == {"cart"}


def test_an_unhealthy_stack_stops_the_campaign_with_the_reason(environment: Environment, tmp_path: Path) -> None:
    assert isinstance(environment.engine, FakeEngine)
    unwell = replace(environment, users=FakeUsers(environment.engine, "error"))
    with pytest.raises(FaultError, match=r"runs in a row came to nothing.*not healthy: 8 of 8 visits went wrong"):
        go(unwell, tmp_path / "out")
    assert not (tmp_path / "out" / "incidents").exists()


def test_a_silent_backend_voids_the_run_instead_of_recording_an_empty_one(environment: Environment, tmp_path: Path) -> None:
    assert isinstance(environment.system, FakeSystem)
    environment.system.silent = True
    with pytest.raises(FaultError, match="a tool did not answer: containers: 12 queries failed"):
        go(environment, tmp_path / "out")


def test_a_killed_campaign_resumes_and_ends_with_the_same_runs(environment: Environment, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert isinstance(environment.engine, FakeEngine)
    environment.engine.die_after = 3
    with pytest.raises(Killed):
        go(environment, out)
    before = records(out) if (out / "incidents").exists() else {}
    assert len(before) < 5
    environment.engine.die_after = None
    assert go(environment, out, resume=True).recorded == 5
    after = records(out)
    assert all(after[name] == record for name, record in before.items())
    assert set(environment.engine.states.values()) == {"running"}


def test_a_second_start_without_resume_is_refused(environment: Environment, tmp_path: Path) -> None:
    out = tmp_path / "out"
    go(environment, out)
    with pytest.raises(InvalidInputError, match="go on with --resume"):
        go(environment, out)


def test_a_plan_that_grew_keeps_what_was_recorded_and_packed_and_makes_only_what_is_new(
    environment: Environment, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    go(environment, out)
    before = records(out)
    assert [IncidentFiles(out / part).pack() for part in ("incidents", "results")] == [5, 5]
    shop = PLAN.apps["shop"]
    grown = PLAN.model_copy(update={"apps": {"shop": shop.model_copy(update={"controls": {"none": Share(train=3, no_fault=1)}})}})
    assert run(grown, out, environment, resume=True, progress=lambda _: None).recorded == 7
    after = records(out)
    assert len(after) == 7 and all(after[name] == record for name, record in before.items())


def test_the_stack_is_restarted_after_so_many_runs(environment: Environment, tmp_path: Path) -> None:
    renewed: list[int] = []
    out = tmp_path / "out"
    watched = replace(environment, renew=lambda: renewed.append(len(records(out))))
    run(PLAN.model_copy(update={"fresh_every": 2}), out, watched, progress=lambda _: None)
    assert renewed == [2, 4]


def test_a_store_of_the_application_that_its_fault_silences_discards_no_run(environment: Environment, tmp_path: Path) -> None:
    assert isinstance(environment.system, FakeSystem)
    snapshot = environment.system.snapshot
    muted = replace(environment, system=environment.system)
    environment.system.snapshot = lambda scope: replace(snapshot(scope), missing=("redis",))  # type: ignore[method-assign]
    assert go(muted, tmp_path / "redis").recorded == 5
    environment.system.snapshot = lambda scope: replace(snapshot(scope), missing=("jaeger",))  # type: ignore[method-assign]
    with pytest.raises(FaultError, match="jaeger: did not answer the snapshot"):
        go(muted, tmp_path / "jaeger")


def test_what_tools_remember_is_asked_after_the_fault_is_undone(environment: Environment, tmp_path: Path) -> None:
    assert isinstance(environment.system, FakeSystem)
    environment.system.forgetful = False
    outcome = go(environment, tmp_path / "out")
    assert outcome.recorded == 2, "a tool that only knows the present sees nothing then"
    assert {v["stage"] for v in discarded_runs(tmp_path / "out")} == {"no tool shows its cause"}


def test_progress_tells_the_run_the_stage_and_the_time_left(environment: Environment, tmp_path: Path) -> None:
    told: list[Progress] = []
    started = time.monotonic()
    run(PLAN, tmp_path / "out", environment, progress=told.append)
    assert told[0].seconds_left is None
    assert {t.stage for t in told} == {
        "waiting until healthy",
        "injecting",
        "users feel it",
        "looking",
        "undoing",
        "looking back",
    }
    assert [t.done for t in told] == sorted(t.done for t in told)
    assert told[-1].seconds_left is not None and told[-1].seconds_left < time.monotonic() - started


@pytest.fixture
def two_at_once(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setattr(campaign_module, "expand", lambda plan: (CART_THEN_ORDERS,))
    assert isinstance(environment.engine, FakeEngine)
    return replace(environment, users=UsersOfEach(environment.engine))


def test_two_faults_at_once_give_an_incident_each_with_the_same_evidence_and_its_own_users(
    two_at_once: Environment, tmp_path: Path
) -> None:
    assert go(two_at_once, tmp_path).recorded == 1
    found = records(tmp_path)
    first, second = (found[name] for name in CART_THEN_ORDERS.incidents)
    assert (first.evidence, first.results, first.opened_at) == (second.evidence, second.results, second.opened_at)
    assert first.run == second.run == CART_THEN_ORDERS.id
    assert first.fault is not None and second.fault is not None
    assert (first.fault.place, second.fault.place) == ("cart", "orders")
    assert {label.bindings for label in first.labels} == {(("container", "cart"),)}
    assert {label.bindings for label in second.labels} == {(("container", "orders"),)}
    assert all(label.proven and label.grade == 3 for label in (*first.labels, *second.labels))
    assert [r.text for r in (*first.reports, *second.reports)] == ["cart hangs", "orders hangs"]
    assert {n.feature for n in first.notes} == {"cart"} and {n.feature for n in second.notes} == {"orders"}
    assert {r.id for r in read_records(tmp_path / "results")} == set(CART_THEN_ORDERS.incidents)


def test_both_faults_are_active_for_a_window_and_the_first_one_for_two(two_at_once: Environment, tmp_path: Path) -> None:
    go(two_at_once, tmp_path)
    first, second = records(tmp_path).values()
    assert isinstance(two_at_once.engine, FakeEngine)
    cart, orders = (two_at_once.engine.paused_at[place] for place in ("cart", "orders"))
    assert orders - cart >= PLAN.window_s and first.evidence.window.end - orders >= PLAN.window_s - 0.01
    assert first.evidence.baseline.end == first.evidence.window.start <= cart + 0.001  # as recorded, in milliseconds
    late = [n.at for n in second.notes if n.at > second.evidence.baseline.end]
    assert max(n.at for n in first.notes) <= orders <= min(late)


def test_a_run_whose_faults_hurt_the_same_users_is_discarded(two_at_once: Environment, tmp_path: Path) -> None:
    assert isinstance(two_at_once.users, UsersOfEach)
    two_at_once.users.shared = True
    outcome = go(two_at_once, tmp_path)
    assert (outcome.recorded, outcome.given_up) == (0, (CART_THEN_ORDERS.id,))
    entries = discarded_runs(tmp_path)
    assert {entry["stage"] for entry in entries} == {"faults not told apart"} and len(entries) == 2
    assert entries[0]["reason"] == "the first hurt cart, home, orders and nothing came with the second"
    assert (entries[0]["place"], entries[0]["beside"]) == ("cart", "container_pause at orders")


def test_a_second_fault_whose_cause_no_tool_shows_is_named(
    two_at_once: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = (Accepted(template="state", grade=3, blanks={"container": "place"}, at=("cart",)),)
    monkeypatch.setattr(campaign_module, "load_labels", lambda: {"container_pause": labels})
    go(two_at_once, tmp_path)
    assert {(e["stage"], e["place"]) for e in discarded_runs(tmp_path)} == {("no tool shows its cause", "orders")}


def test_a_run_of_two_faults_is_missing_until_both_of_its_incidents_are_there(two_at_once: Environment, tmp_path: Path) -> None:
    go(two_at_once, tmp_path)
    (tmp_path / "incidents" / f"{CART_THEN_ORDERS.incidents[1]}.jsonl.xz").unlink()
    (tmp_path / "results" / f"{CART_THEN_ORDERS.incidents[1]}.jsonl.xz").unlink()
    assert run(PLAN, tmp_path, two_at_once, resume=True, progress=lambda _: None).recorded == 1
    assert len({r.evidence for r in records(tmp_path).values()}) == 1


def test_noise_goes_on_from_before_the_baseline_to_the_end_and_is_recorded_as_no_cause(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, noise = Fault("cpu_quota", "users", "moderate"), resource.CpuQuota
    monkeypatch.setattr(noise, "active", lambda *_: Effect(True, "throttled"))
    noisy = Run("shop-0123456789", "shop", Fault("container_pause", "cart", "whole"), "train", noise=limits)
    monkeypatch.setattr(campaign_module, "expand", lambda plan: (noisy,))
    assert isinstance(environment.engine, FakeEngine)
    engine = environment.engine
    usual = engine.limits["users"]
    assert go(environment, tmp_path).recorded == 1
    (record,) = records(tmp_path).values()
    assert [n.place for n in record.noise] == ["users"] and record.fault is not None and record.fault.place == "cart"
    assert [act for act in engine.acts if act.startswith(("limit", "pause", "unpause"))] == [
        "limit users",
        "pause cart",
        "unpause cart",
        "limit users",
    ]
    assert engine.limits["users"] == usual
    assert {label.bindings for label in record.labels} == {(("container", "cart"),)}


def test_noise_that_users_feel_discards_the_run_and_is_no_trouble_with_the_stack(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = Run("shop-0123456789", "shop", Fault("none", "-", "none"), "train", noise=Fault("container_pause", "cart", "whole"))
    monkeypatch.setattr(campaign_module, "expand", lambda plan: (noisy,))
    assert go(environment, tmp_path).given_up == (noisy.id,)
    assert {(e["stage"], e["beside"]) for e in discarded_runs(tmp_path)} == {("users felt the noise", "container_pause at cart")}
    assert isinstance(environment.engine, FakeEngine) and set(environment.engine.states.values()) == {"running"}
