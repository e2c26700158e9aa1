"""The training log: one line of JSON per epoch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LOG = "training.jsonl"

Report = Callable[[str, int, int], None]
"""Called with the current step in words, how much of it is done, and of how much; 0 where that is not known."""


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
    """Appends epochs to ``training.jsonl`` and reports progress; does neither in other processes than the main one."""

    def __init__(self, path: Path | None, progress: Report) -> None:
        self._path = path
        self._progress = progress
        self._learning = self._saving = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of training and checkpoints so far, including those before a resume."""
        return self._learning + self._saving

    @property
    def checkpoint_share(self) -> float:
        """Seconds of checkpoints per second of training."""
        return self._saving / self._learning if self._learning else 0.0

    @classmethod
    def begin(cls, out: Path, progress: Report, *, is_main: bool, resume: bool) -> TrainingLog:
        """Start a new log, or continue the log of a resumed run."""
        if not is_main:
            return cls(None, lambda what, done, total: None)
        log = cls(out / LOG, progress)
        if not resume:
            (out / LOG).unlink(missing_ok=True)
        elif (out / LOG).is_file():
            for line in (out / LOG).read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # a partial last line of a killed run
                    log._spent(Epoch(**json.loads(line)))
        return log

    def say(self, what: str, done: int, total: int) -> None:
        """Report progress other than an epoch."""
        self._progress(what, done, total)

    def each(self, what: str, items: Iterable[T]) -> Iterator[T]:
        """The items, reported as they are taken."""
        done = 0
        for done, item in enumerate(items, 1):
            yield item
            self._progress(what, done, 0)
        self._progress(what, done, done)

    def note(self, epoch: Epoch) -> None:
        """Log an epoch and report it."""
        self._spent(epoch)
        held = "" if epoch.held_out is None else f", held out {epoch.held_out:.3f}"
        self._progress(f"train {epoch.part}, loss {epoch.loss:.3f}{held}", epoch.epoch, epoch.of)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in asdict(epoch).items()}) + "\n")

    def _spent(self, epoch: Epoch) -> None:
        self._learning += epoch.seconds
        self._saving += epoch.checkpoint_seconds
