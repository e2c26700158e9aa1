"""Versions appear whole or not at all, and whatever is damaged, a usable model is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from revelio.encoders.query import FEATURES
from revelio.errors import ArtifactError, NotFoundError
from revelio.ranker.artifact import Manifest, load_manifest
from revelio.ranker.head import Head
from revelio.ranker.versions import LastRun, LearnedFrom, VersionManifest, Versions
from revelio.settings import BUNDLED

HEAD = Head(("prometheus.memory",), np.ones((1, 1 + len(FEATURES) + 384), dtype=np.float32))

SWITCHER = """
import sys
from pathlib import Path
from tests.ranker.test_versions import made, versions
mine = versions(Path(sys.argv[1]))
while True:
    made(mine)
    mine.use(mine.list()[0].manifest.name)
    mine.use("base")
"""


@pytest.fixture
def mine(tmp_path: Path) -> Versions:
    return versions(tmp_path / "models")


def versions(folder: Path, base: Manifest | None = None) -> Versions:
    return Versions(folder, base or load_manifest(BUNDLED / "model"))


def made(mine: Versions) -> VersionManifest:
    manifest = VersionManifest(
        name=mine.next_name(),
        base=mine.base.name,
        base_weights=mine.base.files["ranker.onnx"],
        parent=mine.current(),
        made_at=time.time(),
        l2=1.0,
        learned=LearnedFrom(answers=1, found=1, helpful=0, not_useful=0, until=1.0),
        comparisons=[],
        features=list(FEATURES),
        templates=list(HEAD.templates),
    )
    return mine.keep(manifest, HEAD)


def test_a_version_that_is_kept_answers_only_once_it_is_named_and_the_way_back_is_open(mine: Versions) -> None:
    assert mine.current() == mine.base.name
    first, second = made(mine), made(mine)
    assert (first.name, second.name) == (f"{mine.base.name}.1", f"{mine.base.name}.2")
    assert mine.current() == mine.base.name
    before = mine.mark()
    assert mine.use(second.name) == mine.current() == second.name
    assert mine.mark() != before
    head = mine.head(second.name)
    assert head is not None
    assert np.array_equal(head.weights, HEAD.weights)
    assert mine.use(first.name) == mine.current()
    assert mine.use("base") == mine.current() == mine.base.name
    assert mine.head(mine.base.name) is None
    assert [v.manifest.name for v in mine.list()] == [second.name, first.name]


def test_weights_that_are_not_those_of_the_manifest_are_refused_by_name(mine: Versions) -> None:
    one = made(mine)
    path = mine.folder / one.name / "head.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + b"abcd")
    with pytest.raises(ArtifactError, match=r"head\.safetensors: damaged"):
        mine.head(one.name)
    with pytest.raises(NotFoundError, match=rf"choose from: base, {one.name}"):
        mine.use("other")


def test_a_version_of_another_base_model_does_not_answer_for_this_one(mine: Versions) -> None:
    one = made(mine)
    mine.use(one.name)
    other = versions(mine.folder, mine.base.model_copy(update={"name": "revelio-other"}))
    assert other.current() == "revelio-other"
    assert "made for the model" in other.list()[0].trouble
    with pytest.raises(ArtifactError, match="run `revelio learn` again"):
        other.use(one.name)


def test_the_latest_attempt_is_remembered_for_its_base_model(mine: Versions) -> None:
    mine.record_run(LastRun(at=1.0, base=mine.base.name, until=0.5, taken=False, outcome="the database is gone", failed=True))
    last = mine.last_run()
    assert last is not None
    assert (last.failed, last.outcome) == (True, "the database is gone")
    assert versions(mine.folder, mine.base.model_copy(update={"name": "revelio-other"})).last_run() is None


def test_a_process_killed_while_it_switches_leaves_a_usable_model(mine: Versions) -> None:
    for pause in (0.0, 0.01, 0.05):
        child = subprocess.Popen([sys.executable, "-c", SWITCHER, mine.folder], env=os.environ | {"PYTHONPATH": str(Path.cwd())})
        deadline = time.monotonic() + 120
        while mine.mark() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=60)
        name = mine.current()
        assert mine.head(name) is not None or name == mine.base.name
        assert all(mine.head(v.manifest.name) is not None for v in mine.list())
        with mine.learning():
            made(mine)
        assert not list(mine.folder.glob(".making-*")), "what was left unfinished is swept"
        (mine.folder / "current.json").unlink()


def test_a_version_written_under_the_former_names_is_read(mine: Versions) -> None:
    kept = made(mine)
    path = mine.folder / kept.name / "manifest.json"
    former = {"rarity": "surprise", "rarity_overall": "surprise_among_all"}
    content = json.loads(path.read_text())
    content |= {"caution": content.pop("l2"), "learnt": content.pop("learned")}
    path.write_text(json.dumps(content | {"features": [former.get(n, n) for n in content["features"]]}))
    assert mine.get(kept.name) == kept
