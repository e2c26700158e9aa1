"""Features by which injected faults could be told apart are found, and those that nobody has explained are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fault_injection.dataset.accepted_features import AcceptedFeatures, load_accepted_features
from fault_injection.dataset.leakage import Leakage, find_leakage
from fault_injection.dataset.leakage_features import RunFeatures, affected, run_features
from fault_injection.dataset.template_coverage import CONTROL
from fault_injection.kinds import kinds
from revelio.errors import DatasetError, InvalidInputError
from revelio.systems.incidents.exchange import FaultRecord, Record
from revelio.types import Entity, Evidence, LogPattern, Series, StateChange, Window

PARTS = ("cart", "orders", "postgres")
TIMES = (1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 14.0)
TOLD_APART = "series processes up"


def a_run(name: str, kind: str, category: str = "resource", place: str = "cart", processes: float = 14.0) -> Record:
    """A run in which the CPU of its place is used up, with as many processes as given."""
    entities = tuple(Entity("container", part) for part in PARTS)
    busy = category != CONTROL
    series = [
        Series(entity, metric, "", TIMES, (quiet,) * 4 + (now if busy and entity.name == place else quiet,) * 4)
        for entity in entities
        for metric, quiet, now in (("cpu", 0.1, 0.9), ("processes", 14.0, processes))
    ]
    evidence = Evidence(Window(10, 15), Window(0, 5), entities, tuple(series))
    return Record(name, "shop", 15.0, evidence, fault=FaultRecord(kind, category, place, "hard"))


def told(processes: float, accepted: AcceptedFeatures) -> dict[str, Leakage]:
    pytest.importorskip("sklearn")
    hogs = [a_run(f"h{n}", "cpu_hog", processes=processes, place=PARTS[n % 2]) for n in range(4)]
    others = [a_run(f"q{n}", "cpu_quota", place=PARTS[n % 2]) for n in range(4)]
    controls = [a_run(f"c{n}", "none", CONTROL, "-") for n in range(3)]
    return {t.name: t for t in find_leakage(run_features((*hogs, *others, *controls)), accepted)}


def test_a_mark_of_the_injector_tells_its_kind_from_others_and_is_unlisted() -> None:
    found = told(54.0, AcceptedFeatures())["cpu_hog"]
    assert (found.incidents, found.accuracy, found.unreal_accuracy) == (4, 1.0, 1.0)
    assert found.features[0].name == TOLD_APART
    assert (found.features[0].here, found.features[0].elsewhere) == (1.0, 0.0)
    assert TOLD_APART in found.unlisted


def test_without_that_mark_the_kinds_cannot_be_told_apart() -> None:
    found = told(14.0, AcceptedFeatures())["cpu_hog"]
    assert found.accuracy is not None and found.accuracy < 0.8
    assert found.unlisted == ()


@pytest.mark.parametrize(("real", "unreal_accuracy"), [("yes", 0.75), ("partly", 0.75), ("no", 1.0)])
def test_a_mark_that_is_explained_is_not_unlisted_and_counts_as_unreal_only_where_no_real_fault_leaves_it(
    real: str, unreal_accuracy: float
) -> None:
    accepted = AcceptedFeatures.model_validate({"kinds": {"cpu_hog": [{"feature": TOLD_APART, "real": real, "because": "so"}]}})
    found = told(54.0, accepted)["cpu_hog"]
    assert (found.features[0].real, found.features[0].because) == (real, "so")
    assert TOLD_APART not in found.unlisted
    assert found.accuracy == 1.0
    assert found.unreal_accuracy is not None and found.unreal_accuracy == pytest.approx(unreal_accuracy, abs=0.1)


def test_a_mechanism_is_told_from_all_others() -> None:
    mechanism = {"does": "it counts", "kinds": ["cpu_hog"], "features": [{"feature": TOLD_APART, "real": "yes", "because": "so"}]}
    found = told(54.0, AcceptedFeatures.model_validate({"mechanisms": {"counting": mechanism}}))
    assert found["counting"].accuracy == 1.0
    assert (found["cpu_hog"].mechanism, found["cpu_hog"].features[0].real) == ("counting", "yes")


def test_a_kind_with_too_few_incidents_is_not_judged() -> None:
    found = find_leakage(
        run_features([a_run("a", "cpu_hog"), a_run("b", "cpu_hog"), a_run("c", "cpu_quota")]), AcceptedFeatures()
    )
    assert [(t.name, t.incidents, t.accuracy) for t in found] == [("cpu_hog", 2, None), ("cpu_quota", 1, None)]


def test_nothing_recorded_is_refused() -> None:
    with pytest.raises(DatasetError, match="run a campaign first"):
        find_leakage((), AcceptedFeatures())


@pytest.mark.parametrize(
    ("place", "parts"),
    [("cart", {"cart"}), ("cart->orders", {"cart", "orders"}), ("messages", {"postgres"}), ("-", set()), ("x->y", set())],
)
def test_a_faults_place_is_one_part_two_or_none(place: str, parts: set[str]) -> None:
    assert affected(place, PARTS) == parts


def seen(record: Record, *changes: StateChange, logs: tuple[LogPattern, ...] = (), more: tuple[Entity, ...] = ()) -> Record:
    evidence = replace(record.evidence, changes=changes, logs=logs, entities=(*record.evidence.entities, *more))
    return replace(record, evidence=evidence)


def test_changes_and_new_lines_are_marks_in_words_without_names_and_numbers() -> None:
    cart = Entity("container", "cart")
    run = seen(
        a_run("a", "cpu_hog"),
        StateChange(cart, 11.0, "state", "running", "exited with code 137"),
        StateChange(cart, 11.0, "limits", "1 CPUs, 20 MB", "0.5 CPUs, 20 MB"),
        logs=(LogPattern(cart, "INFO", "cart 2.7.1 is ready", 1, 0, 12.0), LogPattern(cart, "INFO", "as ever", 3, 2, 1.0)),
    )
    (features,) = run_features([run])
    words = {feature for feature in features.parts["cart"] if feature.startswith(("change", "line"))}
    assert words == {
        "change state: running -> exited with code 137",
        "change limits: # CPUs, # MB -> # CPUs, # MB",
        "line INFO: PART # is ready",
    }
    assert not features.parts["orders"]


def test_a_name_that_other_runs_do_not_have_is_a_mark_of_its_part_or_of_all() -> None:
    strange = (Entity("db_client", "psql"), Entity("operation", "orders: POST /refunds"))
    runs: tuple[RunFeatures, ...] = run_features(
        [seen(a_run("a", "cpu_hog"), more=strange), *(a_run(f"b{n}", "none") for n in range(4))]
    )
    names = {part: {m for m in features if m.startswith("name")} for part, features in runs[0].parts.items()}
    assert names["orders"] == {"name db_client psql", "name operation orders: POST /refunds"}
    assert names["cart"] == names["postgres"] == {"name db_client psql"}
    assert not any(m.startswith("name") for features in runs[1].parts.values() for m in features)


def test_every_kind_of_fault_is_made_by_one_mechanism() -> None:
    accepted = load_accepted_features()
    listed = [kind for mechanism in accepted.mechanisms.values() for kind in mechanism.kinds]
    assert sorted(listed) == sorted({k.name for k in kinds()} - {"none"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kinds: {gremlins: []}", "no fault kind gremlins"),
        ("everywhere: [{feature: x, real: perhaps, because: y}]", r"everywhere\.0\.real"),
        ("everywhere: [{feature: x, real: 'no'}]", r"everywhere\.0\.because"),
    ],
)
def test_a_wrong_file_of_marks_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "leakage_features.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        load_accepted_features(path)


def test_of_two_faults_in_one_run_neither_is_held_against_the_other_one_s_part() -> None:
    hog, quota = a_run("ra", "cpu_hog", place="cart"), a_run("rb", "cpu_quota", place="orders")
    seen = run_features((replace(hog, run="r"), replace(quota, run="r"), a_run("s", "cpu_hog")))
    assert [sorted(s.parts) for s in seen] == [["cart", "postgres"], ["orders", "postgres"], sorted(PARTS)]
