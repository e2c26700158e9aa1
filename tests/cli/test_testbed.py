"""``revelio testbed``, ``faults`` and ``campaign``: what they hand on, what they print, how they fail. Needs no engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from revelio.settings import load_settings
from revelio.systems.incidents.dataset import open_dataset
from revelio.systems.incidents.exchange import write_records
from testbed.errors import StackError
from testbed.stack import ContainerState, Endpoint, Status, UserProcess
from tests.cli.made import CommandLine
from tests.systems.incidents.made import record


def _status(answers: bool = True) -> Status:
    containers = (ContainerState("cart", "revelio-shop_cart_1", "app", "running", "healthy", None),)
    endpoints = (Endpoint("cart", "http://127.0.0.1:1", answers),)
    return Status("shop", "revelio-shop", containers, endpoints, (UserProcess("load", 7), UserProcess("probes", None)))


def test_up_hands_its_options_on_and_shows_the_stack(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def up(app: str, **options: Any) -> Status:
        seen.update(options, app=app)
        return _status()

    monkeypatch.setattr("testbed.stack.up", up)
    ran = revelio("testbed", "up", "shop", "--images", "make", "--no-users")
    assert ran.code == 0, ran.err
    assert (seen["app"], seen["images"], seen["with_users"]) == ("shop", "make", False)
    monkeypatch.delenv("REVELIO_SYSTEMS")
    assert load_settings().systems["shop"].project == "revelio-shop"
    monkeypatch.setattr("testbed.stack.down", lambda app, **_: None)
    assert revelio("testbed", "down", "shop").code == 0
    assert load_settings().systems == {}
    assert "http://127.0.0.1:1 answers" in ran.out
    assert "probes does not run" in ran.err


@pytest.mark.parametrize(("answers", "code"), [(True, 0), (False, 1)])
def test_status_exits_with_1_unless_all_is_up(
    revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, answers: bool, code: int
) -> None:
    monkeypatch.setattr("testbed.stack.status", lambda app: _status(answers))
    ran = revelio("testbed", "status", "--json")
    assert ran.code == code
    assert ran.json["up"] is answers
    assert ran.json["containers"][0]["service"] == "cart"


@pytest.mark.parametrize("verb", ["up", "down", "status"])
def test_what_the_testbed_cannot_do_is_a_foreseen_error(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    def fail(app: str, **options: Any) -> Status:
        raise StackError("no engine answers; start it")

    monkeypatch.setattr(f"testbed.stack.{verb}", fail)
    ran = revelio("testbed", verb, "shop")
    assert (ran.code, ran.err) == (1, "error: no engine answers; start it\n")


def test_faults_are_listed_with_places_and_strengths(revelio: CommandLine) -> None:
    found = {k["kind"]: k for k in revelio("faults", "list", "--json").json["kinds"]}
    assert "cart" in found["cpu_quota"]["places"]
    assert "hard" in found["cpu_quota"]["strengths"]
    assert "container_pause" in revelio("faults", "list").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("faults", "inject", "nonsense", "--at", "cart"), "no fault kind 'nonsense'"),
        (("faults", "list", "--app", "nonsense"), "no application 'nonsense'"),
        (("campaign", "run", "gone.yaml", "--out", "x"), "gone.yaml"),
        (("campaign", "rewrite", "--dataset", "gone", "--out", "x"), "gone"),
        (("incidents", "bundle", "a", "--dataset", "gone", "--to", "x"), "gone"),
    ],
)
def test_mistakes_are_answered_in_words(revelio: CommandLine, words: tuple[str, ...], said: str) -> None:
    ran = revelio(*words)
    assert (ran.code, ran.out) == (1, "")
    assert said in " ".join(ran.err.split())


def test_an_empty_campaign_is_counted(revelio: CommandLine, tmp_path: Path) -> None:
    assert revelio("campaign", "status", "--out", tmp_path, "--json").json["incidents"] == 0
    assert revelio("campaign", "check-labels", "--out", tmp_path, "--json").json == {"kinds": [], "labels": []}


def test_freezing_writes_the_manifest_and_counts_the_splits(revelio: CommandLine, tmp_path: Path) -> None:
    write_records(tmp_path / "c" / "incidents" / "a1.jsonl.xz", [record("a1")])
    ran = revelio("campaign", "freeze", "--out", str(tmp_path / "c"))
    assert ran.code == 0, ran.err
    assert "1 train frozen" in ran.err
    assert open_dataset(tmp_path / "c").splits == {"a1": "train"}


def test_freezing_an_empty_folder_says_so(revelio: CommandLine, tmp_path: Path) -> None:
    ran = revelio("campaign", "freeze", "--out", str(tmp_path))
    assert ran.code == 1
    assert "holds no incidents" in ran.err
