"""One training on datasets of several systems, each with its own catalog, and from the weights of another model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog, load_catalog
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.errors import ArtifactError, InvalidInputError
from revelio.ranker.artifact import RANKER_WEIGHTS, load_ranker
from revelio.settings import BUNDLED
from revelio.systems.incidents.dataset import LabelledIncident, open_datasets
from revelio.systems.incidents.exchange import write_records
from tests.cli.test_foreign_catalog import CATALOG, KINDS, PLACES, incident
from tests.ranker.conftest import labelled

torch = pytest.importorskip("torch")

from revelio.encoders.inference import open_session  # noqa: E402
from revelio.ranker.session import INPUTS, OUTPUTS, network_inputs  # noqa: E402
from revelio.training.arguments import TrainArguments  # noqa: E402
from revelio.training.ensemble import Ensemble  # noqa: E402
from revelio.training.examples import examples  # noqa: E402
from revelio.training.load import load_networks  # noqa: E402
from revelio.training.train import train  # noqa: E402

MODEL = BUNDLED / "model"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A dataset with its catalog in its folder."""
    kinds = tuple(KINDS)
    runs = [replace(incident(i, kinds[i % 3], PLACES[i % 4], "train"), id=f"theirs-{i}") for i in range(6)]
    write_records(tmp_path / "theirs" / "incidents" / "all.jsonl", runs)
    (tmp_path / "theirs" / "catalog.yaml").write_text(CATALOG)
    return tmp_path / "theirs"


def test_a_record_has_the_candidates_of_its_own_catalog(
    catalog: Catalog, theirs: Path, write_dataset: Callable[[list[LabelledIncident]], Path]
) -> None:
    ours = write_dataset([labelled(i, "hog", "alpha") for i in range(2)])
    text = HashingEncoder(64)
    dataset = open_datasets([(ours, None), (theirs, None)])
    found = examples(dataset.read("train"), catalog, text, QueryEncoder(text, {}, {}))
    tools = {e.id.split("-")[0]: set(e.encodings[0].tools) for e in found}
    assert tools == {"i000": {"meters", "journal", "states"}, "i001": {"meters", "journal", "states"}} | {
        "theirs": {"assistant", "profiler"}
    }
    assert all(e.grades.any() for e in found)
    assert [t.name for t in dataset.all_tools(catalog).tools] == ["meters", "journal", "states", "assistant", "profiler"]


def test_a_training_continues_from_a_model_on_datasets_of_several_catalogs(
    catalog: Catalog, theirs: Path, write_dataset: Callable[[list[LabelledIncident]], Path], tmp_path: Path
) -> None:
    ours = write_dataset([labelled(i, "hog", "alpha") for i in range(4)])
    arguments = TrainArguments(
        ours, tmp_path / "m", catalog, others=((theirs, None),), start=MODEL, device="cpu", epochs=1, folds=0, members=1
    )
    manifest = train(replace(arguments, learning_rate=1e-6))
    assert manifest.metrics["train_incidents"] == 10.0
    assert {"meters", "assistant"} <= manifest.tool_texts.keys()
    tuned, start = load_networks(arguments.out)[0], load_networks(MODEL)[0]
    assert load_ranker(arguments.out).name == manifest.name
    for name, value in tuned.state_dict().items():
        assert torch.allclose(value, start.state_dict()[name], atol=1e-4), name


def test_networks_read_from_a_model_folder_are_those_that_were_written(catalog: Catalog) -> None:
    text = HashingEncoder(384)
    known = examples([labelled(3, "bug", "beta")], catalog, text, QueryEncoder(text, {}, {}))
    inputs = network_inputs([known[0].encodings[0]])
    served = open_session(MODEL / RANKER_WEIGHTS).run(list(OUTPUTS), inputs)
    networks = load_networks(MODEL)
    assert len(networks) == 3
    with torch.no_grad():
        read = Ensemble(networks).eval()(*(torch.from_numpy(inputs[name]) for name in INPUTS))
    for one, other in zip(served, read, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=1e-3)


def test_a_folder_without_a_usable_model_is_refused(tmp_path: Path, catalog: Catalog) -> None:
    with pytest.raises(ArtifactError, match="no model here"):
        load_networks(tmp_path)
    with pytest.raises(InvalidInputError, match="cannot continue"):
        TrainArguments(tmp_path, tmp_path, catalog, start=MODEL, factors=1)


def test_the_catalog_of_the_arguments_replaces_that_of_the_folder(theirs: Path, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(CATALOG.split("---")[0])
    dataset = open_datasets([(theirs, load_catalog(tmp_path / "other.yaml"))])
    assert [t.name for t in dataset.all_tools(Catalog(())).tools] == ["assistant"]
