"""What happened in training, epoch by epoch: a line of JSON each, for plotting and for whoever asks later."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

LOG = "training.jsonl"

Report = Callable[[str, int, int], None]
"""Called with what is being done, steps done and steps in all."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch of one part of the training (``encoder``, ``fold-0`` ..., ``final``). Losses are means per incident."""

    part: str
    epoch: int
    of: int
    loss: float
    held_out: float | None
    learning_rate: float
    seconds: float
    checkpoint_seconds: float = 0.0


class TrainingLog:
    """Appends epochs to ``training.jsonl`` and tells of progress; a silent one for processes that do not lead."""

    def __init__(self, path: Path | None, progress: Report) -> None:
        self._path = path
        self._progress = progress
        self._learning = self._saving = 0.0

    @property
    def seconds(self) -> float:
        """Spent on learning and on checkpoints so far, with what was spent before a run was resumed."""
        return self._learning + self._saving

    @property
    def checkpoint_share(self) -> float:
        """Seconds spent on checkpoints for each second of learning, so far."""
        return self._saving / self._learning if self._learning else 0.0

    @classmethod
    def begin(cls, out: Path, progress: Report, *, leads: bool, resume: bool) -> TrainingLog:
        """A new log unless a run is resumed."""
        if not leads:
            return cls(None, lambda what, done, total: None)
        log = cls(out / LOG, progress)
        if not resume:
            (out / LOG).unlink(missing_ok=True)
        elif (out / LOG).is_file():
            for line in (out / LOG).read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # the line that was being written when the run was killed
                    log._spent(Epoch(**json.loads(line)))
        return log

    def say(self, what: str, done: int, total: int) -> None:
        """Progress that is no epoch."""
        self._progress(what, done, total)

    def note(self, epoch: Epoch) -> None:
        """Keep it and show it."""
        self._spent(epoch)
        held = "" if epoch.held_out is None else f", held out {epoch.held_out:.3f}"
        self._progress(f"train {epoch.part}, loss {epoch.loss:.3f}{held}", epoch.epoch, epoch.of)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in asdict(epoch).items()}) + "\n")

    def _spent(self, epoch: Epoch) -> None:
        self._learning += epoch.seconds
        self._saving += epoch.checkpoint_seconds
