"""The datasets of the repository: few files, and none of their incidents is another one than was frozen."""

from __future__ import annotations

import json
from pathlib import Path

from revelio.settings import BUNDLED
from revelio.systems.incidents.dataset import MANIFEST, grown_from, open_dataset
from revelio.systems.incidents.files import IncidentFiles

DATA = Path("data/three_apps")
FEW = 80


def test_every_packed_incident_is_the_one_that_was_frozen() -> None:
    frozen = json.loads((DATA / MANIFEST).read_bytes())["files"]
    assert set(IncidentFiles(DATA / "incidents").names()) == set(frozen)
    assert len(open_dataset(DATA, verify=True).splits) == len(frozen) == 608


def test_the_bundled_model_learned_from_this_freeze_or_an_earlier_one() -> None:
    trained = json.loads((BUNDLED / "model" / "manifest.json").read_bytes())["dataset"]
    assert trained in (open_dataset(DATA, verify=False).digest, *grown_from(DATA))


def test_every_incident_has_its_whole_results_and_all_of_it_lies_in_few_files() -> None:
    for folder in (DATA, Path("data/every_template"), Path("data/production")):
        assert IncidentFiles(folder / "incidents").names() == IncidentFiles(folder / "results").names()
    assert sum(path.is_file() for path in Path("data").rglob("*")) <= FEW
