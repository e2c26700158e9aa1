"""The study trains what is asked for, once, and scores every variant on the same incidents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.catalog import Catalog
from revelio.errors import InvalidInputError
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.evaluation.results import FaultFigures
from tests.ranker.conftest import KINDS, PLACES, catalog, catalog_file, incidents, labelled, write_dataset  # noqa: F401

pytest.importorskip("torch")

from revelio.training.arguments import TrainArguments
from revelio.training.evaluation import study as module
from revelio.training.evaluation.study import FEW, RANKS, VARIANTS, Variant, study

BUNDLED = Path(__file__).parents[3] / "revelio" / "bundled" / "model"


@pytest.fixture
def whole(
    catalog: Catalog,  # noqa: F811
    incidents: list[LabelledIncident],  # noqa: F811
    write_dataset: Callable[[list[LabelledIncident]], Path],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> TrainArguments:
    monkeypatch.setattr(module, "FEW", (2, 4))
    monkeypatch.setattr(module, "MIN_SCORED", 4)
    few = (Variant("few_10", "", few=2), Variant("few_30", "", few=4))
    monkeypatch.setattr(module, "VARIANTS", (*(v for v in VARIANTS if not v.few), *few))
    kinds = list(KINDS)
    new = [labelled(500 + i, kinds[i % 3], PLACES[i % 5], "new_app") for i in range(8)]
    data = write_dataset([*incidents[:12], *new])
    return TrainArguments(data, tmp_path / "work", catalog, device="cpu", epochs=2, folds=0, encoder=BUNDLED)


def test_every_variant_is_scored_on_incidents_that_none_was_shown(whole: TrainArguments) -> None:
    found = study(whole, only=("whole", "no_factorisation", "few_10"))
    assert found.model == "whole"
    assert set(found.ablations) == {"no_factorisation", "few_10"}
    for by_split in found.by_method.values():
        figures = by_split["new_app"]
        assert isinstance(figures, FaultFigures)
        assert figures.incidents == 4


def test_what_would_leave_too_few_of_the_new_application_to_score_is_left_out(
    whole: TrainArguments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEW", (2, 5))
    monkeypatch.setattr(module, "VARIANTS", (VARIANTS[0], Variant("few_10", "", few=2), Variant("few_30", "", few=5)))
    assert set(study(whole).by_method) == {"whole", "few_10"}


def test_a_model_that_is_there_is_not_trained_again(whole: TrainArguments, monkeypatch: pytest.MonkeyPatch) -> None:
    first = study(whole, only=("whole",))
    trained: list[object] = []
    monkeypatch.setattr(module, "train", lambda *arguments: trained.append(arguments))
    assert study(whole, only=("whole",)) == first
    assert trained == []


def test_an_unknown_variant_is_refused_with_those_that_there_are(whole: TrainArguments) -> None:
    with pytest.raises(InvalidInputError, match=r"no variant 'nothing'.*no_factorisation"):
        study(whole, only=("nothing",))


def test_each_variant_differs_from_a_single_network_in_one_thing_and_that_from_the_whole(whole: TrainArguments) -> None:
    shown = [f"i{n}" for n in range(max(FEW))]
    shipped, single = (v.arguments(whole, shown) for v in VARIANTS[:2])
    assert replace(shipped, out=whole.out) == whole
    assert replace(single, out=whole.out, members=whole.members) == whole
    for variant in VARIANTS[2:]:
        arguments = variant.arguments(whole, shown)
        different = [f for f in TrainArguments.__slots__ if getattr(arguments, f) != getattr(single, f)]
        # In int8 the published encoder is what no_fine_tuning has, so that the two differ in that alone.
        published = {"no_fine_tuning": {"encoder"}, "no_quantization": {"encoder", "fine_tune"}}.get(variant.name, set())
        assert len(set(different) - {"out"} - published) == 1, f"{variant.name}: {different}"
        assert {"out"} | published <= set(different)
    assert {"rank", "gap", "latency_rank"} <= set(RANKS)
