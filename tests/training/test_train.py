"""Training on a small made-up system, end to end through the exported files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.inference import open_session
from revelio.encoders.query import COMPONENT, FEATURES, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.errors import ArtifactError, DatasetError, InvalidInputError
from revelio.ranker.artifact import CARD, MANIFEST, NULL_DISTRIBUTIONS, RANKER_WEIGHTS, REPORT_WEIGHTS, TEXTS, load_ranker
from revelio.ranker.recommender import Recommender
from revelio.ranker.session import INPUTS, network_inputs
from revelio.systems.incidents.dataset import LabelledIncident
from tests.ranker.conftest import labelled

torch = pytest.importorskip("torch")

from revelio.service.pipeline import answer_incident  # noqa: E402
from revelio.training.arguments import TrainArguments  # noqa: E402
from revelio.training.ensemble import Ensemble  # noqa: E402
from revelio.training.export import export_network  # noqa: E402
from revelio.training.network import Network  # noqa: E402
from revelio.training.train import train  # noqa: E402


def test_a_trained_model_puts_the_right_query_first_on_runs_it_has_not_seen(model: Path, catalog: Catalog) -> None:
    recommender = Recommender(load_ranker(model), catalog)
    for number, (kind, template, place) in enumerate(
        [("hog", "meters.cpu", "gamma"), ("bug", "journal.errors", "alpha"), ("stop", "states.now", "omega")]
    ):
        answer = answer_incident(labelled(900 + number, kind, place).record.incident(), recommender, k=3)
        first = answer.queries[0].query
        assert (first.template.id, first.bindings[0][1]) == (template, place)


def test_it_abstains_more_when_nothing_is_wrong(model: Path, catalog: Catalog) -> None:
    recommender = Recommender(load_ranker(model), catalog)
    calm = answer_incident(labelled(990, "none", "beta").record.incident(), recommender)
    broken = answer_incident(labelled(991, "stop", "beta").record.incident(), recommender)
    assert calm.no_fault_probability > broken.no_fault_probability + 0.3


def test_factors_add_up_to_the_probability_and_all_probabilities_to_one(model: Path, catalog: Catalog) -> None:
    answer = answer_incident(labelled(992, "hog", "beta").record.incident(), Recommender(load_ranker(model), catalog), k=50)
    for ranked in answer.queries:
        assert ranked.probability == pytest.approx(np.exp(sum(f.log_probability for f in ranked.factors)), rel=1e-4, abs=1e-9)
    assert sum(q.probability for q in answer.queries) == pytest.approx(1.0, abs=1e-3)


def test_the_order_of_candidates_does_not_change_the_ranking(model: Path, catalog: Catalog) -> None:
    recommender = Recommender(load_ranker(model), catalog)
    incident = labelled(993, "bug", "delta").record.incident()
    queries = recommender.candidates(incident)
    there = answer_incident(replace(incident, candidates=queries), recommender)
    back = answer_incident(replace(incident, candidates=queries[::-1]), recommender)
    assert [q.query.id for q in there.queries] == [q.query.id for q in back.queries]


def test_a_name_never_seen_is_ranked_by_what_happens_there(model: Path, catalog: Catalog) -> None:
    from revelio.types import Entity

    incident = labelled(994, "hog", "beta").record.incident("something is slow")

    def renamed(entity: Entity) -> Entity:
        return replace(entity, name={"beta": "zx-91"}.get(entity.name, entity.name))

    evidence = incident.evidence
    evidence = replace(
        evidence,
        entities=tuple(renamed(e) for e in evidence.entities),
        series=tuple(replace(s, entity=renamed(s.entity)) for s in evidence.series),
        logs=tuple(replace(p, entity=renamed(p.entity)) for p in evidence.logs),
    )
    first = answer_incident(replace(incident, evidence=evidence), Recommender(load_ranker(model), catalog)).queries[0].query
    assert (first.template.id, first.bindings) == ("meters.cpu", (("container", "zx-91"),))


def test_the_exported_network_gives_what_torch_gives(catalog: Catalog, tmp_path: Path) -> None:
    torch.manual_seed(3)
    network = Ensemble([Network(64, len(FEATURES), len(COMPONENT)) for _ in range(2)]).eval()
    export_network(network, 64, len(FEATURES), len(COMPONENT), tmp_path / "n.onnx")
    session = open_session(tmp_path / "n.onnx")
    text = HashingEncoder(64)
    from revelio.catalog.candidates import candidates

    for kind in ("hog", "bug", "none"):
        incident = labelled(7, kind, "alpha").record.incident()
        encoder = QueryEncoder(text, {}, {})
        encoded = encoder.encode(incident, candidates(catalog, incident.evidence.entities), text.encode([incident.report])[0])
        inputs = network_inputs([encoded])
        with torch.no_grad():
            expected = network(*(torch.from_numpy(inputs[n]) for n in INPUTS))
        for got, want in zip(session.run(None, inputs), expected, strict=True):
            np.testing.assert_allclose(got, want.numpy(), atol=2e-4)


@pytest.mark.parametrize("factors", [1, 2, 3])
def test_what_is_exported_scatters_rows_and_gives_what_torch_gives_for_several_incidents(tmp_path: Path, factors: int) -> None:
    import onnx

    torch.manual_seed(4)
    network = Network(8, 5, 4, factors=factors).eval()
    export_network(network, 8, 5, 4, tmp_path / "n.onnx")
    scatters = {n.op_type for n in onnx.load(tmp_path / "n.onnx").graph.node if "Scatter" in n.op_type}
    assert scatters == {"ScatterND"}
    inputs = {
        "report": torch.randn(2, 8),
        "tool_text": torch.randn(4, 8),
        "template_text": torch.randn(6, 8),
        "features": torch.randn(40, 5),
        "components": torch.randn(5, 4),
        "incident_of_tool": torch.tensor([0, 0, 1, 1]),
        "tool_of_template": torch.tensor([0, 1, 1, 2, 3, 3]),
        "template_of_query": torch.arange(40) % 6,
        "incident_of_component": torch.tensor([0, 0, 0, 1, 1]),
        "near": torch.arange(40) % 9,
        "incident_of_near": torch.arange(9) % 2,
    }
    with torch.no_grad():
        expected = network(*(inputs[n] for n in INPUTS))
    got = open_session(tmp_path / "n.onnx").run(None, {n: t.numpy() for n, t in inputs.items()})
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=2e-4)


def test_two_runs_with_one_seed_give_the_same_weights(
    model: Path,
    catalog: Catalog,
    incidents: list[LabelledIncident],
    write_dataset: Callable[[list[LabelledIncident]], Path],
    tmp_path: Path,
) -> None:
    data = write_dataset(incidents[:12])
    hashes = []
    for name in ("a", "b"):
        arguments = TrainArguments(
            data, tmp_path / name, catalog, device="cpu", deterministic=True, epochs=3, folds=2, encoder=model
        )
        hashes.append(train(arguments).files[RANKER_WEIGHTS])
    torch.use_deterministic_algorithms(False)
    assert hashes[0] == hashes[1]


def test_a_resumed_run_ends_in_the_weights_of_an_uninterrupted_one(
    model: Path,
    catalog: Catalog,
    incidents: list[LabelledIncident],
    write_dataset: Callable[[list[LabelledIncident]], Path],
    tmp_path: Path,
) -> None:
    data = write_dataset(incidents[:12])
    whole = train(TrainArguments(data, tmp_path / "whole", catalog, device="cpu", epochs=15, folds=0, encoder=model))

    class Killed(BaseException):
        pass

    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("train final.1") and done == 13:
            raise Killed

    arguments = TrainArguments(data, tmp_path / "cut", catalog, device="cpu", epochs=15, folds=0, encoder=model)
    with pytest.raises(Killed):
        train(arguments, stop)
    assert (tmp_path / "cut" / "final.1.checkpoint").is_file()
    seen: list[int] = []
    again = train(replace(arguments, resume=True), lambda what, done, total: seen.append(done) if "final.1" in what else None)
    assert 1 <= seen[0] <= 12, "resumed after the last epoch that was saved"
    assert seen[1] == seen[0] + 1
    lines = [json.loads(line) for line in (tmp_path / "cut" / "training.jsonl").read_text().splitlines()]
    told = [(line["part"], line["epoch"]) for line in lines]
    assert sorted(told) == sorted(set(told)), "no epoch comes twice"
    assert sum(part == "final.0" for part, _ in told) == 15
    assert again.files[RANKER_WEIGHTS] == whole.files[RANKER_WEIGHTS]


def test_checkpoints_of_other_arguments_are_refused_and_not_passed_over(
    model: Path,
    catalog: Catalog,
    incidents: list[LabelledIncident],
    write_dataset: Callable[[list[LabelledIncident]], Path],
    tmp_path: Path,
) -> None:
    class Killed(BaseException):
        pass

    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("train final.0") and done == 4:
            raise Killed

    arguments = TrainArguments(
        write_dataset(incidents[:12]), tmp_path / "m", catalog, device="cpu", epochs=9, folds=0, encoder=model
    )
    with pytest.raises(Killed):
        train(arguments, stop)
    with pytest.raises(ArtifactError, match=r"final\.0\.checkpoint: made with other arguments"):
        train(replace(arguments, epochs=8, resume=True))


def test_a_dataset_with_nothing_to_learn_from_is_an_error(
    model: Path, catalog: Catalog, write_dataset: Callable[[list[LabelledIncident]], Path], tmp_path: Path
) -> None:
    data = write_dataset([labelled(i, "none", "alpha") for i in range(3)])
    with pytest.raises(DatasetError, match="no incident with an accepted query"):
        train(TrainArguments(data, tmp_path / "m", catalog, device="cpu", encoder=model))


def test_arguments_that_cannot_work_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        TrainArguments(tmp_path, tmp_path, catalog, epochs=0)


@pytest.mark.parametrize("name", [REPORT_WEIGHTS, RANKER_WEIGHTS, TEXTS, NULL_DISTRIBUTIONS, "tokenizer.json"])
def test_a_damaged_file_is_named(model: Path, tmp_path: Path, name: str) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[:-10] + b"0123456789")
    with pytest.raises(ArtifactError, match=name):
        load_ranker(copy)
    (copy / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name}: missing"):
        load_ranker(copy)


def test_a_folder_of_another_format_or_none_at_all_is_refused_in_words(model: Path, tmp_path: Path) -> None:
    import shutil

    with pytest.raises(ArtifactError, match="revelio train"):
        load_ranker(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    content = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps(content | {"format": "other/9"}))
    with pytest.raises(ArtifactError, match="other/9"):
        load_ranker(copy)
    (copy / MANIFEST).write_text("{")
    with pytest.raises(ArtifactError, match="damaged"):
        load_ranker(copy)


def test_the_model_card_names_dataset_and_figures(model: Path) -> None:
    card = (model / CARD).read_text()
    assert "unfrozen" in card and "out-of-fold top-1" in card
