"""One run of the network: judged on what it is not trained on, and told epoch by epoch."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.catalog import Catalog
from revelio.encoders.query import FEATURES, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.errors import InvalidInputError
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.batch import Example
from revelio.training.examples import examples

torch = pytest.importorskip("torch")

from revelio.training.arguments import TrainArguments  # noqa: E402
from revelio.training.distributed import ProcessGroup, process_group  # noqa: E402
from revelio.training.fit import fit, held_out_loss, predict  # noqa: E402
from revelio.training.log import Epoch, TrainingLog  # noqa: E402

ALONE = ProcessGroup(0, 1, torch.device("cpu"))


class Kept(TrainingLog):
    def __init__(self) -> None:
        super().__init__(None, lambda what, done, total: None)
        self.epochs: list[Epoch] = []

    def note(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


@pytest.fixture(scope="module")
def known(catalog: Catalog, incidents: list[LabelledIncident]) -> list[Example]:
    text = HashingEncoder()
    return examples(incidents, catalog, text, QueryEncoder(text, {}, {}))


@pytest.fixture
def arguments(catalog: Catalog, tmp_path: Path) -> TrainArguments:
    return TrainArguments(tmp_path, tmp_path, catalog, device="cpu", epochs=30, patience=2, learning_rate=0.02)


def test_a_run_ends_when_it_no_longer_gets_better_on_what_was_held_out(known: list[Example], arguments: TrainArguments) -> None:
    log = Kept()
    fit(known[4:], known[:4], "fold-0", arguments, "key", ALONE, log)
    losses = [e.held_out for e in log.epochs if e.held_out is not None]
    assert len(losses) == len(log.epochs) < arguments.epochs
    assert len(losses) == losses.index(min(losses)) + 1 + arguments.patience


def test_the_best_weights_are_kept_and_not_the_last(known: list[Example], arguments: TrainArguments) -> None:
    log = Kept()
    network = fit(known[4:], known[:4], "fold-0", arguments, "key", ALONE, log)
    losses = [e.held_out for e in log.epochs if e.held_out is not None]
    assert losses[-1] > min(losses)
    assert held_out_loss(network, known[:4], arguments.batch_size, ALONE.device) == pytest.approx(min(losses))


def test_fewer_factors_are_one_softmax_over_templates_or_over_all_queries(
    known: list[Example], arguments: TrainArguments
) -> None:
    for factors in (1, 2):
        network = fit(known[4:], (), "final", replace(arguments, epochs=2, factors=factors), "key", ALONE, Kept())
        logits = predict(network, known[0], ALONE.device)[0].logits
        encoded = known[0].encodings[0]
        for k in range(len(encoded.tools)):
            own = torch.from_numpy(logits.template[encoded.tool_of == k])
            assert float(torch.logsumexp(own, 0)) == pytest.approx(float(logits.tool[k]), abs=1e-4)


def test_a_network_that_is_blind_to_a_feature_does_not_change_with_it(known: list[Example], arguments: TrainArguments) -> None:
    network = fit(known[4:], (), "final", replace(arguments, epochs=2, blind_to=("rank",)), "key", ALONE, Kept())
    encoded = known[0].encodings[0]
    changed = encoded.features.copy()
    changed[..., FEATURES.index("rank")] += 5.0
    twisted = replace(known[0], encodings=(replace(encoded, features=changed),))
    before, after = (predict(network, e, ALONE.device)[0].logits for e in (known[0], twisted))
    assert (before.value == after.value).all()
    assert (before.template == after.template).all()


def test_the_state_is_saved_after_the_first_epoch_and_at_the_end(
    known: list[Example], arguments: TrainArguments, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    monkeypatch.setattr(
        "revelio.training.checkpoint.save", lambda path, network, optimizer, progress, key: saved.append(len(progress.losses))
    )
    fit(known[4:], (), "final", replace(arguments, epochs=6), "key", ALONE, Kept())
    assert saved[0] == 1
    assert saved[-1] == 6


def test_a_part_that_was_finished_is_not_trained_again(known: list[Example], arguments: TrainArguments) -> None:
    fit(known[4:], (), "final", replace(arguments, epochs=3), "key", ALONE, Kept())
    log = Kept()
    fit(known[4:], (), "final", replace(arguments, epochs=3, resume=True), "key", ALONE, log)
    assert log.epochs == []


def test_a_log_that_was_cut_in_a_line_goes_on_with_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "training.jsonl"
    log = TrainingLog.begin(tmp_path, lambda what, done, total: None, is_main=True, resume=False)
    log.note(Epoch("final", 1, 9, 2.0, None, 1e-3, 0.5))
    path.write_text(path.read_text() + '{"part": "fi')
    again = TrainingLog.begin(tmp_path, lambda what, done, total: None, is_main=True, resume=True)
    again.note(Epoch("final", 2, 9, 2.0, None, 1e-3, 0.5))
    assert [json.loads(line)["epoch"] for line in path.read_text().splitlines()] == [1, 2]


def test_a_training_leaves_a_line_for_each_epoch(tmp_path: Path) -> None:
    shown: list[str] = []
    log = TrainingLog.begin(tmp_path, lambda what, done, total: shown.append(what), is_main=True, resume=False)
    log.note(Epoch("fold-0", 1, 9, 2.0, 3.0, 1e-3, 0.5))
    log.note(Epoch("final", 1, 9, 2.0, None, 1e-3, 1.5, 0.05))
    assert log.checkpoint_share == pytest.approx(0.025)
    assert len((tmp_path / "training.jsonl").read_text().splitlines()) == 2
    assert shown == ["train fold-0, loss 2.000, held out 3.000", "train final, loss 2.000"]
    again = TrainingLog.begin(tmp_path, lambda what, done, total: None, is_main=True, resume=True)
    assert again.seconds == pytest.approx(2.05), "what was spent before counts"
    assert again.checkpoint_share == pytest.approx(0.025)
    again.resumed("fold-0", 0, 9)
    assert [line.split('"')[3] for line in (tmp_path / "training.jsonl").read_text().splitlines()] == ["final"]
    assert again.seconds == pytest.approx(1.55), "what is done again does not count twice"
    TrainingLog.begin(tmp_path, lambda what, done, total: None, is_main=True, resume=False)
    assert not (tmp_path / "training.jsonl").exists()


def test_a_device_that_is_not_there_is_refused() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InvalidInputError, match="no GPU"), process_group("cuda"):
        pass


def test_each_process_takes_its_part_of_a_batch_and_all_of_one_that_is_too_small() -> None:
    batch = list(range(5))
    parts = [ProcessGroup(rank, 2, ALONE.device).shard(batch) for rank in (0, 1)]
    assert sorted([*parts[0], *parts[1]]) == batch
    assert ProcessGroup(1, 8, ALONE.device).shard(batch) == batch


def test_two_processes_train_one_model_together(
    model: Path, incidents: list[LabelledIncident], write_dataset: Callable[[list[LabelledIncident]], Path], catalog_file: Path
) -> None:
    import json
    import os
    import subprocess
    import sys

    from revelio.ranker.artifact import load_ranker

    data = write_dataset(incidents[:12])
    out = data.parent / "together"
    program = Path(__file__).with_name("together.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program)]
    done = subprocess.run(
        [*command, *map(str, (data, out, model, catalog_file))],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    load_ranker(out)
    lines = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    told = [(x["part"], x["epoch"]) for x in lines]
    assert len(told) == len(set(told)), "only the main process writes"
    assert {part for part, _ in told} == {"fold-0.0", "fold-1.0", *(f"final.{n}" for n in range(3))}
