"""Models are asked about systems and causes that they were not shown, and about nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import Record
from tests.ranker.conftest import KINDS, PLACES, catalog, catalog_file, labelled, write_dataset  # noqa: F401

pytest.importorskip("torch")

from revelio.training.arguments import TrainArguments
from revelio.training.evaluation import transfer as module
from revelio.training.evaluation.transfer import TransferFigures, study_transfer, transfer_splits, without_reads

BUNDLED = Path(__file__).parents[3] / "revelio" / "bundled" / "model"


def runs(each: int = 5) -> list[LabelledIncident]:
    """Of two systems the same kinds of faults, and as many controls."""
    found = []
    for number in range(2 * each * (len(KINDS) + 1)):
        kind = [*KINDS, "none"][number // 2 % (len(KINDS) + 1)]
        one = labelled(number, kind, PLACES[number % len(PLACES)])
        found.append(replace(one, record=replace(one.record, system=("theirs", "ours")[number % 2])))
    return found


def kinds(records: tuple[Record, ...]) -> set[str]:
    return {r.fault.kind for r in records if r.fault and r.fault.category != "control"}


def test_who_is_asked_about_shares_no_system_and_no_kind_with_who_was_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_INCIDENTS", 5)
    found = transfer_splits([i.record for i in runs()])
    assert {(s.train[0].system, s.test[0].system) for s in found} == {("ours", "theirs"), ("theirs", "ours")}
    for one in found:
        assert len({r.system for r in one.train} | {r.system for r in one.test}) == 2
        assert kinds(one.train) | kinds(one.test) == set(KINDS)
        assert not kinds(one.train) & kinds(one.test)


def test_controls_are_learnt_from_and_never_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_INCIDENTS", 5)
    for one in transfer_splits([i.record for i in runs()]):
        assert sum(r.fault is not None and r.fault.kind == "none" for r in one.train) == 5
        assert all(r.fault is not None and r.fault.kind != "none" for r in one.test)


def test_one_system_alone_has_no_strangers() -> None:
    with pytest.raises(DatasetError, match="no two systems"):
        transfer_splits([labelled(n, "hog", "alpha").record for n in range(40)])


def test_every_method_answers_and_their_means_count_each_incident_once(
    catalog: Catalog,  # noqa: F811
    write_dataset: Callable[[list[LabelledIncident]], Path],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MIN_INCIDENTS", 5)
    monkeypatch.setattr(module, "transfer_splits", lambda records: transfer_splits(records)[:2])
    whole = TrainArguments(
        write_dataset(runs()), tmp_path / "work", catalog, device="cpu", epochs=2, folds=0, members=1, encoder=BUNDLED
    )
    found = study_transfer(whole)
    methods = set(product(("full", "inferred_reads", "summary_features"), ("model", "boosted_trees", "anomaly")))
    each, means = [a for a in found if a.split != "all"], [a for a in found if a.split == "all"]
    assert {(a.given, a.method) for a in each} == {(a.given, a.method) for a in means} == methods
    assert len(means) == len(methods)
    for mean in means:
        own: list[TransferFigures] = [a for a in each if (a.given, a.method) == (mean.given, mean.method)]
        assert mean.incidents == sum(a.incidents for a in own)
        assert mean.top1 == pytest.approx(sum(a.top1 * a.incidents for a in own) / mean.incidents)
        assert mean.confidence == pytest.approx(sum(a.confidence * a.incidents for a in own) / mean.incidents)
        assert [a.reranked_top3 is not None for a in (mean, *own)] == [mean.method == "model"] * (1 + len(own))

    trained: list[object] = []
    monkeypatch.setattr(module, "train", lambda *arguments: trained.append(arguments))
    assert study_transfer(whole) == found
    assert trained == []


def test_a_catalog_without_reads_asks_the_same(catalog: Catalog) -> None:  # noqa: F811
    silent = without_reads(catalog)
    assert [t.id for t in silent.templates] == [t.id for t in catalog.templates]
    assert not any(t.reads for t in silent.templates)
